//! What bodies say of how far they are, and attempts that say nothing for too long.

use super::timers::{Alarm, TimerKey};
use super::{Effects, Policy, Run};
use crate::engine::chronicle::Fact;
use crate::model::{ProgressReport, TaskId};
use std::time::Duration;

impl Policy {
    /// A body says how far it is.
    pub(crate) fn progress(
        &mut self,
        run: &Run,
        task: TaskId,
        attempt: u32,
        report: ProgressReport,
        effects: &mut Effects,
    ) {
        if run.ended_state(task).is_some() || !self.hear(run, task, attempt, effects) {
            return;
        }
        effects.note(run, || Fact::Progress {
            task,
            attempt,
            report: Box::new(report),
        });
    }

    /// The attempt has been heard of. Returns whether it counts: a lane's is not leased, and does.
    fn hear(&mut self, run: &Run, task: TaskId, attempt: u32, effects: &mut Effects) -> bool {
        let Some(lease) = self
            .entry(run)
            .and_then(|entry| entry.leased.get_mut(&task))
        else {
            return attempt == 1;
        };
        if lease.attempt != attempt {
            return false;
        }
        lease.heard = effects.now();
        if lease.watch.is_none() {
            self.watch_attempt(run, task, attempt, effects);
        }
        true
    }

    /// Has it noticed when nothing is heard of an attempt for too long, counted from now.
    pub(super) fn watch_attempt(
        &mut self,
        run: &Run,
        task: TaskId,
        attempt: u32,
        effects: &mut Effects,
    ) {
        let watch = self.watch_progress(run, task, attempt, effects.now(), effects);
        let leased = self.entry(run).map(|entry| &mut entry.leased);
        if let Some(lease) = leased.and_then(|leased| leased.get_mut(&task)) {
            lease.watch = watch;
        }
    }

    /// Has it noticed when nothing is heard of an attempt for too long, counted from `heard`.
    pub(super) fn watch_progress(
        &mut self,
        run: &Run,
        task: TaskId,
        attempt: u32,
        heard: Duration,
        effects: &mut Effects,
    ) -> Option<TimerKey> {
        let limit = run.with_settings(task, |settings| settings.stalled_after)?;
        effects.retime = true;
        let alarm = Alarm::Stalled(run.rank(), task, attempt);
        Some(self.timers.set(heard + limit, alarm))
    }

    /// Looks whether the attempt has been heard of lately. It is told of once, until it is heard of again.
    pub(super) fn look_for_stall(
        &mut self,
        run: &Run,
        task: TaskId,
        attempt: u32,
        effects: &mut Effects,
    ) {
        let limit = run.with_settings(task, |settings| settings.stalled_after);
        let limit = limit.unwrap_or_default();
        let lease = self.entry(run).and_then(|entry| entry.leased.get(&task));
        let Some(heard) = lease
            .filter(|lease| lease.attempt == attempt)
            .map(|lease| lease.heard)
        else {
            return;
        };
        let silent = effects.now().saturating_sub(heard);
        let watch = match silent < limit {
            true => self.watch_progress(run, task, attempt, heard, effects),
            false => {
                effects.note(run, || Fact::Stalled {
                    task,
                    attempt,
                    silent,
                });
                None
            }
        };
        if let Some(lease) = self
            .entry(run)
            .and_then(|entry| entry.leased.get_mut(&task))
        {
            lease.watch = watch;
        }
    }
}
