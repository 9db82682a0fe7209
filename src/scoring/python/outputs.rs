//! The files that a script writes itself: a worker's are its own until a call has succeeded.

use crate::sync::lock;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// Two workers may have files of one name to publish.
static PUBLISHING: Mutex<()> = Mutex::new(());

/// The folder that one worker writes to.
pub(super) struct Outputs {
    own: PathBuf,
    published: PathBuf,
}

impl Outputs {
    pub(super) fn new(published: &Path, worker: u32) -> io::Result<Self> {
        let own = published.join(format!(".worker-{worker}"));
        let outputs = Outputs {
            own,
            published: published.to_owned(),
        };
        outputs.discard()?;
        Ok(outputs)
    }

    pub(super) fn own(&self) -> &Path {
        &self.own
    }

    /// Throws away what is there: a call failed, and its worker's state is another matter.
    pub(super) fn discard(&self) -> io::Result<()> {
        match fs::remove_dir_all(&self.own) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => fs::create_dir_all(&self.own),
        }
    }

    /// Moves what a successful call left to where everybody's is.
    pub(super) fn publish(&self) -> io::Result<()> {
        let mut entries = fs::read_dir(&self.own)?.peekable();
        if entries.peek().is_none() {
            return Ok(());
        }
        let _alone = lock(&PUBLISHING);
        entries.try_for_each(|entry| {
            let entry = entry?;
            merge(&entry.path(), &self.published.join(entry.file_name()))
        })
    }
}

impl Drop for Outputs {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.own);
    }
}

/// Moves a file or folder; what is there under its name already is added to.
fn merge(from: &Path, to: &Path) -> io::Result<()> {
    if !to.exists() {
        return fs::rename(from, to);
    }
    if from.is_dir() {
        for entry in fs::read_dir(from)? {
            let entry = entry?;
            merge(&entry.path(), &to.join(entry.file_name()))?;
        }
        return Ok(());
    }
    let mut all = File::options().append(true).open(to)?;
    io::copy(&mut File::open(from)?, &mut all)?;
    fs::remove_file(from)
}
