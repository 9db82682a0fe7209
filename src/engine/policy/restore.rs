//! A run that goes on where an earlier life of it left off; and what is to be known of it for a later one.

use super::attempts::SUSPECT_AFTER;
use super::{Effects, Entry, Policy, Run, Time};
use crate::engine::Item;
use crate::engine::flow::{Ready, Settled, ranges};
use crate::model::{Attempt, Capacity, Error, Result, TaskCounters, TaskId, TaskState};
use std::ops::Range;
use std::sync::Arc;

/// What became of a run in its earlier life.
#[derive(Default)]
pub(crate) struct Past {
    /// Each behind what it waited for.
    pub(crate) ends: Vec<PastEnd>,
    pub(crate) tasks: Vec<(TaskId, KnownTask)>,
    /// Why it was ended before all its tasks were.
    pub(crate) stopped: Option<Error>,
}

/// How tasks ended. What was skipped is skipped again.
pub(crate) enum PastEnd {
    /// By id: one task, or elements of one array. Their outputs are in place, and their inputs let go.
    Succeeded(Range<u32>),
    Failed(TaskId, Error),
    Cancelled(TaskId),
}

/// All that is known of a task but how it stands.
#[derive(Clone, Default, Debug)]
pub(crate) struct KnownTask {
    /// The last that has begun.
    pub(crate) attempt: u32,
    pub(crate) counters: TaskCounters,
    pub(crate) attempts: Vec<Attempt>,
    /// From now.
    pub(crate) not_before: Option<Time>,
    pub(crate) until: Option<Time>,
    pub(crate) unusual: bool,
    /// Where in the order of failures it is, and why it failed.
    pub(crate) failure: Option<(u64, Error)>,
}

/// What has changed in a run since the last report, beside what tasks have ended.
pub(crate) struct Report {
    pub(crate) tasks: Vec<(TaskId, KnownTask)>,
    /// Attempts that are running.
    pub(crate) running: Vec<(TaskId, u32)>,
    /// Why it was ended before all its tasks were, if it was.
    pub(crate) stopped: Option<Error>,
}

impl Policy {
    /// Takes in a run that has had an earlier life.
    pub(crate) fn go_on(
        &mut self,
        run: &Arc<Run>,
        offered: &[Capacity],
        past: Past,
        effects: &mut Effects,
    ) -> Result<()> {
        self.enter_run(run, offered)?;
        self.remember(run, &past.tasks, effects.now());
        self.begin_run(run, effects);
        let unusual = past.tasks.iter().filter(|(_, known)| known.unusual);
        for (task, _) in unusual {
            run.ledger().set_unusual(*task);
        }
        let succeeded = past
            .ends
            .into_iter()
            .map(|end| self.end_again(run, end, effects));
        let succeeded = succeeded.sum();
        self.queue_reached(run, effects);
        if let Some(entry) = self.entry(run) {
            entry.forget_ended();
        }
        for (task, known) in &past.tasks {
            self.set_aside(run, *task, known, effects);
        }
        self.report(run, succeeded, effects);
        if let Some(cause) = past.stopped {
            self.stop_run(run, cause, None, effects);
        }
        Ok(())
    }

    fn remember(&mut self, run: &Run, tasks: &[(TaskId, KnownTask)], now: Time) {
        let Some(entry) = self.entry(run) else { return };
        for (task, known) in tasks {
            let attempts = known.attempts.clone();
            run.ledger().remember(*task, known.counters, attempts);
            if known.attempt > 0 {
                entry.attempts.insert(*task, known.attempt);
            }
            if known.counters.recoveries >= SUSPECT_AFTER {
                entry.suspects.insert(*task);
            }
            let until = known.until.map(|until| (*task, now + until));
            entry.attempts_until.extend(until);
            let wait = known.not_before.map(|wait| (*task, now + wait));
            entry.not_before.extend(wait);
        }
    }

    /// Returns how many tasks have succeeded with that, and are not yet reported.
    fn end_again(&mut self, run: &Run, end: PastEnd, effects: &mut Effects) -> u64 {
        match end {
            PastEnd::Succeeded(ids) if run.ledger().is_unusual(TaskId(ids.start)) => {
                ids.for_each(|id| self.succeed_and_block(run, TaskId(id), effects));
                0
            }
            PastEnd::Succeeded(ids) => self.succeed_again(run, ids, effects),
            PastEnd::Failed(task, error) => {
                let satisfied = run.ledger().is_unusual(task);
                run.ledger().fail(task, error);
                self.end_task(run, task, TaskState::Failed, satisfied, effects);
                0
            }
            PastEnd::Cancelled(task) => {
                self.end_task(run, task, TaskState::Cancelled, false, effects);
                0
            }
        }
    }

    fn succeed_again(&mut self, run: &Run, ids: Range<u32>, effects: &mut Effects) -> u64 {
        let (segment, count) = (&run.flow().first, u64::from(ids.end - ids.start));
        let Some((node, index)) = segment.job.locate(TaskId(ids.start)) else {
            return 0;
        };
        let Some(entry) = self.entry(run) else {
            return 0;
        };
        match segment.job.array_of_node(node) {
            None => {
                segment.word(node).succeed();
                segment.fire(node, entry);
            }
            Some(array) => {
                segment.array(array).touch();
                let elements = index..index + (ids.end - ids.start);
                let ended = segment.elements_succeeded(array, elements.clone(), entry);
                let settled = Settled {
                    node,
                    elements,
                    end: ended.then(|| segment.array_ended(array, entry)),
                };
                let run = entry.run.clone();
                self.elements_settled(&run, settled, effects);
            }
        }
        self.open_empty_after(run, node, effects);
        count
    }

    /// Arrays without elements end when what they wait for has.
    fn open_empty_after(&mut self, run: &Run, node: u32, effects: &mut Effects) {
        if run.job().arrays.iter().all(|part| part.len > 0) {
            return;
        }
        let successors = run.job().csr.successors(node).iter();
        let successors = successors.map(|&entry| crate::graph::node_of(entry));
        let empty = successors.filter(|&next| run.job().is_empty_array(next));
        for next in empty.collect::<Vec<_>>() {
            self.reopen(run, TaskId(next), effects);
            self.open_empty_after(run, next, effects);
        }
    }

    /// A plain task that has had an attempt before is the policy's to start, with the next.
    fn set_aside(&mut self, run: &Run, task: TaskId, known: &KnownTask, effects: &mut Effects) {
        let Some((node, index)) = run.job().locate(task) else {
            return;
        };
        let is_plain = !run.job().is_queued(node);
        let is_whole = !task.is_element() && run.job().is_array(node);
        if known.attempt == 0 || !is_plain || is_whole || run.ended_state(task).is_some() {
            return;
        }
        let Some(entry) = self.entry(run) else { return };
        entry.reactivated = true;
        let array = run.job().array_of_node(node);
        match array {
            None => run.flow().first.word(node).reactivate(),
            Some(array) => run.flow().first.array(array).set_aside(index..index + 1),
        }
        if run.is_ready(task) {
            self.queue(run, task.0..task.0 + 1, effects);
        }
    }

    /// What is to be known for a later life of a run, and has changed.
    pub(crate) fn changes(&mut self, run: &Run, now: Time) -> Report {
        let changed = run.ledger().take_changed();
        let tasks = changed.into_iter();
        let tasks = tasks
            .map(|task| (task, self.known(run, task, now)))
            .collect();
        let leased = self.entry(run).into_iter().flat_map(|entry| {
            let leased = entry.leased.iter();
            leased.map(|(&task, lease)| (task, lease.attempt))
        });
        let mut running: Vec<_> = leased.collect();
        if !run.has_ended() {
            let bodies = run.flow().at_lanes().into_iter().map(|(_, task)| task);
            // A lane that opens an array is in no body.
            let is_task = |task: &TaskId| match task.is_element() {
                true => run.job().locate(*task).is_some(),
                false => run.job().locate(*task).is_some() && !run.job().is_array(task.0),
            };
            let bodies = bodies.filter(is_task);
            let begun = bodies.filter(|&task| run.flow().is_for_lanes(task));
            running.extend(begun.map(|task| (task, 1)));
        }
        Report {
            tasks,
            running,
            stopped: run.ledger().ended_by.clone(),
        }
    }

    fn known(&mut self, run: &Run, task: TaskId, now: Time) -> KnownTask {
        let ledger = run.ledger();
        let mut known = KnownTask {
            attempt: ledger.last_attempt(task).unwrap_or(0),
            counters: ledger.counters_of(task),
            attempts: ledger.attempts_of(task),
            unusual: ledger.is_unusual(task),
            failure: ledger.failure_of(task),
            ..KnownTask::default()
        };
        drop(ledger);
        if let Some(entry) = self.runs.get(&run.rank()) {
            let last = entry.attempts.get(&task).copied().unwrap_or(0);
            known.attempt = known.attempt.max(last);
            let delay = entry.delayed.get(&task).map(|timer| timer.time());
            known.not_before = delay.map(|at| at.saturating_sub(now));
            let until = entry.attempts_until.get(&task);
            known.until = until.map(|until| until.saturating_sub(now));
        }
        known
    }
}

impl Entry {
    /// What became ready on the way, and has ended.
    fn forget_ended(&mut self) {
        let (job, flow) = (self.run.job(), self.run.flow());
        let segment = &flow.first;
        let is_over = |node: u32| match job.array_of_node(node) {
            Some(array) => segment.word(node).ended().is_some() && segment.array(array).is_over(),
            None => segment.word(node).ended().is_some(),
        };
        let left = |item: Item| -> Vec<Item> {
            match item.ready() {
                Ready::Node(node) if is_over(node) => Vec::new(),
                Ready::Node(_) => vec![item],
                Ready::Sources(range) => {
                    let goes_on = |at: u32| !is_over(job.csr.sources[at as usize]);
                    ranges(range, goes_on).map(Item::sources).collect()
                }
                Ready::Elements(numbers) => {
                    let is_left = |number: u32| flow.is_for_lanes(TaskId::element(number));
                    ranges(numbers, is_left).map(Item::elements).collect()
                }
            }
        };
        self.ready = self.ready.iter().flat_map(|item| left(*item)).collect();
    }
}
