//! How commands run: their environment, limits, and what is kept of them.

use super::{Container, ContainerEngine};
use crate::model::DefectKind;
use serde::{Deserialize, Serialize};
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// How a command runs. What is not set is taken from the job's [common settings](crate::Job::command_settings).
///
/// ```
/// use batchyard::{CommandSettings, Job, Retention};
///
/// let mut job = Job::new("settings");
/// job.command_settings(CommandSettings::new().env("LANG", "C").retention(Retention::Keep));
/// ```
#[derive(Clone, Default, PartialEq, Debug)]
pub struct CommandSettings {
    pub(crate) env: Vec<Variable>,
    pub(crate) inherit_env: Option<bool>,
    pub(crate) retention: Option<Retention>,
    pub(crate) output_limit: Option<u64>,
    pub(crate) kill_grace: Option<Duration>,
    pub(crate) stragglers: Option<Stragglers>,
    pub(crate) memory_limit: Option<u64>,
    pub(crate) cpu_time_limit: Option<Duration>,
    pub(crate) open_files_limit: Option<u64>,
    pub(crate) niceness: Option<i32>,
    pub(crate) container: Option<Container>,
}

/// An environment variable.
#[derive(Clone, PartialEq)]
pub(crate) struct Variable {
    pub(crate) name: OsString,
    pub(crate) value: OsString,
    pub(crate) secret: bool,
}

/// Where the directories of pools are made, and for how long those that are left may stay.
#[derive(Clone, Debug)]
pub(crate) struct Workplace {
    pub(crate) base: Option<PathBuf>,
    pub(crate) keep_for: Duration,
    pub(crate) containers: ContainerEngine,
}

/// When the working directory of an attempt is removed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "data", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Retention {
    /// As soon as the attempt has succeeded; kept when it fails, and the error says where. The default.
    #[default]
    RemoveOnSuccess,
    /// As soon as the attempt has ended.
    Remove,
    /// Never.
    Keep,
}

/// What becomes of processes that a command leaves behind when it exits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Stragglers {
    /// They may end by themselves within this time; then they are ended, and [named](crate::CommandOutput::stragglers).
    /// The default, with a second.
    Kill(Duration),
    /// They may go on for as long as the task may: it ends with the last of them.
    Await,
}

impl CommandSettings {
    /// Nothing set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets an environment variable. Beside those that are set, a command sees `PATH`, `HOME`, `LANG`, `TZ` and `TMPDIR`
    /// of the application, and those that say who it is, such as `BATCHYARD_TASK_ID`.
    pub fn env(self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.variable(name.into(), value.into(), false)
    }

    /// As [`env`](Self::env), for a value that nobody may read: it appears in no error, event, log or record. (The
    /// system shows it to processes of the same user.)
    pub fn secret_env(self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.variable(name.into(), value.into(), true)
    }

    /// The command sees the whole environment of the application, under what is set here.
    pub fn inherit_env(mut self) -> Self {
        self.inherit_env = Some(true);
        self
    }

    /// When the working directory is removed. Default: [`Retention::RemoveOnSuccess`]. (Azure Batch: `retentionTime`.)
    pub fn retention(mut self, retention: Retention) -> Self {
        self.retention = Some(retention);
        self
    }

    /// How many bytes are kept of what a program writes to its standard output, and as many of its standard error: the
    /// first and the last half. It is never stopped from writing. Default: 64 MiB.
    pub fn output_limit(mut self, bytes: u64) -> Self {
        self.output_limit = Some(bytes);
        self
    }

    /// How long processes may take to end after they were asked to, by `SIGTERM`, before they are killed. Default: 5 s.
    pub fn kill_grace(mut self, grace: Duration) -> Self {
        self.kill_grace = Some(grace);
        self
    }

    /// What becomes of processes that the program leaves behind when it exits. Default: they are ended after a second.
    pub fn stragglers(mut self, stragglers: Stragglers) -> Self {
        self.stragglers = Some(stragglers);
        self
    }

    /// How many bytes of memory the command's processes may have resident, together. They are looked at ten times a
    /// second, so that a quick one may exceed it for a moment. Default: no limit.
    pub fn memory_limit(mut self, bytes: u64) -> Self {
        self.memory_limit = Some(bytes);
        self
    }

    /// How much CPU time each process of the command may use, in whole seconds, rounded up. One that uses more is ended by
    /// the system with `SIGXCPU`. Default: no limit.
    pub fn cpu_time_limit(mut self, limit: Duration) -> Self {
        self.cpu_time_limit = Some(limit);
        self
    }

    /// How many files each process of the command may have open. Default: as many as the application.
    pub fn open_files_limit(mut self, files: u64) -> Self {
        self.open_files_limit = Some(files);
        self
    }

    /// How willing the command is to leave the CPU to others: 0 like the application's start, up to 19. Less than the
    /// application's own needs a privilege. Default: the application's own.
    pub fn niceness(mut self, niceness: i32) -> Self {
        self.niceness = Some(niceness);
        self
    }

    /// The command runs in a container, made from an image for each attempt and removed with it. Default: in none.
    /// Niceness has no effect there, and [usage](crate::Usage) is that of the engine's client. (Azure Batch:
    /// `containerSettings`.)
    ///
    /// At a time limit, or when it is cancelled, the program is asked to end as others are; being the first process of its
    /// container, it hears that only if it has a handler for `SIGTERM`, and is killed after the grace otherwise.
    pub fn container(mut self, container: impl Into<Container>) -> Self {
        self.container = Some(container.into());
        self
    }

    fn variable(mut self, name: OsString, value: OsString, secret: bool) -> Self {
        self.env.push(Variable {
            name,
            value,
            secret,
        });
        self
    }

    /// What is wrong with them.
    pub(crate) fn defect(&self) -> Option<DefectKind> {
        let problem = self.container.as_ref().and_then(Container::problem);
        problem.map(DefectKind::Container)
    }

    /// What is not set, from `defaults`.
    pub(crate) fn or(self, defaults: &CommandSettings) -> Self {
        let mut env = defaults.env.clone();
        env.extend(self.env);
        CommandSettings {
            env,
            inherit_env: self.inherit_env.or(defaults.inherit_env),
            retention: self.retention.or(defaults.retention),
            output_limit: self.output_limit.or(defaults.output_limit),
            kill_grace: self.kill_grace.or(defaults.kill_grace),
            stragglers: self.stragglers.or(defaults.stragglers),
            memory_limit: self.memory_limit.or(defaults.memory_limit),
            cpu_time_limit: self.cpu_time_limit.or(defaults.cpu_time_limit),
            open_files_limit: self.open_files_limit.or(defaults.open_files_limit),
            niceness: self.niceness.or(defaults.niceness),
            container: self.container.or_else(|| defaults.container.clone()),
        }
    }
}

/// What settings come to, for a command in a job: the command's own, over the job's, over the defaults.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CommandRules {
    pub(crate) inherit_env: bool,
    pub(crate) retention: Retention,
    pub(crate) output_limit: u64,
    pub(crate) kill_grace: Duration,
    pub(crate) stragglers: Stragglers,
    pub(crate) memory_limit: Option<u64>,
    pub(crate) cpu_time_limit: Option<Duration>,
    pub(crate) open_files_limit: Option<u64>,
    pub(crate) niceness: Option<i32>,
}

impl CommandRules {
    pub(crate) fn of(own: &CommandSettings, job: &CommandSettings) -> Self {
        CommandRules {
            inherit_env: own.inherit_env.or(job.inherit_env).unwrap_or(false),
            retention: own.retention.or(job.retention).unwrap_or_default(),
            output_limit: own.output_limit.or(job.output_limit).unwrap_or(64 << 20),
            kill_grace: own
                .kill_grace
                .or(job.kill_grace)
                .unwrap_or(Duration::from_secs(5)),
            stragglers: own.stragglers.or(job.stragglers).unwrap_or_default(),
            memory_limit: own.memory_limit.or(job.memory_limit),
            cpu_time_limit: own.cpu_time_limit.or(job.cpu_time_limit),
            open_files_limit: own.open_files_limit.or(job.open_files_limit),
            niceness: own.niceness.or(job.niceness),
        }
    }
}

impl CommandSettings {
    /// Changes the values of variables.
    pub(super) fn map_values(&mut self, change: &dyn Fn(&OsStr) -> OsString) {
        let variables = self.env.iter_mut();
        variables.for_each(|variable| variable.value = change(&variable.value));
    }

    /// The variables that are set, in the order in which they were.
    pub(crate) fn variables(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        let variables = self.env.iter();
        variables.map(|variable| (&*variable.name, &*variable.value))
    }
}

impl Default for Workplace {
    /// The system's directory for temporary files; a week.
    fn default() -> Self {
        Workplace {
            base: None,
            keep_for: Duration::from_secs(7 * 24 * 60 * 60),
            containers: ContainerEngine::default(),
        }
    }
}

impl Default for Stragglers {
    fn default() -> Self {
        Stragglers::Kill(Duration::from_secs(1))
    }
}

impl fmt::Debug for Variable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.secret {
            true => write!(f, "{:?}=(secret)", self.name),
            false => write!(f, "{:?}={:?}", self.name, self.value),
        }
    }
}
