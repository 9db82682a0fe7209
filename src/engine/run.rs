//! One run of a job: its flow, and what became of it.

use super::Engine;
use super::chronicle::{Log, Scribe};
use super::effects::Effects;
use super::flow::{Flow, Place, Segment};
use super::open::Open;
use super::policy::{Charge, Due, Ledger, RunRank, Time};
use super::trace::{AttemptSpan, RunSpan};
use crate::job::Frozen;
use crate::model::{Attempt, JobTag, Offer, Panic, TaskCounters, TaskId, TaskSettings, TaskState};
use crate::sync::lock;
use crate::work::Locals;
use event_listener::Event;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

/// A job being run, or that has been. Lives as long as anyone holds it: its handle, a lane, an output.
pub(crate) struct Run {
    pub(super) flow: Flow,
    /// If it takes more tasks.
    pub(super) open: Option<Box<Open>>,
    pub(super) engine: Arc<Engine>,
    rank: RunRank,
    submitted: Time,
    /// How long before that it was submitted at first, if it goes on with a journal.
    carried: Time,
    ledger: Mutex<Ledger>,
    pub(super) locals: Locals,
    #[cfg(feature = "command")]
    live: crate::work::Live,
    ended: AtomicBool,
    /// Nothing starts until it is enabled; and nothing of it runs.
    disabled: AtomicBool,
    at_rest: AtomicBool,
    /// Tasks were taken from lanes that are in their bodies.
    pub(super) recalled: AtomicBool,
    /// Notified when the run has ended, or come to rest.
    end: Event,
    observed: AtomicBool,
    ended_at: Mutex<Option<Time>>,
    span: RunSpan,
    #[cfg(feature = "journal")]
    pub(super) checkpoints: Mutex<super::checkpoints::Checkpoints>,
    #[cfg(feature = "journal")]
    pub(super) durable: Option<Arc<super::Durable>>,
}

impl Run {
    pub(super) fn new(job: Arc<Frozen>, offer: &Offer, engine: Arc<Engine>, seq: u64) -> Self {
        let now = engine.now();
        let open = job.open.then(|| Box::new(Open::new(&job, offer)));
        let span = RunSpan::new(&job.name, seq, job.tasks);
        Run {
            rank: RunRank::new(job.priority, seq),
            submitted: now,
            carried: Time::ZERO,
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
            ended_at: Mutex::default(),
            span,
            #[cfg(feature = "journal")]
            checkpoints: Mutex::default(),
            #[cfg(feature = "journal")]
            durable: None,
        }
    }

    /// A run whose ends are written down, and that began so long ago.
    #[cfg(feature = "journal")]
    pub(super) fn written_down(mut self, durable: Arc<super::Durable>, carried: Time) -> Self {
        self.durable = Some(durable);
        self.carried = carried;
        self.flow.first.values.hold();
        self.ledger().keep_changes();
        self
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

    /// The job as it was submitted: what holds for the run as a whole.
    pub(crate) fn job(&self) -> &Frozen {
        &self.flow.first.job
    }

    /// The segment of a task, and where it is there.
    pub(crate) fn locate(&self, task: TaskId) -> Option<Place<'_>> {
        self.flow.locate(task)
    }

    /// Whether a task has inputs to let go of.
    pub(super) fn reads(&self, task: TaskId) -> bool {
        let place = self.locate(task);
        place.is_some_and(|place| place.segment.job.units[place.node as usize].kind().reads)
    }

    /// All single tasks, and all arrays as wholes.
    pub(super) fn nodes(&self) -> impl Iterator<Item = TaskId> + '_ {
        self.flow.segments().flat_map(|segment| {
            let (base, len) = (segment.job.base, segment.job.units.len() as u32);
            (base..base + len).map(TaskId)
        })
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

    /// How long before a time it was submitted, or was at first.
    pub(super) fn since_submission(&self, time: Time) -> Time {
        time.saturating_sub(self.submitted) + self.carried
    }

    /// So long after a segment came to the pool, or came at first.
    pub(super) fn after(&self, segment: &Segment, time: Time) -> Time {
        segment.since + time.saturating_sub(self.carried)
    }

    /// The task or array of a name.
    pub(crate) fn named(&self, name: &str) -> Option<TaskId> {
        match &self.open {
            Some(open) => open.state().named(name),
            None => self.job().named(name),
        }
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
        #[cfg(feature = "journal")]
        self.durable.iter().for_each(|durable| {
            durable.set_end(false);
            durable.call();
        });
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

    /// How a task ended, if it has.
    pub(crate) fn ended_state(&self, task: TaskId) -> Option<TaskState> {
        // When the run has ended, all that has not is an empty array that nobody waited for.
        let empty = || (self.has_ended() && !task.is_element()).then_some(TaskState::Succeeded);
        self.flow.locate(task)?.ended(task).or_else(empty)
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
        !self.is_ready(task)
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

    /// What was held for bodies that had yet to return is let go. Not under a lock: destructors of values run.
    pub(crate) fn release_due(&self, due: Vec<Due>) {
        due.into_iter().for_each(|due| match due {
            Due::Release(task) => self.release(task),
            Due::Finish(array) => self.finish_array(array),
        });
    }

    /// A leased body has returned whose attempt was over.
    pub(crate) fn stray_returned(&self, task: TaskId) -> Vec<Due> {
        let mut ledger = self.ledger();
        ledger.strays.returned(task);
        ledger.strays.due(self)
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
        self.flow.segments().for_each(|segment| segment.clear());
    }
}
