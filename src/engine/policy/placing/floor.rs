//! Nodes, classes, and what is reserved where.

use super::classes::Classes;
use super::needs::Stock;
use super::nodes::{Allocation, Nodes};
use super::rank::Position;
use super::visit::Scratch;
use super::{ClassId, NodeKey, Placed};
use crate::model::{Capacity, Placement};

/// Nodes, classes, and what is reserved where.
#[derive(Default)]
pub(super) struct Floor {
    pub(super) nodes: Nodes,
    pub(super) classes: Classes,
    pub(super) placement: Placement,
    pub(super) woken: Vec<NodeKey>,
    /// How many gangs have started.
    pub(super) gangs: u64,
    /// Classes for which something was reserved, or no longer is, since the last look.
    pub(super) reheld: Vec<ClassId>,
    /// The candidate that is looked at.
    pub(super) candidate: Position,
    pub(super) scratch: Scratch,
    /// What the visited node has for whoever comes next, once something is reserved there for the more urgent.
    pub(super) spare: Stock,
    pub(super) withheld: bool,
}

/// Changes.
impl Floor {
    pub(super) fn add_node(&mut self, capacity: &Capacity) -> NodeKey {
        let own = Stock::new(capacity, &mut self.classes.names);
        self.nodes.add(own)
    }

    pub(super) fn remove_node(&mut self, node: NodeKey) -> Vec<Placed> {
        self.drop_holds_at(node);
        let removed = self.nodes.remove(node);
        removed.map(|node| node.awaiting.into()).unwrap_or_default()
    }

    /// A part of a gang that waits for the node to ask.
    pub(super) fn pick_up(&mut self, node: NodeKey) -> Option<Placed> {
        let part = self.nodes.get_mut(node)?.awaiting.pop_front()?;
        self.nodes.set_hungry(node, false);
        Some(part)
    }

    /// Charges tasks of a class to a node. What was reserved there for the class has served.
    pub(super) fn charge(&mut self, node: NodeKey, class: ClassId, units: u32) -> Allocation {
        self.nodes.set_hungry(node, false);
        let held = &self.classes.get(class).hold.places;
        if held.iter().any(|&(held, _)| held == node.0) {
            self.drop_hold(class);
        }
        self.nodes
            .charge(node, class, &self.classes.get(class).needs, units)
    }

    /// In debug builds: the node's books agree.
    #[cfg(debug_assertions)]
    pub(super) fn check(&self, node: NodeKey) {
        debug_assert!(
            self.is_consistent_for(node),
            "the books of {node:?} don't agree"
        );
    }

    #[cfg(not(debug_assertions))]
    pub(super) fn check(&self, _: NodeKey) {}

    #[cfg(debug_assertions)]
    fn is_consistent_for(&self, key: NodeKey) -> bool {
        let Some(node) = self.nodes.get(key) else {
            return true;
        };
        node.is_consistent(|class| &self.classes.get(class).needs)
            && node.all_reserved().iter().all(|&(class, units)| {
                self.classes
                    .get(class)
                    .hold
                    .places
                    .contains(&(key.0, units))
            })
    }
}
