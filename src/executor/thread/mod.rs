//! Runs tasks on threads of this process.

mod crew;
mod wait;
mod worker;

use super::{Executor, Feed, NodeSpec, Offer, Order};
use crate::model::{Error, ErrorKind, Panic, Result};
use async_trait::async_trait;
use crew::Crew;
use std::num::NonZero;
use std::sync::Arc;

/// How many bodies may wait at once for each thread, unless told otherwise.
const ASYNC_SLOTS_PER_THREAD: u32 = 64;

/// Runs tasks on threads of this process: closures, functions, and bodies that wait.
///
/// One node with a slot a thread. Isolation: a panic is its task's failure; with `panic = "abort"` it ends the process.
/// A body can't be interrupted: when it is cancelled it counts as over at once, its thread as busy until it returns.
/// Bodies that wait run on tokio and hold one of the node's slots for them, but no thread. They run on the multi-thread
/// runtime in which the executor was made, if it was made in one, else on one of its own, started with the first such
/// body. (A current-thread runtime would stand still with a thread that blocks in [`Run::wait`](crate::Run::wait).)
///
/// The first executor made puts a panic hook before that of the process, which it calls: errors name the place of a panic.
///
/// ```
/// use batchyard::{Pool, ThreadExecutor};
///
/// let pool = Pool::new(ThreadExecutor::new(4)?);
/// let as_many_as_cores = Pool::new(ThreadExecutor::all_cores()?);
/// # Ok::<(), batchyard::Error>(())
/// ```
#[derive(Debug)]
pub struct ThreadExecutor {
    threads: u32,
    async_slots: Option<u32>,
    runtime: wait::Runtime,
}

impl ThreadExecutor {
    /// An executor with so many threads, which start when the pool does.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidSetting`] for none.
    pub fn new(threads: usize) -> Result<Self> {
        let threads = u32::try_from(threads).ok().filter(|&threads| threads > 0);
        let threads = threads.ok_or_else(|| {
            Error::new(
                ErrorKind::InvalidSetting,
                "a thread executor needs from 1 to 4,294,967,295 threads",
            )
        })?;
        Panic::note_places();
        Ok(ThreadExecutor {
            threads,
            async_slots: None,
            runtime: wait::Runtime::here(),
        })
    }

    /// An executor with as many threads as this process may use cores: its affinity and its CPU quota count.
    ///
    /// # Errors
    /// None today; as [`new`](ThreadExecutor::new).
    pub fn all_cores() -> Result<Self> {
        Self::new(std::thread::available_parallelism().map_or(1, NonZero::get))
    }

    /// How many bodies may wait at once. Default: 64 for each thread. With none, jobs that have such bodies are refused.
    pub fn async_slots(mut self, async_slots: u32) -> Self {
        self.async_slots = Some(async_slots);
        self
    }

    fn node(&self) -> NodeSpec {
        let default = self.threads.saturating_mul(ASYNC_SLOTS_PER_THREAD);
        NodeSpec::new(self.threads).async_slots(self.async_slots.unwrap_or(default))
    }
}

#[async_trait]
impl Executor for ThreadExecutor {
    fn offer(&self) -> Offer {
        match self.async_slots {
            Some(0) => Offer::in_process().blocking_only(),
            _ => Offer::in_process(),
        }
    }

    async fn serve(&self, feed: Feed) -> Result<()> {
        let crew = Arc::new(Crew::new(&feed, self.node(), self.runtime.clone()));
        crew.start(self.threads)?;
        while let Some(order) = feed.order().await {
            match order {
                Order::Stop(lease) => crew.stop(lease),
                Order::Resize(threads) => crew.resize(threads)?,
            }
        }
        crew.disband();
        Ok(())
    }
}
