//! Whether, when and where tasks run.
//!
//! Plain state behind the engine's lock. It never does I/O, never reads a clock, starts no thread and calls no body:
//! what follows from a decision is left in [`Effects`].

mod actions;
mod attempts;
mod cancel;
mod charge;
mod check;
mod entry;
mod explain;
mod gang;
mod ledger;
mod limits;
mod listen;
mod node;
mod order;
mod places;
mod placing;
mod queue;
mod refuse;
mod settle;
mod stall;
mod take;
mod timers;
mod walk;

pub(crate) use attempts::Failure;
pub(crate) use charge::Charge;
pub(crate) use entry::{LeaseKey, RunRank};
pub(crate) use ledger::Ledger;
pub(crate) use order::Order;
pub(crate) use placing::{Lane as ReadyTasks, NodeKey, Part};
pub(crate) use queue::Place;
pub use settle::Outcome;
pub(crate) use take::{Begun, Taken, TakenWork};
pub(crate) use timers::Time;

use super::chronicle::Fact;
use super::{Effects, Item, Run};
use crate::model::{Capacity, Result};
use charge::Charges;
use entry::Entry;
use limits::Limits;
use node::Nodes;
use placing::{Placing, Position};
use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound;
use std::sync::Arc;
use timers::{Alarm, Timers};

/// The pool's runs that have not ended, its nodes, and what is to be done next.
#[derive(Default)]
pub(crate) struct Policy {
    runs: BTreeMap<RunRank, Entry>,
    /// What the policy starts itself, and what there is for it and for lanes.
    placing: Placing,
    limits: Limits,
    nodes: Nodes,
    charges: Charges,
    timers: Timers,
    orders: VecDeque<Order>,
    closed: bool,
    /// The executor has gone: nothing will run any more.
    abandoned: bool,
}

impl Policy {
    /// Takes a run in, unless the pool is closed or can never run it. `offered` are nodes that the executor has, or will
    /// have; nothing, if it can't say.
    pub(super) fn submit(
        &mut self,
        run: &Arc<Run>,
        offered: &[Capacity],
        effects: &mut Effects,
    ) -> Result<()> {
        if self.closed {
            return Err(super::pool_closed().in_job(run.name()));
        }
        self.refuse_too_large(run.job(), offered)?;
        let entry = self.new_entry(run);
        self.runs.insert(run.rank(), entry);
        run.observe(effects.hears_pool);
        effects.note(run, || Fact::RunSubmitted(run.flow().job.clone()));
        self.queue_sources(run, effects);
        self.set_run_timers(run, effects);
        self.recall_less_urgent(run);
        if run.job().tasks == 0 {
            self.end(run, effects);
        }
        effects.wake = true;
        Ok(())
    }

    fn new_entry(&mut self, run: &Arc<Run>) -> Entry {
        let (job, rank) = (run.job(), run.rank());
        let group = self.limits.add(rank, job.max_parallel_tasks, None);
        let arrays = job.limited_arrays();
        let arrays =
            arrays.map(|(node, most)| (node, self.limits.add(rank, Some(most), Some(group))));
        Entry::new(run.clone(), group, arrays.collect())
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

    /// Whether a lane, or a grant, of this run should give back what it has not begun: its run is disabled, something more
    /// urgent waits, or its node has fewer slots than are in use.
    pub(crate) fn wants_back(&self, run: &Run) -> bool {
        let more_urgent = |(rank, _): &(&RunRank, &Entry)| rank.is_more_urgent_than(run.rank());
        let mut before = self.runs.iter().take_while(more_urgent);
        let mut may = |group| self.limits.room(group);
        let bound = Position::before(run.rank().plain());
        run.is_disabled()
            || self.placing.is_over_committed()
            || before.any(|(_, entry)| entry.has_or_shares_plain())
            || self.placing.has_before(bound, &mut may)
    }

    /// If plain tasks of a run are ready, lanes of less urgent runs are asked to look: see `wants_back`.
    fn recall_less_urgent(&self, run: &Run) {
        let ready = self.runs.get(&run.rank());
        if ready.is_none_or(|entry| entry.ready.is_empty()) {
            return;
        }
        let behind = (Bound::Excluded(run.rank().last_equal()), Bound::Unbounded);
        let less_urgent = self.runs.range(behind);
        less_urgent.for_each(|(_, entry)| entry.run.flow().gate.raise());
    }

    /// Whether there is something to start.
    fn has_work(&self) -> bool {
        self.placing.has_ready() || self.runs.values().any(|entry| entry.has_plain())
    }

    /// Whether there is something to start, or to steal from a lane.
    fn has_or_shares_work(&self) -> bool {
        self.placing.has_ready() || self.runs.values().any(Entry::has_or_shares_plain)
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
        self.charges.are_all_back()
    }

    /// What workers hold. To be dropped outside the engine's lock, since the last holder of a charge takes it.
    pub(crate) fn charges(&self) -> Vec<Arc<Charge>> {
        self.charges.iter().collect()
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
        for group in entry.groups() {
            effects.unplaced.extend(self.placing.remove_run(group));
            self.limits.forget(group);
        }
        entry.run.mark_ended(effects.now);
        effects.note(run, || Fact::RunEnded(run.error().map(Box::new)));
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
            entry.take_in(items);
            effects.wake = true;
        }
    }
}
