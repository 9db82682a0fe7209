//! Commands in containers: a command of the engine's in place of the task's, and what is done about its container.
//!
//! The processes in a container are no children of the engine's client, but they have the attempt's leash in their
//! environment, so they are found and ended as all others are. The container itself is removed by its name afterwards, and
//! by the watchdog if the application is killed. It is not left to `--rm`: then nobody could ask whether the program or the
//! engine has ended with 125, 126 or 127.

mod engine;

pub(super) use engine::Engine;

use super::Assignment;
use super::directory::AttemptDirectory;
use super::environment::Environment;
use crate::model::{Command, CommandRules, CommandSettings, Container, LaunchError, Stdin};
use std::collections::HashSet;
use std::ffi::{CStr, OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

/// The codes that are the engine's own, too: it failed, or the program could not be started, or was not found.
const ENGINES_CODES: [i32; 3] = [125, 126, 127];

/// The container of one attempt. Removed when it is dropped.
pub(super) struct Contained {
    engine: Arc<Engine>,
    image: String,
    name: String,
}

/// What became of the program in a container.
pub(super) enum Fate {
    /// The code is the program's.
    Ended,
    OutOfMemory,
    NeverStarted,
}

/// What a container is made for.
pub(super) struct Order<'a> {
    pub(super) command: &'a Command,
    pub(super) rules: &'a CommandRules,
    pub(super) assignment: &'a Assignment<'a>,
    pub(super) directory: &'a AttemptDirectory,
    pub(super) leash: &'a CStr,
}

impl Contained {
    pub(super) fn new(engine: Arc<Engine>, container: &Container, leash: &CStr) -> Self {
        Contained {
            name: format!("batchyard-{}", engine::value(leash)),
            image: container.image.clone(),
            engine,
        }
    }

    /// The command that runs it, and its environment: the engine's, and in it what is
    /// secret, since arguments can be seen by all.
    pub(super) fn wrap(
        &self,
        container: &Container,
        variables: Environment,
        order: &Order<'_>,
    ) -> Result<(Command, Environment), LaunchError> {
        let mut environment = self.engine.environment();
        let mut args = self.engine.arguments("run");
        args.extend(self.options(container, order)?);
        let secrets = secrets(order);
        for (name, value) in variables.into_variables() {
            args.push("--env".into());
            if secrets.contains(name.as_os_str()) {
                environment.set(&name, &value);
                args.push(name);
            } else {
                args.push(joined(&name, &value));
            }
        }
        args.push("--env".into());
        args.push(OsStr::from_bytes(order.leash.to_bytes()).to_owned());
        args.extend(container.options.iter().map(Into::into));
        args.push(self.image.clone().into());
        args.push(order.command.program.clone());
        args.extend(order.command.args.iter().cloned());
        let mut command = Command::new(self.engine.program()).args(args);
        command.stdin = order.command.stdin.clone();
        Ok((command, environment))
    }

    fn options(
        &self,
        container: &Container,
        order: &Order<'_>,
    ) -> Result<Vec<OsString>, LaunchError> {
        let (working, shared) = (order.directory.working(), order.directory.root().shared());
        let mut options: Vec<OsString> = vec![
            joined("--name", &self.name),
            joined("--label", self.engine.label()),
            "--log-driver=none".into(),
            joined("--volume", mount(&working)?),
            joined("--volume", mount(shared)?),
            joined("--workdir", &working),
        ];
        options.extend(self.engine.run_options());
        options.extend(limits(container, order.rules));
        options.extend(self.engine.devices(&order.assignment.gpus));
        let network = container.network.as_ref();
        options.extend(network.map(|network| joined("--network", network)));
        if order.command.stdin != Stdin::Empty {
            options.push("--interactive".into());
        }
        Ok(options)
    }

    /// What its client's exit code means.
    pub(super) fn fate(&self, code: i32) -> Fate {
        if !ENGINES_CODES.contains(&code) && code != 137 {
            return Fate::Ended;
        }
        let asked = "{{.State.Status}} {{.State.OOMKilled}}";
        match self.engine.ask(&["inspect", "--format", asked, &self.name]) {
            Ok(said) if said.starts_with("exited true") => Fate::OutOfMemory,
            Ok(said) if said.starts_with("exited") || said.starts_with("stopped") => Fate::Ended,
            _ if code == 137 => Fate::Ended,
            _ => Fate::NeverStarted,
        }
    }

    /// The error for a container whose program never began.
    pub(super) fn never_started(&self, said: String) -> LaunchError {
        LaunchError::Container {
            image: self.image.clone(),
            said,
        }
    }
}

impl Drop for Contained {
    fn drop(&mut self) {
        self.engine.remove(&self.name);
    }
}

/// The names of variables whose values nobody may see.
fn secrets<'a>(order: &Order<'a>) -> HashSet<&'a OsStr> {
    let of = |settings: &'a CommandSettings| settings.env.iter();
    let all = of(order.assignment.settings).chain(of(&order.command.settings));
    all.filter(|variable| variable.secret)
        .map(|variable| &*variable.name)
        .collect()
}

fn limits(container: &Container, rules: &CommandRules) -> Vec<OsString> {
    let cpu_seconds = |limit: std::time::Duration| limit.as_secs_f64().ceil();
    let limits = [
        rules.memory_limit.map(|bytes| format!("--memory={bytes}")),
        container.cpus.map(|cpus| format!("--cpus={cpus}")),
        rules
            .open_files_limit
            .map(|files| format!("--ulimit=nofile={files}:{files}")),
        rules
            .cpu_time_limit
            .map(cpu_seconds)
            .map(|seconds| format!("--ulimit=cpu={seconds}:{seconds}")),
    ];
    limits.into_iter().flatten().map(Into::into).collect()
}

/// A directory, under its own name.
fn mount(directory: &Path) -> Result<OsString, LaunchError> {
    match directory.as_os_str().as_bytes().contains(&b':') {
        true => Err(LaunchError::Malformed(format!(
            "the directory {} of a container, which has a `:`,",
            directory.display()
        ))),
        false => {
            let mut mount = directory.as_os_str().to_owned();
            mount.push(":");
            mount.push(directory);
            Ok(mount)
        }
    }
}

fn joined(name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> OsString {
    let mut joined = name.as_ref().to_owned();
    joined.push("=");
    joined.push(value);
    joined
}
