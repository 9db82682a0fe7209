//! Runs commands on the thread that holds their lease, and ends them when the pool says so.

use crate::agent::{Agent, Assignment, Stop};
use crate::executor::{Lease, LeaseId};
use crate::job::Frozen;
use crate::model::{Command, LaunchError, PreProcessingError, Workplace};
use crate::sync::lock;
use crate::work::{Launched, Launcher, LiveStreams};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// The commands that are running for one pool.
#[derive(Debug)]
pub(in crate::executor) struct Commands {
    agent: Agent,
    running: Mutex<HashMap<LeaseId, Arc<Stop>>>,
    /// Kept for the next commands.
    idle: Mutex<Vec<Arc<Stop>>>,
}

/// One lease's way to run its body, if that is a command.
pub(in crate::executor) struct OfLease<'a> {
    commands: &'a Commands,
    lease: &'a Lease,
}

impl Commands {
    /// Whether an executor may offer them.
    pub(in crate::executor) const SUPPORTED: bool = true;

    /// `hides_gpus` says that there are GPUs, which only those see that asked for them.
    pub(in crate::executor) fn new(workplace: Workplace, hides_gpus: bool) -> Self {
        Commands {
            agent: Agent::new(workplace, hides_gpus),
            running: Mutex::default(),
            idle: Mutex::default(),
        }
    }

    pub(in crate::executor) fn of<'a>(&'a self, lease: &'a Lease) -> Option<OfLease<'a>> {
        Some(OfLease {
            commands: self,
            lease,
        })
    }

    /// Ends a command, if it is one.
    pub(in crate::executor) fn stop(&self, lease: LeaseId) {
        if let Some(stop) = lock(&self.running).get(&lease) {
            stop.request();
        }
    }

    fn begin(&self, lease: &Lease) -> Result<Arc<Stop>, PreProcessingError> {
        let idle = lock(&self.idle).pop();
        let stop = match idle {
            Some(stop) => stop,
            None => Arc::new(Stop::new().map_err(exhausted)?),
        };
        lock(&self.running).insert(lease.id(), stop.clone());
        if lease.is_cancelled() {
            // The order to stop may have come before there was anything to stop.
            stop.request();
        }
        Ok(stop)
    }

    fn end(&self, lease: &Lease, stop: Arc<Stop>) {
        lock(&self.running).remove(&lease.id());
        stop.reset();
        lock(&self.idle).push(stop);
    }
}

impl Launcher for OfLease<'_> {
    fn launch(&self, command: &Command) -> Launched {
        let (commands, lease) = (self.commands, self.lease);
        let stop = commands.begin(lease)?;
        let (live, task) = (lease.engine_run().live(), lease.task_id());
        let (job, show) = (lease.part(), |streams| live.begin(task, streams));
        let assignment = assignment(lease, &job, &show);
        let result = commands.agent.run(command, &assignment, &stop);
        live.end(task);
        commands.end(lease, stop);
        result
    }
}

/// `job` is what the task was described with.
fn assignment<'a>(
    lease: &'a Lease,
    job: &'a Frozen,
    show: &'a dyn Fn(LiveStreams),
) -> Assignment<'a> {
    let (run, task) = (lease.engine_run(), lease.task_id());
    let settings = job.settings_of(task);
    let kind = if task.is_element() { 'e' } else { 't' };
    let resources = settings.resources.as_ref();
    Assignment {
        job: lease.job_name(),
        task: lease.task_label(),
        key: format!("{}-{kind}{}-{}", run.seq(), task.number(), lease.attempt()),
        index: lease.index(),
        attempt: lease.attempt(),
        gpus: lease.gpus(),
        threads: resources.map_or(1, threads),
        time_limit: settings.time_limit,
        settings: &job.command_settings,
        show,
    }
}

/// As many threads as CPUs were asked for, or else slots.
fn threads(resources: &crate::model::Resources) -> u32 {
    let cpus = resources.cpus_asked().as_f64().ceil() as u32;
    if cpus > 0 {
        cpus
    } else {
        resources.slots_asked().max(1)
    }
}

fn exhausted(cause: std::io::Error) -> PreProcessingError {
    PreProcessingError::new(LaunchError::Exhausted(cause))
}
