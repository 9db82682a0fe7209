//! What the policy decided and others must carry out, once its lock is free.

use super::chronicle::{Chronicle, Fact, Record};
use super::clock::Moment;
use super::policy::{Charge, ReadyTasks, Time};
use super::{Engine, Run, trace};
use crate::model::{Error, Panic, TaskId};
use event_listener::Event;
use std::sync::Arc;

/// Collected under the engine's lock, applied after it.
#[derive(Default)]
pub(crate) struct Effects {
    moment: Moment,
    /// A timer was set.
    pub(crate) retime: bool,
    /// There may be work to take.
    pub(crate) wake: bool,
    /// There will be none any more.
    pub(crate) wake_all: bool,
    /// Orders were given, or a charge was returned.
    pub(crate) changed: bool,
    /// Those who waited for a task that has ended.
    pub(crate) notify: Vec<Arc<Event>>,
    /// Runs that have ended.
    pub(crate) ended: Vec<Arc<Run>>,
    /// Runs that are disabled, and of which nothing runs any more.
    pub(crate) rested: Vec<Arc<Run>>,
    /// Charges that were looked at: whoever drops the last holder of one takes the lock.
    pub(crate) held: Vec<Arc<Charge>>,
    /// Tasks that succeeded through the policy: their inputs are let go.
    pub(crate) release: Vec<(Arc<Run>, TaskId)>,
    /// What runs that have ended had ready: only to be dropped.
    pub(crate) unplaced: Vec<ReadyTasks>,
    /// Errors that no longer count: only to be dropped.
    pub(crate) forgotten: Vec<Error>,
    /// Arrays that are complete: what they wanted as a whole is let go.
    pub(crate) finish: Vec<(Arc<Run>, TaskId)>,
    /// Somebody listens to runs that begin, or to anything at all.
    pub(super) hears_pool: bool,
    has_audience: bool,
    /// What has happened, for those who listen.
    records: Vec<Record>,
    /// Tasks that have failed for good: to be logged.
    pub(crate) failed: Vec<Error>,
    recorded: bool,
}

impl Effects {
    pub(super) fn at(moment: Moment, chronicle: &Chronicle) -> Self {
        Effects {
            moment,
            hears_pool: chronicle.hears_pool(),
            has_audience: chronicle.has_audience(),
            ..Effects::default()
        }
    }

    /// The time at which it was asked, or a moment later: the same throughout a transition.
    pub(crate) fn now(&self) -> Time {
        self.moment.time()
    }

    /// Notes what happens to a run or its tasks, if somebody listens.
    pub(crate) fn note(&mut self, run: &Run, fact: impl FnOnce() -> Fact) {
        if run.is_observed() {
            self.record(run.seq(), fact());
        }
    }

    /// Notes what happens to a node, if somebody listens.
    pub(super) fn note_node(&mut self, fact: impl FnOnce() -> Fact) {
        if self.has_audience {
            self.record(0, fact());
        }
    }

    fn record(&mut self, run: u64, fact: Fact) {
        self.records.push(Record { at: 0, run, fact });
    }

    /// Writes down what was noted, under the engine's lock, so that it is in the order in which it was decided.
    pub(super) fn write_down(&mut self, engine: &Engine) {
        if !self.records.is_empty() {
            self.recorded = true;
            let records = std::mem::take(&mut self.records);
            engine.chronicle.write(engine.now(), records);
        }
    }

    pub(super) fn apply(self, engine: &Engine) {
        for (run, task) in &self.release {
            run.release(*task);
        }
        for (run, array) in &self.finish {
            run.finish_array(*array);
        }
        Panic::ignore_dropping(self.forgotten);
        self.notify.iter().for_each(|event| notify(event));
        self.ended.iter().for_each(|run| run.announce_end());
        self.failed.iter().for_each(trace::failed);
        if self.recorded {
            engine.chronicle.call(|| engine.now());
        }
        self.rested.iter().for_each(|run| notify(run.end_event()));
        if self.changed || !self.ended.is_empty() {
            notify(&engine.changed);
        }
        if self.retime {
            engine.clock.wind(&engine.me);
        }
        if self.wake_all {
            engine.bell.ring_all();
        } else if self.wake {
            engine.bell.ring();
        }
    }
}

fn notify(event: &Event) {
    event.notify(usize::MAX);
}
