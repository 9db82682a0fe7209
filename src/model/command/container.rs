//! Containers that commands run in, and the engine that runs them.

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;

/// The container that a command runs in: see [`CommandSettings::container`](crate::CommandSettings::container).
///
/// The program is looked for in the image. The working directory and the pool's shared directory are in the container
/// under the same names; what is set in the environment is there, and the image's own `PATH` and `HOME`. Limits of memory,
/// CPU time and open files are passed on, and the GPUs that the task was given. An image that is not there is pulled.
///
/// ```
/// use batchyard::{Command, Container};
///
/// let task = Command::new("python3").arg("-V").container(Container::new("docker.io/library/python:3.13").cpus(1.5));
/// ```
#[derive(Clone, PartialEq, Debug)]
pub struct Container {
    pub(crate) image: String,
    pub(crate) network: Option<String>,
    pub(crate) cpus: Option<f64>,
    pub(crate) options: Vec<String>,
}

/// The program that runs containers, and what it is always told: see
/// [`ThreadExecutor::containers`](crate::ThreadExecutor::containers).
///
/// ```
/// use batchyard::ContainerEngine;
///
/// // On a machine without systemd.
/// let engine = ContainerEngine::new("podman").option("--cgroup-manager=cgroupfs").run_option("--network=host");
/// ```
#[derive(Clone, Default, Debug)]
pub struct ContainerEngine {
    pub(crate) program: Option<PathBuf>,
    pub(crate) options: Vec<OsString>,
    pub(crate) run_options: Vec<OsString>,
    pub(crate) prefetched: Vec<String>,
    pub(crate) logins: Vec<Login>,
}

/// What a registry wants to know.
#[derive(Clone)]
pub(crate) struct Login {
    pub(crate) registry: String,
    pub(crate) user: String,
    pub(crate) password: String,
}

impl Container {
    /// From an image: a name as podman and docker take it, best with its registry and tag.
    pub fn new(image: impl Into<String>) -> Self {
        Container {
            image: image.into(),
            network: None,
            cpus: None,
            options: Vec::new(),
        }
    }

    /// The network that it has, such as `none` or `host`. Default: the engine's.
    pub fn network(mut self, network: impl Into<String>) -> Self {
        self.network = Some(network.into());
        self
    }

    /// How many CPUs' time it may use in all, such as 1.5. Default: no limit.
    pub fn cpus(mut self, cpus: f64) -> Self {
        self.cpus = Some(cpus);
        self
    }

    /// Adds an option for the engine's `run`, such as `--user=1000`. One that takes a value has it after a `=`.
    pub fn option(mut self, option: impl Into<String>) -> Self {
        self.options.push(option.into());
        self
    }

    /// What is wrong with it, if something is.
    pub(crate) fn problem(&self) -> Option<&'static str> {
        let is_name = !self.image.is_empty() && !self.image.starts_with('-');
        let is_amount = |cpus: f64| cpus.is_finite() && cpus > 0.0;
        let mut options = self.options.iter();
        match () {
            () if !is_name => Some("an image has a name, which does not begin with `-`"),
            () if !self.cpus.is_none_or(is_amount) => Some("CPUs are a number above 0"),
            () if !options.all(|option| option.starts_with('-')) => {
                Some("an option begins with `-`, and has its value after a `=`")
            }
            () => None,
        }
    }
}

impl From<&str> for Container {
    fn from(image: &str) -> Self {
        Container::new(image)
    }
}

impl From<String> for Container {
    fn from(image: String) -> Self {
        Container::new(image)
    }
}

impl ContainerEngine {
    /// A program that understands what podman and docker do: its name, or its path. The default
    /// ([`ContainerEngine::default`]) is podman where it is there, otherwise docker.
    pub fn new(program: impl Into<PathBuf>) -> Self {
        ContainerEngine {
            program: Some(program.into()),
            ..Self::default()
        }
    }

    /// Adds an option that stands before whatever the engine is told to do.
    pub fn option(mut self, option: impl Into<OsString>) -> Self {
        self.options.push(option.into());
        self
    }

    /// Adds an option for each container's `run`.
    pub fn run_option(mut self, option: impl Into<OsString>) -> Self {
        self.run_options.push(option.into());
        self
    }

    /// An image that is pulled, if it is not there, before the pool's first container starts. Others are pulled when they
    /// are first used.
    pub fn prefetch(mut self, image: impl Into<String>) -> Self {
        self.prefetched.push(image.into());
        self
    }

    /// Logs in to a registry before the pool's first container starts. The password appears in no error, log or argument;
    /// the login holds for the pool alone, in a file that goes with it.
    pub fn login(
        mut self,
        registry: impl Into<String>,
        user: impl Into<String>,
        password: impl Into<String>,
    ) -> Self {
        self.logins.push(Login {
            registry: registry.into(),
            user: user.into(),
            password: password.into(),
        });
        self
    }
}

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {:?}, (secret)", self.user, self.registry)
    }
}
