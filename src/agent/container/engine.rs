//! The program that runs containers: podman or docker.

use super::super::environment::Environment;
use super::super::program;
use super::super::sys::{Leash, Watchdog};
use crate::model::{ContainerEngine, LaunchError, Login};
use std::ffi::{CStr, OsStr, OsString};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command as Process, Output, Stdio};
use tempfile::TempDir;

/// Those that are looked for, the first one first.
const KNOWN: [&str; 2] = ["podman", "docker"];

/// A pool's engine, once one of its commands has wanted a container.
#[derive(Debug)]
pub(in crate::agent) struct Engine {
    program: PathBuf,
    settings: ContainerEngine,
    label: String,
    /// Where the pool's logins are, if it has some.
    logins: Option<TempDir>,
    /// Its end is the watchdog's.
    #[expect(dead_code, reason = "held for what it does when it is dropped")]
    watchdog: Option<Watchdog>,
}

/// The value of a variable.
pub(super) fn value(variable: &CStr) -> String {
    let text = variable.to_string_lossy();
    let value = text.split_once('=').map(|(_, value)| value.to_owned());
    value.unwrap_or_default()
}

impl Engine {
    /// Finds it, logs in, and pulls what is to be there from the start.
    pub(in crate::agent) fn open(
        settings: &ContainerEngine,
        leash: &Leash,
    ) -> Result<Self, LaunchError> {
        let program = find(settings)?;
        let words: Vec<_> = [program.clone().into_os_string()]
            .into_iter()
            .chain(settings.options.iter().cloned())
            .collect();
        let label = leash.of_pool().split_once('=').map_or("", |(_, pool)| pool);
        let has_logins = !settings.logins.is_empty();
        let logins = has_logins.then(tempfile::tempdir).transpose();
        let engine = Engine {
            label: format!("batchyard.pool={label}"),
            watchdog: Watchdog::of_containers(leash, &words).ok(),
            logins: logins
                .map_err(|cause| LaunchError::WorkingDirectory(std::env::temp_dir(), cause))?,
            settings: settings.clone(),
            program,
        };
        let mut logins = settings.logins.iter();
        logins.try_for_each(|login| engine.log_in(login))?;
        let mut images = settings.prefetched.iter();
        images.try_for_each(|image| engine.fetch(image))?;
        Ok(engine)
    }

    fn log_in(&self, login: &Login) -> Result<(), LaunchError> {
        let words = ["login", "--username", &login.user, "--password-stdin"];
        let output = self.call(&[&words[..], &[&login.registry]].concat(), &login.password);
        let failed = |said| LaunchError::Login {
            registry: login.registry.clone(),
            said,
        };
        succeeded(output).map(drop).map_err(|said| match said {
            said if said.contains(&login.password) => failed(String::new()),
            said => failed(said),
        })
    }

    fn fetch(&self, image: &str) -> Result<(), LaunchError> {
        if self.ask(&["image", "inspect", image]).is_ok() {
            return Ok(());
        }
        let pulled = self.ask(&["pull", image]).map(drop);
        pulled.map_err(|said| LaunchError::Container {
            image: image.to_owned(),
            said,
        })
    }

    /// Ends a container, if it is still there, and removes it.
    pub(super) fn remove(&self, name: &str) {
        let words: &[&str] = match self.is_podman() {
            true => &["rm", "--force", "--volumes", "--time=0", name],
            false => &["rm", "--force", "--volumes", name],
        };
        let _ = self.ask(words);
    }

    /// What it says, or what it says is wrong.
    pub(super) fn ask(&self, words: &[&str]) -> Result<String, String> {
        succeeded(self.call(words, ""))
    }

    fn call(&self, words: &[&str], input: &str) -> std::io::Result<Output> {
        let mut child = Process::new(&self.program)
            .args(&self.settings.options)
            .args(words)
            .envs(self.where_logins_are())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        if let Some(mut stdin) = child.stdin.take() {
            let _ = stdin.write_all(input.as_bytes());
        }
        child.wait_with_output()
    }

    fn where_logins_are(&self) -> impl Iterator<Item = (&'static str, PathBuf)> {
        let both = |directory: &TempDir| {
            let path = directory.path();
            [
                ("REGISTRY_AUTH_FILE", path.join("auth.json")),
                ("DOCKER_CONFIG", path.to_owned()),
            ]
        };
        self.logins.as_ref().map(both).into_iter().flatten()
    }

    pub(super) fn program(&self) -> &Path {
        &self.program
    }

    /// By what its containers are known.
    pub(super) fn label(&self) -> &str {
        &self.label
    }

    /// What comes before the options of what it is to do.
    pub(super) fn arguments(&self, what: &str) -> Vec<OsString> {
        let options = self.settings.options.iter().cloned();
        options.chain([what.into()]).collect()
    }

    pub(super) fn run_options(&self) -> impl Iterator<Item = OsString> {
        self.settings.run_options.iter().cloned()
    }

    /// The application's environment: in it is where the engine has its things.
    pub(super) fn environment(&self) -> Environment {
        let mut environment = Environment::new();
        std::env::vars_os().for_each(|(name, value)| environment.set(name, value));
        self.where_logins_are()
            .for_each(|(name, value)| environment.set(name, value));
        environment
    }

    /// The GPUs that a container has: podman knows them by the names that NVIDIA's toolkit gives them.
    pub(super) fn devices(&self, gpus: &[u32]) -> Vec<OsString> {
        let names: Vec<_> = gpus.iter().map(u32::to_string).collect();
        match self.is_podman() {
            _ if gpus.is_empty() => Vec::new(),
            true => names
                .iter()
                .map(|gpu| format!("--device=nvidia.com/gpu={gpu}").into())
                .collect(),
            false => vec![format!("--gpus=\"device={}\"", names.join(",")).into()],
        }
    }

    fn is_podman(&self) -> bool {
        let name = self.program.file_name().unwrap_or_default();
        name.to_string_lossy().contains("podman")
    }
}

fn find(settings: &ContainerEngine) -> Result<PathBuf, LaunchError> {
    let mut environment = Environment::new();
    if let Some(path) = std::env::var_os("PATH") {
        environment.set("PATH", path);
    }
    let find = |name: &OsStr| program::find(name, &environment, Path::new("/"));
    match &settings.program {
        Some(program) => find(program.as_os_str()),
        None => {
            let mut known = KNOWN.iter().map(OsStr::new);
            known
                .find_map(|name| find(name).ok())
                .ok_or(LaunchError::NoContainerEngine)
        }
    }
}

fn succeeded(output: std::io::Result<Output>) -> Result<String, String> {
    let output = output.map_err(|error| error.to_string())?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    match output.status.success() {
        true => Ok(text(&output.stdout)),
        false => Err(text(&output.stderr)),
    }
}
