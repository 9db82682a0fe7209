//! Tasks as they are listed.

use super::{TaskId, TaskState};
use serde::{Deserialize, Serialize};

/// One page of a list of tasks: see [`Run::tasks`](crate::Run::tasks).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TaskPage {
    /// In the order of their ids.
    pub tasks: Vec<TaskStatus>,
    /// What the next page begins [after](crate::Tasks::after); none if this is the last.
    pub next: Option<TaskId>,
}

/// How a task stood when it was listed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TaskStatus {
    /// The task's id in its job.
    pub id: TaskId,
    /// Its name, or a description such as `task 17` or `count[3]`.
    pub label: String,
    /// How it stands.
    pub state: TaskState,
    /// The attempt that goes on, or that was the last; 0 if there was none.
    pub attempt: u32,
    /// Why it failed, was skipped or was cancelled, in words.
    pub error: Option<String>,
}
