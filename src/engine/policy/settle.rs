//! What an outcome means for its task and for those that depend on it.

use super::attempts::Failure;
use super::entry::LeaseState;
use super::{Effects, Policy, Run};
use crate::engine::flow::{ArrayFlow, Place, Settled};
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

/// Tasks that can no longer succeed: a node, or elements of the array that a node is, by their indexes.
enum Lost {
    Node(TaskId),
    Elements(TaskId, Range<u32>),
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
            Ended::Cancelled => self.end_task(run, task, TaskState::Cancelled, effects),
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
        let Some(place) = run.locate(task) else {
            return;
        };
        let Some(entry) = self.entry(run) else { return };
        effects.release.push((entry.run.clone(), task));
        let Place {
            segment,
            node,
            index,
        } = &place;
        match place.array() {
            None => {
                segment.word(*node).succeed();
                segment.fire(*node, entry);
                self.fire_late(run, task, effects);
            }
            Some(array) => {
                let elements = *index..index + 1;
                let completed = segment.elements_succeeded(array, elements.clone(), entry);
                if completed {
                    segment.array_succeeded(array, entry);
                    effects.finish.push((entry.run.clone(), place.task()));
                }
                let settled = Settled {
                    node: place.task().0,
                    elements,
                    completed,
                };
                self.fire_late_settled(run, &settled, effects);
                self.notify_array_watchers(run, &place, effects);
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

    pub(super) fn notify_array_watchers(
        &mut self,
        run: &Run,
        place: &Place<'_>,
        effects: &mut Effects,
    ) {
        let array = place.array().map(|array| place.segment.array(array));
        if array.is_some_and(ArrayFlow::is_watched) {
            self.notify_ended(run, effects);
        }
    }

    /// Tells all those whose task has ended.
    pub(crate) fn notify_ended(&mut self, run: &Run, effects: &mut Effects) {
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
}

impl<'a> Walk<'a> {
    pub(super) fn new(run: &'a Run) -> Self {
        Walk {
            run,
            lost: Vec::new(),
            failed_or_other: [0; 3],
        }
    }

    /// Ends a single task, an element, or all elements of an array, as far as they have not ended.
    pub(super) fn end(&mut self, task: TaskId, state: TaskState) {
        let Some(place) = self.run.locate(task) else {
            return;
        };
        match place.array() {
            None => self.end_node(&place, state),
            Some(array) => {
                let all = 0..place.segment.job.arrays[array].len;
                let elements = match task.is_element() {
                    true => place.index..place.index + 1,
                    false => all,
                };
                self.end_elements(&place, array, elements, state);
            }
        }
    }

    fn end_node(&mut self, place: &Place<'_>, state: TaskState) {
        let word = place.segment.word(place.node);
        if word.is_pending() {
            word.end(state);
            self.count(state, 1);
            self.lost.push(Lost::Node(place.task()));
        }
    }

    /// Ends those of the elements that have not ended. The array as a node ends with the first of them.
    fn end_elements(
        &mut self,
        place: &Place<'_>,
        array: usize,
        elements: Range<u32>,
        state: TaskState,
    ) {
        let flow = place.segment.array(array);
        let pending: Vec<_> = flow.pending(elements.clone()).collect();
        if pending.is_empty() && !elements.is_empty() {
            return;
        }
        for range in pending {
            flow.end(range.clone(), state);
            self.count(state, u64::from(range.end - range.start));
            self.lost.push(Lost::Elements(place.task(), range));
        }
        let word = place.segment.word(place.node);
        if word.is_pending() {
            word.end(state);
            self.lost.push(Lost::Node(place.task()));
        }
    }

    /// Ends elements of the array that a node is.
    pub(super) fn end_range(&mut self, node: TaskId, elements: Range<u32>, state: TaskState) {
        let place = self.run.locate(node);
        if let Some((place, array)) = place.and_then(|place| place.array().map(|at| (place, at))) {
            self.end_elements(&place, array, elements, state);
        }
    }

    /// Ends everything that depends on what was ended so far.
    pub(super) fn skip_dependents(&mut self) {
        while let Some(lost) = self.lost.pop() {
            match lost {
                Lost::Node(node) => {
                    self.skip_successors(node);
                    self.skip_late(node);
                }
                Lost::Elements(node, range) => {
                    self.skip_each(node, &range);
                    self.skip_late_each(node, &range);
                }
            }
        }
    }

    fn skip_successors(&mut self, node: TaskId) {
        let Some(place) = self.run.locate(node) else {
            return;
        };
        let job = &place.segment.job;
        let successors = job.csr.successors(place.node).iter();
        successors.for_each(|&entry| self.end(job.task(node_of(entry)), TaskState::Skipped));
    }

    fn skip_each(&mut self, node: TaskId, elements: &Range<u32>) {
        let Some(place) = self.run.locate(node) else {
            return;
        };
        let job = &place.segment.job;
        let each_to = place.array().map(|array| &job.arrays[array].each_to);
        for &to in each_to.into_iter().flatten() {
            let next = job.task(job.arrays[to as usize].node);
            self.end_range(next, elements.clone(), TaskState::Skipped);
        }
    }

    /// What was added to the run, and depends on the node.
    fn skip_late(&mut self, task: TaskId) {
        let Some(open) = &self.run.open else { return };
        for (to, _) in open.dependents(task).into_iter().filter(|(_, each)| !each) {
            self.end(to, TaskState::Skipped);
        }
    }

    /// What was added to the run, and depends on single elements.
    fn skip_late_each(&mut self, node: TaskId, elements: &Range<u32>) {
        let Some(open) = &self.run.open else { return };
        for (to, _) in open.dependents(node).into_iter().filter(|(_, each)| *each) {
            self.end_range(to, elements.clone(), TaskState::Skipped);
        }
        let tasks = self.run.elements(node, elements);
        tasks.into_iter().for_each(|task| self.skip_late(task));
    }

    /// Enters what was ended in the ledger, and says how much.
    pub(super) fn counted(self) -> u64 {
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
        run.locate(task)?.watch();
        Some(self.entry(run)?.watchers.entry(task).or_default().listen())
    }

    /// Shuts out the run's lanes until the engine's lock is given up. The run may turn out to have ended.
    pub(super) fn quiesce(&mut self, run: &Run, effects: &mut Effects) {
        let Some(entry) = self.entry(run) else { return };
        let (settled, finished) = run.flow().quiesce(entry);
        effects.wake |= !entry.ready.is_empty();
        let owner = entry.run.clone();
        for settled in settled {
            if settled.completed {
                let array = TaskId(settled.node);
                effects.finish.push((owner.clone(), array));
            }
            self.fire_late_settled(run, &settled, effects);
        }
        self.queue_reached(run, effects);
        if finished {
            self.end(run, effects);
        }
    }
}
