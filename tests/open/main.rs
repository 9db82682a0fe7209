//! Open jobs: what is added to a run while it runs, from outside and from inside its tasks.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

mod adding;
mod again;
#[cfg(all(feature = "command", target_os = "linux"))]
mod commands;
mod conditions;
mod dependencies;
mod inside;
mod looks;
mod many;
mod model;
mod refusals;
#[path = "../common/watchdog.rs"]
mod watchdog;

use batchyard::{Job, Pool, Run, ThreadExecutor};
use std::sync::{Arc, Condvar, Mutex};

fn pool(threads: usize) -> Pool {
    Pool::new(ThreadExecutor::new(threads).expect("at least one thread"))
}

/// A run to which nothing was added yet.
fn empty_run(pool: &Pool) -> Run {
    pool.submit(Job::open("open")).expect("sound")
}

/// What a body waits for until the test opens it.
#[derive(Clone, Default)]
struct Door(Arc<(Mutex<bool>, Condvar)>);

impl Door {
    fn open(&self) {
        *self.0.0.lock().unwrap() = true;
        self.0.1.notify_all();
    }

    fn wait(&self) {
        let closed = self.0.0.lock().unwrap();
        drop(self.0.1.wait_while(closed, |open| !*open).unwrap());
    }
}
