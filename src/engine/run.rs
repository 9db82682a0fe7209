//! One run of a job: its flow, what became of it, and the cold paths of its lanes.

use super::Engine;
use super::chronicle::{Fact, Log, Scribe, TaskSpan};
use super::effects::Effects;
use super::flow::{Flow, Item, Supervisor};
use super::policy::{Charge, Due, Failure, Ledger, RunRank, Time, is_ready};
use super::trace::{AttemptSpan, RunSpan};
use crate::job::Frozen;
use crate::model::{
    Attempt, BoxError, Counts, Error, ErrorKind, Panic, ProgressReport, TaskCounters, TaskId,
    TaskState,
};
use crate::sync::lock;
use crate::work::{Host, LanePass, Locals, Values};
use event_listener::Event;
use std::collections::{HashSet, VecDeque};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

/// A job being run, or that has been. Lives as long as anyone holds it: its handle, a lane, an output.
pub(crate) struct Run {
    flow: Flow,
    engine: Arc<Engine>,
    rank: RunRank,
    submitted: Time,
    /// How long before that it was submitted at first, if it goes on with a journal.
    carried: Time,
    ledger: Mutex<Ledger>,
    locals: Locals,
    #[cfg(feature = "command")]
    live: crate::work::Live,
    ended: AtomicBool,
    /// Nothing starts until it is enabled; and nothing of it runs.
    disabled: AtomicBool,
    at_rest: AtomicBool,
    /// Tasks were taken from lanes that are in their bodies.
    recalled: AtomicBool,
    /// Notified when the run has ended, or come to rest.
    end: Event,
    observed: AtomicBool,
    ended_at: Mutex<Option<Time>>,
    span: RunSpan,
    #[cfg(feature = "journal")]
    durable: Option<Arc<super::Durable>>,
}

impl Run {
    pub(super) fn new(job: Arc<Frozen>, engine: Arc<Engine>, seq: u64) -> Self {
        let span = RunSpan::new(&job.name, seq, job.tasks);
        Run {
            rank: RunRank::new(job.priority, seq),
            submitted: engine.now(),
            carried: Time::ZERO,
            flow: Flow::new(job),
            engine,
            ledger: Mutex::default(),
            locals: Locals::default(),
            #[cfg(feature = "command")]
            live: crate::work::Live::default(),
            ended: AtomicBool::new(false),
            disabled: AtomicBool::new(false),
            at_rest: AtomicBool::new(false),
            recalled: AtomicBool::new(false),
            end: Event::new(),
            observed: AtomicBool::new(false),
            ended_at: Mutex::default(),
            span,
            #[cfg(feature = "journal")]
            durable: None,
        }
    }

    /// A run whose ends are written down, and that began so long ago.
    #[cfg(feature = "journal")]
    pub(super) fn written_down(mut self, durable: Arc<super::Durable>, carried: Time) -> Self {
        self.durable = Some(durable);
        self.carried = carried;
        self.flow.values.hold();
        self.ledger().keep_changes();
        self
    }

    /// Tasks that have not ended any more, since this was asked last.
    #[cfg(feature = "journal")]
    pub(crate) fn take_again(&self) -> Vec<TaskId> {
        self.ledger().take_again()
    }

    /// What has changed since the last report, beside what tasks have ended.
    #[cfg(feature = "journal")]
    pub(crate) fn report(&self) -> super::Report {
        let now = self.engine.now();
        self.ask(|policy, _| policy.changes(self, now))
    }

    /// Ends the run, for a reason that is none of its own.
    #[cfg(feature = "journal")]
    pub(crate) fn stop(&self, cause: Error) {
        self.ask(|policy, effects| policy.cancel_run(self, cause, effects));
    }

    /// Whether the end of a task may be told: it is written down, or need not be. An array fails with the first of its
    /// elements, before the others have ended.
    #[cfg(feature = "journal")]
    pub(crate) fn may_tell(&self, task: TaskId) -> bool {
        let Some(durable) = &self.durable else {
            return true;
        };
        if durable.has(task) {
            return true;
        }
        let array = self.job().array_of_node(task.0).filter(|_| !task.is_element());
        let failed: Vec<_> = match array.map(|array| &self.flow.job.arrays[array]) {
            None => return false,
            // It has no elements to be written down.
            Some(part) if part.len == 0 => return true,
            Some(part) => {
                let (ids, ledger) = (part.ids(0..part.len), self.ledger());
                let failed = ledger.failed_tasks();
                failed.filter(|task| ids.contains(&task.0)).collect()
            }
        };
        failed.into_iter().any(|task| durable.has(task))
    }

    /// Whether the end of the run may be told: the program's end is no end of the run, and isn't written down.
    #[cfg(feature = "journal")]
    pub(crate) fn may_tell_end(&self) -> bool {
        let written = |durable: &Arc<super::Durable>| durable.has_end() || durable.is_closed();
        let is_programs = || {
            let kind = self.ledger().ended_by.as_ref().map(Error::kind);
            kind.is_some_and(ErrorKind::ends_no_durable_run)
        };
        self.durable.as_ref().is_none_or(written) || is_programs()
    }

    /// Why nothing more is written down, and so told.
    #[cfg(feature = "journal")]
    pub(crate) fn unwritten_for_good(&self) -> Option<Error> {
        let durable = self.durable.as_ref()?;
        let closed = || durable.is_closed().then(|| self.closed_journal());
        durable.failure().cloned().or_else(closed)
    }

    #[cfg(feature = "journal")]
    fn closed_journal(&self) -> Error {
        let message = "its journal is closed, and this is not in it";
        Error::new(ErrorKind::Journal, message).in_job(self.name())
    }

    #[cfg(not(feature = "journal"))]
    pub(crate) fn may_tell(&self, _: TaskId) -> bool {
        true
    }

    #[cfg(not(feature = "journal"))]
    pub(crate) fn may_tell_end(&self) -> bool {
        true
    }

    #[cfg(not(feature = "journal"))]
    pub(crate) fn unwritten_for_good(&self) -> Option<Error> {
        None
    }

    /// What of it has been written down, if it has a journal.
    #[cfg(feature = "journal")]
    pub(crate) fn durable(&self) -> Option<&Arc<super::Durable>> {
        self.durable.as_ref()
    }

    /// Whether somebody listens. Changes under the engine's lock alone, with no lane at work in the gate.
    pub(crate) fn is_observed(&self) -> bool {
        self.observed.load(Ordering::Relaxed)
    }

    pub(super) fn observe(&self, observed: bool) {
        self.observed.store(observed, Ordering::Relaxed);
    }

    /// Who writes down what a lane does, if somebody listens.
    pub(crate) fn scribe<'a>(&'a self, log: &'a Arc<Log>, charge: &Charge) -> Option<Scribe<'a>> {
        self.wants_scribe()
            .then(|| Scribe::new(self, log, charge.spot()))
    }

    /// Whether there is anything for a scribe to do: facts to write, or spans to enter.
    fn wants_scribe(&self) -> bool {
        self.is_observed() || self.span.has_attempts()
    }

    /// The span of an attempt.
    pub(crate) fn attempt_span(&self, task: TaskId, attempt: u32) -> AttemptSpan {
        self.span.attempt(|| self.label(task), attempt)
    }

    pub(crate) fn flow(&self) -> &Flow {
        &self.flow
    }

    pub(crate) fn job(&self) -> &Frozen {
        &self.flow.job
    }

    pub(crate) fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    /// Its place among the pool's runs. Unique in the pool.
    pub(crate) fn rank(&self) -> RunRank {
        self.rank
    }

    pub(crate) fn seq(&self) -> u64 {
        self.rank.seq()
    }

    /// How long before a time it was submitted, or was at first.
    pub(super) fn since_submission(&self, time: Time) -> Time {
        time.saturating_sub(self.submitted) + self.carried
    }

    /// So long after it was submitted, or was at first.
    pub(super) fn after_submission(&self, time: Time) -> Time {
        self.submitted + time.saturating_sub(self.carried)
    }

    /// How often a task was run again.
    pub(crate) fn counters(&self, task: TaskId) -> TaskCounters {
        self.ledger().counters_of(task)
    }

    /// The attempts of a task that are on record.
    pub(crate) fn attempts(&self, task: TaskId) -> Vec<Attempt> {
        self.ledger().attempts_of(task)
    }

    /// What its commands are writing.
    #[cfg(feature = "command")]
    pub(crate) fn live(&self) -> &crate::work::Live {
        &self.live
    }

    pub(crate) fn name(&self) -> &str {
        &self.flow.job.name
    }

    pub(crate) fn label(&self, task: TaskId) -> String {
        self.flow.job.label(task)
    }

    /// What became of tasks that did not simply succeed. Locked after the engine, never before it.
    pub(super) fn ledger(&self) -> MutexGuard<'_, Ledger> {
        lock(&self.ledger)
    }

    /// Whether every task has ended.
    pub(crate) fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }

    pub(super) fn mark_ended(&self, now: Time) {
        *lock(&self.ended_at) = Some(now);
        self.ended.store(true, Ordering::Release);
    }

    /// Tasks of it are to run again.
    pub(super) fn mark_going_on(&self) {
        self.locals.reopen();
        self.set_disabled(false);
        // The events of the run have come to their end: whoever wants more listens anew.
        self.observe(false);
        *lock(&self.ended_at) = None;
        self.ended.store(false, Ordering::Release);
    }

    /// How long it has been under way, or was.
    pub(crate) fn elapsed(&self) -> Time {
        let end = *lock(&self.ended_at);
        end.unwrap_or_else(|| self.engine.now())
            .saturating_sub(self.submitted)
    }

    /// How many tasks are in a body, as far as can be told without stopping any.
    pub(crate) fn running(&self) -> u64 {
        let leased = self.ask(|policy, _| policy.leases_of(self));
        leased + self.flow.lanes_at_work()
    }

    /// How many attempts have failed, or were lost, and were not their task's last.
    pub(crate) fn retries(&self) -> u64 {
        let ledger = self.ledger();
        ledger.unsuccessful_attempts().saturating_sub(ledger.failed)
    }

    /// How the tasks of an array stand, or of all single tasks for `None`, the last ones of a lane's perhaps not yet
    /// counted.
    pub(crate) fn counts_of(&self, array: usize) -> Counts {
        let part = &self.flow.job.arrays[array];
        let [succeeded, failed, skipped, cancelled] = self.flow.array(array).ended_counts();
        Counts {
            total: u64::from(part.len),
            succeeded,
            failed,
            skipped,
            cancelled,
            disabled: self.is_disabled() && !self.has_ended(),
            ..Counts::default()
        }
    }

    /// As [`counts`](Self::counts), each task counted as the slots it asks for.
    pub(crate) fn slot_counts(&self) -> Counts {
        let (job, counts) = (self.job(), self.counts_of_ended());
        if job.requests.is_empty() {
            return counts;
        }
        let mut slots = Counts::default();
        for node in (0..job.units.len() as u32).map(TaskId) {
            let asks = job.settings_of(node).resources.as_ref();
            let each = asks.map_or(1, |asks| u64::from(asks.slots_asked()));
            match job.array_of_node(node.0) {
                Some(array) => slots.add_all(&self.counts_of(array), each),
                None => {
                    let state = self.ended_state(node).unwrap_or(TaskState::Waiting);
                    slots.add(state, each);
                }
            }
        }
        slots
    }

    /// Whether nothing of it is started until it is enabled.
    pub(crate) fn is_disabled(&self) -> bool {
        self.disabled.load(Ordering::Acquire)
    }

    /// Whether it is disabled, and nothing of it runs.
    pub(crate) fn is_at_rest(&self) -> bool {
        self.at_rest.load(Ordering::Acquire)
    }

    pub(super) fn set_disabled(&self, disabled: bool) {
        self.disabled.store(disabled, Ordering::Release);
        self.at_rest.store(false, Ordering::Release);
    }

    pub(super) fn set_at_rest(&self) {
        self.at_rest.store(true, Ordering::Release);
    }

    pub(super) fn set_recalled(&self) {
        self.recalled.store(true, Ordering::Release);
    }

    /// Tells those who wait for the run. Worker-local states are dropped first, so that nothing of the run goes on.
    pub(super) fn announce_end(&self) {
        self.locals.clear();
        self.span.end();
        self.end.notify(usize::MAX);
        #[cfg(feature = "journal")]
        self.durable.iter().for_each(|durable| durable.call());
    }

    /// Notified when the run ends, or nothing of it runs since it is disabled.
    pub(crate) fn end_event(&self) -> &Event {
        &self.end
    }

    /// How many tasks have ended, and how.
    pub(crate) fn counts_of_ended(&self) -> Counts {
        let total = self.flow.job.tasks;
        let ledger = self.ledger();
        let Ledger {
            failed,
            skipped,
            cancelled,
            ..
        } = *ledger;
        let ended = total - self.flow.unfinished();
        Counts {
            total,
            succeeded: ended.saturating_sub(failed + skipped + cancelled),
            failed,
            skipped,
            cancelled,
            disabled: self.is_disabled() && !self.has_ended(),
            ..Counts::default()
        }
    }

    /// The error of the run as a whole, if it has not succeeded.
    pub(crate) fn error(&self) -> Option<Error> {
        let ledger = self.ledger();
        if let Some(cause) = &ledger.ended_by {
            return Some(cause.clone());
        }
        let first = ledger.failures().next()?;
        let counts = (ledger.failed, ledger.skipped);
        let message = format!(
            "{} of its tasks failed and {} were skipped; the first",
            counts.0, counts.1
        );
        Some(
            Error::new(ErrorKind::TaskFailed, message)
                .in_job(self.name())
                .caused_by(first.clone()),
        )
    }

    /// What those who wait are told when nothing of the run runs, since it is disabled.
    pub(crate) fn disabled_error(&self) -> Error {
        let message =
            "is disabled, and nothing of it runs; enable it, and wait again, or terminate it";
        let error = Error::new(ErrorKind::Disabled, message).in_job(self.name());
        let by = self.ledger().disabled_by.clone();
        by.into_iter().fold(error, Error::caused_by)
    }

    /// How a task ended, if it has.
    pub(crate) fn ended_state(&self, task: TaskId) -> Option<TaskState> {
        if !task.is_element() {
            // When the run has ended, all that has not is an empty array that nobody waited for.
            let empty = || self.has_ended().then_some(TaskState::Succeeded);
            return self.flow.word(task.0).ended().or_else(empty);
        }
        let array = self.flow.job.array_of_element(task.number())?;
        self.flow
            .array(array)
            .state(task.number() - self.flow.job.arrays[array].first)
    }

    /// The failures so far.
    pub(crate) fn failures(&self) -> Vec<Error> {
        self.ledger().failures().cloned().collect()
    }

    /// How a task stands.
    pub(crate) fn state(&self, task: TaskId) -> TaskState {
        self.ended_state(task).unwrap_or_else(|| {
            match self.ask(|policy, _| policy.is_running(self, task)) {
                true => TaskState::Running,
                false if self.is_waiting(task) => TaskState::Waiting,
                false => TaskState::Ready,
            }
        })
    }

    /// Whether something that the task depends on has not ended, or keeps it from running.
    pub(super) fn is_waiting(&self, task: TaskId) -> bool {
        self.job().locate(task).is_none_or(|(node, index)| {
            let array = self.job().array_of_node(node).filter(|_| task.is_element());
            !is_ready(self, node, array.map(|array| (array, index)))
        })
    }

    /// Whether a task that has ended keeps another, which depends on it, from running.
    pub(super) fn blocks(&self, before: TaskId, after: TaskId) -> bool {
        let Some(state) = self.ended_state(before) else {
            return false;
        };
        let satisfies = (state == TaskState::Succeeded) != self.ledger().is_unusual(before);
        match self.job().loose_between(before, after) {
            Some(edge) => !edge.passes(satisfies),
            // Of a failure, there is no value.
            None => state != TaskState::Succeeded || !satisfies,
        }
    }

    /// Why a task that has ended did not succeed.
    pub(crate) fn task_error(&self, task: TaskId) -> Option<Error> {
        match self.ended_state(task)? {
            TaskState::Failed => {
                // A statement of its own: the lock is free again before the array's errors are looked through.
                let own = self.ledger().error_of(task);
                own.or_else(|| self.array_error(task))
            }
            TaskState::Skipped => Some(self.skip_error(task)),
            TaskState::Cancelled => Some(self.cancel_error(task)),
            _ => None,
        }
    }

    /// An array, as a node, fails with its first failed element.
    fn array_error(&self, node: TaskId) -> Option<Error> {
        let part = &self.flow.job.arrays[self.flow.job.array_of_node(node.0)?];
        self.ledger().first_failure_in(part.ids(0..part.len))
    }

    fn skip_error(&self, task: TaskId) -> Error {
        match self.root_cause(task) {
            Some(root) => self.skip_error_for(task, root),
            None => self.skipped(task, "a task it depends on did not succeed"),
        }
    }

    /// The error of a task that was skipped because of another.
    pub(super) fn skip_error_for(&self, task: TaskId, root: TaskId) -> Error {
        let error = self.skipped(task, &self.as_cause(root));
        let cause = self.task_error(root);
        cause.into_iter().fold(error, Error::caused_by)
    }

    fn skipped(&self, task: TaskId, why: &str) -> Error {
        Error::new(ErrorKind::TaskSkipped, format!("was skipped, since {why}"))
            .in_job(self.name())
            .of_task(self.label(task))
    }

    /// The nearest task for which one was skipped, and that was not skipped itself.
    pub(super) fn root_cause(&self, task: TaskId) -> Option<TaskId> {
        let mut seen = HashSet::from([task]);
        let mut next = VecDeque::from([task]);
        while let Some(at) = next.pop_front() {
            for before in self.job().predecessors(at) {
                if !self.blocks(before, at) || !seen.insert(before) {
                    continue;
                }
                if self.ended_state(before) != Some(TaskState::Skipped) {
                    return Some(before);
                }
                next.push_back(before);
            }
        }
        None
    }

    /// What a task did for which others can't run, in words.
    pub(super) fn as_cause(&self, root: TaskId) -> String {
        let did = match self.ended_state(root) {
            Some(TaskState::Succeeded) => {
                "succeeded, and its exit conditions block what depends on it"
            }
            _ => "did not succeed",
        };
        format!("`{}` {did}", self.label(root))
    }

    fn cancel_error(&self, task: TaskId) -> Error {
        let error = Error::new(ErrorKind::Cancelled, "was cancelled")
            .in_job(self.name())
            .of_task(self.label(task));
        match &self.ledger().ended_by {
            Some(cause) => error.caused_by(cause.clone()),
            None => error,
        }
    }

    /// Whether `awaited`, or the whole run for `None`, can only end after `task`.
    pub(super) fn depends(&self, awaited: Option<TaskId>, task: TaskId) -> bool {
        awaited.is_none_or(|awaited| {
            awaited == task
                || self
                    .flow
                    .job
                    .upstream_of(awaited, |before| before == task)
                    .is_some()
        })
    }

    pub(super) fn release(&self, node: u32, index: u32) {
        self.flow.job.units[node as usize].release(&self.flow.values, index);
    }

    /// What was held for bodies that had yet to return is let go. Not under a lock: destructors of values run.
    pub(crate) fn release_due(&self, due: Vec<Due>) {
        due.into_iter().for_each(|due| match due {
            Due::Release(node, index) => self.release(node, index),
            Due::Finish(array) => self.finish_array(array),
        });
    }

    pub(super) fn finish_array(&self, array: usize) {
        let node = self.flow.job.arrays[array].node;
        self.flow.job.units[node as usize].finish(&self.flow.values);
    }

    /// A leased body has returned whose attempt was over.
    pub(crate) fn stray_returned(&self, task: TaskId) -> Vec<Due> {
        let mut ledger = self.ledger();
        ledger.strays.returned(task);
        ledger.strays.due(self)
    }

    /// A lane is not in a body any more that may have outlived its attempt.
    fn lane_returned(&self, lane: Option<usize>, task: Option<TaskId>) -> Vec<Due> {
        let mut ledger = self.ledger();
        ledger.strays.lane_returned(lane, task);
        ledger.strays.due(self)
    }

    fn note(&self, fact: Fact) {
        let engine = &self.engine;
        engine.chronicle().note(engine.now(), self.seq(), fact);
    }

    pub(super) fn ask<R>(&self, ask: impl FnOnce(&mut super::Policy, &mut Effects) -> R) -> R {
        self.engine.with(ask)
    }
}

impl Drop for Run {
    /// Drops the outputs that are left, and the errors. It may be a worker that does it.
    fn drop(&mut self) {
        #[cfg(feature = "journal")]
        self.durable.iter().for_each(|durable| durable.call());
        let mut ledger = std::mem::take(&mut *self.ledger());
        let (failures, attempts) = ledger.take_all();
        Panic::ignore_dropping(attempts);
        Panic::ignore(|| drop(ledger.ended_by));
        Panic::ignore_dropping(failures);
        for &node in &self.flow.job.owners {
            self.flow.job.units[node as usize].clear(&self.flow.values);
        }
    }
}

impl Host for Run {
    fn admit(&self, lane: &LanePass<'_>, task: Option<TaskId>) -> bool {
        let (admitted, due) = self.ask(|policy, _| {
            let missed = policy.missed_recall(self, lane.seen.get());
            lane.seen.set(self.flow.gate.signal());
            let changed = lane.observed != self.is_observed();
            lane.recalled
                .set(changed || missed || self.has_ended() || policy.wants_back(self));
            let is_current = |task| policy.is_current_on_lane(self, task);
            let current = !self.has_ended() && task.is_none_or(is_current);
            // Under the engine's lock nobody closes the gate, so this goes in.
            let admitted = current && self.flow.gate.enter(lane.turnstile, lane.seen.get());
            (
                admitted,
                self.lane_returned(Some(lane.turnstile.number()), task),
            )
        });
        self.release_due(due);
        admitted
    }

    fn commit(&self, task: TaskId, attempt: (u32, u32), put: &mut dyn FnMut()) -> bool {
        self.ask(|policy, _| {
            let stores = policy.may_store(self, task, attempt);
            if stores && attempt.1 == 0 {
                put();
            }
            stores
        })
    }

    fn is_cancelled(&self, task: TaskId, leased: Option<u32>) -> bool {
        if self.has_ended() || self.ended_state(task).is_some() {
            return true;
        }
        match leased {
            Some(attempt) => !self.ask(|policy, _| policy.is_current(self, task, attempt)),
            None => {
                !self.flow.is_for_lanes(task)
                    || self.recalled.load(Ordering::Acquire)
                        && self.ask(|policy, _| policy.has_moved_on(self, task))
            }
        }
    }

    fn report_progress(&self, task: TaskId, attempt: u32, report: ProgressReport) {
        let watched = || self.job().settings_of(task).stalled_after.is_some();
        if self.is_observed() || watched() {
            self.ask(|policy, effects| policy.progress(self, task, attempt, report, effects));
        }
    }

    fn job_name(&self) -> &str {
        self.name()
    }

    fn task_label(&self, task: TaskId) -> String {
        self.label(task)
    }

    fn locals(&self) -> &Locals {
        &self.locals
    }

    fn values(&self) -> &Values {
        &self.flow.values
    }
}

impl Supervisor for Run {
    fn failed(&self, task: TaskId, cause: BoxError) {
        let mut failure = Some(Failure::of_body(cause, self.flow.job.settings_of(task)));
        self.ask(|policy, effects| {
            // What no longer counts is the user's to drop, outside the lock.
            let current = !self.has_ended() && policy.is_current_on_lane(self, task);
            if let Some(failure) = failure.take_if(|_| current) {
                policy.lane_failed(self, task, failure, effects);
            }
        });
        let due = self.lane_returned(None, Some(task));
        self.release_due(due);
        Panic::ignore(|| drop(failure));
    }

    fn finish(&self, array: usize) {
        let may_finish = self.ledger().strays.may_finish(self, array);
        if may_finish {
            self.finish_array(array);
        }
    }

    fn queue_node(&self, node: u32) {
        self.ask(|policy, effects| policy.queue_node(self, node, effects));
    }

    fn queue_elements(&self, elements: Range<u32>) {
        self.ask(|policy, effects| {
            policy.queue_elements(self, elements, effects);
        });
    }

    fn watched(&self, node: u32) {
        self.ask(|policy, effects| policy.notify_watchers(self, TaskId(node), effects));
    }

    fn array_settled(&self, array: usize, elements: Range<u32>) {
        self.ask(|policy, effects| policy.notify_array_watchers(self, array, elements, effects));
    }

    fn finished(&self) {
        self.ask(|policy, effects| policy.end_if_through(self, effects));
    }

    fn give_back(&self, items: Vec<Item>) {
        self.ask(|policy, effects| policy.give_back(self, items, effects));
        if self.is_observed() {
            self.engine.chronicle().call(|| self.engine.now());
        }
    }

    fn is_observed(&self) -> bool {
        self.is_observed()
    }

    fn note_succeeded(&self, tasks: Range<u32>) {
        self.note(Fact::Succeeded(TaskSpan::of(tasks)));
    }

    fn note_ready(&self, tasks: Range<u32>, by: Option<TaskId>) {
        let tasks = TaskSpan::of(tasks);
        self.note(Fact::Ready { tasks, by });
    }
}
