//! Starting a command: everything in the form that the system takes, and patience where it helps.

use super::environment::{self, Environment};
use super::program;
use super::stop::Stop;
use super::sys::{Child, Start};
use crate::model::{Command, LaunchError, Stdin};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{MemfdFlags, OFlags, fcntl_setfl, memfd_create};
use rustix::pipe::{PipeFlags, pipe_with};
use std::ffi::CString;
use std::fs::File;
use std::io::{self, Seek, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long to wait, in all, for what may pass: a file that is still open for writing in another process, or for lack of
/// processes or open files.
const PATIENCE: Duration = Duration::from_secs(2);

/// How long the first time.
const FIRST_WAIT: Duration = Duration::from_millis(1);

/// A command that is ready to start.
pub(super) struct Launch<'a> {
    stdin: &'a Stdin,
    path: PathBuf,
    program: CString,
    args: Vec<CString>,
    env: Vec<CString>,
    directory: CString,
    leash: CString,
}

impl<'a> Launch<'a> {
    pub(super) fn prepare(
        command: &'a Command,
        variables: Environment,
        directory: &Path,
        leash: CString,
    ) -> Result<Self, LaunchError> {
        let path = program::find(&command.program, &variables, directory)?;
        let arguments = [&command.program].into_iter().chain(&command.args);
        Ok(Launch {
            stdin: &command.stdin,
            program: environment::path(&path)?,
            path,
            args: arguments
                .map(|arg| environment::argument(arg))
                .collect::<Result<_, _>>()?,
            env: variables.into_strings(leash.clone())?,
            directory: environment::path(directory)?,
            leash,
        })
    }

    /// Starts it. Returns the ends of the pipes that its standard output and error go to.
    ///
    /// What may pass is waited for: that is no attempt of the task's.
    pub(super) fn start(&self, stop: &Stop) -> Result<(Child, [OwnedFd; 2]), LaunchError> {
        let mut wait = FIRST_WAIT;
        loop {
            let result = self.try_start();
            let passes = matches!(
                result,
                Err(LaunchError::Busy(_) | LaunchError::Exhausted(_))
            );
            if !passes || wait > PATIENCE / 2 || stop.is_requested() {
                return result;
            }
            pause(wait, stop);
            wait *= 2;
        }
    }

    fn try_start(&self) -> Result<(Child, [OwnedFd; 2]), LaunchError> {
        let stdin = self.stdin()?;
        let pipe = || pipe().map_err(|cause| self.explain(cause));
        let ((stdout, to_stdout), (stderr, to_stderr)) = (pipe()?, pipe()?);
        let start = Start {
            program: &self.program,
            args: &self.args,
            env: &self.env,
            directory: &self.directory,
            streams: [stdin.as_fd(), to_stdout.as_fd(), to_stderr.as_fd()],
        };
        let child = Child::start(&start).map_err(|cause| self.explain(cause))?;
        Ok((child, [stdout, stderr]))
    }

    /// Bytes lie in a file without a name, so that nobody has to feed them to the program.
    fn stdin(&self) -> Result<File, LaunchError> {
        let open = |path: &Path| File::open(path).map_err(|cause| self.unreadable(path, cause));
        match self.stdin {
            Stdin::Empty => open(Path::new("/dev/null")),
            Stdin::File(path) => open(path),
            Stdin::Bytes(bytes) => nameless(bytes).map_err(|cause| self.explain(cause)),
        }
    }

    fn unreadable(&self, path: &Path, cause: io::Error) -> LaunchError {
        match self.explain(cause) {
            LaunchError::Exhausted(cause) => LaunchError::Exhausted(cause),
            LaunchError::Denied(_, cause)
            | LaunchError::NotAProgram(_, cause)
            | LaunchError::Other(_, cause) => LaunchError::File(path.to_owned(), cause),
            other => other,
        }
    }

    fn explain(&self, cause: io::Error) -> LaunchError {
        program::explain(cause, &self.path, &self.args, &self.env)
    }

    pub(super) fn into_leash(self) -> CString {
        self.leash
    }
}

/// A pipe of which the end that is read never blocks.
fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let (from, to) = pipe_with(PipeFlags::CLOEXEC)?;
    fcntl_setfl(&from, OFlags::NONBLOCK)?;
    Ok((from, to))
}

fn nameless(bytes: &[u8]) -> io::Result<File> {
    let mut file = File::from(memfd_create(c"stdin", MemfdFlags::CLOEXEC)?);
    file.write_all(bytes)?;
    file.rewind()?;
    Ok(file)
}

/// Waits, but for a request to stop.
fn pause(wait: Duration, stop: &Stop) {
    let wait = Timespec::try_from(wait).ok();
    let _ = poll(&mut [PollFd::new(stop, PollFlags::IN)], wait.as_ref());
}
