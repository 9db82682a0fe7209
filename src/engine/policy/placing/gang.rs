//! Gangs: tasks that start together or not at all.

use super::classes::Gang;
use super::floor::Floor;
use super::{ClassId, NodeKey, Placed, RunKey, Span};

impl Floor {
    /// Where the gang starts now, if it does. If it can't, nodes are reserved for all of it.
    pub(super) fn consider_gang(
        &mut self,
        node: NodeKey,
        class: ClassId,
        gang: Gang,
    ) -> Option<Vec<(u32, u32)>> {
        let held = self.classes.get(class).hold.places.clone();
        if held.is_empty() && !self.is_hopeless(class) {
            let now = self.places_now(class, gang);
            if now.is_some() {
                return now;
            }
            self.reserve_gang(class, gang);
        } else if self.has_room_on_all(node, class, &held) {
            return Some(held);
        }
        self.withhold_reserved(node, class);
        None
    }

    /// Whether what is reserved, at the visited node among others, is free everywhere.
    fn has_room_on_all(&self, node: NodeKey, class: ClassId, held: &[(u32, u32)]) -> bool {
        held.iter().any(|&(place, _)| place == node.0)
            && held
                .iter()
                .all(|&(place, units)| self.has_room(NodeKey(place), class, units))
    }

    /// The emptiest nodes that have room for all of the gang at once.
    fn places_now(&self, class: ClassId, gang: Gang) -> Option<Vec<(u32, u32)>> {
        let nodes = self
            .nodes
            .levels
            .descending(self.classes.get(class).needs.slots());
        let room =
            nodes.map(|(_, node)| (node, self.room(NodeKey(node), class, gang.on_one_node())));
        fill(gang, room)
    }

    fn reserve_gang(&mut self, class: ClassId, gang: Gang) {
        let needs = &self.classes.get(class).needs;
        let mut nodes: Vec<_> = self
            .nodes
            .iter()
            .filter(|(_, node)| node.own.fits(needs))
            .map(|(key, node)| {
                (
                    !node.all_reserved().is_empty(),
                    node.free.shortfall(needs),
                    key.0,
                    node,
                )
            })
            .collect();
        nodes.sort_unstable_by_key(|&(shared, shortfall, key, _)| (shared, shortfall, key));
        let room = nodes
            .iter()
            .map(|&(.., key, node)| (key, node.own.times(needs, gang.on_one_node())));
        match fill(gang, room) {
            Some(places) => self.hold(class, places, 0),
            None => self.classes.get_mut(class).hold.hopeless = self.nodes.epoch,
        }
    }

    /// Charges all of a gang. Each node gets its part when it asks next.
    pub(super) fn start_gang(
        &mut self,
        class: ClassId,
        run: RunKey,
        spans: Vec<Span>,
        places: &[(u32, u32)],
    ) {
        self.drop_hold(class);
        let mut rest = spans.into_iter().next();
        for &(node, units) in places {
            let Some(mut span) = rest.take() else { return };
            rest = Some(span.split_off(units));
            let allocation =
                self.nodes
                    .charge(NodeKey(node), class, &self.classes.get(class).needs, units);
            if let Some(node) = self.nodes.get_mut(NodeKey(node)) {
                node.awaiting.push_back(Placed {
                    class,
                    run,
                    spans: vec![span],
                    allocation,
                });
            }
            self.woken.push(NodeKey(node));
        }
    }
}

impl Gang {
    /// The most that one node gets.
    pub(super) fn on_one_node(self) -> u32 {
        if self.packed { self.tasks } else { 1 }
    }
}

/// Distributes a gang over nodes that have so much room.
fn fill(gang: Gang, rooms: impl Iterator<Item = (u32, u32)>) -> Option<Vec<(u32, u32)>> {
    let mut left = gang.tasks;
    let mut places = Vec::new();
    for (node, room) in rooms.filter(|&(_, room)| room > 0) {
        let units = room.min(left);
        places.push((node, units));
        left -= units;
        if left == 0 {
            return Some(places);
        }
    }
    None
}
