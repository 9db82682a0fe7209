//! What the policy decided and others must carry out, once its lock is free.

use super::policy::{ReadyTasks, Time};
use super::{Engine, Run};
use crate::model::TaskId;
use event_listener::Event;
use std::sync::Arc;

/// Collected under the engine's lock, applied after it.
#[derive(Default)]
pub(crate) struct Effects {
    /// The time at which it was asked.
    pub(crate) now: Time,
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
    /// Tasks that succeeded through the policy: their inputs are let go.
    pub(crate) release: Vec<(Arc<Run>, TaskId)>,
    /// What runs that have ended had ready: only to be dropped.
    pub(crate) unplaced: Vec<ReadyTasks>,
    /// Arrays that are complete: what they wanted as a whole is let go.
    pub(crate) finish: Vec<(Arc<Run>, TaskId)>,
}

impl Effects {
    pub(super) fn at(now: Time) -> Self {
        Effects {
            now,
            ..Effects::default()
        }
    }

    pub(super) fn apply(self, engine: &Engine) {
        for (run, task) in &self.release {
            run.release(*task);
        }
        for (run, array) in &self.finish {
            run.finish_array(*array);
        }
        self.notify.iter().for_each(|event| notify(event));
        self.ended.iter().for_each(|run| run.announce_end());
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
