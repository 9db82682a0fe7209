//! Packing and spreading: which of the nodes that wait for work a task goes to.

use super::floor::Floor;
use super::{ClassId, NodeKey};
use crate::model::Placement;

impl Floor {
    /// How many of so many tasks the node gets, in view of others that wait for work: 0 when one of them suits better.
    pub(super) fn share(&mut self, node: NodeKey, class: ClassId, units: u32) -> u32 {
        match self.placement {
            Placement::Spread => self.spread(node, class, units),
            Placement::Pack => self.pack(node, class, units),
        }
    }

    fn pack(&mut self, node: NodeKey, class: ClassId, units: u32) -> u32 {
        let better = self.fuller(node, class);
        better
            .into_iter()
            .for_each(|other| self.stand_back_for(other));
        if better.is_some() { 0 } else { units }
    }

    /// Of the nodes that wait for work and have room, one that is fuller.
    fn fuller(&self, node: NodeKey, class: ClassId) -> Option<NodeKey> {
        let free = self.nodes.get(node)?.free.slots();
        let least = self.classes.get(class).needs.slots();
        let nodes = self.nodes.hungry.ascending(least).map(NodeKey);
        let fuller = nodes.map_while(|other| Some((other, self.nodes.get(other)?.free.slots())));
        let mut fuller = fuller
            .take_while(|&(_, slots)| slots < free)
            .map(|(other, _)| other);
        fuller.find(|&other| self.has_room(other, class, 1))
    }

    /// So many that the node is not left fuller than the emptiest of the others; none when that one is emptier already.
    fn spread(&mut self, node: NodeKey, class: ClassId, units: u32) -> u32 {
        let (Some(free), Some((other, most))) = (self.free_slots(node), self.emptiest(node, class))
        else {
            return units;
        };
        if most > free {
            self.stand_back_for(other);
            return 0;
        }
        let each = self.classes.get(class).needs.slots().max(1);
        u32::try_from((free - most) / each)
            .map_or(units, |ahead| units.min(ahead.saturating_add(1)))
    }

    /// Of the other nodes that wait for work and have room, the emptiest.
    fn emptiest(&self, node: NodeKey, class: ClassId) -> Option<(NodeKey, i64)> {
        let least = self.classes.get(class).needs.slots();
        let mut others = self
            .nodes
            .hungry
            .descending(least)
            .map(|(_, other)| NodeKey(other));
        let other = others.find(|&other| other != node && self.has_room(other, class, 1))?;
        Some((other, self.free_slots(other)?))
    }

    fn free_slots(&self, node: NodeKey) -> Option<i64> {
        Some(self.nodes.get(node)?.free.slots())
    }

    /// A node is to have what another was asked for.
    fn stand_back_for(&mut self, other: NodeKey) {
        if let Some(node) = self.nodes.get_mut(other) {
            node.expected = true;
        }
        self.woken.push(other);
    }

    /// A node that others stood back for took something; or it took nothing, and they need not again.
    pub(super) fn note_answer(&mut self, key: NodeKey, took: bool) {
        let Some(node) = self.nodes.get_mut(key) else {
            return;
        };
        let expected = std::mem::take(&mut node.expected);
        node.passed = !took && (node.passed || expected);
        if expected && !took {
            self.nodes.set_hungry(key, false);
            self.woken.push(key);
        }
    }
}
