//! A folder for a journal, pools, and functions that count how often they are called.

use batchyard::journal::Journal;
use batchyard::{Job, Pool, Result, Run, ThreadExecutor};
use std::path::PathBuf;
use std::sync::Mutex;
use tempfile::TempDir;

/// A folder with one journal.
pub(crate) struct Yard {
    folder: TempDir,
}

impl Yard {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Yard { folder }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("run.journal")
    }

    /// Runs a job, or goes on with it, on a pool of its own, as another process would.
    pub(crate) fn submit(&self, job: Job) -> (Pool, Run) {
        let (pool, run) = self.try_submit(job);
        (pool, run.unwrap())
    }

    pub(crate) fn try_submit(&self, job: Job) -> (Pool, Result<Run>) {
        let pool = pool();
        let journal = Journal::open_or_create(self.path());
        let run = journal.and_then(|journal| pool.submit_durable(job, journal));
        (pool, run)
    }
}

pub(crate) fn pool() -> Pool {
    Pool::new(ThreadExecutor::new(2).unwrap())
}

/// Counts calls, by whatever tells them apart. Functions have no state of their own: each test has a counter of its own.
pub(crate) struct Calls(Mutex<Vec<u64>>);

impl Calls {
    pub(crate) const fn new() -> Self {
        Calls(Mutex::new(Vec::new()))
    }

    pub(crate) fn note(&self, call: u64) {
        self.0.lock().unwrap().push(call);
    }

    /// What was called since this was asked last, in order of its numbers.
    pub(crate) fn take(&self) -> Vec<u64> {
        let mut calls = std::mem::take(&mut *self.0.lock().unwrap());
        calls.sort_unstable();
        calls
    }
}
