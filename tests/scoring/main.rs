//! What batch scoring promises, through the public interface alone.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "the helpers of tests may panic, too; clippy.toml allows it only in the tests themselves"
)]

mod files;
mod jobs;
mod outputs;
mod tables;
mod thresholds;
mod timeouts;
#[path = "../common/watchdog.rs"]
mod watchdog;

use batchyard::scoring::{Files, MiniBatch, Report, ScoringError};
use batchyard::{BoxError, Error, Pool, ThreadExecutor};
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

fn pool(threads: usize) -> Pool {
    Pool::new(ThreadExecutor::new(threads).unwrap())
}

/// A folder with some files `0000`, `0001` and so on, each with its number in it, for input; outputs go beside it.
struct Place {
    folder: TempDir,
}

impl Place {
    fn new(files: usize) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("in")).unwrap();
        let place = Place { folder };
        (0..files).for_each(|n| place.write(&format!("in/{n:04}"), &n.to_string()));
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    fn lines(&self, name: &str) -> Vec<String> {
        self.read(name).lines().map(str::to_owned).collect()
    }

    fn files(&self) -> Files {
        Files::directory(self.path("in")).unwrap()
    }

    /// What there is beside the input.
    fn made(&self) -> Vec<String> {
        let names = fs::read_dir(self.folder.path()).unwrap();
        let mut names: Vec<_> = names
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.retain(|name| name != "in");
        names.sort();
        names
    }
}

fn name(path: &Path) -> String {
    path.file_name().unwrap().to_string_lossy().into_owned()
}

/// A row for each file: its name.
fn names(batch: &MiniBatch) -> Result<Vec<String>, BoxError> {
    Ok(batch.paths().iter().map(|path| name(path)).collect())
}

fn cause(result: Result<Report, Error>) -> ScoringError {
    let error = result.expect_err("it was to end early");
    error
        .cause::<ScoringError>()
        .unwrap_or_else(|| panic!("{error}"))
        .clone()
}
