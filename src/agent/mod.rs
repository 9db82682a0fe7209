//! What happens to one command on one node: its working directory, its environment, its files, what it writes, its
//! limits, and its end, with all that came of it.
//!
//! Executors ask; nothing here knows a graph, or decides what runs. A command is run on the thread that asks, which waits
//! in one `poll` for whatever comes first.

mod attempt;
mod capture;
#[cfg(any(feature = "python", feature = "process"))]
mod companion;
mod container;
mod directory;
mod environment;
mod files;
mod launch;
mod oom;
mod program;
mod stop;
mod supervise;
mod sys;

#[cfg(feature = "python")]
pub(crate) use capture::tail;
#[cfg(any(feature = "python", feature = "process"))]
pub(crate) use companion::{Companion, Companions, Ended};
pub(crate) use stop::Stop;
#[cfg(feature = "process")]
pub(crate) use sys::SharedMemory;

use crate::model::{
    BoxError, Command, CommandOutput, CommandSettings, LaunchError, PreProcessingError, Workplace,
};
use crate::sync::lock;
use crate::work::LiveStreams;
use attempt::Attempt;
use container::Engine;
use directory::Root;
use environment::Surroundings;
use oom::OomWatch;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use sys::{Leash, Watchdog};

/// Runs commands for one pool.
#[derive(Debug)]
pub(crate) struct Agent {
    workplace: Workplace,
    surroundings: Surroundings,
    leash: Leash,
    oom: OomWatch,
    /// Made with the first command.
    site: Mutex<Option<Arc<Site>>>,
}

/// What the commands of a pool share.
#[derive(Debug)]
struct Site {
    root: Arc<Root>,
    /// Its end is the watchdog's.
    #[expect(dead_code, reason = "held for what it does when it is dropped")]
    watchdog: Option<Watchdog>,
    /// Found with the first command that wants a container.
    engine: Mutex<Option<Arc<Engine>>>,
}

/// One attempt of a task that is a command, as the agent needs to know it.
pub(crate) struct Assignment<'a> {
    pub(crate) job: &'a str,
    pub(crate) task: String,
    /// Names the attempt among all of the pool.
    pub(crate) key: String,
    /// In its array, if it is in one.
    pub(crate) index: Option<u32>,
    pub(crate) attempt: u32,
    pub(crate) gpus: Vec<u32>,
    /// How many threads it should use.
    pub(crate) threads: u32,
    pub(crate) time_limit: Option<Duration>,
    pub(crate) settings: &'a CommandSettings,
    /// Told where what it writes can be read meanwhile.
    pub(crate) show: &'a dyn Fn(LiveStreams),
}

impl Agent {
    /// `hides_gpus` says that a command sees no GPU that was not given to it.
    pub(crate) fn new(workplace: Workplace, hides_gpus: bool) -> Self {
        Agent {
            workplace,
            surroundings: Surroundings::of_this_process(hides_gpus),
            leash: Leash::new(),
            oom: OomWatch::new(),
            site: Mutex::new(None),
        }
    }

    /// Runs a command to its end, and the end of all that came of it. Blocks the thread.
    ///
    /// # Errors
    /// [`PreProcessingError`], [`CommandFailure`](crate::model::CommandFailure) or
    /// [`FileUploadError`](crate::model::FileUploadError).
    pub(crate) fn run(
        &self,
        command: &Command,
        assignment: &Assignment<'_>,
        stop: &Stop,
    ) -> Result<CommandOutput, BoxError> {
        let site = self.site().map_err(PreProcessingError::new)?;
        let attempt = Attempt::begin(self, &site, command, assignment, stop);
        attempt.map_err(PreProcessingError::new)?.run()
    }

    /// What runs containers. The lock is held while the first is made, as for the site.
    fn engine(&self, site: &Site) -> Result<Arc<Engine>, LaunchError> {
        let mut engine = lock(&site.engine);
        if let Some(engine) = &*engine {
            return Ok(engine.clone());
        }
        let made = Arc::new(Engine::open(&self.workplace.containers, &self.leash)?);
        *engine = Some(made.clone());
        Ok(made)
    }

    /// The lock is held while the first is made: others need it too.
    fn site(&self) -> Result<Arc<Site>, LaunchError> {
        let mut site = lock(&self.site);
        if let Some(site) = &*site {
            return Ok(site.clone());
        }
        let root = Arc::new(self.workplace.open()?);
        // Without a shell there is none: then what the application leaves when it is killed stays.
        let watchdog = Watchdog::start(&self.leash).ok();
        let made = Arc::new(Site {
            root,
            watchdog,
            engine: Mutex::default(),
        });
        *site = Some(made.clone());
        Ok(made)
    }
}
