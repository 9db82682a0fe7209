//! Where commands work: a directory for the pool, in it one for each attempt that is running.
//!
//! ```text
//! <tmp>/batchyard-<user>/      of the user, 0700
//!     pool-<random>/           of a pool, locked while it lives
//!         shared/              for all commands of the pool
//!         output/              what commands wrote, and what was picked up
//!         <number>/wd/         where a command runs
//! ```
//!
//! Removing a directory can cost ten times what starting a program does. So one that a command left as it had found it, or
//! that could be emptied, gets another name, and is the next one's.

use super::sys::is_ours;
use crate::model::{Keeper, LaunchError, Workplace};
use crate::sync::lock;
use rustix::fs::{FlockOperation, flock};
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

/// The file by whose lock one sees that a pool is alive.
const LOCK: &str = ".lock";

/// What a new working directory is: a directory that its user alone may enter.
const PRIVATE: u32 = 0o700;

/// A pool's directory. Removed, but for what is to stay, when nobody needs it any more.
#[derive(Debug)]
pub(super) struct Root {
    path: PathBuf,
    shared: PathBuf,
    output: PathBuf,
    made: AtomicU64,
    idle: Mutex<Vec<PathBuf>>,
    /// Locked for as long as it is open.
    #[expect(dead_code, reason = "held for what it does when it is dropped")]
    lock: File,
}

/// An attempt's directory. Emptied, for another, when the attempt is over.
pub(super) struct AttemptDirectory {
    path: PathBuf,
    root: Arc<Root>,
    stays: bool,
}

/// What an attempt wrote and had picked up, until nobody needs it any more.
#[derive(Debug)]
pub(super) struct Leavings {
    paths: Vec<PathBuf>,
    #[expect(dead_code, reason = "held for what it does when it is dropped")]
    root: Arc<Root>,
}

impl Workplace {
    /// Makes a pool's directory, and removes those that are left of former pools and too old.
    pub(super) fn open(&self) -> Result<Root, LaunchError> {
        let base = self.base();
        let failed = |cause| LaunchError::WorkingDirectory(base.clone(), cause);
        make_private(&base).map_err(failed)?;
        self.clean(&base);
        Root::new(&base).map_err(failed)
    }

    fn base(&self) -> PathBuf {
        let user = rustix::process::geteuid().as_raw();
        let usual = || std::env::temp_dir().join(format!("batchyard-{user}"));
        self.base.clone().unwrap_or_else(usual)
    }

    fn clean(&self, base: &Path) {
        let entries = fs::read_dir(base).into_iter().flatten().flatten();
        let oldest = SystemTime::now().checked_sub(self.keep_for);
        for path in entries.map(|entry| entry.path()) {
            let changed = fs::symlink_metadata(&path).and_then(|data| data.modified());
            let is_old = changed.is_ok_and(|changed| oldest.is_some_and(|oldest| changed < oldest));
            if is_old && is_abandoned(&path) {
                remove(&path);
            }
        }
    }
}

/// Whether the pool that made the directory is no more.
fn is_abandoned(root: &Path) -> bool {
    let lock = File::open(root.join(LOCK));
    lock.is_ok_and(|lock| flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok())
}

/// Makes a directory that is the user's alone, or sees that it is.
fn make_private(path: &Path) -> io::Result<()> {
    let made = DirBuilder::new().recursive(true).mode(PRIVATE).create(path);
    let metadata = made.and_then(|()| fs::symlink_metadata(path))?;
    match metadata.is_dir() && is_ours(&metadata) {
        true => Ok(()),
        false => Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            "it belongs to somebody else, or is no directory",
        )),
    }
}

fn make(path: &Path) -> io::Result<()> {
    DirBuilder::new().mode(PRIVATE).create(path)
}

impl Root {
    fn new(base: &Path) -> io::Result<Self> {
        let directory = tempfile::Builder::new().prefix("pool-").tempdir_in(base)?;
        let path = directory.keep();
        let lock = File::create(path.join(LOCK))?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
        let (shared, output) = (path.join("shared"), path.join("output"));
        make(&shared)?;
        make(&output)?;
        Ok(Root {
            path,
            shared,
            output,
            made: AtomicU64::new(0),
            idle: Mutex::default(),
            lock,
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// For all commands of the pool.
    pub(super) fn shared(&self) -> &Path {
        &self.shared
    }

    /// Where something of an attempt is put that outlives it.
    pub(super) fn output(&self, name: &str) -> PathBuf {
        self.output.join(name)
    }

    /// An empty directory for an attempt.
    pub(super) fn attempt(self: &Arc<Self>) -> Result<AttemptDirectory, LaunchError> {
        let directory = |path| AttemptDirectory {
            path,
            root: self.clone(),
            stays: false,
        };
        let idle = lock(&self.idle).pop();
        if let Some(path) = idle {
            return Ok(directory(path));
        }
        let new = directory(self.another());
        let made = make(&new.path).and_then(|()| make(&new.working()));
        made.map_err(|cause| LaunchError::WorkingDirectory(new.working(), cause))?;
        Ok(new)
    }

    /// A path that no attempt has had.
    fn another(&self) -> PathBuf {
        let number = self.made.fetch_add(1, Ordering::Relaxed);
        self.path.join(number.to_string())
    }
}

impl Drop for Root {
    fn drop(&mut self) {
        for path in lock(&self.idle).drain(..) {
            remove(&path);
        }
        remove(&self.shared);
        let _ = fs::remove_dir(&self.output);
        let has_more = |entry: fs::DirEntry| entry.file_name() != LOCK;
        let left = fs::read_dir(&self.path).is_ok_and(|entries| entries.flatten().any(has_more));
        if !left {
            remove(&self.path);
        }
    }
}

impl AttemptDirectory {
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Where the command runs.
    pub(super) fn working(&self) -> PathBuf {
        self.path.join("wd")
    }

    pub(super) fn root(&self) -> &Arc<Root> {
        &self.root
    }

    /// It is left as it is.
    pub(super) fn leave(mut self) {
        self.stays = true;
    }

    /// Whether it is as a new one.
    fn is_new(&self) -> bool {
        let metadata = fs::symlink_metadata(self.working());
        let is_private =
            |data: fs::Metadata| data.is_dir() && data.permissions().mode() & 0o7777 == PRIVATE;
        metadata.is_ok_and(is_private)
            && names_in(&self.path) == Some(1)
            && names_in(&self.working()) == Some(0)
    }

    /// Removes what is in it.
    fn empty(&self) {
        let working = self.working();
        let entries = fs::read_dir(&working).into_iter().flatten().flatten();
        for entry in entries {
            let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
            match is_directory {
                true => remove(&entry.path()),
                false => drop(fs::remove_file(entry.path())),
            }
        }
    }
}

impl Drop for AttemptDirectory {
    fn drop(&mut self) {
        if self.stays {
            return;
        }
        if !self.is_new() {
            self.empty();
        }
        let next = self.root.another();
        match self.is_new() && fs::rename(&self.path, &next).is_ok() {
            true => lock(&self.root.idle).push(next),
            false => remove(&self.path),
        }
    }
}

impl Leavings {
    /// What of these is there, if anything is.
    pub(super) fn new(paths: Vec<PathBuf>, root: &Arc<Root>) -> Option<Self> {
        let root = root.clone();
        (!paths.is_empty()).then_some(Leavings { paths, root })
    }
}

impl Keeper for Leavings {}

impl Drop for Leavings {
    fn drop(&mut self) {
        for path in &self.paths {
            if fs::remove_file(path).is_err() {
                remove(path);
            }
        }
    }
}

/// How many names are in a directory. More than a few count as two.
fn names_in(directory: &Path) -> Option<usize> {
    Some(fs::read_dir(directory).ok()?.take(2).count())
}

/// Removes a directory with all that is in it. Links are not followed.
fn remove(path: &Path) {
    let error = fs::remove_dir_all(path).err().map(|error| error.kind());
    if error == Some(io::ErrorKind::PermissionDenied) {
        permit(path);
        let _ = fs::remove_dir_all(path);
    }
}

/// A command may have taken the permission to remove what it left from itself.
fn permit(path: &Path) {
    let directories = walkdir::WalkDir::new(path).into_iter();
    let mut directories = directories.filter_entry(|entry| {
        let mode = fs::Permissions::from_mode(PRIVATE);
        entry.file_type().is_dir() && fs::set_permissions(entry.path(), mode).is_ok()
    });
    while directories.next().is_some() {}
}
