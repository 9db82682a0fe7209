//! Jobs and settings as documents: what is read and written, what is refused, and how that is told.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "the helpers of tests may panic, too; clippy.toml allows it only in the tests themselves"
)]

mod example;
mod properties;
mod reading;
mod refusals;
#[cfg(target_os = "linux")]
mod running;
mod settings;
mod writing;

use batchyard::{Error, ErrorKind, Job};

/// A job of one task, with these lines in its document and with these in its task.
fn with(job: &str, task: &str) -> String {
    format!("version = 1\nname = \"j\"\n{job}\n[[tasks]]\nname = \"t\"\n{task}\n")
}

/// What is wrong with a document.
fn refused(toml: &str) -> Error {
    let error = Job::from_toml(toml).expect_err(toml);
    assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
    error
}
