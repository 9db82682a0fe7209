//! Nodes: where resources are, and who holds them.

use super::Run;
use crate::engine::Engine;
use crate::engine::flow::LaneShared;
use crate::executor::NodeSpec;
use crate::model::TaskId;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock, Weak};

/// A node that has joined the pool.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct NodeKey(usize);

/// What a task takes of its node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ask {
    /// A slot, as for a body that keeps a thread busy.
    Slot,
    /// A slot for bodies that wait.
    AsyncSlot,
}

/// One worker's share of a node, from a grant until the last of its leases is over.
pub(crate) struct Charge {
    engine: Arc<Engine>,
    run: Arc<Run>,
    node: NodeKey,
    ask: Ask,
    /// The task begun last, plus one.
    task: AtomicU32,
    lane: OnceLock<Arc<LaneShared>>,
}

/// All nodes of a pool.
#[derive(Default)]
pub(super) struct Nodes(Vec<Node>);

struct Node {
    spec: NodeSpec,
    joined: bool,
    slots: u32,
    async_slots: u32,
    /// Workers that stand in for bodies that wait.
    stand_ins: u32,
    charges: Vec<Weak<Charge>>,
}

impl Nodes {
    pub(super) fn join(&mut self, spec: NodeSpec) -> NodeKey {
        self.0.push(Node {
            spec,
            joined: true,
            slots: 0,
            async_slots: 0,
            stand_ins: 0,
            charges: Vec::new(),
        });
        NodeKey(self.0.len() - 1)
    }

    pub(super) fn are_several(&self) -> bool {
        self.0.len() > 1
    }

    pub(super) fn leave(&mut self, node: NodeKey) {
        if let Some(node) = self.0.get_mut(node.0) {
            node.joined = false;
        }
    }

    pub(super) fn resize(&mut self, node: NodeKey, slots: u32) {
        if let Some(node) = self.0.get_mut(node.0) {
            node.spec.slots = slots;
        }
    }

    pub(super) fn stand_in(&mut self, node: NodeKey, more: bool) {
        if let Some(node) = self.0.get_mut(node.0) {
            node.stand_ins = if more {
                node.stand_ins + 1
            } else {
                node.stand_ins.saturating_sub(1)
            };
        }
    }

    /// Whether some node has more workers than slots.
    pub(super) fn over_committed(&self) -> bool {
        self.0
            .iter()
            .any(|node| node.slots > node.spec.slots + node.stand_ins)
    }

    pub(super) fn has_room(&self, node: NodeKey, ask: Ask) -> bool {
        self.0.get(node.0).is_some_and(|node| match ask {
            Ask::Slot => node.joined && node.slots < node.spec.slots + node.stand_ins,
            Ask::AsyncSlot => node.joined && node.async_slots < node.spec.async_slots,
        })
    }

    /// Charges a node that has room.
    pub(super) fn charge(
        &mut self,
        node: NodeKey,
        ask: Ask,
        run: &Arc<Run>,
    ) -> Option<Arc<Charge>> {
        let state = self.0.get_mut(node.0)?;
        *state.used(ask) += 1;
        let engine = run.engine().clone();
        let charge = Charge {
            engine,
            run: run.clone(),
            node,
            ask,
            task: AtomicU32::new(0),
            lane: OnceLock::new(),
        };
        let charge = Arc::new(charge);
        state.charges.push(Arc::downgrade(&charge));
        Some(charge)
    }

    pub(super) fn give_back(&mut self, node: NodeKey, ask: Ask) {
        if let Some(state) = self.0.get_mut(node.0) {
            *state.used(ask) -= 1;
            state.charges.retain(|charge| charge.strong_count() > 0);
        }
    }

    pub(super) fn are_free(&self) -> bool {
        self.0.iter().all(|node| node.slots + node.async_slots == 0)
    }

    pub(super) fn charges(&self) -> impl Iterator<Item = Arc<Charge>> + '_ {
        self.0
            .iter()
            .flat_map(|node| &node.charges)
            .filter_map(Weak::upgrade)
    }
}

impl Node {
    fn used(&mut self, ask: Ask) -> &mut u32 {
        match ask {
            Ask::Slot => &mut self.slots,
            Ask::AsyncSlot => &mut self.async_slots,
        }
    }
}

impl Charge {
    /// The same share once more, if the node has room for it.
    pub(crate) fn again(&self) -> Option<Arc<Charge>> {
        self.engine
            .with(|policy, _| policy.charge_again(self.node, self.ask, &self.run))
    }

    pub(crate) fn run(&self) -> &Arc<Run> {
        &self.run
    }

    /// A lane works on the charge's account.
    pub(crate) fn set_lane(&self, lane: &Arc<LaneShared>) {
        let _ = self.lane.set(lane.clone());
    }

    /// A lease was begun on the charge's account.
    pub(crate) fn set_task(&self, task: TaskId) {
        self.task.store(task.0 + 1, Ordering::Relaxed);
    }

    /// The task that is being run, by job and label.
    pub(crate) fn label(&self) -> Option<String> {
        let lane = self.lane.get().map(|lane| lane.task());
        let task = lane.or_else(|| self.task.load(Ordering::Relaxed).checked_sub(1).map(TaskId))?;
        Some(format!("{}/{}", self.run.name(), self.run.label(task)))
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        let (node, ask) = (self.node, self.ask);
        self.engine
            .with(|policy, effects| policy.give_back_charge(node, ask, effects));
    }
}
