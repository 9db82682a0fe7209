//! For the unit tests of applications: pools that run everything on the calling thread, in simulated time, in an order
//! that a seed chooses.
//!
//! A [`TestPool`] is a [`Pool`](crate::Pool) like any other, for the code under test; it starts no thread and no runtime.
//! Whoever waits for a run, a task or an output has the pool go on, and time passes by itself when nothing else is left to
//! do, so that a retry after an hour takes no time at all. The same seed gives the same order; another seed another one
//! of those that are allowed. Tests say what goes wrong ([`TestPool::when`]), and look at what came of it.
//!
//! ```
//! use batchyard::testing::TestPool;
//! use batchyard::{Counts, Job, Pool, Result, Task, TaskState, fallible};
//! use std::time::Duration;
//!
//! /// The code under test.
//! fn publish(pool: &Pool) -> Result<Counts> {
//!     let mut job = Job::new("nightly");
//!     let fetch = job.add(Task::new("fetch", (), fallible(|| std::fs::read("/dev/null"))).max_retries(2));
//!     let index = job.task("index", &fetch, |bytes: &Vec<u8>| bytes.len());
//!     job.task("publish", &index, |_: &usize| ());
//!     pool.submit(job)?.wait()
//! }
//!
//! let pool = TestPool::new(7);
//! pool.when("fetch").attempt(1).fails("connection refused");
//! pool.when("index").takes(Duration::from_secs(3600));
//! publish(&pool)?;
//! pool.assert_attempts("fetch", 2);
//! pool.assert_order("fetch", "publish");
//! assert!(pool.now() > Duration::from_secs(3600));
//!
//! let pool = TestPool::new(7);
//! pool.when("index").panics("out of bounds");
//! assert!(publish(&pool).is_err());
//! assert_eq!(pool.state("publish"), TaskState::Skipped);
//! # Ok::<(), batchyard::Error>(())
//! ```
//!
//! A [`DrivenExecutor`] is for those who want each step in their own hands: when an attempt begins, how it ends, when a
//! node is lost, what the pool orders.

mod assertions;
mod attempt;
mod driven;
mod faults;
mod pool;
mod record;
mod stage;
mod trace;

pub use driven::{DrivenAttempt, DrivenExecutor, DrivenNode};
pub use faults::When;
pub use pool::TestPool;
pub use trace::{Entry, Event, Trace};
