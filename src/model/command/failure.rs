//! How commands fail.

use super::CommandOutput;
use crate::model::{ExitCode, TimeLimitOver};
use std::error::Error as StdError;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// A command ran, and did not succeed: the cause of its task's failure, found by
/// [`Error::cause`](crate::Error::cause).
#[derive(Clone, Debug)]
pub struct CommandFailure {
    ending: Ending,
    source: Option<Source>,
    output: Arc<CommandOutput>,
    last_words: String,
}

/// What those look for in an error's sources who decide what it means.
#[derive(Clone, Copy, Debug)]
enum Source {
    Code(ExitCode),
    TimeLimit(TimeLimitOver),
}

/// How a command that did not succeed ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Ending {
    /// It exited with a code other than 0.
    Code(i32),
    /// A signal ended it, that was not ours.
    Signal(i32),
    /// The system killed it since memory was short.
    OutOfMemory,
    /// It was ended at its time limit.
    TimeLimit(Duration),
    /// It was ended, since its processes together had more memory than they [may](crate::CommandSettings::memory_limit):
    /// as many bytes.
    MemoryLimit(u64),
    /// It was ended, since the task was cancelled.
    Cancelled,
}

impl Ending {
    /// The exit code, if it exited by itself.
    pub(crate) fn code(self) -> Option<i32> {
        match self {
            Ending::Code(code) => Some(code),
            _ => None,
        }
    }

    #[cfg(target_os = "linux")]
    fn source(self) -> Option<Source> {
        match self {
            Ending::Code(code) => Some(Source::Code(ExitCode(code))),
            Ending::TimeLimit(limit) => Some(Source::TimeLimit(TimeLimitOver(limit))),
            _ => None,
        }
    }
}

impl CommandFailure {
    /// With the last words of its standard error.
    #[cfg(target_os = "linux")]
    pub(crate) fn new(ending: Ending, output: CommandOutput, last_words: String) -> Self {
        CommandFailure {
            ending,
            source: ending.source(),
            output: Arc::new(output),
            last_words,
        }
    }

    /// How it ended.
    pub fn ending(&self) -> Ending {
        self.ending
    }

    /// The exit code. None if it did not exit by itself.
    pub fn code(&self) -> Option<i32> {
        self.ending.code()
    }

    /// The signal that ended it, if it was one that was not ours.
    pub fn signal(&self) -> Option<i32> {
        match self.ending {
            Ending::Signal(signal) => Some(signal),
            Ending::OutOfMemory => Some(9),
            _ => None,
        }
    }

    /// What it wrote and used.
    pub fn output(&self) -> &CommandOutput {
        &self.output
    }
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ending::Code(code) => write!(f, "exited with code {code}"),
            Ending::Signal(signal) => write!(f, "was ended by signal {signal}{}", name_of(*signal)),
            Ending::OutOfMemory => f.write_str("was killed by the system, since memory was short"),
            Ending::TimeLimit(limit) => write!(f, "was ended at its time limit of {limit:?}"),
            Ending::MemoryLimit(bytes) => {
                write!(
                    f,
                    "was ended, since it had {bytes} bytes of memory, more than its limit"
                )
            }
            Ending::Cancelled => f.write_str("was ended, since its task was cancelled"),
        }
    }
}

fn name_of(signal: i32) -> &'static str {
    match signal {
        1 => " (SIGHUP)",
        2 => " (SIGINT)",
        3 => " (SIGQUIT)",
        4 => " (SIGILL)",
        6 => " (SIGABRT)",
        8 => " (SIGFPE)",
        9 => " (SIGKILL)",
        11 => " (SIGSEGV)",
        13 => " (SIGPIPE)",
        14 => " (SIGALRM)",
        15 => " (SIGTERM)",
        _ => "",
    }
}

impl fmt::Display for CommandFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.ending.fmt(f)?;
        if let Some(directory) = self.output.working_directory() {
            write!(f, "; its working directory is {}", directory.display())?;
        }
        match self.last_words.is_empty() {
            true => Ok(()),
            false => write!(f, "; it said last:\n{}", self.last_words),
        }
    }
}

impl StdError for CommandFailure {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source.as_ref().map(|source| match source {
            Source::Code(code) => code as _,
            Source::TimeLimit(limit) => limit as _,
        })
    }
}

/// A command could not be started, or what goes with it not be done: the cause of its task's failure.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LaunchError {
    /// There is no such program.
    #[error("there is no program `{}`{}; give its path, or set `PATH`", .0.display(), searched(.0))]
    NotFound(PathBuf),
    /// It is there, and must not be run.
    #[error("`{}` may not be run: {}; make it executable", .0.display(), .1)]
    Denied(PathBuf, io::Error),
    /// It is a directory.
    #[error("`{}` is a directory, not a program", .0.display())]
    Directory(PathBuf),
    /// It is no program: neither of this machine's format, nor a script that begins with `#!` and an interpreter that is
    /// there.
    #[error("`{}` is no program of this machine: {}; a script begins with `#!` and its interpreter", .0.display(), .1)]
    NotAProgram(PathBuf, io::Error),
    /// Its file was open for writing for as long as was waited.
    #[error("`{}` is still being written by another process", .0.display())]
    Busy(PathBuf),
    /// Arguments and environment are larger than the system passes on.
    #[error(
        "its arguments and environment have {size} bytes, the largest {largest}; the system takes {limit} in all and \
         {each} each; pass a file or the standard input instead"
    )]
    TooLong {
        /// What they have together.
        size: usize,
        /// The largest of them.
        largest: usize,
        /// The most that the system takes together.
        limit: usize,
        /// The most that it takes each.
        each: usize,
    },
    /// A name, argument or variable that can't be: a NUL byte in it, or a variable's name with a `=`.
    #[error("{0} can't be passed on: it has a NUL byte, or a `=` in its name")]
    Malformed(String),
    /// Processes, open files or memory are used up.
    #[error("the system can't start another process: {0}; run fewer at once, or raise its limits")]
    Exhausted(io::Error),
    /// The working directory could not be made.
    #[error("can't make the working directory {}: {}", .0.display(), .1)]
    WorkingDirectory(PathBuf, io::Error),
    /// A name that leads out of the working directory.
    #[error("`{}` leads out of the working directory; use a relative name without `..`", .0.display())]
    Outside(PathBuf),
    /// A file could not be put into the working directory.
    #[error("can't put `{}` into the working directory: {}", .0.display(), .1)]
    File(PathBuf, io::Error),
    /// Neither podman nor docker is there, and the command wants a container.
    #[error(
        "there is neither podman nor docker to run its container; install one, or name it by `ContainerEngine`"
    )]
    NoContainerEngine,
    /// A container that can't be.
    #[error("its container can't be: {0}")]
    NoContainer(&'static str),
    /// The program in a container never began: the engine could not pull its image or make the container, or the program
    /// is not in it.
    #[error("the container of the image `{image}` did not start: {said}")]
    Container {
        /// The image.
        image: String,
        /// What the engine said.
        said: String,
    },
    /// A registry refused a login, or was not there.
    #[error("can't log in to the registry `{registry}`: {said}")]
    Login {
        /// The registry.
        registry: String,
        /// What the engine said.
        said: String,
    },
    /// Its end was taken from us: the application waits for children that are not its own, or ignores `SIGCHLD`.
    #[error(
        "its exit code is unknown, since the application took it: {0}; it must not wait for all children"
    )]
    Stolen(io::Error),
    /// Anything else.
    #[error("can't start `{}`: {}", .0.display(), .1)]
    Other(PathBuf, io::Error),
}

/// Files that a command left, or what it wrote, could not be put where they should be.
#[derive(Debug, thiserror::Error)]
#[error("can't put `{}` to {}: {cause}", .name.display(), .to.display())]
pub struct UploadError {
    name: PathBuf,
    to: PathBuf,
    #[source]
    cause: io::Error,
}

impl UploadError {
    #[cfg(target_os = "linux")]
    pub(crate) fn new(name: impl AsRef<Path>, to: &Path, cause: io::Error) -> Self {
        UploadError {
            name: name.as_ref().to_owned(),
            to: to.to_owned(),
            cause,
        }
    }

    /// The file's name in the working directory.
    pub fn name(&self) -> &Path {
        &self.name
    }
}

/// Where a program was looked for.
fn searched(program: &std::path::Path) -> &'static str {
    match program.components().count() {
        1 => " in the command's `PATH`",
        _ => "",
    }
}
