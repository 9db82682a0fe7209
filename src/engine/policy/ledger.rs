//! What became of a run's tasks, other than success.

use crate::model::{Attempt, AttemptEnd, Error, TaskCounters, TaskId};
use rustc_hash::{FxHashMap, FxHashSet};

/// Counts and causes. Successes are the flow's.
#[derive(Default)]
pub(crate) struct Ledger {
    pub(crate) failed: u64,
    pub(crate) skipped: u64,
    pub(crate) cancelled: u64,
    /// In the order in which they happened.
    pub(crate) failures: Vec<(TaskId, Error)>,
    positions: FxHashMap<TaskId, usize>,
    /// Attempts of tasks that had more than one, or failed.
    attempts: FxHashMap<TaskId, Vec<Attempt>>,
    counters: FxHashMap<TaskId, TaskCounters>,
    /// Tasks whose end means for their dependents what it usually does not: see [`is_unusual`](Self::is_unusual).
    unusual: FxHashSet<TaskId>,
    /// Why the run was disabled, if its own exit conditions did it.
    pub(crate) disabled_by: Option<Error>,
    /// Why the run was ended before all its tasks were.
    pub(crate) ended_by: Option<Error>,
}

impl Ledger {
    pub(super) fn fail(&mut self, task: TaskId, error: Error) {
        self.failed += 1;
        self.positions.insert(task, self.failures.len());
        self.failures.push((task, error));
    }

    pub(super) fn record(&mut self, task: TaskId, attempt: Attempt) {
        self.attempts.entry(task).or_default().push(attempt);
    }

    /// How often a task was run again.
    pub(crate) fn counters_of(&self, task: TaskId) -> TaskCounters {
        self.counters.get(&task).copied().unwrap_or_default()
    }

    pub(super) fn counters_mut(&mut self, task: TaskId) -> &mut TaskCounters {
        self.counters.entry(task).or_default()
    }

    pub(super) fn set_unusual(&mut self, task: TaskId) {
        self.unusual.insert(task);
    }

    /// Whether, by its exit conditions, a task has failed and satisfies its dependents, or has succeeded and blocks
    /// them.
    pub(crate) fn is_unusual(&self, task: TaskId) -> bool {
        self.unusual.contains(&task)
    }

    /// All attempts on record, for those who drop them one by one.
    pub(crate) fn take_attempts(&mut self) -> Vec<Attempt> {
        std::mem::take(&mut self.attempts)
            .into_values()
            .flatten()
            .collect()
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
        let position = *self.positions.get(&task)?;
        self.failures.get(position).map(|(_, error)| error.clone())
    }
}
