//! What jobs, pools and runs promise, through the public interface alone.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "the helpers of tests may panic, too; clippy.toml allows it only in the tests themselves"
)]

mod arrays;
mod asynchronous;
mod cancel;
mod edges_of_use;
mod errors;
mod failures;
mod graph;
mod pools;
mod values;
mod waiting;
#[path = "../common/watchdog.rs"]
mod watchdog;

use batchyard::{Pool, ThreadExecutor};

fn pool(threads: usize) -> Pool {
    Pool::new(ThreadExecutor::new(threads).expect("at least one thread"))
}
