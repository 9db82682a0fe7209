//! Failed attempts: whether there is another, and when.

use super::settle::attempt_ended;
use super::timers::Alarm;
use super::{Effects, Policy, Run};
use crate::engine::chronicle::Fact;
use crate::model::settings::seed;
use crate::model::{
    Attempt, AttemptEnd, BoxError, DependencyAction, Error, ErrorKind, Exit, Panic, Permanent,
    Returned, TaskId, TaskSettings, TaskState, TimeLimitOver,
};
use std::error::Error as StdError;
use std::time::Duration;

/// How often a task may lose its node before it counts as the cause, if its settings don't say.
const MAX_RECOVERIES: u32 = 5;

/// After as many losses a task is a suspect, and runs alone.
pub(super) const SUSPECT_AFTER: u32 = 2;

/// How an attempt failed.
pub(crate) struct Failure {
    cause: BoxError,
    kind: ErrorKind,
    exit: Exit,
    /// Another attempt may do better.
    retryable: bool,
}

impl Failure {
    /// Of a body. Calls the user's `retry_if` and errors, so not under the engine's lock.
    pub(crate) fn of_body(cause: BoxError, settings: &TaskSettings) -> Self {
        let permanent = cause.is::<Permanent>();
        let exit = Exit::of(&*cause);
        let worth = settings
            .retry_if
            .as_ref()
            .is_none_or(|retry_if| retry_if.allows(&cause));
        Failure {
            kind: kind_of(&*cause),
            cause,
            exit,
            retryable: worth && !permanent && exit.is_of_body(),
        }
    }

    fn timed_out(limit: Duration, what: &str) -> Self {
        let cause = format!("{what} of {limit:?} is over").into();
        Failure {
            cause,
            kind: ErrorKind::TimedOut,
            exit: Exit::FAILED,
            retryable: true,
        }
    }

    /// An executor said that a body succeeded which never ran to its end.
    pub(super) fn without_output() -> Self {
        Self::final_of(
            "its executor reported a success, and no output was stored; `Lease::run` stores it"
                .into(),
        )
    }

    fn final_of(cause: String) -> Self {
        Failure {
            cause: cause.into(),
            kind: ErrorKind::TaskFailed,
            exit: Exit::FAILED,
            retryable: false,
        }
    }

    fn message(&self) -> &'static str {
        match self.kind {
            ErrorKind::TimedOut => "timed out",
            _ if self.cause.is::<Panic>() => "panicked",
            _ => "failed",
        }
    }
}

/// Of a body that was ended at its time limit, its executor says so.
fn kind_of(cause: &(dyn StdError + 'static)) -> ErrorKind {
    let mut next = Some(cause);
    while let Some(error) = next {
        if error.is::<TimeLimitOver>() {
            return ErrorKind::TimedOut;
        }
        next = error.source();
    }
    ErrorKind::TaskFailed
}

impl Policy {
    /// A lane's task failed: it was never leased one by one, and this was its first attempt.
    pub(crate) fn lane_failed(
        &mut self,
        run: &Run,
        task: TaskId,
        failure: Failure,
        effects: &mut Effects,
    ) {
        if self.entry(run).is_some() && self.is_current_on_lane(run, task) {
            self.fail(run, task, 1, None, failure, effects);
        }
    }

    /// An attempt failed. Its lease is no more.
    pub(super) fn fail(
        &mut self,
        run: &Run,
        task: TaskId,
        attempt: u32,
        started: Option<Duration>,
        failure: Failure,
        effects: &mut Effects,
    ) {
        let (retryable, exit) = (failure.retryable, failure.exit);
        self.used_attempt(run, task, attempt);
        let error = Error::new(failure.kind, failure.message())
            .in_job(run.name())
            .of_task(run.label(task))
            .on_attempt(attempt)
            .caused_by(failure.cause);
        let ended = run.since_submission(effects.now());
        let end = AttemptEnd::Failed(error.clone());
        effects.note(run, || attempt_ended(task, attempt, end.clone()));
        run.ledger().record(
            task,
            Attempt {
                number: attempt,
                started,
                ended,
                end,
            },
        );
        if !(retryable && self.retry(run, task, attempt, effects)) {
            self.fail_for_good(run, task, error, exit, effects);
        }
    }

    /// Arranges another attempt, if the task has one left.
    fn retry(&mut self, run: &Run, task: TaskId, attempt: u32, effects: &mut Effects) -> bool {
        let Some(place) = run.locate(task) else {
            return false;
        };
        let settings = place.segment.job.settings_of(task);
        let retries = run.ledger().counters_of(task).retries + 1;
        let Some(entry) = self.entry(run) else {
            return false;
        };
        if !settings.max_retries.unwrap_or_default().allows(retries) {
            return false;
        }
        let wait = settings
            .backoff
            .unwrap_or_default()
            .wait(retries, seed(run.seq(), task, attempt));
        let ready = effects.now() + wait;
        let until = entry.attempts_until.get(&task);
        if until.is_some_and(|until| ready >= *until) {
            return false;
        }
        effects.note(run, || Fact::RetryPlanned {
            task,
            attempt: attempt + 1,
            at: ready,
        });
        run.ledger().counters_mut(task).retries = retries;
        self.ready_at(run, task, ready, effects);
        true
    }

    /// The task is ready then, and not before.
    pub(super) fn ready_at(
        &mut self,
        run: &Run,
        task: TaskId,
        at: Duration,
        effects: &mut Effects,
    ) {
        if at <= effects.now() {
            return self.enqueue(run, task, effects);
        }
        let key = self.timers.set(at, Alarm::Ready(run.rank(), task));
        effects.retime = true;
        if let Some(entry) = self.entry(run) {
            entry.delayed.insert(task, key);
            entry.note_ready_again(task, false);
        }
    }

    /// Whatever comes after this attempt has another number.
    pub(super) fn used_attempt(&mut self, run: &Run, task: TaskId, attempt: u32) {
        if let Some(entry) = self.entry(run) {
            let last = entry.attempts.entry(task).or_default();
            *last = attempt.max(*last);
        }
    }

    fn fail_for_good(
        &mut self,
        run: &Run,
        task: TaskId,
        error: Error,
        exit: Exit,
        effects: &mut Effects,
    ) {
        let after = run.job_of(task).of_failure(task, exit);
        let satisfied = after.dependency_action == DependencyAction::Satisfy;
        run.ledger().fail(task, error.clone());
        effects.note(run, || Fact::Failed {
            task,
            error: Box::new(error.clone()),
        });
        effects.failed.push(error.clone());
        if satisfied {
            run.ledger().set_unusual(task);
        }
        self.end_task(run, task, TaskState::Failed, satisfied, effects);
        let failed = run.ledger().failed;
        if !run.job().policy.bears(failed) {
            let message =
                format!("was ended after {failed} failed tasks, as its failure policy says");
            let ended_by = Error::new(ErrorKind::TaskFailed, message)
                .in_job(run.name())
                .caused_by(error);
            return self.stop_run(run, ended_by, Some(task), effects);
        }
        self.act(run, task, after.job_action, Some(error), effects);
    }

    /// An attempt came back without an outcome.
    pub(super) fn take_back(
        &mut self,
        run: &Run,
        task: TaskId,
        attempt: u32,
        why: Returned,
        effects: &mut Effects,
    ) {
        effects.note(run, || {
            attempt_ended(task, attempt, AttemptEnd::Returned(why))
        });
        let Some(entry) = self.entry(run) else { return };
        if why == Returned::NotBegun {
            return self.enqueue(run, task, effects);
        }
        entry.attempts.insert(task, attempt);
        let most = run.with_settings(task, |settings| settings.max_recoveries);
        let recoveries = self.count_loss(run, task, why);
        let ended = run.since_submission(effects.now());
        run.ledger().record(
            task,
            Attempt {
                number: attempt,
                started: None,
                ended,
                end: AttemptEnd::Returned(why),
            },
        );
        if recoveries <= most.unwrap_or(MAX_RECOVERIES) {
            return self.enqueue(run, task, effects);
        }
        let cause = format!("lost its node or worker {recoveries} times, and counts as the cause");
        self.fail(run, task, attempt, None, Failure::final_of(cause), effects);
    }

    /// Returns how often the task has lost its node so far. A suspect is to run alone from now on.
    fn count_loss(&mut self, run: &Run, task: TaskId, why: Returned) -> u32 {
        let recoveries = {
            let mut ledger = run.ledger();
            let counters = ledger.counters_mut(task);
            match why {
                Returned::NodeLost => counters.recoveries += 1,
                _ => counters.requeues += 1,
            }
            counters.recoveries
        };
        if recoveries >= SUSPECT_AFTER
            && let Some(entry) = self.entry(run)
        {
            entry.suspects.insert(task);
        }
        recoveries
    }
}

/// What happens when its time has come.
impl Policy {
    /// Does what is due.
    pub(crate) fn tick(&mut self, effects: &mut Effects) {
        while let Some((_, alarm)) = self.timers.pop_due(effects.now()) {
            self.ring(alarm, effects);
        }
    }

    /// When something is to be done next.
    pub(crate) fn next_alarm(&self) -> Option<Duration> {
        self.timers.next()
    }

    fn ring(&mut self, alarm: Alarm, effects: &mut Effects) {
        match alarm {
            Alarm::Ready(rank, task) => self.with_run(rank, |policy, run| {
                if let Some(entry) = policy.entry(run) {
                    entry.delayed.remove(&task);
                }
                policy.enqueue(run, task, effects);
            }),
            Alarm::TimeLimit(rank, task, attempt) => self.with_run(rank, |policy, run| {
                policy.time_out(run, task, attempt, effects);
            }),
            Alarm::Stalled(rank, task, attempt) => self.with_run(rank, |policy, run| {
                policy.look_for_stall(run, task, attempt, effects);
            }),
            Alarm::Deadline(rank, task) => self.with_run(rank, |policy, run| {
                policy.miss_deadline(run, task, effects);
            }),
            Alarm::RunLimit(rank) => self.with_run(rank, |policy, run| {
                let limit = run.job().time_limit.unwrap_or_default();
                let cause = Error::new(
                    ErrorKind::TimedOut,
                    format!("has had its time limit of {limit:?}"),
                );
                policy.cancel_run(run, cause.in_job(run.name()), effects);
            }),
        }
    }

    fn with_run(&mut self, rank: super::RunRank, act: impl FnOnce(&mut Self, &Run)) {
        if let Some(run) = self.runs.get(&rank).map(|entry| entry.run.clone()) {
            act(self, &run);
        }
    }

    /// The attempt is over at once; its body, which may not listen, keeps its slot until it returns.
    fn time_out(&mut self, run: &Run, task: TaskId, attempt: u32, effects: &mut Effects) {
        let Some(entry) = self
            .entry(run)
            .filter(|entry| entry.is_current(task, attempt))
        else {
            return;
        };
        let lease = entry.leased.remove(&task);
        let started = lease.map(|lease| run.since_submission(lease.started));
        self.stop_attempt(run, task, attempt, None, effects);
        let limit = run.with_settings(task, |settings| settings.time_limit);
        let limit = limit.unwrap_or_default();
        self.fail(
            run,
            task,
            attempt,
            started,
            Failure::timed_out(limit, "its time limit"),
            effects,
        );
    }

    fn miss_deadline(&mut self, run: &Run, task: TaskId, effects: &mut Effects) {
        let due = |entry: &mut super::Entry| entry.is_deadline_over(task, effects.now());
        if run.ended_state(task).is_some() || !self.entry(run).is_some_and(due) {
            return;
        }
        self.quiesce(run, effects);
        let Some(entry) = self.entry(run).filter(|_| run.ended_state(task).is_none()) else {
            return;
        };
        effects.wake = true;
        let (lease, delay) = (entry.leased.remove(&task), entry.delayed.remove(&task));
        let attempt = lease.map_or(entry.next_attempt(task), |lease| lease.attempt);
        self.timers
            .clear_all(lease.into_iter().flat_map(|lease| lease.timers()));
        match lease {
            Some(_) => self.stop_attempt(run, task, attempt, None, effects),
            None => self.disband(run, task),
        }
        self.timers.clear_all(delay);
        self.mark_stale(run);
        let limit = run.with_settings(task, |settings| settings.deadline);
        let limit = limit.unwrap_or_default();
        let failure = Failure {
            retryable: false,
            ..Failure::timed_out(limit, "its deadline")
        };
        self.fail(run, task, attempt, None, failure, effects);
    }
}
