//! How a call goes wrong, and how a whole run does.

use crate::model::{BoxError, Panic, Permanent};
use serde::Serialize;
use std::fmt;
use std::time::Duration;

/// Why a try of a mini-batch, or of making a worker, failed.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) category: Category,
    pub(super) error: BoxError,
    /// The worker is of no more use.
    pub(super) worker_lost: bool,
}

/// What kind of failure it was. (Azure ML: the *status* of a mini-batch.)
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[non_exhaustive]
pub enum Category {
    /// The scorer returned an error, raised an exception, or panicked.
    RunException,
    /// The call took longer than it may.
    RunTimeout,
    /// Preparing the mini-batch took longer than it may.
    LoadTimeout,
    /// The mini-batch could not be read.
    LoadException,
    /// The scorer returned something that is not rows, or rows whose columns are others than those of the first.
    WrongResult,
    /// The scorer ended its own process.
    Exited,
    /// The scorer's process died of a signal.
    Crashed,
    /// The scorer ran out of memory, and said so.
    OutOfMemory,
}

impl Category {
    /// Whether the same call is worth another try.
    pub(super) fn is_worth_a_try(self) -> bool {
        self != Category::WrongResult
    }
}

impl fmt::Display for Category {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Category::RunException => "RUN_EXCEPTION",
            Category::RunTimeout => "RUN_TIMEOUT",
            Category::LoadTimeout => "LOAD_TIMEOUT",
            Category::LoadException => "LOAD_EXCEPTION",
            Category::WrongResult => "WRONG_RESULT",
            Category::Exited => "EXITED",
            Category::Crashed => "CRASHED",
            Category::OutOfMemory => "OUT_OF_MEMORY",
        })
    }
}

impl Fault {
    pub(super) fn new(category: Category, error: impl Into<BoxError>) -> Self {
        Fault {
            category,
            error: error.into(),
            worker_lost: false,
        }
    }

    pub(super) fn exception(error: BoxError) -> Self {
        Fault::new(Category::RunException, error)
    }

    pub(super) fn panicked(panic: Panic) -> Self {
        Fault::new(Category::RunException, panic).losing_worker()
    }

    pub(super) fn timed_out(limit: Duration) -> Self {
        let message = format!(
            "the call took longer than {limit:?}; raise `call_timeout`, or make mini-batches smaller"
        );
        Fault::new(Category::RunTimeout, message).losing_worker()
    }

    pub(super) fn losing_worker(mut self) -> Self {
        self.worker_lost = true;
        self
    }

    pub(super) fn is_permanent(&self) -> bool {
        !self.category.is_worth_a_try() || self.error.is::<Permanent>()
    }
}

/// Why a parallel run ended early. The cause of the run's error: [`Error::cause`](crate::Error::cause) finds it.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ScoringError {
    /// More items failed than [`error_threshold`](super::ParallelRun::error_threshold) bears.
    #[error(
        "{failed} items have failed, and the error threshold is {allowed}; the last error: {last}"
    )]
    TooManyItems {
        /// How many had failed.
        failed: u64,
        /// How many may.
        allowed: u64,
        /// The error that was one too many.
        last: String,
    },
    /// More mini-batches failed than [`allowed_failed_count`](super::ParallelRun::allowed_failed_count) bears.
    #[error("{failed} mini-batches have failed, and {allowed} may; the last error: {last}")]
    TooManyMiniBatches {
        /// How many had failed.
        failed: u64,
        /// How many may.
        allowed: u64,
        /// The error that was one too many.
        last: String,
    },
    /// A greater share of the mini-batches failed than
    /// [`allowed_failed_percent`](super::ParallelRun::allowed_failed_percent) bears.
    #[error(
        "{failed} of {total} mini-batches have failed, and {allowed} percent may; the last error: {last}"
    )]
    TooGreatAShare {
        /// How many failed.
        failed: u64,
        /// Of how many.
        total: u64,
        /// How many percent may.
        allowed: f64,
        /// The last error.
        last: String,
    },
    /// No worker could be made: `init` failed as often as it may. The error is the one that was most common.
    #[error("`init` failed {times} times; most often with: {most_common}")]
    InitFailed {
        /// How often it failed, over all workers.
        times: u64,
        /// The most common error, or Python's traceback.
        most_common: String,
    },
    /// The input can't be read as described.
    #[error("{0}")]
    Input(String),
    /// The output can't be written.
    #[error("can't write {path}: {cause}")]
    Output {
        /// Where to.
        path: String,
        /// Why.
        cause: String,
    },
}
