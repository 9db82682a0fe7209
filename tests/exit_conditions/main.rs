//! What the end of a task means for those that depend on it and for its job, and what can be done to a run as a whole.
//! Rules are Azure Batch's, or say where they differ.

#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

mod actions;
mod azure;
mod conditions;
mod edges;
#[path = "../common/watchdog.rs"]
mod watchdog;

use batchyard::*;

/// A pool of two threads.
fn pool() -> Pool {
    Pool::new(ThreadExecutor::new(2).expect("threads"))
}

/// A body that exits with a code.
fn exits(code: i32) -> impl Fn() -> std::result::Result<(), ExitCode> + Send + Sync + 'static {
    move || match code {
        0 => Ok(()),
        code => Err(ExitCode(code)),
    }
}

/// A task that exits with a code, under conditions.
fn exiting(name: &str, code: i32, conditions: ExitConditions) -> Task<()> {
    Task::new(name.to_owned(), (), fallible(exits(code))).exit_conditions(conditions)
}
