//! What became of a run's tasks, other than success.

use super::strays::Strays;
use crate::model::{Attempt, AttemptEnd, Error, TaskCounters, TaskId};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;
use std::ops::{Bound, Range};

/// Counts and causes. Successes are the flow's.
#[derive(Default)]
pub(crate) struct Ledger {
    pub(crate) failed: u64,
    pub(crate) skipped: u64,
    pub(crate) cancelled: u64,
    /// In the order in which they happened.
    failures: BTreeMap<u64, (TaskId, Error)>,
    /// Where in that order each failed task is.
    places: BTreeMap<TaskId, u64>,
    noted: u64,
    /// Attempts of tasks that had more than one, or failed.
    attempts: FxHashMap<TaskId, Vec<Attempt>>,
    counters: FxHashMap<TaskId, TaskCounters>,
    /// Tasks whose end means for their dependents what it usually does not: see [`is_unusual`](Self::is_unusual).
    unusual: FxHashSet<TaskId>,
    /// Why the run was disabled, if its own exit conditions did it.
    pub(crate) disabled_by: Option<Error>,
    /// Why the run was ended before all its tasks were.
    pub(crate) ended_by: Option<Error>,
    /// The last attempt of each task that may have another, while the run has ended.
    pub(super) last_attempts: FxHashMap<TaskId, u32>,
    pub(crate) strays: Strays,
    /// What has changed since it was written down, if it is.
    #[cfg(feature = "journal")]
    changes: Option<Changes>,
}

/// Tasks to be written down: those of which more is to be said than how they ended; and those that have not ended any more.
#[cfg(feature = "journal")]
#[derive(Default)]
pub(crate) struct Changes {
    pub(crate) tasks: Vec<TaskId>,
    pub(crate) again: Vec<TaskId>,
}

impl Ledger {
    pub(super) fn fail(&mut self, task: TaskId, error: Error) {
        self.changed(task);
        self.failed += 1;
        self.noted += 1;
        self.places.insert(task, self.noted);
        self.failures.insert(self.noted, (task, error));
    }

    /// The task is to run again. Its attempts stay on record.
    pub(super) fn forget_failure(&mut self, task: TaskId) -> Option<Error> {
        let place = self.places.remove(&task)?;
        self.failures.remove(&place).map(|(_, error)| error)
    }

    /// The failures, in the order in which they happened.
    pub(crate) fn failures(&self) -> impl ExactSizeIterator<Item = &Error> {
        self.failures.values().map(|(_, error)| error)
    }

    /// The tasks that have failed, by id.
    pub(crate) fn failed_tasks(&self) -> impl Iterator<Item = TaskId> {
        self.places.keys().copied()
    }

    /// As well, but those after this one.
    pub(crate) fn failed_after(&self, after: Option<TaskId>) -> impl Iterator<Item = TaskId> {
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        let places = self.places.range((from, Bound::Unbounded));
        places.map(|(&task, _)| task)
    }

    /// The number of the last attempt of a task that is on record.
    pub(super) fn last_attempt(&self, task: TaskId) -> Option<u32> {
        let on_record = || Some(self.attempts.get(&task)?.last()?.number);
        self.last_attempts.get(&task).copied().or_else(on_record)
    }

    /// The first failure among tasks of these ids.
    pub(crate) fn first_failure_in(&self, ids: Range<u32>) -> Option<Error> {
        let places = self.places.range(TaskId(ids.start)..TaskId(ids.end));
        let first = places.map(|(_, place)| place).min()?;
        self.failures.get(first).map(|(_, error)| error.clone())
    }

    pub(super) fn record(&mut self, task: TaskId, attempt: Attempt) {
        self.changed(task);
        self.attempts.entry(task).or_default().push(attempt);
    }

    /// How often a task was run again.
    pub(crate) fn counters_of(&self, task: TaskId) -> TaskCounters {
        self.counters.get(&task).copied().unwrap_or_default()
    }

    pub(super) fn counters_mut(&mut self, task: TaskId) -> &mut TaskCounters {
        self.counters.entry(task).or_default()
    }

    /// The task is to run again, as if it had not run before: it may be tried as often as any.
    pub(super) fn start_over(&mut self, task: TaskId) {
        self.changed(task);
        #[cfg(feature = "journal")]
        if let Some(changes) = &mut self.changes {
            changes.again.push(task);
        }
        self.counters.remove(&task);
        self.unusual.remove(&task);
    }

    pub(super) fn set_unusual(&mut self, task: TaskId) {
        self.changed(task);
        self.unusual.insert(task);
    }

    /// Whether, by its exit conditions, a task has failed and satisfies its dependents, or has succeeded and blocks
    /// them.
    pub(crate) fn is_unusual(&self, task: TaskId) -> bool {
        self.unusual.contains(&task)
    }

    /// Nobody writes it down.
    #[cfg(not(feature = "journal"))]
    fn changed(&mut self, _: TaskId) {}

    /// There is more to write down.
    #[cfg(feature = "journal")]
    fn changed(&mut self, task: TaskId) {
        if let Some(changes) = &mut self.changes {
            changes.tasks.push(task);
        }
    }

    /// From now on, what changes is to be written down.
    #[cfg(feature = "journal")]
    pub(in crate::engine) fn keep_changes(&mut self) {
        self.changes.get_or_insert_default();
    }

    /// The tasks that have not ended any more, since this was asked last.
    #[cfg(feature = "journal")]
    pub(in crate::engine) fn take_again(&mut self) -> Vec<TaskId> {
        let changes = self.changes.as_mut();
        changes.map_or_else(Vec::new, |changes| std::mem::take(&mut changes.again))
    }

    /// Whether it is not yet written down of one of these tasks, by id, that it has not ended any more.
    #[cfg(feature = "journal")]
    pub(in crate::engine) fn is_to_run_again(&self, ids: &Range<u32>) -> bool {
        let changes = self.changes.as_ref();
        changes.is_some_and(|changes| changes.again.iter().any(|task| ids.contains(&task.0)))
    }

    /// The tasks of which there is more to say, each once.
    #[cfg(feature = "journal")]
    pub(super) fn take_changed(&mut self) -> Vec<TaskId> {
        let changes = self.changes.as_mut();
        let mut tasks = changes.map_or_else(Vec::new, |changes| std::mem::take(&mut changes.tasks));
        tasks.sort_unstable();
        tasks.dedup();
        tasks
    }

    /// Where in the order of failures a task is, and its error.
    #[cfg(feature = "journal")]
    pub(super) fn failure_of(&self, task: TaskId) -> Option<(u64, Error)> {
        let place = *self.places.get(&task)?;
        self.failures
            .get(&place)
            .map(|(_, error)| (place, error.clone()))
    }

    /// What is known of a task from an earlier life of the run.
    #[cfg(feature = "journal")]
    pub(super) fn remember(
        &mut self,
        task: TaskId,
        counters: TaskCounters,
        attempts: Vec<Attempt>,
    ) {
        self.counters.insert(task, counters);
        if !attempts.is_empty() {
            self.attempts.insert(task, attempts);
        }
    }

    pub(crate) fn take_all(&mut self) -> (Vec<Error>, Vec<Attempt>) {
        let failures = std::mem::take(&mut self.failures).into_values();
        let attempts = std::mem::take(&mut self.attempts).into_values();
        (
            failures.map(|(_, error)| error).collect(),
            attempts.flatten().collect(),
        )
    }

    /// How many attempts on record did not succeed.
    pub(crate) fn unsuccessful_attempts(&self) -> u64 {
        let attempts = self.attempts.values().flatten();
        let failed = attempts.filter(|attempt| !matches!(attempt.end, AttemptEnd::Succeeded));
        failed.count() as u64
    }

    pub(crate) fn attempts_of(&self, task: TaskId) -> Vec<Attempt> {
        self.attempts.get(&task).cloned().unwrap_or_default()
    }

    pub(crate) fn error_of(&self, task: TaskId) -> Option<Error> {
        let place = self.places.get(&task)?;
        self.failures.get(place).map(|(_, error)| error.clone())
    }
}
