//! Reservations: what keeps a large request from waiting for ever behind small ones.

use super::floor::Floor;
use super::levels::{Levels, TOP, is_as_far};
use super::needs::Stock;
use super::nodes::Node;
use super::{ClassId, NodeKey};

impl Floor {
    /// The class has no room at the visited node. If it has none anywhere, something is reserved for it: here, or where
    /// it will have room sooner.
    pub(super) fn blocked(&mut self, node: NodeKey, class: ClassId) {
        if self.classes.get(class).hold.places.is_empty() {
            self.reserve_if_stuck(class);
        } else {
            self.move_nearer(node, class);
        }
        self.withhold_reserved(node, class);
    }

    /// Sets aside at the visited node what is reserved there for the class.
    pub(super) fn withhold_reserved(&mut self, node: NodeKey, class: ClassId) {
        let reserved = self.nodes.get(node).map_or(&[][..], Node::reserved);
        if let Some(&(_, units)) = reserved.iter().find(|&&(other, _)| other == class) {
            self.withhold(node, class, units);
        }
    }

    #[cfg(test)]
    pub(super) fn place_at(&self, node: NodeKey, class: ClassId) -> Option<&(u32, u32)> {
        self.classes
            .get(class)
            .hold
            .places
            .iter()
            .find(|&&(place, _)| place == node.0)
    }

    fn reserve_if_stuck(&mut self, class: ClassId) {
        if self.is_hopeless(class) || self.has_room_somewhere(class) {
            return;
        }
        match self.nearest(class) {
            Some((shortfall, node)) => self.hold(class, vec![(node, 1)], shortfall),
            None => self.classes.get_mut(class).hold.hopeless = self.nodes.epoch,
        }
    }

    pub(super) fn is_hopeless(&self, class: ClassId) -> bool {
        self.classes.get(class).hold.hopeless == self.nodes.epoch
    }

    /// Whether some node has room for the class, besides what it keeps for those before it in the order.
    fn has_room_somewhere(&mut self, class: ClassId) -> bool {
        let witness = NodeKey(self.classes.get(class).hold.witness);
        if self.has_room(witness, class, 1) {
            return true;
        }
        let least = self.classes.get(class).needs.slots();
        let mut others = self.nodes.levels.descending(least).map(|(_, node)| node);
        let found = others.find(|&node| self.has_room(NodeKey(node), class, 1));
        if let Some(node) = found {
            self.classes.get_mut(class).hold.witness = node;
        }
        found.is_some()
    }

    /// Whether a node has room for so many tasks, besides what it keeps for those before them in the order.
    pub(super) fn has_room(&self, key: NodeKey, class: ClassId, units: u32) -> bool {
        self.room(key, class, units) >= units
    }

    /// For how many tasks a node has room, up to `most`, besides what it keeps for those before them in the order.
    pub(super) fn room(&self, key: NodeKey, class: ClassId, most: u32) -> u32 {
        let needs = &self.classes.get(class).needs;
        let Some(node) = self.nodes.get(key) else {
            return 0;
        };
        let kept = || {
            node.reserved()
                .iter()
                .filter(|&&(other, _)| self.comes_first(other))
        };
        let slots =
            kept().map(|&(other, units)| self.classes.get(other).needs.slots() * i64::from(units));
        // Most often slots decide: then nothing has to be copied.
        if needs.slots() > 0 && needs.slots() > node.free.slots() - slots.sum::<i64>() {
            return 0;
        }
        let times = node.free.times(needs, most);
        if times == 0 || kept().next().is_none() {
            return times;
        }
        let left = self.left(key, &|other| self.comes_first(other));
        left.map_or(0, |left| left.times(needs, most))
    }

    /// What a node has left, besides what is kept there for the classes that come first.
    pub(super) fn left(
        &self,
        key: NodeKey,
        comes_first: &dyn Fn(ClassId) -> bool,
    ) -> Option<Stock> {
        let node = self.nodes.get(key)?;
        let mut left = node.free.clone();
        for &(other, units) in node
            .reserved()
            .iter()
            .filter(|&&(other, _)| comes_first(other))
        {
            left.withhold(&self.classes.get(other).needs, units);
        }
        Some(left)
    }

    /// Whether a class, for which something is reserved, comes before the one that is looked at.
    fn comes_first(&self, class: ClassId) -> bool {
        let head = self.classes.get(class).hold.head;
        head.is_some_and(|head| head < self.candidate)
    }

    /// The node that could hold the class and lacks least for it now; rather one where nothing else is reserved.
    fn nearest(&self, class: ClassId) -> Option<(u64, u32)> {
        self.nearest_of(class, &self.nodes.open)
            .or_else(|| self.nearest_of(class, &self.nodes.levels))
    }

    fn nearest_of(&self, class: ClassId, nodes: &Levels) -> Option<(u64, u32)> {
        let needs = &self.classes.get(class).needs;
        let mut best: Option<(u64, u32)> = None;
        for (level, key) in nodes.descending(0) {
            let lacks = needs.slots() - i64::from(level);
            // From here on, the slots alone are as far away as the best.
            if level < TOP
                && best.is_some_and(|(shortfall, _)| is_as_far(lacks, needs.slots(), shortfall))
            {
                break;
            }
            let node = self
                .nodes
                .get(NodeKey(key))
                .filter(|node| node.own.fits(needs));
            let found = node.map(|node| (node.free.shortfall(needs), key));
            best = best.into_iter().chain(found).min();
        }
        best
    }

    /// Moves the reservation to the visited node if that one is nearer to having room. It gets only nearer, so it does
    /// not go round in circles.
    fn move_nearer(&mut self, key: NodeKey, class: ClassId) {
        let (needs, hold) = (
            &self.classes.get(class).needs,
            &self.classes.get(class).hold,
        );
        let Some(node) = self.nodes.get(key) else {
            return;
        };
        let lacks = needs.slots() - node.free.slots();
        if is_as_far(lacks, needs.slots(), hold.shortfall) || !node.all_reserved().is_empty() {
            return;
        }
        let here = node.free.shortfall(needs);
        let held = hold
            .places
            .first()
            .and_then(|&(held, _)| self.nodes.get(NodeKey(held)));
        let there = held.map_or(u64::MAX, |held| held.free.shortfall(needs));
        self.classes.get_mut(class).hold.shortfall = there;
        self.reheld.push(class);
        if here < there && self.could_hold(key, class) {
            self.drop_hold(class);
            self.hold(class, vec![(key.0, 1)], here);
        }
    }

    fn could_hold(&self, key: NodeKey, class: ClassId) -> bool {
        let fits = |node: &Node| node.own.fits(&self.classes.get(class).needs);
        self.nodes.get(key).is_some_and(fits)
    }

    pub(super) fn hold(&mut self, class: ClassId, places: Vec<(u32, u32)>, shortfall: u64) {
        for &(node, units) in &places {
            self.nodes.reserve(NodeKey(node), class, units);
        }
        let hold = &mut self.classes.get_mut(class).hold;
        hold.places = places;
        hold.shortfall = shortfall;
        self.reheld.push(class);
    }

    pub(super) fn drop_hold(&mut self, class: ClassId) {
        if self.classes.get(class).hold.places.is_empty() {
            return;
        }
        self.reheld.push(class);
        for (node, _) in std::mem::take(&mut self.classes.get_mut(class).hold.places) {
            self.nodes.drop_reserved(NodeKey(node), class);
        }
    }

    pub(super) fn drop_holds_at(&mut self, node: NodeKey) {
        let held = self
            .nodes
            .get(node)
            .map(|node| node.all_reserved().to_vec());
        held.into_iter()
            .flatten()
            .for_each(|(class, _)| self.drop_hold(class));
    }
}
