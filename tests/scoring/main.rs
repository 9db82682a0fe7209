//! What batch scoring promises, through the public interface alone.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "the helpers of tests may panic, too; clippy.toml allows it only in the tests themselves"
)]

#[path = "../common/scoring_cause.rs"]
mod cause;
mod files;
mod jobs;
#[cfg(feature = "onnx")]
mod onnx;
mod outputs;
#[path = "../common/scoring_place.rs"]
mod place;
mod tables;
mod thresholds;
mod timeouts;
#[path = "../common/watchdog.rs"]
mod watchdog;

use batchyard::scoring::MiniBatch;
use batchyard::{BoxError, Pool, ThreadExecutor};
use cause::cause;
use place::Place;
use std::path::Path;

fn pool(threads: usize) -> Pool {
    Pool::new(ThreadExecutor::new(threads).unwrap())
}

/// What there is beside the input.
fn made(place: &Place) -> Vec<String> {
    let entries = std::fs::read_dir(place.path("")).unwrap();
    let names = entries.map(|entry| name(&entry.unwrap().path()));
    let mut names: Vec<_> = names.filter(|name| name != "in").collect();
    names.sort();
    names
}

fn name(path: &Path) -> String {
    path.file_name().unwrap().to_string_lossy().into_owned()
}

/// A row for each file: its name.
fn names(batch: &MiniBatch) -> Result<Vec<String>, BoxError> {
    Ok(batch.paths().iter().map(|path| name(path)).collect())
}
