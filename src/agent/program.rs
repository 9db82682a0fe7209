//! Finding a program, and saying what is wrong when it can't be started.
//!
//! The search is ours: with a bare name and a `PATH` of the command's own, the system's would have to fork.

use super::environment::Environment;
use crate::model::LaunchError;
use rustix::fs::{Access, access};
use rustix::io::Errno;
use std::ffi::{CString, OsStr};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The most that one argument or variable may have on Linux, with its end.
const MOST_EACH: usize = 128 << 10;

/// Finds a program as a shell would: a path, or a name in the command's `PATH`.
pub(super) fn find(
    program: &OsStr,
    environment: &Environment,
    directory: &Path,
) -> Result<PathBuf, LaunchError> {
    let given = Path::new(program);
    if program.as_bytes().contains(&b'/') {
        // An absolute path stays as it is.
        let path = directory.join(given);
        return check(&path).map(|()| path);
    }
    let path = environment
        .get("PATH")
        .unwrap_or(OsStr::new("/usr/local/bin:/usr/bin:/bin"));
    let mut refused = None;
    for entry in std::env::split_paths(path).filter(|_| !program.is_empty()) {
        let candidate = directory.join(entry).join(given);
        match check(&candidate) {
            Ok(()) => return Ok(candidate),
            Err(LaunchError::NotFound(_) | LaunchError::Directory(_)) => (),
            Err(error) => refused = refused.or(Some(error)),
        }
    }
    Err(refused.unwrap_or_else(|| LaunchError::NotFound(given.to_owned())))
}

/// Whether a file is there to be run.
fn check(path: &Path) -> Result<(), LaunchError> {
    let metadata = path.metadata().map_err(|cause| match cause.kind() {
        io::ErrorKind::PermissionDenied => LaunchError::Denied(path.to_owned(), cause),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
            LaunchError::NotFound(path.to_owned())
        }
        _ => LaunchError::Other(path.to_owned(), cause),
    })?;
    if metadata.is_dir() {
        return Err(LaunchError::Directory(path.to_owned()));
    }
    let denied = |cause: Errno| LaunchError::Denied(path.to_owned(), cause.into());
    access(path, Access::EXEC_OK).map_err(denied)
}

/// What it means that a program which was found could not be started.
pub(super) fn explain(
    error: io::Error,
    program: &Path,
    args: &[CString],
    env: &[CString],
) -> LaunchError {
    let path = program.to_owned();
    match Errno::from_io_error(&error) {
        Some(Errno::TOOBIG) => too_long(args, env),
        // It was there: what is missing is its interpreter, or its loader.
        Some(Errno::NOEXEC | Errno::NOENT | Errno::LIBBAD) => LaunchError::NotAProgram(path, error),
        Some(Errno::ACCESS | Errno::PERM) => LaunchError::Denied(path, error),
        Some(Errno::TXTBSY) => LaunchError::Busy(path),
        Some(Errno::AGAIN | Errno::NOMEM | Errno::MFILE | Errno::NFILE) => {
            LaunchError::Exhausted(error)
        }
        _ => LaunchError::Other(path, error),
    }
}

fn too_long(args: &[CString], env: &[CString]) -> LaunchError {
    let sizes = || {
        args.iter()
            .chain(env)
            .map(|text| text.as_bytes_with_nul().len())
    };
    let pointers = (args.len() + env.len()) * size_of::<usize>();
    LaunchError::TooLong {
        size: sizes().sum::<usize>() + pointers,
        largest: sizes().max().unwrap_or(0),
        limit: most_together(),
        each: MOST_EACH,
    }
}

/// The system takes a quarter of the largest stack, and at most 6 MiB.
fn most_together() -> usize {
    let stack = rustix::process::getrlimit(rustix::process::Resource::Stack).current;
    let quarter = stack.map_or(usize::MAX, |bytes| {
        usize::try_from(bytes / 4).unwrap_or(usize::MAX)
    });
    quarter.clamp(128 << 10, 6 << 20)
}
