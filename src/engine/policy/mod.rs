//! Whether, when and where tasks run.
//!
//! Plain state behind the engine's lock. It never does I/O, never reads a clock, starts no thread and calls no body:
//! what follows from a decision is left in [`Effects`].

mod attempts;
mod cancel;
mod entry;
mod ledger;
mod node;
mod order;
mod settle;
mod take;
mod timers;

pub(crate) use attempts::Failure;
pub(crate) use entry::{LeaseKey, RunRank};
pub(crate) use ledger::Ledger;
pub(crate) use node::{Charge, NodeKey};
pub(crate) use order::Order;
pub use settle::Outcome;
pub(crate) use take::{Taken, TakenWork};
pub(crate) use timers::Time;

use super::{Effects, Item, Run};
use crate::model::{ELEMENT, TaskId};
use entry::Entry;
use node::Nodes;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use timers::{Alarm, Timers};

/// The pool's runs that have not ended, its nodes, and what is to be done next.
#[derive(Default)]
pub(crate) struct Policy {
    runs: BTreeMap<RunRank, Entry>,
    nodes: Nodes,
    timers: Timers,
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
        self.runs.insert(run.rank(), entry);
        self.set_run_timers(run, effects);
        // Lanes of less urgent runs are asked to look: see `wants_back`.
        self.runs
            .range(run.rank()..)
            .skip(1)
            .for_each(|(_, other)| other.run.flow().gate.raise());
        if run.job().tasks == 0 {
            self.end(run, effects);
        }
        effects.wake = true;
        true
    }

    fn set_run_timers(&mut self, run: &Run, effects: &mut Effects) {
        let (rank, start) = (run.rank(), run.submitted());
        let mut alarms: Vec<_> = run
            .job()
            .time_limit
            .map(|limit| (start + limit, Alarm::RunLimit(rank)))
            .into_iter()
            .collect();
        for (deadline, task) in run.job().deadlines() {
            alarms.push((start + deadline, Alarm::Deadline(rank, task)));
        }
        effects.retime |= !alarms.is_empty();
        let keys: Vec<_> = alarms
            .into_iter()
            .map(|(at, alarm)| self.timers.set(at, alarm))
            .collect();
        if let Some(entry) = self.entry(run) {
            entry.timers = keys;
        }
    }

    /// Whether a lane, or a grant, of this run should give back what it has not begun: something more urgent waits, or its node has
    /// fewer slots than are in use.
    pub(crate) fn wants_back(&self, run: &Run) -> bool {
        let more_urgent = |(rank, _): &(&RunRank, &Entry)| rank.is_more_urgent_than(run.rank());
        let mut before = self.runs.iter().take_while(more_urgent);
        self.nodes.over_committed() || before.any(|(_, entry)| entry.has_or_shares_work())
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
        self.runs.get_mut(&run.rank())
    }

    /// The run has ended: nobody hears of it from the policy any more.
    pub(super) fn end(&mut self, run: &Run, effects: &mut Effects) {
        let Some(entry) = self.runs.remove(&run.rank()) else {
            return;
        };
        entry
            .all_timers()
            .for_each(|timer| self.timers.clear(timer));
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
                self.queue_opened(run, effects);
                effects.wake = true;
            }
            None => self.queue(run, [TaskId(node)], effects),
        }
    }

    /// Elements that became ready while the flow had the entry for a sink, and that lanes don't start.
    pub(super) fn queue_opened(&mut self, run: &Run, effects: &mut Effects) {
        let opened = self
            .entry(run)
            .map(|entry| std::mem::take(&mut entry.opened))
            .unwrap_or_default();
        for elements in opened {
            self.queue(
                run,
                elements.map(|number| TaskId(number | ELEMENT)),
                effects,
            );
        }
    }

    /// Tasks are ready that lanes don't start.
    pub(super) fn queue(
        &mut self,
        run: &Run,
        tasks: impl IntoIterator<Item = TaskId>,
        effects: &mut Effects,
    ) {
        for task in tasks {
            let wait = run.job().settings_of(task).start_after.unwrap_or_default();
            self.ready_at(run, task, run.submitted() + wait, effects);
        }
    }

    /// The task may start as soon as there is room for it.
    fn enqueue(&mut self, run: &Run, task: TaskId, effects: &mut Effects) {
        if let Some(entry) = self.entry(run) {
            entry.queued.push_back(task);
            effects.wake = true;
        }
    }
}
