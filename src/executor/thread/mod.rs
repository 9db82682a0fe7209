//! Runs tasks on threads of this process.

mod crew;
mod wait;
mod worker;

use super::commands::{Commands, Workplace};
use super::{Executor, Feed, NodeSpec, Offer, Order, machine};
use crate::model::{Error, ErrorKind, IntoAmount, Panic, Result};
use async_trait::async_trait;
use crew::Crew;
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
    node: NodeSpec,
    runtime: wait::Runtime,
    workplace: Workplace,
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
        let async_slots = threads.saturating_mul(ASYNC_SLOTS_PER_THREAD);
        Ok(ThreadExecutor {
            threads,
            node: machine::node(threads).async_slots(async_slots),
            runtime: wait::Runtime::here(),
            workplace: Workplace::default(),
        })
    }

    /// An executor with as many threads as this process may use cores: its affinity and its CPU quota count.
    ///
    /// # Errors
    /// None today; as [`new`](ThreadExecutor::new).
    pub fn all_cores() -> Result<Self> {
        Self::new(machine::cores())
    }

    /// How many bodies may wait at once. Default: 64 for each thread. With none, jobs that have such bodies are refused.
    pub fn async_slots(mut self, async_slots: u32) -> Self {
        self.node = self.node.async_slots(async_slots);
        self
    }

    /// How many CPUs there are for [tasks that ask for some](crate::Resources::cpus). Default: as many as this process may
    /// use: its affinity and its CPU quota count. A float that is no [`Amount`](crate::Amount) counts as none.
    pub fn cpus(mut self, cpus: impl IntoAmount) -> Self {
        self.node = self.node.cpus(cpus);
        self
    }

    /// How many bytes of memory there are for tasks that ask for some. Default: the machine's, or what the process's
    /// control groups leave it of that; on systems other than Linux none is declared, so that a job that asks for memory is
    /// refused. Nothing keeps a body from using more than its task asked for.
    pub fn memory(mut self, bytes: u64) -> Self {
        self.node = self.node.memory(bytes);
        self
    }

    /// The GPUs that tasks may ask for, by index. Default: none.
    pub fn gpus(mut self, gpus: impl IntoIterator<Item = u32>) -> Self {
        self.node = self.node.gpus(gpus);
        self
    }

    /// An amount of something that tasks may ask for under this name, such as licences.
    pub fn custom(mut self, name: impl Into<String>, amount: impl IntoAmount) -> Self {
        self.node = self.node.custom(name, amount);
        self
    }
}

#[cfg(feature = "command")]
impl ThreadExecutor {
    /// Where commands have their working directories: a directory that is made if need be, and that nobody else may own.
    /// Default: `batchyard-<user id>` in the system's directory for temporary files.
    pub fn work_directory(mut self, path: impl Into<std::path::PathBuf>) -> Self {
        self.workplace.base = Some(path.into());
        self
    }

    /// For how long working directories that were kept stay: older ones, of pools that are no more, are removed when a
    /// pool runs its first command. Default: a week.
    pub fn keep_work_for(mut self, time: std::time::Duration) -> Self {
        self.workplace.keep_for = time;
        self
    }

    /// What runs the [containers](crate::CommandSettings::container) of commands. Default: podman where it is there,
    /// otherwise docker.
    pub fn containers(mut self, engine: crate::ContainerEngine) -> Self {
        self.workplace.containers = engine;
        self
    }
}

#[async_trait]
impl Executor for ThreadExecutor {
    fn offer(&self) -> Offer {
        let offer = match self.node.capacity.async_slot_count() {
            0 => Offer::in_process().blocking_only(),
            _ => Offer::in_process(),
        };
        let offer = offer.nodes([self.node.capacity.clone()]);
        match Commands::SUPPORTED {
            true => offer.commands(),
            false => offer,
        }
    }

    async fn serve(&self, feed: Feed) -> Result<()> {
        let node = self.node.clone();
        let commands = Commands::new(
            self.workplace.clone(),
            !node.capacity.gpu_indexes().is_empty(),
        );
        let crew = Arc::new(Crew::new(&feed, node, self.runtime.clone(), commands));
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
