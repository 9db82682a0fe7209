//! Whether, when and where tasks run.
//!
//! Plain state behind the engine's lock. It never does I/O, never reads a clock, starts no thread and calls no body:
//! what follows from a decision is left in [`Effects`].

mod cancel;
mod entry;
mod ledger;
mod node;
mod order;
mod settle;
mod take;

pub(crate) use entry::LeaseKey;
pub(crate) use ledger::Ledger;
pub(crate) use node::{Charge, NodeKey};
pub(crate) use order::Order;
pub use settle::{Outcome, Returned};
pub(crate) use take::{Taken, TakenWork};

use super::{Effects, Item, Run};
use crate::model::TaskId;
use entry::Entry;
use node::Nodes;
use std::collections::VecDeque;
use std::sync::Arc;

/// The pool's runs that have not ended, its nodes, and what is to be done next.
#[derive(Default)]
pub(crate) struct Policy {
    /// By priority, then in the order of submission.
    runs: Vec<Entry>,
    nodes: Nodes,
    orders: VecDeque<Order>,
    closed: bool,
    /// The executor has gone: nothing will run any more.
    abandoned: bool,
}

impl Policy {
    /// Takes a run in; false when the pool is closed.
    pub(super) fn submit(&mut self, run: &Arc<Run>, effects: &mut Effects) -> bool {
        if self.closed {
            return false;
        }
        let mut entry = Entry::new(run.clone());
        entry.ready.extend(run.flow().initial());
        let priority = run.job().priority;
        let at = self
            .runs
            .partition_point(|other| other.run.job().priority >= priority);
        self.runs.insert(at, entry);
        // Lanes of less urgent runs are asked to look: see `wants_back`.
        self.runs[at + 1..]
            .iter()
            .for_each(|other| other.run.flow().gate.raise());
        if run.job().tasks == 0 {
            self.end(run, effects);
        }
        effects.wake = true;
        true
    }

    /// Whether a lane, or a grant, of this run should give back what it has not begun: something more urgent waits, or its node has
    /// fewer slots than are in use.
    pub(crate) fn wants_back(&self, run: &Run) -> bool {
        let more_urgent = |other: &&Entry| other.run.job().priority > run.job().priority;
        self.nodes.over_committed()
            || self
                .runs
                .iter()
                .take_while(more_urgent)
                .any(Entry::has_or_shares_work)
    }

    /// Closes the pool: nothing more is taken in.
    pub(crate) fn close(&mut self, effects: &mut Effects) {
        self.closed = true;
        effects.changed = true;
        effects.wake_all = true;
    }

    /// Whether takers have nothing to expect any more.
    pub(crate) fn is_over(&self) -> bool {
        self.abandoned || self.closed && self.runs.is_empty()
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.runs.is_empty()
    }

    /// Whether no worker, and no body that waits, is at anything.
    pub(crate) fn holds_nothing(&self) -> bool {
        self.nodes.are_free()
    }

    /// What workers hold. To be dropped outside the engine's lock, since the last holder of a charge takes it.
    pub(crate) fn charges(&self) -> Vec<Arc<Charge>> {
        self.nodes.charges().collect()
    }

    fn entry(&mut self, run: &Run) -> Option<&mut Entry> {
        self.runs
            .iter_mut()
            .find(|entry| std::ptr::eq(&*entry.run, run))
    }

    /// The run has ended: nobody hears of it from the policy any more.
    pub(super) fn end(&mut self, run: &Run, effects: &mut Effects) {
        let Some(at) = self
            .runs
            .iter()
            .position(|entry| std::ptr::eq(&*entry.run, run))
        else {
            return;
        };
        let entry = self.runs.remove(at);
        entry.run.mark_ended();
        // Lanes that wait in its crew, or are stuck in a body, have nothing to look for.
        entry.run.flow().gate.raise();
        effects.notify.extend(entry.watchers.into_values());
        effects.ended.push(entry.run);
        effects.wake = true;
        effects.wake_all |= self.is_over();
    }

    /// Ready work that its lane will not begin.
    pub(crate) fn give_back(&mut self, run: &Run, items: Vec<Item>, effects: &mut Effects) {
        if let Some(entry) = self.entry(run) {
            entry.ready.extend(items);
            effects.wake = true;
        }
    }

    /// A node is ready that lanes don't start: a task, or an array's elements.
    pub(super) fn queue_node(&mut self, run: &Run, node: u32, effects: &mut Effects) {
        match run.job().array_of_node(node) {
            Some(array) => {
                let Some(entry) = self.entry(run) else { return };
                if run.flow().open(array, entry) {
                    run.flow().array_succeeded(array, entry);
                    effects.finish.push((entry.run.clone(), array));
                    self.notify_array_watchers(run, array, effects);
                }
                effects.wake = true;
            }
            None => self.queue(run, [TaskId(node)], effects),
        }
    }

    /// Tasks are ready that lanes don't start.
    pub(super) fn queue(
        &mut self,
        run: &Run,
        tasks: impl IntoIterator<Item = TaskId>,
        effects: &mut Effects,
    ) {
        if let Some(entry) = self.entry(run) {
            entry.queued.extend(tasks);
            effects.wake = true;
        }
    }
}
