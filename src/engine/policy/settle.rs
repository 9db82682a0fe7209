//! What an outcome means for its task and for those that depend on it.

use super::attempts::Failure;
use super::entry::LeaseState;
use super::{Effects, Policy, Run};
use crate::engine::chronicle::{Fact, TaskSpan};
use crate::graph::node_of;
use crate::model::{Attempt, AttemptEnd, BoxError, Returned, TaskId, TaskSettings, TaskState};
use event_listener::EventListener;
use std::ops::Range;
use std::time::Duration;

/// How an attempt that was leased one by one ended.
#[derive(Debug)]
#[non_exhaustive]
pub enum Outcome {
    /// The body succeeded and its output is stored.
    Succeeded,
    /// The body failed.
    Failed(BoxError),
    /// The attempt was stopped on an order of the pool.
    Cancelled,
    /// The attempt did not take place, or its end is unknown. Not the task's fault.
    Returned(Returned),
}

/// An [`Outcome`] as the policy takes it in: whether a failure is worth a retry has been asked.
pub(crate) enum Ended {
    Succeeded,
    Failed(Failure),
    Cancelled,
    Returned(Returned),
}

impl Outcome {
    /// Calls the user's `retry_if`, so not under the engine's lock.
    pub(crate) fn judged(self, settings: &TaskSettings) -> Ended {
        match self {
            Outcome::Succeeded => Ended::Succeeded,
            Outcome::Failed(cause) => Ended::Failed(Failure::of_body(cause, settings)),
            Outcome::Cancelled => Ended::Cancelled,
            Outcome::Returned(why) => Ended::Returned(why),
        }
    }
}

/// Tasks that can no longer succeed.
enum Lost {
    Node(u32),
    Elements(usize, Range<u32>),
}

impl Policy {
    /// An executor reports the end of an attempt. One that is no longer current is ignored.
    pub(crate) fn complete(
        &mut self,
        run: &Run,
        task: TaskId,
        attempt: u32,
        ended: Ended,
        effects: &mut Effects,
    ) {
        let current = self
            .entry(run)
            .filter(|entry| entry.is_current(task, attempt));
        let Some(lease) = current.and_then(|entry| entry.leased.remove(&task)) else {
            return;
        };
        self.timers.clear_all(lease.timers());
        let started = Some(lease.started.saturating_sub(run.submitted()));
        match ended {
            Ended::Succeeded if lease.stored => self.succeed(run, task, &lease, effects),
            // Its dependents would read what is not there.
            Ended::Succeeded => {
                self.fail(
                    run,
                    task,
                    attempt,
                    started,
                    Failure::without_output(),
                    effects,
                );
            }
            Ended::Failed(failure) => self.fail(run, task, attempt, started, failure, effects),
            Ended::Cancelled => {
                effects.note(run, || attempt_ended(task, attempt, AttemptEnd::Cancelled));
                self.end_task(run, task, TaskState::Cancelled, effects);
            }
            Ended::Returned(why) => self.take_back(run, task, attempt, why, effects),
        }
        effects.wake = true;
    }

    pub(crate) fn is_current(&mut self, run: &Run, task: TaskId, attempt: u32) -> bool {
        self.entry(run)
            .is_some_and(|entry| entry.is_current(task, attempt))
    }

    /// Whether the attempt may store its output now: it is current and has not done so. It counts as having done so.
    pub(crate) fn may_store(&mut self, run: &Run, task: TaskId, attempt: u32) -> bool {
        let lease = self
            .entry(run)
            .and_then(|entry| entry.leased.get_mut(&task));
        lease.is_some_and(|lease| {
            lease.attempt == attempt && !std::mem::replace(&mut lease.stored, true)
        })
    }

    fn succeed(&mut self, run: &Run, task: TaskId, lease: &LeaseState, effects: &mut Effects) {
        let attempt = lease.attempt;
        effects.note(run, || attempt_ended(task, attempt, AttemptEnd::Succeeded));
        if lease.attempt > 1 {
            let since = |time: Duration| time.saturating_sub(run.submitted());
            let (started, ended) = (Some(since(lease.started)), since(effects.now));
            let end = AttemptEnd::Succeeded;
            run.ledger().record(
                task,
                Attempt {
                    number: lease.attempt,
                    started,
                    ended,
                    end,
                },
            );
        }
        let Some((node, index)) = run.job().locate(task) else {
            return;
        };
        let Some(entry) = self.entry(run) else { return };
        effects.release.push((entry.run.clone(), node, index));
        let flow = run.flow();
        match run.job().array_of_node(node) {
            None => {
                flow.word(node).succeed();
                flow.fire(node, entry);
            }
            Some(array) => {
                if flow.elements_succeeded(array, index..index + 1, entry) {
                    flow.array_succeeded(array, entry);
                    effects.finish.push((entry.run.clone(), array));
                }
                self.notify_array_watchers(run, array, effects);
            }
        }
        self.queue_reached(run, effects);
        self.notify_watchers(run, task, effects);
        self.report(run, 1, effects);
    }

    /// Ends a task that has not ended and that nobody can settle meanwhile. Its dependents are skipped.
    pub(super) fn end_task(
        &mut self,
        run: &Run,
        task: TaskId,
        state: TaskState,
        effects: &mut Effects,
    ) {
        let mut walk = Walk::new(run);
        walk.end(task, state);
        walk.skip_dependents();
        let ended = walk.counted(effects);
        self.notify_ended(run, effects);
        self.report(run, ended, effects);
    }

    /// Tasks have ended. The last one ends the run.
    pub(super) fn report(&mut self, run: &Run, ended: u64, effects: &mut Effects) {
        if run.flow().report(ended) {
            self.end(run, effects);
        }
    }

    pub(crate) fn notify_watchers(&mut self, run: &Run, task: TaskId, effects: &mut Effects) {
        if let Some(entry) = self.entry(run) {
            effects.notify.extend(entry.watchers.remove(&task));
        }
    }

    pub(crate) fn notify_array_watchers(&mut self, run: &Run, array: usize, effects: &mut Effects) {
        if run.flow().array(array).is_watched() {
            self.notify_ended(run, effects);
        }
    }

    /// Tells all those whose task has ended.
    pub(super) fn notify_ended(&mut self, run: &Run, effects: &mut Effects) {
        let Some(entry) = self.entry(run) else { return };
        let ended: Vec<TaskId> = entry
            .watchers
            .keys()
            .copied()
            .filter(|&task| run.ended_state(task).is_some())
            .collect();
        effects
            .notify
            .extend(ended.iter().filter_map(|task| entry.watchers.remove(task)));
    }
}

/// Ends tasks, and finds those that can't run for it.
pub(super) struct Walk<'a> {
    run: &'a Run,
    lost: Vec<Lost>,
    failed_or_other: [u64; 3],
    /// What was ended, for those who listen.
    facts: Vec<Fact>,
}

impl<'a> Walk<'a> {
    pub(super) fn new(run: &'a Run) -> Self {
        Walk {
            run,
            lost: Vec::new(),
            failed_or_other: [0; 3],
            facts: Vec::new(),
        }
    }

    /// Ends a single task, an element, or all elements of an array, as far as they have not ended.
    pub(super) fn end(&mut self, task: TaskId, state: TaskState) {
        self.end_for(task, state, task);
    }

    /// As [`end`](Self::end), since `by` did not succeed.
    fn end_for(&mut self, task: TaskId, state: TaskState, by: TaskId) {
        let Some((node, index)) = self.run.job().locate(task) else {
            return;
        };
        match self.run.job().array_of_node(node) {
            None => self.end_node(node, state, by),
            Some(array) if task.is_element() => {
                self.end_elements(array, index..index + 1, state, by);
            }
            Some(array) => self.end_elements(array, 0..self.run.job().arrays[array].len, state, by),
        }
    }

    fn end_node(&mut self, node: u32, state: TaskState, by: TaskId) {
        let word = self.run.flow().word(node);
        if word.is_pending() {
            word.end(state);
            self.count(TaskId(node).into(), state, by);
            self.lost.push(Lost::Node(node));
        }
    }

    /// Ends those of the elements that have not ended. The array as a node ends with the first of them.
    fn end_elements(&mut self, array: usize, elements: Range<u32>, state: TaskState, by: TaskId) {
        let flow = self.run.flow();
        let pending: Vec<_> = flow.array(array).pending(elements.clone()).collect();
        if pending.is_empty() && !elements.is_empty() {
            return;
        }
        let part = &self.run.job().arrays[array];
        for range in pending {
            flow.array(array).end(range.clone(), state);
            let first = TaskId::element(part.first + range.start);
            let count = range.end - range.start;
            self.count(TaskSpan { first, count }, state, by);
            self.lost.push(Lost::Elements(array, range));
        }
        let node = part.node;
        if flow.word(node).is_pending() {
            flow.word(node).end(state);
            self.lost.push(Lost::Node(node));
        }
    }

    /// Ends everything that depends on what was ended so far.
    pub(super) fn skip_dependents(&mut self) {
        let job = self.run.job();
        while let Some(lost) = self.lost.pop() {
            match lost {
                Lost::Node(node) => self.skip_successors(node),
                Lost::Elements(array, range) => {
                    let part = &job.arrays[array];
                    let by = TaskId::element(part.first + range.start);
                    part.each_to.iter().for_each(|&to| {
                        self.end_elements(to as usize, range.clone(), TaskState::Skipped, by);
                    });
                }
            }
        }
    }

    fn skip_successors(&mut self, node: u32) {
        let job = self.run.job();
        for next in job.csr.successors(node).iter().map(|&entry| node_of(entry)) {
            self.end_for(TaskId(next), TaskState::Skipped, TaskId(node));
        }
    }

    /// Enters what was ended in the ledger, and says how much.
    pub(super) fn counted(self, effects: &mut Effects) -> u64 {
        let facts = self.facts.into_iter();
        facts.for_each(|fact| effects.note(self.run, || fact));
        let [failed, skipped, cancelled] = self.failed_or_other;
        let mut ledger = self.run.ledger();
        ledger.skipped += skipped;
        ledger.cancelled += cancelled;
        failed + skipped + cancelled
    }

    fn count(&mut self, tasks: TaskSpan, state: TaskState, by: TaskId) {
        let at = match state {
            TaskState::Failed => 0,
            TaskState::Skipped => 1,
            _ => 2,
        };
        self.failed_or_other[at] += u64::from(tasks.count);
        if self.run.is_observed() {
            self.tell(tasks, state, by);
        }
    }

    /// A failure has been told of with its error.
    fn tell(&mut self, tasks: TaskSpan, state: TaskState, by: TaskId) {
        match state {
            TaskState::Failed => (),
            TaskState::Cancelled => match self.facts.last_mut() {
                Some(Fact::Cancelled(last)) if last.is_before(tasks) => last.count += tasks.count,
                _ => self.facts.push(Fact::Cancelled(tasks)),
            },
            _ => self.facts.push(Fact::Skipped { tasks, by }),
        }
    }
}

/// The end of an attempt that was leased.
pub(super) fn attempt_ended(task: TaskId, attempt: u32, end: AttemptEnd) -> Fact {
    let end = Box::new(end);
    Fact::AttemptEnded { task, attempt, end }
}

impl Policy {
    /// Listens for a task's end; `None` when it has ended already.
    pub(crate) fn watch(
        &mut self,
        run: &Run,
        task: TaskId,
        effects: &mut Effects,
    ) -> Option<EventListener> {
        if run.has_ended() || run.ended_state(task).is_some() {
            return None;
        }
        self.quiesce(run, effects);
        if run.ended_state(task).is_some() {
            return None;
        }
        let (node, _) = run.job().locate(task)?;
        match run.job().array_of_node(node) {
            Some(array) => run.flow().array(array).watch(),
            None => run.flow().word(node).watch(),
        }
        Some(self.entry(run)?.watchers.entry(task).or_default().listen())
    }

    /// Shuts out the run's lanes until the engine's lock is given up. The run may turn out to have ended.
    pub(super) fn quiesce(&mut self, run: &Run, effects: &mut Effects) {
        let Some(entry) = self.entry(run) else { return };
        let (completed, finished) = run.flow().quiesce(entry);
        effects.wake |= !entry.ready.is_empty();
        let owner = entry.run.clone();
        effects
            .finish
            .extend(completed.into_iter().map(|array| (owner.clone(), array)));
        self.queue_reached(run, effects);
        if finished {
            self.end(run, effects);
        }
    }
}
