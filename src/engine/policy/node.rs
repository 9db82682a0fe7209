//! Nodes as the executor sees them: they join, change, and leave.

use super::placing::NodeKey;
use super::{Effects, Policy};
use crate::engine::chronicle::{Fact, NodeSeen};
use crate::model::{NodeSpec, Placement};
use std::collections::BTreeMap;

/// What the policy knows of its nodes beside what they have.
#[derive(Default)]
pub(super) struct Nodes(BTreeMap<NodeKey, Node>);

struct Node {
    seen: NodeSeen,
    /// Workers that stand in for bodies that wait.
    stand_ins: u32,
}

impl Policy {
    /// Adds a node; says whether there are others.
    pub(crate) fn join(&mut self, spec: NodeSpec, effects: &mut Effects) -> (NodeKey, bool) {
        let key = self.placing.add_node(&spec.capacity);
        let (labels, slots) = (spec.labels, spec.capacity.slot_count());
        let (seen, stand_ins) = (NodeSeen { labels, slots }, 0);
        effects.note_node(|| Fact::NodeJoined {
            node: key,
            seen: Box::new(seen.clone()),
        });
        self.nodes.0.insert(key, Node { seen, stand_ins });
        (key, self.nodes.0.len() > 1)
    }

    /// What the node holds goes on until it is given back, on nobody's account.
    pub(crate) fn leave(&mut self, node: NodeKey, effects: &mut Effects) {
        effects.note_node(|| Fact::NodeLeft(node));
        self.nodes.0.remove(&node);
        let parts = self.placing.remove_node(node);
        self.regroup_all(parts, effects);
        // What was kept for it may be elsewhere now, and others may be what a task goes to.
        effects.wake = true;
    }

    /// The node has another number of slots now. What is in use beyond them is given back between tasks.
    pub(crate) fn resize(&mut self, node: NodeKey, slots: u32, effects: &mut Effects) {
        self.placing.resize_slots(node, slots);
        if let Some(state) = self.nodes.0.get_mut(&node) {
            state.seen.slots = slots;
        }
        effects.note_node(|| Fact::NodeResized { node, slots });
        self.recall_lanes();
        effects.wake = true;
    }

    /// The node has asked in vain and waits, or no longer does: tasks may be left for it, or no longer.
    pub(crate) fn set_waiting(&mut self, node: NodeKey, waits: bool, effects: &mut Effects) {
        effects.wake_all |= self.placing.set_hungry(node, waits);
    }

    /// Where tasks go from now on, of the nodes that wait for some.
    pub(crate) fn set_placement(&mut self, placement: Placement, effects: &mut Effects) {
        self.placing.set_placement(placement);
        effects.wake_all = true;
    }

    /// A worker stands in for a body that waits, or no longer does.
    pub(crate) fn stand_in(&mut self, node: NodeKey, more: bool, effects: &mut Effects) {
        let Some(state) = self.nodes.0.get_mut(&node) else {
            return;
        };
        state.stand_ins = if more {
            state.stand_ins + 1
        } else {
            state.stand_ins.saturating_sub(1)
        };
        self.placing.set_lent(node, state.stand_ins);
        if !more {
            self.recall_lanes();
        }
        effects.wake = true;
    }

    /// Lanes look whether they are to give back what they have not begun: see `wants_back`.
    fn recall_lanes(&self) {
        let entries = self.runs.values();
        entries.for_each(|entry| entry.run.flow().gate.raise());
    }
}

impl Nodes {
    pub(super) fn seen(&self) -> Vec<(NodeKey, NodeSeen)> {
        let nodes = self.0.iter();
        nodes.map(|(&key, node)| (key, node.seen.clone())).collect()
    }

    /// What a node is called: by its labels, or by number.
    pub(super) fn name(&self, key: NodeKey) -> String {
        match self.0.get(&key) {
            Some(node) if !node.seen.labels.is_empty() => {
                format!("`{}`", node.seen.labels.join(" "))
            }
            _ => key.to_string(),
        }
    }
}
