//! Commands: the programs that tasks run, and what is around them.

mod container;
mod failure;
mod files;
mod live;
mod output;
mod settings;
mod sweep;

pub use container::{Container, ContainerEngine};
pub use failure::{CommandFailure, Ending, LaunchError, UploadError};
pub use files::{FileSource, OutputFiles, PickUp};
pub use live::Tail;
pub use output::{Captured, CommandOutput, Straggler, Usage};
pub use settings::{CommandSettings, Retention, Stragglers};
pub use sweep::Sweep;

#[cfg(target_os = "linux")]
pub(crate) use container::Login;
#[cfg(any(target_os = "linux", feature = "data"))]
pub(crate) use files::leaves;
pub(crate) use files::{Content, ResourceFile};
pub(crate) use live::LiveStream;
#[cfg(feature = "journal")]
pub(crate) use output::SavedOutput;
#[cfg(target_os = "linux")]
pub(crate) use output::{Keeper, Kept};
#[cfg(target_os = "linux")]
pub(crate) use settings::CommandRules;
#[cfg(feature = "data")]
pub(crate) use settings::Variable;
pub(crate) use settings::Workplace;
#[cfg(any(feature = "data", feature = "journal"))]
pub(crate) use sweep::Parameter;

use crate::model::DefectKind;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// A program to run, with its arguments, files and surroundings: the body of a [command task](crate::Task::command).
///
/// There is no shell unless you ask for [one](Command::shell): arguments reach the program as they are. The program runs
/// in a directory of its own, with an empty standard input and few environment variables; what it writes is captured. It
/// has succeeded when it exits with 0.
///
/// ```
/// use batchyard::Command;
///
/// let sort = Command::new("sort").args(["-n", "numbers.txt"]).env("LC_ALL", "C");
/// let pipeline = Command::shell("sort -n numbers.txt | uniq -c");
/// ```
#[derive(Clone, PartialEq, Debug)]
pub struct Command {
    pub(crate) program: OsString,
    pub(crate) args: Vec<OsString>,
    pub(crate) stdin: Stdin,
    pub(crate) files: Vec<ResourceFile>,
    pub(crate) outputs: Vec<OutputFiles>,
    pub(crate) settings: CommandSettings,
}

/// What a command reads.
#[derive(Clone, PartialEq, Default)]
pub(crate) enum Stdin {
    /// Nothing: it is at its end.
    #[default]
    Empty,
    Bytes(Arc<[u8]>),
    File(PathBuf),
}

impl Command {
    /// A program: a name that is looked for in the command's `PATH`, or a path. A relative path counts from the
    /// command's working directory.
    pub fn new(program: impl Into<OsString>) -> Self {
        Command {
            program: program.into(),
            args: Vec::new(),
            stdin: Stdin::default(),
            files: Vec::new(),
            outputs: Vec::new(),
            settings: CommandSettings::default(),
        }
    }

    /// A script for `/bin/sh`. Arguments that are added are its `$1`, `$2` and so on.
    pub fn shell(script: impl Into<OsString>) -> Self {
        Command::new("/bin/sh").arg("-c").arg(script).arg("/bin/sh")
    }

    /// Adds an argument.
    pub fn arg(mut self, arg: impl Into<OsString>) -> Self {
        self.args.push(arg.into());
        self
    }

    /// Adds arguments.
    pub fn args<A: Into<OsString>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// What the program reads from its standard input. Default: nothing, so that it is at its end at once; never the
    /// application's own.
    pub fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stdin = Stdin::Bytes(bytes.into().into());
        self
    }

    /// A file that the program reads from its standard input.
    pub fn stdin_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.stdin = Stdin::File(path.into());
        self
    }

    /// Puts a file into the working directory before the program starts. Its `name` there may have directories, and must
    /// not lead out: one that is absolute, or has `..`, fails the task before it starts.
    pub fn file(mut self, name: impl Into<PathBuf>, source: impl Into<FileSource>) -> Self {
        self.files.push(ResourceFile {
            name: name.into(),
            source: source.into(),
        });
        self
    }

    /// Picks up files that the program leaves in its working directory.
    pub fn output_files(mut self, files: impl Into<OutputFiles>) -> Self {
        self.outputs.push(files.into());
        self
    }

    /// Settings, all at once. What was set before is kept where this sets nothing.
    pub fn settings(mut self, settings: CommandSettings) -> Self {
        self.settings = settings.or(&self.settings);
        self
    }

    /// See [`CommandSettings::env`].
    pub fn env(self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.settings(CommandSettings::new().env(name, value))
    }

    /// See [`CommandSettings::secret_env`].
    pub fn secret_env(self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.settings(CommandSettings::new().secret_env(name, value))
    }

    /// See [`CommandSettings::inherit_env`].
    pub fn inherit_env(self) -> Self {
        self.settings(CommandSettings::new().inherit_env())
    }

    /// See [`CommandSettings::retention`].
    pub fn retention(self, retention: Retention) -> Self {
        self.settings(CommandSettings::new().retention(retention))
    }

    /// See [`CommandSettings::output_limit`].
    pub fn output_limit(self, bytes: u64) -> Self {
        self.settings(CommandSettings::new().output_limit(bytes))
    }

    /// See [`CommandSettings::kill_grace`].
    pub fn kill_grace(self, grace: Duration) -> Self {
        self.settings(CommandSettings::new().kill_grace(grace))
    }

    /// See [`CommandSettings::container`].
    pub fn container(self, container: impl Into<Container>) -> Self {
        self.settings(CommandSettings::new().container(container))
    }

    /// What is wrong with it, as far as can be told before it runs.
    pub(crate) fn defect(&self) -> Option<DefectKind> {
        self.settings.defect()
    }

    /// The program.
    pub fn program(&self) -> &OsStr {
        &self.program
    }
}

impl From<&str> for Command {
    fn from(program: &str) -> Self {
        Command::new(program)
    }
}

impl From<String> for Command {
    fn from(program: String) -> Self {
        Command::new(program)
    }
}

impl From<PathBuf> for Command {
    fn from(program: PathBuf) -> Self {
        Command::new(program)
    }
}

impl fmt::Debug for Stdin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Stdin::Empty => f.write_str("Empty"),
            Stdin::Bytes(bytes) => write!(f, "{} bytes", bytes.len()),
            Stdin::File(path) => path.fmt(f),
        }
    }
}
