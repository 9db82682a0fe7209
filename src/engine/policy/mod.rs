//! Whether, when and where tasks run.
//!
//! Plain state behind the engine's lock. It never does I/O, never reads a clock, starts no thread and calls no body:
//! what follows from a decision is left in [`Effects`].

mod actions;
mod at_work;
mod attempts;
mod cancel;
mod charge;
mod check;
mod entry;
mod explain;
mod explain_all;
mod gang;
mod join;
mod ledger;
mod limits;
mod listen;
mod node;
mod offers;
mod order;
mod places;
mod placing;
mod queue;
mod reactivate;
mod refuse;
#[cfg(feature = "journal")]
mod restore;
mod revival;
mod settle;
mod stall;
mod strays;
mod take;
mod timers;
mod walk;
mod watch;

pub(crate) use attempts::Failure;
pub(crate) use charge::Charge;
pub(crate) use entry::{LeaseKey, RunRank};
pub(crate) use ledger::Ledger;
pub(crate) use order::Order;
pub(crate) use placing::{Lane as ReadyTasks, NodeKey, Part};
pub(crate) use queue::Place;
pub(crate) use reactivate::Again;
#[cfg(feature = "journal")]
pub(crate) use restore::{KnownTask, Past, PastEnd, Report};
#[cfg(all(feature = "process", target_os = "linux"))]
pub(crate) use settle::Ended;
pub use settle::Outcome;
pub(crate) use strays::Due;
pub(crate) use take::{Begun, Taken, TakenWork};
pub(crate) use timers::Time;

use super::chronicle::Fact;
use super::flow::Segment;
use super::{Effects, Item, Run};
use crate::job::Frozen;
use crate::model::{Capacity, Result};
use charge::Charges;
use entry::Entry;
use limits::Limits;
use node::Nodes;
use offers::Offers;
use placing::{Placing, Position, RunKey};
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use timers::{Alarm, Timers};

/// The pool's runs that have not ended, its nodes, and what is to be done next.
#[derive(Default)]
pub(crate) struct Policy {
    runs: BTreeMap<RunRank, Entry>,
    /// What the policy starts itself, and what there is for it and for lanes.
    placing: Placing,
    offers: Offers,
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
        self.enter_run(run, offered)?;
        self.begin_run(run, effects);
        Ok(())
    }

    fn enter_run(&mut self, run: &Arc<Run>, offered: &[Capacity]) -> Result<()> {
        if self.closed {
            return Err(super::pool_closed().in_job(run.name()));
        }
        self.refuse_too_large(run.job(), offered)?;
        let entry = self.new_entry(run);
        self.runs.insert(run.rank(), entry);
        Ok(())
    }

    fn begin_run(&mut self, run: &Arc<Run>, effects: &mut Effects) {
        run.observe(effects.hears_pool);
        effects.note(run, || Fact::RunSubmitted(run.flow().first.job.clone()));
        self.queue_sources(run, &run.flow().first, effects);
        self.set_run_timer(run, |limit| run.after(&run.flow().first, limit), effects);
        self.set_deadlines(run, &run.flow().first, effects);
        self.recall_less_urgent(run);
        if run.job().tasks == 0 && !run.job().open {
            self.end(run, effects);
        }
        effects.wake = true;
    }

    fn new_entry(&mut self, run: &Arc<Run>) -> Entry {
        let rank = run.rank();
        let group = self.limits.add(rank, run.job().max_parallel_tasks, None);
        let segments = run.flow().segments();
        let arrays = segments.flat_map(|segment| self.limit_arrays(rank, group, &segment.job));
        Entry::new(run.clone(), group, arrays.collect())
    }

    /// Makes groups for the arrays that have a limit of their own.
    fn limit_arrays(
        &mut self,
        rank: RunRank,
        group: RunKey,
        job: &Frozen,
    ) -> FxHashMap<u32, RunKey> {
        let mut limit = |most| self.limits.add(rank, Some(most), Some(group));
        let arrays = job.limited_arrays();
        arrays.map(|(node, most)| (node, limit(most))).collect()
    }

    /// The limit of the run as a whole is over at a time that `end` says.
    fn set_run_timer(&mut self, run: &Run, end: impl FnOnce(Time) -> Time, effects: &mut Effects) {
        if let Some(limit) = run.job().time_limit {
            self.set_timer(run, end(limit), Alarm::RunLimit(run.rank()), effects);
        }
    }

    fn set_deadlines(&mut self, run: &Run, segment: &Segment, effects: &mut Effects) {
        for (deadline, task) in segment.job.deadlines() {
            let alarm = Alarm::Deadline(run.rank(), task);
            self.set_timer(run, run.after(segment, deadline), alarm, effects);
        }
    }

    /// A timer that goes with the run.
    fn set_timer(&mut self, run: &Run, at: Time, alarm: Alarm, effects: &mut Effects) {
        let Some(entry) = self.runs.get_mut(&run.rank()) else {
            return;
        };
        entry.timers.push(self.timers.set(at, alarm));
        effects.retime = true;
    }

    /// Whether a lane, or a grant, of this run should give back what it has not begun: its run is disabled, something more
    /// urgent waits, or its node has fewer slots than are in use.
    pub(crate) fn wants_back(&self, run: &Run) -> bool {
        let more_urgent = |rank: RunRank| rank.is_more_urgent_than(run.rank());
        let mut may = |group| self.limits.room(group);
        let bound = Position::before(run.rank().plain());
        run.is_disabled()
            || self.placing.is_over_committed()
            || self.first_plain(true).is_some_and(more_urgent)
            || self.placing.has_before(bound, &mut may)
    }

    /// Whether there is something to start.
    fn has_work(&self) -> bool {
        self.placing.has_ready() || self.first_plain(false).is_some()
    }

    /// Whether there is something to start, or to steal from a lane.
    fn has_or_shares_work(&self) -> bool {
        self.placing.has_ready() || self.first_plain(true).is_some()
    }

    /// Closes the pool: nothing more is taken in, but from tasks of open runs.
    pub(crate) fn close(&mut self, effects: &mut Effects) {
        self.closed = true;
        self.seal_all(effects);
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

    /// Ends the run, unless tasks have been reactivated since its last one ended.
    pub(super) fn end_if_through(&mut self, run: &Run, effects: &mut Effects) {
        if run.flow().is_through() {
            self.end(run, effects);
        }
    }

    /// The run has ended: nobody hears of it from the policy any more.
    pub(super) fn end(&mut self, run: &Run, effects: &mut Effects) {
        let Some(entry) = self.runs.remove(&run.rank()) else {
            return;
        };
        self.withdraw(run.rank());
        entry
            .all_timers()
            .for_each(|timer| self.timers.clear(timer));
        for group in entry.groups() {
            effects.unplaced.extend(self.placing.remove_run(group));
            self.limits.forget(group);
        }
        entry.run.ledger().last_attempts = entry.attempts;
        entry.run.mark_ended(effects.now());
        effects.note(&entry.run, || Fact::RunEnded(run.error().map(Box::new)));
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
            self.offer(run);
            effects.wake = true;
        }
    }
}
