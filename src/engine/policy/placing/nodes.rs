//! Nodes, what is free of them, and who holds the rest.

use super::gpus::GpuShare;
use super::levels::Levels;
use super::needs::{Needs, Stock};
use super::{ClassId, NodeKey, Placed};
use std::collections::VecDeque;

/// All nodes that have joined and not left.
#[derive(Default)]
pub(super) struct Nodes {
    /// By number; numbers are not used again.
    nodes: Vec<Option<Box<Node>>>,
    pub(super) levels: Levels,
    /// Those where nothing is reserved.
    pub(super) open: Levels,
    /// Those that wait for work.
    pub(super) hungry: Levels,
    /// Counts changes of what nodes could ever hold.
    pub(super) epoch: u32,
}

pub(super) struct Node {
    /// What it has when nothing runs, but for lent slots.
    pub(super) own: Stock,
    pub(super) free: Stock,
    lent: u32,
    /// What is kept free for which class: so many tasks.
    reserved: Vec<(ClassId, u32)>,
    /// Others stood back for it since it asked last.
    pub(super) expected: bool,
    /// Others stood back for it, and it took nothing: nobody does again until it takes something.
    pub(super) passed: bool,
    /// Parts of gangs, charged already, that the node has not asked for yet.
    pub(super) awaiting: VecDeque<Placed>,
    /// What is out, to check the books.
    #[cfg(debug_assertions)]
    charged: std::collections::BTreeMap<ClassId, i64>,
}

/// A node's share that tasks hold. It goes back with [`Placing::release`](super::Placing::release), whole or in parts.
#[derive(PartialEq, Eq, Debug)]
#[must_use = "what is not released is never free again"]
pub(crate) struct Allocation {
    class: ClassId,
    units: u32,
    gpus: Vec<GpuShare>,
}

impl Nodes {
    pub(super) fn add(&mut self, own: Stock) -> NodeKey {
        let key = self.nodes.len() as u32;
        self.levels.set(key, own.slots());
        self.open.set(key, own.slots());
        self.nodes.push(Some(Box::new(Node {
            free: own.clone(),
            own,
            lent: 0,
            reserved: Vec::new(),
            expected: false,
            passed: false,
            awaiting: VecDeque::new(),
            #[cfg(debug_assertions)]
            charged: Default::default(),
        })));
        self.epoch += 1;
        NodeKey(key)
    }

    pub(super) fn remove(&mut self, key: NodeKey) -> Option<Box<Node>> {
        let node = self.nodes.get_mut(key.0 as usize)?.take()?;
        self.levels.remove(key.0);
        self.open.remove(key.0);
        self.hungry.remove(key.0);
        self.epoch += 1;
        Some(node)
    }

    pub(super) fn get(&self, key: NodeKey) -> Option<&Node> {
        self.nodes.get(key.0 as usize)?.as_deref()
    }

    pub(super) fn get_mut(&mut self, key: NodeKey) -> Option<&mut Node> {
        self.nodes.get_mut(key.0 as usize)?.as_deref_mut()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (NodeKey, &Node)> {
        let nodes = self.nodes.iter().enumerate();
        nodes.filter_map(|(key, node)| Some((NodeKey(key as u32), node.as_deref()?)))
    }

    pub(super) fn resize_slots(&mut self, key: NodeKey, slots: u32) {
        let Some(node) = self.get_mut(key) else {
            return;
        };
        let more = i64::from(slots) - node.own.slots();
        node.own.add_slots(more);
        node.free.add_slots(more);
        self.epoch += 1;
        self.changed(key);
    }

    pub(super) fn set_lent(&mut self, key: NodeKey, lent: u32) {
        let Some(node) = self.get_mut(key) else {
            return;
        };
        node.free.lend(i64::from(lent) - i64::from(node.lent));
        node.lent = lent;
        self.changed(key);
    }

    pub(super) fn set_hungry(&mut self, key: NodeKey, hungry: bool) {
        let free = self
            .get(key)
            .filter(|node| hungry && !node.passed)
            .map(|node| node.free.slots());
        match free {
            Some(free) => self.hungry.set(key.0, free),
            None => self.hungry.remove(key.0),
        }
    }

    /// Takes what so many tasks need, which must fit.
    pub(super) fn charge(
        &mut self,
        key: NodeKey,
        class: ClassId,
        needs: &Needs,
        units: u32,
    ) -> Allocation {
        let mut gpus = Vec::new();
        if let Some(node) = self.get_mut(key) {
            node.free.charge(needs, units.into());
            (0..units).for_each(|_| node.free.gpus.charge(needs.gpus(), &mut gpus));
            node.note(class, units.into());
            debug_assert_eq!(
                gpus.len(),
                needs.gpus().shares() * units as usize,
                "too few GPUs"
            );
        }
        self.changed(key);
        Allocation { class, units, gpus }
    }

    pub(super) fn release(&mut self, key: NodeKey, needs: &Needs, allocation: Allocation) {
        let Some(node) = self.get_mut(key) else {
            return;
        };
        node.free.charge(needs, -i64::from(allocation.units));
        allocation
            .gpus
            .into_iter()
            .for_each(|share| node.free.gpus.give_back(share));
        node.note(allocation.class, -i64::from(allocation.units));
        self.changed(key);
    }

    /// A part of a gang, charged already, waits for the node to ask.
    pub(super) fn await_pick_up(&mut self, key: NodeKey, part: Placed) {
        if let Some(node) = self.get_mut(key) {
            node.awaiting.push_back(part);
        }
    }

    /// Takes such parts away again.
    pub(super) fn withdraw(
        &mut self,
        which: &mut dyn FnMut(&Placed) -> bool,
    ) -> Vec<(NodeKey, Placed)> {
        let mut taken = Vec::new();
        for (key, node) in (0..).map(NodeKey).zip(&mut self.nodes) {
            let Some(node) = node.as_deref_mut().filter(|node| !node.awaiting.is_empty()) else {
                continue;
            };
            let awaiting = std::mem::take(&mut node.awaiting).into_iter();
            let (out, stay): (Vec<_>, Vec<_>) = awaiting.partition(&mut *which);
            node.awaiting = stay.into();
            taken.extend(out.into_iter().map(|part| (key, part)));
        }
        taken
    }

    /// Keeps room free for so many tasks of a class.
    pub(super) fn reserve(&mut self, key: NodeKey, class: ClassId, units: u32) {
        if let Some(node) = self.get_mut(key) {
            node.reserved.push((class, units));
            self.open.remove(key.0);
        }
    }

    pub(super) fn drop_reserved(&mut self, key: NodeKey, class: ClassId) {
        let Some(node) = self.get_mut(key) else {
            return;
        };
        node.reserved.retain(|&(other, _)| other != class);
        if node.reserved.is_empty() {
            let free = node.free.slots();
            self.open.set(key.0, free);
        }
    }

    fn changed(&mut self, key: NodeKey) {
        let Some(free) = self.get(key).map(|node| node.free.slots()) else {
            return;
        };
        self.levels.set(key.0, free);
        if self.open.contains(key.0) {
            self.open.set(key.0, free);
        }
        if self.hungry.contains(key.0) {
            self.hungry.set(key.0, free);
        }
    }
}

impl Node {
    /// What is kept free for which class. Nothing, while bodies wait for others here: it might be kept from these.
    pub(super) fn reserved(&self) -> &[(ClassId, u32)] {
        if self.lent > 0 { &[] } else { &self.reserved }
    }

    /// What is kept free for which class, or will be again once no body waits here.
    pub(super) fn all_reserved(&self) -> &[(ClassId, u32)] {
        &self.reserved
    }

    /// How many slots it has, lent ones included, and how many of them are in use.
    #[cfg(test)]
    pub(super) fn slots(&self) -> (u32, u32) {
        let total = self.own.slots() + i64::from(self.lent);
        (total as u32, (total - self.free.slots()) as u32)
    }

    #[cfg(debug_assertions)]
    fn note(&mut self, class: ClassId, units: i64) {
        *self.charged.entry(class).or_default() += units;
        self.charged.retain(|_, &mut units| units != 0);
    }

    #[cfg(not(debug_assertions))]
    fn note(&mut self, _: ClassId, _: i64) {}

    /// Whether what is free and what is out add up to what there is.
    #[cfg(debug_assertions)]
    pub(super) fn is_consistent<'a>(&self, needs: impl Fn(ClassId) -> &'a Needs) -> bool {
        let mut whole = self.own.clone();
        whole.lend(self.lent.into());
        let mut gpus = self.free.gpus.total();
        for (&class, &units) in &self.charged {
            if units < 0 {
                return false;
            }
            whole.charge(needs(class), units);
            gpus += needs(class).gpus().ten_thousandths() * units.cast_unsigned();
        }
        whole.agrees_with(&self.free) && gpus == self.own.gpus.total()
    }
}

impl Allocation {
    /// How many tasks' shares it holds.
    #[cfg(test)]
    pub(crate) fn units(&self) -> u32 {
        self.units
    }

    /// The devices held, those of each task together.
    pub(crate) fn gpus(&self) -> &[GpuShare] {
        &self.gpus
    }

    pub(super) fn class(&self) -> ClassId {
        self.class
    }
}
