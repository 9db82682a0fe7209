//! How tasks stand and how they ended.

use super::Error;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

/// How a task stands.
///
/// Azure Batch's words map onto these: its *active* is `Waiting` or `Ready`, *preparing* and *running* are
/// `Running`, and its *completed* is one of the four ends. A task that Azure would leave active for ever, because
/// a task it depends on failed, is `Skipped` here.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum TaskState {
    /// Depends on a task that has not ended.
    Waiting,
    /// Could run, and is not yet running.
    Ready,
    /// Its body has been begun.
    Running,
    /// Ended well; its output is there for those who depend on it.
    Succeeded,
    /// Ended with an error, a panic, or past a limit, and no attempt is left.
    Failed,
    /// Never ran, since a task it depends on did not succeed.
    Skipped,
    /// Was cancelled, by a request or since the job ended first.
    Cancelled,
}

impl TaskState {
    /// Whether the task has ended, one way or another.
    pub fn is_final(self) -> bool {
        !matches!(
            self,
            TaskState::Waiting | TaskState::Ready | TaskState::Running
        )
    }
}

/// Why a task is not running, in words for people: see [`Run::explain`](crate::Run::explain).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Explanation(String);

impl Explanation {
    pub(crate) fn new(words: String) -> Self {
        Explanation(words)
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for TaskState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TaskState::Waiting => "waiting",
            TaskState::Ready => "ready",
            TaskState::Running => "running",
            TaskState::Succeeded => "succeeded",
            TaskState::Failed => "failed",
            TaskState::Skipped => "skipped",
            TaskState::Cancelled => "cancelled",
        })
    }
}

/// How many tasks of a run stand where. Every element of an array counts as a task.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Counts {
    /// All tasks of the job.
    pub total: u64,
    /// Ended well.
    pub succeeded: u64,
    /// Ended with an error or a panic.
    pub failed: u64,
    /// Never ran because of another.
    pub skipped: u64,
    /// Cancelled.
    pub cancelled: u64,
}

impl Counts {
    /// Tasks that have ended, one way or another.
    pub fn ended(&self) -> u64 {
        self.succeeded + self.failed + self.skipped + self.cancelled
    }

    /// Tasks that have not ended: waiting, ready or running.
    pub fn unfinished(&self) -> u64 {
        self.total - self.ended()
    }
}

/// One attempt of a task that has ended, of those that are on record: see [`Run::attempts`](crate::Run::attempts).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Attempt {
    /// From 1.
    pub number: u32,
    /// Since the job was submitted; unknown for a task that was never timed.
    pub started: Option<Duration>,
    /// Since the job was submitted.
    pub ended: Duration,
    /// How it ended.
    pub end: AttemptEnd,
}

/// How an attempt ended.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum AttemptEnd {
    /// Well.
    Succeeded,
    /// With an error, a panic, or past its time limit.
    Failed(Error),
    /// Without an outcome of its own.
    Returned(Returned),
}

/// Why an attempt came back without an outcome.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Returned {
    /// Its body was never called: it may be begun again as it was.
    NotBegun,
    /// The executor took the node away. The next attempt starts elsewhere; nobody is to blame.
    TakenAway,
    /// The node, process or worker was lost with it. After five such losses the task counts as their cause.
    NodeLost,
}

/// A body was ended at its time limit: a source of what its executor reports.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("its time limit of {0:?} is over")]
pub(crate) struct TimeLimitOver(pub(crate) Duration);

/// A panic of a body: the cause of a task's failure, found by [`Error::cause`](crate::Error::cause).
#[derive(Clone, Debug, thiserror::Error)]
pub struct Panic {
    pub(crate) message: String,
    pub(crate) place: Option<String>,
}

impl Panic {
    /// What was passed to `panic!`, or a note that it was no text.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// File, line and column, if the process's panic hook let us see them.
    pub fn place(&self) -> Option<&str> {
        self.place.as_deref()
    }
}

impl fmt::Display for Panic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Some(place) => write!(f, "panicked at {place}: {}", self.message),
            None => write!(f, "panicked: {}", self.message),
        }
    }
}
