//! What jobs, pools and runs promise, through the public interface alone.

mod cancel;
mod edges_of_use;
mod errors;
mod graph;
mod pools;
mod values;
mod waiting;
mod watchdog;

use batchyard::{Pool, ThreadExecutor};

fn pool(threads: usize) -> Pool {
    Pool::new(ThreadExecutor::new(threads).expect("at least one thread"))
}
