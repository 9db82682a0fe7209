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

/// How a run stands: see [`Run::run_state`](crate::Run::run_state). (Azure Batch: the state of a job.)
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RunState {
    /// Its tasks run as they become ready.
    Active,
    /// Is disabled, and some of its tasks have not stopped yet.
    Disabling,
    /// Is disabled, and nothing of it runs.
    Disabled,
    /// Was ended before its time; every task has ended, and some body has not returned yet.
    Terminating,
    /// Every task has ended.
    Completed,
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
    /// Depend on a task that has not ended.
    pub waiting: u64,
    /// Could run, and are not yet running.
    pub ready: u64,
    /// Running.
    pub running: u64,
    /// Ended well.
    pub succeeded: u64,
    /// Ended with an error or a panic.
    pub failed: u64,
    /// Never ran because of another.
    pub skipped: u64,
    /// Cancelled.
    pub cancelled: u64,
    /// The run is disabled: what has not ended is not started until it is [enabled](crate::Run::enable).
    pub disabled: bool,
}

impl Counts {
    /// Tasks that have ended, one way or another.
    pub fn ended(&self) -> u64 {
        self.succeeded + self.failed + self.skipped + self.cancelled
    }

    /// Counts tasks that stand so.
    pub(crate) fn add(&mut self, state: TaskState, tasks: u64) {
        self.total += tasks;
        match state {
            TaskState::Succeeded => self.succeeded += tasks,
            TaskState::Failed => self.failed += tasks,
            TaskState::Skipped => self.skipped += tasks,
            TaskState::Cancelled => self.cancelled += tasks,
            TaskState::Waiting | TaskState::Ready | TaskState::Running => (),
        }
    }

    /// Counts what others count, each task so many times.
    pub(crate) fn add_all(&mut self, others: &Counts, each: u64) {
        self.total += others.total * each;
        self.succeeded += others.succeeded * each;
        self.failed += others.failed * each;
        self.skipped += others.skipped * each;
        self.cancelled += others.cancelled * each;
    }

    /// Tasks that have not ended: waiting, ready or running.
    pub fn unfinished(&self) -> u64 {
        self.total - self.ended()
    }
}

/// How often a task was run again, and why: see [`Run::counters`](crate::Run::counters).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TaskCounters {
    /// Since it failed. Limited by [`TaskSettings::max_retries`](crate::TaskSettings::max_retries).
    pub retries: u32,
    /// Since its node was taken away from it in an orderly way: by a resize, a node that left, or when the run was
    /// disabled. Not limited.
    pub requeues: u32,
    /// Since its node was lost. Limited by [`TaskSettings::max_recoveries`](crate::TaskSettings::max_recoveries).
    pub recoveries: u32,
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
    /// It was stopped, or no longer counted: its task was cancelled.
    Cancelled,
    /// Without an outcome of its own.
    Returned(Returned),
}

/// What one attempt of a function wrote to standard output and error in a child process: see
/// [`Run::printed`](crate::Run::printed).
#[cfg(feature = "process")]
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Printed {
    /// From 1.
    pub attempt: u32,
    /// The end of what it wrote to standard output.
    pub stdout: Vec<u8>,
    /// The end of what it wrote to standard error.
    pub stderr: Vec<u8>,
}

/// How far a body says it is: see [`Context::report_progress`](crate::Context::report_progress).
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ProgressReport {
    /// How much is done, from 0 to 1.
    pub fraction: f64,
    /// What the body has to say.
    pub message: String,
}

/// How much of something is done, from 0 to 1.
#[derive(Clone, Copy, PartialEq, PartialOrd, Debug)]
pub struct Fraction(pub(crate) f64);

impl From<f64> for Fraction {
    /// What is out of range counts as its nearer end, and what is no number as nothing.
    fn from(fraction: f64) -> Self {
        match fraction.is_nan() {
            true => Fraction(0.0),
            false => Fraction(fraction.clamp(0.0, 1.0)),
        }
    }
}

impl From<(u64, u64)> for Fraction {
    /// So many of a total. Of nothing, everything is done.
    fn from((done, total): (u64, u64)) -> Self {
        match total {
            0 => Fraction(1.0),
            _ => Fraction::from(done as f64 / total as f64),
        }
    }
}

/// Why an attempt came back without an outcome.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Returned {
    /// Its body was never called: it may be begun again as it was.
    NotBegun,
    /// The node was taken away, or the run was disabled: a requeue. Nobody is to blame.
    TakenAway,
    /// The node, process or worker was lost with it. After too many such losses the task counts as their cause: see
    /// [`TaskSettings::max_recoveries`](crate::TaskSettings::max_recoveries).
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
