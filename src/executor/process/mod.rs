//! Runs functions in child processes, and commands.
//!
//! A child is this program, started again. It is given batches of calls by name and bytes over a socket, and says what came
//! of each in memory that both share: so a child that dies takes nothing with it but the attempt that it was in.

mod batch;
mod board;
mod child;
mod death;
mod entry;
mod frames;
mod line;
mod logging;
mod minder;
mod pace;
mod printed;
mod protocol;
mod serve;
mod settings;
mod staff;

pub use death::ChildDied;
pub use entry::{init, init_tests};
pub use frames::FrameTooLarge;
pub use protocol::BodyError;

use super::commands::{Commands, Workplace};
use super::{Executor, Feed, NodeSpec, Offer, Order, machine};
use crate::model::{Error, ErrorKind, IntoAmount, Result};
use crate::work::{AnyFunction, Argument, CodecError, Function, Registry};
use async_trait::async_trait;
use protocol::Init;
use settings::Settings;
use staff::Staff;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Runs [`Function`]s in child processes, which may die, and commands (Linux).
///
/// One node with a slot for each child. A child is started with the first task that needs one, and used again. It is this
/// program itself, so `main` has to call [`init`](crate::init) first; or a program of its own, for
/// [`with_worker`](ProcessExecutor::with_worker).
///
/// Isolation: a body that panics fails, as on a thread. One that aborts, exits, overflows its stack, or touches memory that
/// is not there takes its process with it, which is its own failure alone, with [`ChildDied`] as the cause, and the child is
/// replaced. A child that somebody kills is a lost node: its task runs again, see
/// [`TaskSettings::max_recoveries`](crate::TaskSettings::max_recoveries).
///
/// Cancellation and time limits: [`Context::is_cancelled`](crate::Context::is_cancelled) tells the body, and after
/// [`kill_grace`](ProcessExecutor::kill_grace) the child is killed.
///
/// Arguments and outputs travel as postcard's bytes: see [`CodecError`] for what can't. What a body writes to standard output
/// and error is kept: see [`Run::printed`](crate::Run::printed). Nothing of the application's leaks into a child but its
/// environment and its working directory, and no child outlives the application, however that ends.
///
/// ```no_run
/// use batchyard::{Function, Job, Pool, ProcessExecutor, registry};
///
/// static SQUARE: Function<u64, u64> = Function::new("square", |n| n * n);
///
/// fn main() -> batchyard::Result<()> {
///     batchyard::init(registry![SQUARE])?;
///     let pool = Pool::new(ProcessExecutor::new(4)?);
///     let mut job = Job::new("squares");
///     let squares = job.map("square", 0..10u64, &SQUARE);
///     println!("{:?}", pool.submit(job)?.output(&squares).wait()?);
///     Ok(())
/// }
/// ```
#[derive(Debug)]
pub struct ProcessExecutor {
    children: u32,
    node: NodeSpec,
    settings: Settings,
    /// The functions that children know, as far as is known before there is one.
    registry: Option<Registry>,
    workplace: Workplace,
}

impl ProcessExecutor {
    /// An executor with so many children of this program.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidSetting`] for none, or if [`init`](crate::init) was not called: a child would do all that this
    /// program does.
    pub fn new(children: usize) -> Result<Self> {
        let entry = entry::entry().ok_or_else(|| {
            Error::new(
                ErrorKind::InvalidSetting,
                "a process executor starts this program again, so call `batchyard::init(registry![..])` first in `main` \
                 (in tests: `batchyard::process_tests!`), or name a program of its own with `ProcessExecutor::with_worker`",
            )
        })?;
        let settings = Settings::new("/proc/self/exe", entry.args.clone());
        Self::with(children, settings, Some(entry.registry.clone()))
    }

    /// An executor with so many children of another program, which calls [`init`](crate::init) first in its `main`. What it
    /// does not know, or knows differently, fails when it is to run.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidSetting`] for none.
    pub fn with_worker(children: usize, program: impl AsRef<Path>) -> Result<Self> {
        entry::entry();
        let settings = Settings::new(program.as_ref(), Vec::new());
        Self::with(children, settings, None)
    }

    fn with(children: usize, settings: Settings, registry: Option<Registry>) -> Result<Self> {
        let children = u32::try_from(children)
            .ok()
            .filter(|&children| children > 0);
        let children = children.ok_or_else(|| {
            Error::new(
                ErrorKind::InvalidSetting,
                "a process executor needs from 1 to 4,294,967,295 children",
            )
        })?;
        Ok(ProcessExecutor {
            children,
            node: machine::node(children),
            settings,
            registry,
            workplace: Workplace::default(),
        })
    }

    /// Has each child call a function before its first task: to load what all tasks need. What it returns is thrown away; if
    /// it fails, so does the task that the child was started for.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidSetting`] if the argument can't be written as bytes.
    pub fn initialise<A: Argument + ?Sized, B: 'static>(
        mut self,
        function: &'static Function<A, B>,
        argument: &A,
    ) -> Result<Self> {
        let mut bytes = Vec::new();
        argument.encode(&mut bytes).map_err(unwritable)?;
        self.settings.init = Some(Init {
            function: function.fingerprint(),
            argument: bytes,
        });
        Ok(self)
    }

    /// Replaces a child that has run so many tasks. Default: never.
    pub fn recycle_after(mut self, tasks: u64) -> Self {
        self.settings.recycle_after = Some(tasks.max(1));
        self
    }

    /// Replaces a child that has more memory resident, in bytes, when it is between two batches. Default: never.
    pub fn recycle_above(mut self, bytes: u64) -> Self {
        self.settings.recycle_above = Some(bytes);
        self
    }

    /// The most bytes that may be sent in one piece: an argument, or an output, with a little around it. Default: 1 GiB; less
    /// than 4 GiB. What is larger fails with [`FrameTooLarge`].
    pub fn frame_limit(mut self, bytes: u32) -> Self {
        self.settings.frame_limit = bytes.max(1 << 10);
        self
    }

    /// How long a body has to return after its attempt was cancelled, or its time limit is over, until its child is killed.
    /// Default: 500 ms.
    pub fn kill_grace(mut self, grace: Duration) -> Self {
        self.settings.kill_grace = grace;
        self
    }

    /// How many CPUs there are for [tasks that ask for some](crate::Resources::cpus). Default: as many as this process may
    /// use.
    pub fn cpus(mut self, cpus: impl IntoAmount) -> Self {
        self.node = self.node.cpus(cpus);
        self
    }

    /// How many bytes of memory there are for tasks that ask for some. Default: the machine's, or what control groups leave
    /// of it. Nothing keeps a body from using more than its task asked for.
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

    /// Where commands have their working directories: a directory that is made if need be, and that nobody else may own.
    /// Default: `batchyard-<user id>` in the system's directory for temporary files.
    pub fn work_directory(mut self, path: impl Into<PathBuf>) -> Self {
        self.workplace.base = Some(path.into());
        self
    }

    /// For how long working directories that were kept stay: older ones, of pools that are no more, are removed when a
    /// pool runs its first command. Default: a week.
    pub fn keep_work_for(mut self, time: Duration) -> Self {
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

fn unwritable(error: CodecError) -> Error {
    Error::new(
        ErrorKind::InvalidSetting,
        "the argument of an initialisation",
    )
    .caused_by(error)
}

#[async_trait]
impl Executor for ProcessExecutor {
    fn offer(&self) -> Offer {
        let offer = Offer::functions_only()
            .nodes([self.node.capacity.clone()])
            .commands();
        match &self.registry {
            Some(registry) => offer.known(registry.iter().map(AnyFunction::fingerprint)),
            None => offer,
        }
    }

    async fn serve(&self, feed: Feed) -> Result<()> {
        let node = self.node.clone();
        let hides_gpus = !node.capacity.gpu_indexes().is_empty();
        let commands = Commands::new(self.workplace.clone(), hides_gpus);
        let staff = Arc::new(Staff::new(&feed, node, self.settings.clone(), commands));
        staff.start(self.children)?;
        while let Some(order) = feed.order().await {
            match order {
                Order::Stop(lease) => staff.stop(lease),
                Order::Resize(children) => staff.resize(children)?,
            }
        }
        staff.disband();
        Ok(())
    }
}
