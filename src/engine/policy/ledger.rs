//! What became of a run's tasks, other than success.

use crate::model::{Attempt, Error, TaskId};
use rustc_hash::FxHashMap;

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

    /// All attempts on record, for those who drop them one by one.
    pub(crate) fn take_attempts(&mut self) -> Vec<Attempt> {
        std::mem::take(&mut self.attempts)
            .into_values()
            .flatten()
            .collect()
    }

    pub(crate) fn attempts_of(&self, task: TaskId) -> Vec<Attempt> {
        self.attempts.get(&task).cloned().unwrap_or_default()
    }

    pub(crate) fn error_of(&self, task: TaskId) -> Option<Error> {
        let position = *self.positions.get(&task)?;
        self.failures.get(position).map(|(_, error)| error.clone())
    }
}
