//! What a command finds in its environment: little of the application's, who it is, and what it was given.

use super::Assignment;
use super::directory::AttemptDirectory;
use crate::model::{Command, CommandRules, Container, LaunchError};
use std::collections::HashMap;
use std::ffi::{CString, OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

/// What commands see of the application's environment, unless they inherit all of it.
const PASSED_ON: [&str; 5] = ["PATH", "HOME", "LANG", "TZ", "TMPDIR"];

/// What a container has of its own.
const OF_CONTAINERS: [&str; 3] = ["PATH", "HOME", "TMPDIR"];

/// How programs are told how many threads to use.
const THREADS: [&str; 7] = [
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "BLIS_NUM_THREADS",
    "RAYON_NUM_THREADS",
];

/// The application's environment, as it was when the pool was made.
#[derive(Debug)]
pub(super) struct Surroundings {
    passed_on: Vec<(OsString, OsString)>,
    all: Vec<(OsString, OsString)>,
    hides_gpus: bool,
}

/// The environment of one command.
pub(super) struct Environment {
    variables: Vec<(OsString, OsString)>,
    places: HashMap<OsString, usize>,
}

impl Surroundings {
    pub(super) fn of_this_process(hides_gpus: bool) -> Self {
        let all: Vec<_> = std::env::vars_os().collect();
        let passed_on = all
            .iter()
            .filter(|(name, _)| PASSED_ON.iter().any(|passed| name == passed));
        Surroundings {
            passed_on: passed_on.cloned().collect(),
            all,
            hides_gpus,
        }
    }

    /// What is set later goes before what is set earlier; who the command is before all.
    pub(super) fn of(
        &self,
        command: &Command,
        rules: &CommandRules,
        assignment: &Assignment<'_>,
        directory: &AttemptDirectory,
    ) -> Environment {
        let mut environment = Environment::new();
        let base = if rules.inherit_env {
            &self.all
        } else {
            &self.passed_on
        };
        let container = container(command, assignment);
        let is_own = |name: &OsStr| OF_CONTAINERS.iter().any(|own| name == *own);
        base.iter()
            .filter(|(name, _)| container.is_none() || !is_own(name))
            .for_each(|(name, value)| environment.set(name, value));
        self.describe_room(&mut environment, assignment, container.is_some());
        let given = assignment.settings.variables();
        for (name, value) in given.chain(command.settings.variables()) {
            environment.set(name, value);
        }
        describe_task(&mut environment, assignment, directory);
        environment
    }

    /// What the command may use.
    fn describe_room(
        &self,
        environment: &mut Environment,
        assignment: &Assignment<'_>,
        is_contained: bool,
    ) {
        let threads = assignment.threads.to_string();
        THREADS
            .iter()
            .for_each(|name| environment.set(name, &threads));
        if is_contained && !assignment.gpus.is_empty() {
            // It has no others, and counts them from 0.
            return;
        }
        if self.hides_gpus || !assignment.gpus.is_empty() {
            let gpus: Vec<_> = assignment.gpus.iter().map(u32::to_string).collect();
            environment.set("CUDA_VISIBLE_DEVICES", gpus.join(","));
        }
    }
}

/// The container that a command is to run in: its own, or its job's.
pub(super) fn container<'a>(
    command: &'a Command,
    assignment: &'a Assignment<'_>,
) -> Option<&'a Container> {
    let own = command.settings.container.as_ref();
    own.or(assignment.settings.container.as_ref())
}

/// Who the command is, in our words and in Azure Batch's.
fn describe_task(
    environment: &mut Environment,
    assignment: &Assignment<'_>,
    directory: &AttemptDirectory,
) {
    let mut both = |ours: &str, azure: &str, value: &OsStr| {
        environment.set(format!("BATCHYARD_{ours}"), value);
        environment.set(format!("AZ_BATCH_{azure}"), value);
    };
    let root = directory.root();
    both("JOB_ID", "JOB_ID", assignment.job.as_ref());
    both("TASK_ID", "TASK_ID", assignment.task.as_ref());
    both("NODE_ID", "NODE_ID", "local".as_ref());
    both("WORKDIR", "TASK_WORKING_DIR", directory.working().as_ref());
    both("SHARED_DIR", "NODE_SHARED_DIR", root.shared().as_ref());
    environment.set("AZ_BATCH_TASK_DIR", directory.path());
    environment.set("AZ_BATCH_NODE_ROOT_DIR", root.path());
    environment.set("BATCHYARD_ATTEMPT", assignment.attempt.to_string());
    if let Some(index) = assignment.index {
        environment.set("BATCHYARD_TASK_INDEX", index.to_string());
    }
}

impl Environment {
    pub(super) fn new() -> Self {
        Environment {
            variables: Vec::with_capacity(32),
            places: HashMap::with_capacity(32),
        }
    }

    pub(super) fn set(&mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) {
        let (name, value) = (name.as_ref(), value.as_ref().to_owned());
        match self.places.get(name) {
            Some(&place) => self.variables[place].1 = value,
            None => {
                self.places.insert(name.to_owned(), self.variables.len());
                self.variables.push((name.to_owned(), value));
            }
        }
    }

    pub(super) fn get(&self, name: &str) -> Option<&OsStr> {
        let place = *self.places.get(OsStr::new(name))?;
        Some(&self.variables[place].1)
    }

    pub(super) fn into_variables(self) -> impl Iterator<Item = (OsString, OsString)> {
        self.variables.into_iter()
    }

    /// As the system takes it, the leash first.
    pub(super) fn into_strings(self, leash: CString) -> Result<Vec<CString>, LaunchError> {
        let variables = self.variables.into_iter();
        let strings = variables.map(|(name, value)| variable(name, &value));
        [Ok(leash)].into_iter().chain(strings).collect()
    }
}

fn variable(name: OsString, value: &OsStr) -> Result<CString, LaunchError> {
    if name.is_empty() || name.as_bytes().contains(&b'=') {
        return Err(malformed("the environment variable", &name));
    }
    let mut line = name.clone().into_vec();
    line.push(b'=');
    line.extend_from_slice(value.as_bytes());
    CString::new(line).map_err(|_| malformed("the environment variable", &name))
}

/// An argument as the system takes it.
pub(super) fn argument(text: &OsStr) -> Result<CString, LaunchError> {
    CString::new(text.as_bytes()).map_err(|_| malformed("the argument", text))
}

/// A path as the system takes it.
pub(super) fn path(path: &Path) -> Result<CString, LaunchError> {
    CString::new(path.as_os_str().as_bytes()).map_err(|_| malformed("the path", path.as_os_str()))
}

fn malformed(what: &str, text: &OsStr) -> LaunchError {
    let text = text.to_string_lossy();
    let start: String = text.chars().take(60).collect();
    LaunchError::Malformed(format!("{what} `{}`", start.escape_default()))
}
