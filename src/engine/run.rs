//! One run of a job: its flow, what became of it, and the cold paths of its lanes.

use super::Engine;
use super::chronicle::{Fact, Log, Scribe, TaskSpan};
use super::effects::Effects;
use super::flow::{Flow, Item, Place, Segment, SegmentRef, Settled, Supervisor, Verdict};
use super::open::Open;
use super::policy::{Charge, Failure, Ledger, RunRank, Time};
use super::trace::{AttemptSpan, RunSpan};
use crate::job::Frozen;
use crate::model::{
    Attempt, BoxError, Counts, Error, ErrorKind, JobTag, Offer, Panic, ProgressReport,
    TaskCounters, TaskId, TaskSettings, TaskState,
};
use crate::sync::lock;
use crate::work::{Host, LanePass, Locals, Storage, Values};
use event_listener::Event;
use std::any::Any;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

/// A job being run, or that has been. Lives as long as anyone holds it: its handle, a lane, an output.
pub(crate) struct Run {
    pub(super) flow: Flow,
    /// If it takes more tasks.
    pub(super) open: Option<Box<Open>>,
    pub(super) engine: Arc<Engine>,
    rank: RunRank,
    submitted: Time,
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
    ended_at: OnceLock<Time>,
    span: RunSpan,
}

impl Run {
    pub(super) fn new(job: Arc<Frozen>, offer: &Offer, engine: Arc<Engine>, seq: u64) -> Self {
        let now = engine.now();
        let open = job.open.then(|| Box::new(Open::new(&job, offer)));
        let span = RunSpan::new(&job.name, seq, job.tasks);
        Run {
            rank: RunRank::new(job.priority, seq),
            submitted: now,
            flow: Flow::new(job, now),
            open,
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
            ended_at: OnceLock::new(),
            span,
        }
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

    /// The job as it was submitted: what holds for the run as a whole.
    pub(crate) fn job(&self) -> &Frozen {
        &self.flow.first.job
    }

    /// The segment of a task, and where it is there.
    pub(crate) fn locate(&self, task: TaskId) -> Option<Place<'_>> {
        self.flow.locate(task)
    }

    /// The job, or the addition to it, that a task was described with; the job for a task that the run doesn't have.
    pub(crate) fn job_of(&self, task: TaskId) -> Arc<Frozen> {
        let segment = self
            .flow
            .locate(task)
            .map(|place| place.segment.job.clone());
        segment.unwrap_or_else(|| self.flow.first.job.clone())
    }

    /// Of what the task was described with, if the run has it.
    pub(crate) fn tag_of_task(&self, task: TaskId) -> Option<JobTag> {
        Some(self.flow.locate(task)?.segment.job.tag)
    }

    /// Calls `read` with when and how often a task may run.
    pub(crate) fn with_settings<R>(
        &self,
        task: TaskId,
        read: impl FnOnce(&TaskSettings) -> R,
    ) -> R {
        match self.flow.locate(task) {
            Some(place) => read(place.segment.job.settings_of(task)),
            None => read(&self.job().defaults),
        }
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

    /// When it was submitted.
    pub(super) fn submitted(&self) -> Time {
        self.submitted
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
        &self.job().name
    }

    pub(crate) fn label(&self, task: TaskId) -> String {
        match self.flow.locate(task) {
            Some(place) => place.segment.job.label(task),
            None => task.to_string(),
        }
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
        let _ = self.ended_at.set(now);
        self.ended.store(true, Ordering::Release);
    }

    /// How long it has been under way, or was.
    pub(crate) fn elapsed(&self) -> Time {
        let end = self.ended_at.get().copied();
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

    /// What arrays are called, and how their elements stand, the last ones of a lane's perhaps not yet counted.
    pub(crate) fn array_counts(&self) -> Vec<(String, Counts)> {
        let mut counts = Vec::new();
        for segment in self.flow.segments() {
            let arrays = segment.job.arrays.iter().enumerate();
            counts.extend(arrays.map(|(array, part)| {
                let name = segment.job.node_label(part.node);
                (name, self.counts_of(&segment, array))
            }));
        }
        counts
    }

    fn counts_of(&self, segment: &Segment, array: usize) -> Counts {
        let [succeeded, failed, skipped, cancelled] = segment.array(array).ended_counts();
        Counts {
            total: u64::from(segment.job.arrays[array].len),
            succeeded,
            failed,
            skipped,
            cancelled,
            disabled: self.is_disabled() && !self.has_ended(),
        }
    }

    /// As [`counts`](Self::counts), each task counted as the slots it asks for.
    pub(crate) fn slot_counts(&self) -> Counts {
        let mut segments = self.flow.segments();
        if segments.all(|segment| segment.job.requests.is_empty()) {
            return self.counts();
        }
        let mut slots = Counts::default();
        for segment in self.flow.segments() {
            self.count_slots(&segment, &mut slots);
        }
        slots
    }

    fn count_slots(&self, segment: &Segment, slots: &mut Counts) {
        let job = &segment.job;
        for node in 0..job.units.len() as u32 {
            let asks = job.node_settings(node).resources.as_ref();
            let each = asks.map_or(1, |asks| u64::from(asks.slots_asked()));
            match job.array_of_node(node) {
                Some(array) => slots.add_all(&self.counts_of(segment, array), each),
                None => {
                    let state = segment.word(node).ended().unwrap_or(TaskState::Waiting);
                    slots.add(state, each);
                }
            }
        }
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
    }

    /// Notified when the run ends, or nothing of it runs since it is disabled.
    pub(crate) fn end_event(&self) -> &Event {
        &self.end
    }

    /// How many tasks stand where.
    pub(crate) fn counts(&self) -> Counts {
        let ledger = self.ledger();
        let Ledger {
            failed,
            skipped,
            cancelled,
            ..
        } = *ledger;
        let (total, unfinished) = self.flow.counts();
        let ended = total - unfinished;
        Counts {
            total,
            succeeded: ended.saturating_sub(failed + skipped + cancelled),
            failed,
            skipped,
            cancelled,
            disabled: self.is_disabled() && !self.has_ended(),
        }
    }

    /// How many tasks there are.
    pub(super) fn total(&self) -> u64 {
        self.flow.counts().0
    }

    /// The error of the run as a whole, if it has not succeeded.
    pub(crate) fn error(&self) -> Option<Error> {
        let ledger = self.ledger();
        if let Some(cause) = &ledger.ended_by {
            return Some(cause.clone());
        }
        let first = ledger.failures.first()?;
        let counts = (ledger.failed, ledger.skipped);
        let message = format!(
            "{} of its tasks failed and {} were skipped; the first",
            counts.0, counts.1
        );
        Some(
            Error::new(ErrorKind::TaskFailed, message)
                .in_job(self.name())
                .caused_by(first.1.clone()),
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
        // When the run has ended, all that has not is an empty array that nobody waited for.
        let empty = || (self.has_ended() && !task.is_element()).then_some(TaskState::Succeeded);
        self.flow.locate(task)?.ended(task).or_else(empty)
    }

    /// The failures so far.
    pub(crate) fn failures(&self) -> Vec<Error> {
        self.ledger()
            .failures
            .iter()
            .map(|(_, error)| error.clone())
            .collect()
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
        let waits =
            |before: TaskId| self.ended_state(before).is_none() || self.blocks(before, task);
        self.predecessor_of(task, waits).is_some()
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
        let place = self.flow.locate(node)?;
        let part = &place.segment.job.arrays[place.array()?];
        let numbers = part.first..part.first + part.len;
        let ledger = self.ledger();
        let among =
            |(task, _): &&(TaskId, Error)| task.is_element() && numbers.contains(&task.number());
        ledger
            .failures
            .iter()
            .find(among)
            .map(|(_, error)| error.clone())
    }

    fn skip_error(&self, task: TaskId) -> Error {
        let error = |message| {
            Error::new(ErrorKind::TaskSkipped, message)
                .in_job(self.name())
                .of_task(self.label(task))
        };
        match self.root_cause(task) {
            Some(root) => {
                let message = format!(
                    "was skipped, since `{}` {}",
                    self.label(root),
                    self.how(root)
                );
                let cause = self.task_error(root);
                cause.into_iter().fold(error(message), Error::caused_by)
            }
            None => error("was skipped, since a task it depends on did not succeed".to_owned()),
        }
    }

    fn how(&self, root: TaskId) -> &'static str {
        match self.ended_state(root) {
            Some(TaskState::Succeeded) => {
                "succeeded, and its exit conditions block what depends on it"
            }
            _ => "did not succeed",
        }
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
            awaited == task || self.upstream_of(awaited, |before| before == task).is_some()
        })
    }

    /// A task has succeeded: it lets go of what it has read.
    pub(super) fn release(&self, task: TaskId) {
        if let Some(place) = self.flow.locate(task) {
            place.segment.release(place.node, place.index);
        }
    }

    /// An array has succeeded: it lets go of what it has read as a whole.
    pub(super) fn finish_array(&self, node: TaskId) {
        let place = self.flow.locate(node);
        if let Some((place, array)) = place.and_then(|place| place.array().map(|at| (place, at))) {
            place.segment.finish(array);
        }
    }

    fn note(&self, fact: Fact) {
        let engine = &self.engine;
        engine.chronicle().note(engine.now(), self.seq(), fact);
    }

    fn ask<R>(&self, ask: impl FnOnce(&mut super::Policy, &mut Effects) -> R) -> R {
        self.engine.with(ask)
    }
}

impl Drop for Run {
    /// Drops the outputs that are left, and the errors. It may be a worker that does it.
    fn drop(&mut self) {
        let mut ledger = std::mem::take(&mut *self.ledger());
        Panic::ignore_dropping(ledger.take_attempts());
        Panic::ignore(|| drop(ledger.ended_by));
        Panic::ignore_dropping(ledger.failures);
        self.flow.segments().for_each(|segment| segment.clear());
    }
}

impl Host for Run {
    fn admit(&self, lane: &LanePass<'_>, task: Option<TaskId>) -> bool {
        self.ask(|policy, _| {
            let missed = policy.missed_recall(self, lane.seen.get());
            lane.seen.set(self.flow.gate.signal());
            let changed = lane.observed != self.is_observed();
            lane.recalled
                .set(changed || missed || self.has_ended() || policy.wants_back(self));
            let current = !self.has_ended()
                && task.is_none_or(|task| {
                    self.ended_state(task).is_none() && !policy.has_moved_on(self, task)
                });
            // Under the engine's lock nobody closes the gate, so this goes in.
            current && self.flow.gate.enter(lane.turnstile, lane.seen.get())
        })
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
                self.recalled.load(Ordering::Acquire)
                    && self.ask(|policy, _| policy.has_moved_on(self, task))
            }
        }
    }

    fn report_progress(&self, task: TaskId, attempt: u32, report: ProgressReport) {
        let watched = || self.with_settings(task, |settings| settings.stalled_after.is_some());
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

    fn storage_of(self: Arc<Self>, task: TaskId) -> Arc<dyn Storage> {
        let added = match self.flow.locate(task).map(|place| place.segment) {
            Some(SegmentRef::Added(segment)) => Some(segment),
            _ => None,
        };
        match added {
            Some(segment) => Arc::new(Added {
                segment,
                _run: self,
            }),
            None => self,
        }
    }

    fn tag_of(&self, task: TaskId) -> JobTag {
        self.tag_of_task(task).unwrap_or(self.job().tag)
    }

    fn any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync> {
        self
    }
}

impl Storage for Run {
    fn values(&self) -> &Values {
        &self.flow.first.values
    }
}

/// What was added to a run, and the run, which drops the outputs.
struct Added {
    segment: Arc<Segment>,
    _run: Arc<Run>,
}

impl Storage for Added {
    fn values(&self) -> &Values {
        &self.segment.values
    }
}

impl Supervisor for Run {
    fn failed(&self, task: TaskId, cause: BoxError) {
        let failure = self.with_settings(task, |settings| Failure::of_body(cause, settings));
        let mut failure = Some(failure);
        self.ask(|policy, effects| {
            // What no longer counts is the user's to drop, outside the lock.
            let current = !self.has_ended()
                && self.ended_state(task).is_none()
                && !policy.has_moved_on(self, task);
            if let Some(failure) = failure.take_if(|_| current) {
                policy.lane_failed(self, task, failure, effects);
            }
        });
        Panic::ignore(|| drop(failure));
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
        self.ask(|policy, effects| {
            policy.fire_late(self, TaskId(node), Verdict::Succeeded, effects);
            policy.notify_watchers(self, TaskId(node), effects);
        });
    }

    fn array_settled(&self, settled: Settled) {
        self.ask(|policy, effects| {
            policy.fire_late_settled(self, &settled, effects);
            policy.notify_ended(self, effects);
        });
    }

    fn finished(&self) {
        self.ask(|policy, effects| policy.end(self, effects));
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
