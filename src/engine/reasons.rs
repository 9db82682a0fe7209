//! Why a run, or a task of it, did not succeed.

use super::Run;
use crate::model::{Error, ErrorKind, TaskId, TaskState};

impl Run {
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

    /// The failures so far.
    pub(crate) fn failures(&self) -> Vec<Error> {
        self.ledger().failures().cloned().collect()
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
        let elements = self.ids_of(node);
        self.ledger().first_failure_in(elements)
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
}
