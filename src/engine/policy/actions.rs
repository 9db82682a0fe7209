//! What is done to a run as a whole: it is disabled, enabled, terminated.

use super::placing::Position;
use super::{Effects, Entry, Policy, Run};
use crate::engine::chronicle::Fact;
use crate::model::{DisableTasks, Error, ErrorKind, JobAction, Returned, RunState, TaskId};
use std::collections::BTreeSet;

impl Policy {
    /// Lets nothing of a run start any more, until it is enabled.
    pub(crate) fn disable(
        &mut self,
        run: &Run,
        tasks: DisableTasks,
        by: Option<Error>,
        effects: &mut Effects,
    ) {
        // Lanes are told by the signal that this raises.
        self.quiesce(run, effects);
        let Some(entry) = self.entry(run) else { return };
        let group = entry.whole_group();
        run.set_disabled(true);
        self.limits.pause(group, true);
        run.ledger().disabled_by = by;
        effects.note(run, || Fact::RunDisabled);
        match tasks {
            DisableTasks::Wait => {}
            DisableTasks::Requeue => self.requeue_running(run, effects),
            DisableTasks::Terminate => {
                let running = self.running(run);
                self.cancel_tasks(run, &running, effects);
            }
        }
        self.come_to_rest(run, effects);
        // Others may have what was kept for it.
        effects.wake = true;
    }

    /// Lets a run go on that was disabled.
    pub(crate) fn enable(&mut self, run: &Run, effects: &mut Effects) {
        let Some(entry) = self.entry(run).filter(|_| run.is_disabled()) else {
            return;
        };
        let group = entry.whole_group();
        run.set_disabled(false);
        self.limits.pause(group, false);
        run.ledger().disabled_by = None;
        effects.note(run, || Fact::RunEnabled);
        self.offer(run);
        self.overtake(Position::before(run.rank().plain()));
        effects.wake = true;
    }

    /// Ends a run before its time.
    pub(crate) fn terminate(&mut self, run: &Run, reason: &str, effects: &mut Effects) {
        let message = format!("was terminated: {reason}");
        let cause = Error::new(ErrorKind::Cancelled, message).in_job(run.name());
        self.cancel_run(run, cause, effects);
    }

    /// Does what a task's exit conditions say about its job, now that the task has ended; with that error, if it failed.
    pub(super) fn act(
        &mut self,
        run: &Run,
        task: TaskId,
        action: JobAction,
        error: Option<Error>,
        effects: &mut Effects,
    ) {
        if action == JobAction::None {
            return;
        }
        let (kind, end, reason) = match error {
            Some(_) => (ErrorKind::TaskFailed, "failed", "TaskFailed"),
            None => (ErrorKind::Cancelled, "succeeded", "TaskSucceeded"),
        };
        let by = |what: String| {
            let by = Error::new(kind, what).in_job(run.name());
            error.into_iter().fold(by, Error::caused_by)
        };
        let since = || {
            format!(
                "since `{}` {end}, as its exit conditions say",
                run.label(task)
            )
        };
        match action {
            JobAction::None => {}
            JobAction::Disable => {
                let by = by(format!("was disabled {}", since()));
                self.disable(run, DisableTasks::Requeue, Some(by), effects);
            }
            JobAction::Terminate => {
                let by = by(format!("was terminated {}: {reason}", since()));
                self.cancel_run(run, by, effects);
            }
        }
    }

    /// How a run stands.
    pub(crate) fn run_state(&mut self, run: &Run, effects: &mut Effects) -> RunState {
        let is_out = |policy: &mut Self, effects: &mut Effects| {
            let held = policy.charges();
            let out = held.iter().any(|charge| std::ptr::eq(&**charge.run(), run));
            effects.held.extend(held);
            out
        };
        match run.has_ended() {
            true if run.ledger().ended_by.is_some() && is_out(self, effects) => {
                RunState::Terminating
            }
            true => RunState::Completed,
            false if run.is_at_rest() => RunState::Disabled,
            false if run.is_disabled() => RunState::Disabling,
            false => RunState::Active,
        }
    }
}

/// What of a run that is disabled runs.
impl Policy {
    /// The attempts that run count as over, and begin anew when the run is enabled.
    fn requeue_running(&mut self, run: &Run, effects: &mut Effects) {
        let Some(entry) = self.entry(run) else { return };
        let leased: Vec<_> = entry.leased.drain().collect();
        for (task, lease) in leased {
            self.stop_attempt(run, task, lease.attempt, None, effects);
            self.timers.clear_all(lease.timers());
            self.take_back(run, task, lease.attempt, Returned::TakenAway, effects);
        }
        let on_lanes = self.on_lanes(run);
        if on_lanes.is_empty() {
            return;
        }
        if let Some(entry) = self.entry(run) {
            entry.take_from_lanes(&on_lanes);
        }
        // One lane may have just begun what another has before it.
        let tasks: BTreeSet<_> = on_lanes.into_iter().map(|(_, task)| task).collect();
        for task in tasks {
            self.take_back(run, task, 1, Returned::TakenAway, effects);
        }
    }

    /// A task was taken, and must not begin since its run is disabled.
    pub(super) fn put_back(
        &mut self,
        run: &Run,
        task: TaskId,
        queued: bool,
        effects: &mut Effects,
    ) {
        match queued {
            true if run.ended_state(task).is_some() => (),
            true => {
                self.disband(run, task);
                self.enqueue(run, task, effects);
            }
            false => self.give_back_tasks(run, vec![task], effects),
        }
    }

    /// Tells those who wait when nothing of a disabled run runs any more.
    pub(super) fn come_to_rest(&mut self, run: &Run, effects: &mut Effects) {
        if !run.is_disabled() || run.is_at_rest() {
            return;
        }
        let idle = |entry: &&mut Entry| entry.leased.is_empty();
        let Some(entry) = self.entry(run).filter(idle) else {
            return;
        };
        let (owner, watchers): (_, Vec<_>) = (
            entry.run.clone(),
            entry.watchers.values().cloned().collect(),
        );
        if self.is_busy(run, effects) {
            return;
        }
        run.set_at_rest();
        effects.notify.extend(watchers);
        effects.rested.push(owner);
    }

    /// Whether some worker may be in, or about to begin, a body of the run that is not leased, and counts.
    fn is_busy(&mut self, run: &Run, effects: &mut Effects) -> bool {
        let held = self.charges();
        let of_run = held
            .iter()
            .filter(|charge| std::ptr::eq(&**charge.run(), run));
        let busy = of_run
            .filter_map(|charge| charge.unleased())
            .any(|task| task.is_none_or(|task| !self.has_moved_on(run, task)));
        effects.held.extend(held);
        busy
    }
}

impl Entry {
    /// Lanes are in these, and what becomes of it no longer counts. They may also still be among what lanes hold.
    fn take_from_lanes(&mut self, tasks: &[(usize, TaskId)]) {
        self.run.flow().recall_lanes();
        self.run.set_recalled();
        self.had_strays = true;
        for &(lane, task) in tasks {
            self.taken_from_lanes.insert(task);
            self.run.ledger().strays.add_on_lane(lane, task);
        }
        let ready = std::mem::take(&mut self.ready).into();
        self.take_in(ready);
    }
}
