//! What an outcome means for its task and for those that depend on it.

use super::attempts::Failure;
use super::entry::LeaseState;
use super::{Effects, Policy, Run};
use crate::graph::node_of;
use crate::model::{Attempt, AttemptEnd, BoxError, Returned, TaskId, TaskSettings, TaskState};
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
        self.timers.clear_all(lease.timer);
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
                self.used_attempt(run, task, attempt);
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
        self.let_go(run, task, effects);
        let Some(entry) = self.entry(run) else { return };
        let flow = run.flow();
        match run.job().array_of_node(node) {
            None => {
                flow.word(node).succeed();
                flow.fire(node, entry);
            }
            Some(array) => {
                if flow.elements_succeeded(array, index..index + 1, entry) {
                    flow.array_succeeded(array, entry);
                    let run = entry.run.clone();
                    self.let_go_of_array(&run, array, effects);
                }
                self.notify_array_watchers(run, array, index..index + 1, effects);
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
        let ended = walk.counted();
        self.notify(run, walk.watched, effects);
        self.report(run, ended, effects);
    }

    /// Tasks have ended. The last one ends the run.
    pub(super) fn report(&mut self, run: &Run, ended: u64, effects: &mut Effects) {
        if run.flow().report(ended) {
            self.end(run, effects);
        }
    }
}

/// Ends tasks, and finds those that can't run for it.
pub(super) struct Walk<'a> {
    run: &'a Run,
    lost: Vec<Lost>,
    failed_or_other: [u64; 3],
    /// Of what was ended, the tasks that somebody waits for, by id.
    pub(super) watched: Vec<Range<u32>>,
}

impl<'a> Walk<'a> {
    pub(super) fn new(run: &'a Run) -> Self {
        Walk {
            run,
            lost: Vec::new(),
            failed_or_other: [0; 3],
            watched: Vec::new(),
        }
    }

    /// Ends a single task, an element, or all elements of an array, as far as they have not ended.
    pub(super) fn end(&mut self, task: TaskId, state: TaskState) {
        let Some((node, index)) = self.run.job().locate(task) else {
            return;
        };
        match self.run.job().array_of_node(node) {
            None => self.end_node(node, state),
            Some(array) if task.is_element() => self.end_elements(array, index..index + 1, state),
            Some(array) => self.end_elements(array, 0..self.run.job().arrays[array].len, state),
        }
    }

    fn end_node(&mut self, node: u32, state: TaskState) {
        let word = self.run.flow().word(node);
        if word.ended().is_none() {
            if word.end(state) {
                self.watched.push(node..node + 1);
            }
            self.count(state, 1);
            self.lost.push(Lost::Node(node));
        }
    }

    /// Ends those of the elements that have not ended. The array as a node ends with the first of them.
    fn end_elements(&mut self, array: usize, elements: Range<u32>, state: TaskState) {
        let (flow, part) = (self.run.flow(), &self.run.job().arrays[array]);
        let watched = flow.array(array).is_watched();
        let pending: Vec<_> = flow.array(array).unfinished(elements.clone()).collect();
        if pending.is_empty() && !elements.is_empty() {
            return;
        }
        for range in pending {
            flow.array(array).end(range.clone(), state);
            self.count(state, u64::from(range.end - range.start));
            if watched {
                self.watched.push(part.ids(range.clone()));
            }
            self.lost.push(Lost::Elements(array, range));
        }
        let node = part.node;
        if flow.word(node).ended().is_none() {
            flow.word(node).end(state);
            self.watched.extend(watched.then_some(node..node + 1));
            self.lost.push(Lost::Node(node));
        }
    }

    /// Ends everything that depends on what was ended so far.
    pub(super) fn skip_dependents(&mut self) {
        while let Some(lost) = self.lost.pop() {
            match lost {
                Lost::Node(node) => self.skip_successors(node),
                Lost::Elements(array, range) => {
                    let job = self.run.job();
                    job.arrays[array].each_to.iter().for_each(|&to| {
                        self.end_elements(to as usize, range.clone(), TaskState::Skipped);
                    });
                }
            }
        }
    }

    fn skip_successors(&mut self, node: u32) {
        let job = self.run.job();
        for next in job.csr.successors(node).iter().map(|&entry| node_of(entry)) {
            self.end(TaskId(next), TaskState::Skipped);
        }
    }

    /// Enters what was ended in the ledger, and says how much.
    pub(super) fn counted(&self) -> u64 {
        let [failed, skipped, cancelled] = self.failed_or_other;
        let mut ledger = self.run.ledger();
        ledger.skipped += skipped;
        ledger.cancelled += cancelled;
        failed + skipped + cancelled
    }

    fn count(&mut self, state: TaskState, tasks: u64) {
        let at = match state {
            TaskState::Failed => 0,
            TaskState::Skipped => 1,
            _ => 2,
        };
        self.failed_or_other[at] += tasks;
    }
}
