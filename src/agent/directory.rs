//! Where commands work: a directory for the pool, in it one for each attempt.
//!
//! ```text
//! <tmp>/batchyard-<user>/      of the user, 0700
//!     <pool>/                  of a pool, locked while it lives
//!         shared/              for all commands of the pool
//!         <attempt>/           stdout.txt, stderr.txt
//!             wd/              where the command runs
//!             files/           what was picked up
//! ```

use super::sys::is_ours;
use crate::model::{Keeper, LaunchError, Workplace};
use rustix::fs::{FlockOperation, flock};
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

/// The file by whose lock one sees that a pool is alive.
const LOCK: &str = ".lock";

/// A pool's directory. Removed, if it is empty, when nobody needs it any more.
#[derive(Debug)]
pub(super) struct Root {
    path: PathBuf,
    shared: PathBuf,
    /// Locked for as long as it is open.
    #[expect(dead_code, reason = "held for what it does when it is dropped")]
    lock: File,
}

/// An attempt's directory, until nobody needs it any more: then it is removed, or left.
#[derive(Debug)]
pub(super) struct AttemptDirectory {
    pub(super) path: PathBuf,
    root: Arc<Root>,
    remove: bool,
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
                let _ = fs::remove_dir_all(&path);
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
    let made = DirBuilder::new().recursive(true).mode(0o700).create(path);
    let metadata = made.and_then(|()| fs::symlink_metadata(path))?;
    match metadata.is_dir() && is_ours(&metadata) {
        true => Ok(()),
        false => Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            "it belongs to somebody else, or is no directory",
        )),
    }
}

impl Root {
    fn new(base: &Path) -> io::Result<Self> {
        let path = tempfile::Builder::new()
            .prefix("pool-")
            .tempdir_in(base)?
            .keep();
        let lock = File::create(path.join(LOCK))?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
        let shared = path.join("shared");
        DirBuilder::new().mode(0o700).create(&shared)?;
        Ok(Root { path, shared, lock })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// For all commands of the pool.
    pub(super) fn shared(&self) -> &Path {
        &self.shared
    }

    /// Makes an attempt's directory, and in it its working directory.
    pub(super) fn attempt(self: &Arc<Self>, key: &str) -> Result<AttemptDirectory, LaunchError> {
        let directory = AttemptDirectory {
            path: self.path.join(key),
            root: self.clone(),
            remove: true,
        };
        let make = |path: &Path| DirBuilder::new().mode(0o700).create(path);
        make(&directory.path)
            .and_then(|()| make(&directory.working()))
            .map_err(|cause| LaunchError::WorkingDirectory(directory.working(), cause))?;
        Ok(directory)
    }
}

impl Drop for Root {
    fn drop(&mut self) {
        remove(&self.shared);
        let has_more = |entry: fs::DirEntry| entry.file_name() != LOCK;
        let left = fs::read_dir(&self.path).is_ok_and(|entries| entries.flatten().any(has_more));
        if !left {
            remove(&self.path);
        }
    }
}

impl AttemptDirectory {
    /// Where the command runs.
    pub(super) fn working(&self) -> PathBuf {
        self.path.join("wd")
    }

    /// Where what was picked up lies.
    pub(super) fn files(&self) -> PathBuf {
        self.path.join("files")
    }

    pub(super) fn root(&self) -> &Root {
        &self.root
    }

    /// Removes the working directory.
    pub(super) fn remove_working(&self) {
        remove(&self.working());
    }

    /// Removes it, if there is nothing in it; says whether that was so.
    pub(super) fn remove_if_empty(&mut self) -> bool {
        let removed = fs::remove_dir(&self.path).is_ok();
        self.remove &= !removed;
        removed
    }

    /// It stays.
    pub(super) fn leave(&mut self) {
        self.remove = false;
    }
}

impl Keeper for AttemptDirectory {}

impl Drop for AttemptDirectory {
    fn drop(&mut self) {
        if self.remove {
            remove(&self.path);
        }
    }
}

/// Removes a directory with all that is in it, quickly if that is nothing. Links are not followed.
fn remove(path: &Path) {
    let error = fs::remove_dir(path).err().map(|error| error.kind());
    if error == Some(io::ErrorKind::DirectoryNotEmpty) && fs::remove_dir_all(path).is_err() {
        permit(path);
        let _ = fs::remove_dir_all(path);
    }
}

/// A command may have taken the permission to remove what it left from itself.
fn permit(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    let directories = walkdir::WalkDir::new(path).into_iter();
    let mut directories = directories.filter_entry(|entry| {
        let mode = fs::Permissions::from_mode(0o700);
        entry.file_type().is_dir() && fs::set_permissions(entry.path(), mode).is_ok()
    });
    while directories.next().is_some() {}
}
