//! Durable runs: kill the program at any instant, start it again, and it goes on where it was.
//!
//! ```
//! use batchyard::{Function, Job, Pool, ThreadExecutor, journal::Journal};
//!
//! static SQUARE: Function<u64, u64> = Function::new("square", |n| n * n);
//! static SUM: Function<[u64], u64> = Function::new("sum", |all: &[u64]| all.iter().sum());
//!
//! # let folder = tempfile::tempdir().unwrap();
//! # let path = folder.path().join("squares.journal");
//! let mut job = Job::new("squares");
//! let squares = job.map("square", 0..10u64, &SQUARE);
//! let sum = job.reduce("sum", &squares, &SUM);
//!
//! let pool = Pool::new(ThreadExecutor::new(2)?);
//! let run = pool.submit_durable(job, Journal::open_or_create(path)?)?;
//! assert_eq!(*run.output(&sum).wait()?, 285);
//! # Ok::<(), batchyard::Error>(())
//! ```
//!
//! When that program is started a second time, nothing is run: the results are in the journal.
//!
//! # What is known again
//!
//! A task is known by its *content*: a [`Function`](crate::Function)'s name, version and types; a command's program,
//! arguments, environment (what was set, not what was inherited), files and standard input, by their content; its items;
//! and in the same way all that it waits for. Neither its name nor the order of adding matters, nor the name of the job;
//! equal tasks are told apart by their order. What has changed, and all after it, is run again;
//! [`Run::reuse`](crate::Run::reuse) says what and why. A job with a task that can't be known again, such as a closure, is
//! refused when it is submitted.
//!
//! # What is promised
//!
//! - Nobody is told of an outcome that is not written: [`output`](crate::Run::output) and [`wait`](crate::Run::wait) return
//!   once it is.
//! - On disk, no task has ended before those that it waited for.
//! - What could not be written ends the run, with an error of kind [`Journal`](crate::ErrorKind::Journal).
//! - A task that was running when the program ended runs again, with the next attempt. One that had ended, and had not been
//!   written yet, does too: see [`Journal::at_most_behind`].

#[cfg(feature = "conformance")]
pub mod conformance;
mod fault;
#[cfg(feature = "command")]
mod files;
#[cfg(not(feature = "command"))]
#[path = "no_files.rs"]
mod files;
mod fit;
mod handle;
mod inspect;
mod log;
mod record;
mod reuse;
mod revive;
mod snapshot;
mod spans;
mod state;
mod store;
mod submission;
mod submit;
mod told;
mod writer;

pub use fault::JournalError;
pub use handle::Journal;
pub use inspect::{
    InspectedAttempt, InspectedTask, Inspection, Salvaged, forget, inspect, salvage,
};
pub use log::FileStore;
pub use reuse::{Rerun, Reuse};
pub use store::Store;

use record::Record;
use std::time::Duration;

/// When completions are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Pace {
    /// As soon as can be.
    EveryCompletion,
    /// At least that often.
    Behind(Duration),
}

impl Default for Pace {
    fn default() -> Self {
        Pace::Behind(Duration::from_millis(50))
    }
}
