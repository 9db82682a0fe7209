//! The files that are part of commands' outputs: what they wrote, and what was picked up. They lie beside the journal, in
//! `run.journal.files`, linked there from where the agent has put them, or copied if that is another file system.

use crate::model::{BoxError, SavedOutput};
use crate::work::{decode, encode};
use std::fs::File;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::time::SystemTime;

/// Keeps the files of outputs that are written down.
pub(super) struct Files {
    folder: PathBuf,
    /// What this opening of the journal adds has a name of its own.
    life: String,
    kept: u64,
    /// Something was added that may not outlive a loss of power.
    unsynced: bool,
}

impl Files {
    /// Of the journal at a path.
    pub(super) fn beside(journal: &Path) -> Self {
        let mut name = journal.file_name().unwrap_or_default().to_owned();
        name.push(".files");
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        Files {
            folder: journal.with_file_name(name),
            life: format!("{:x}", since.unwrap_or_default().as_nanos()),
            kept: 0,
            unsynced: false,
        }
    }

    /// Puts the files of an output where they stay, and says so in its bytes.
    pub(super) fn keep(&mut self, output: &[u8]) -> Result<Vec<u8>, BoxError> {
        let mut saved: SavedOutput = decode(output)?;
        self.kept += 1;
        let own = PathBuf::from(format!("{}-{}", self.life, self.kept));
        for path in saved.paths_mut() {
            let place = own.join(below_root(path));
            self.add(path, &self.folder.join(&place))?;
            *path = place;
            self.unsynced = true;
        }
        let mut bytes = Vec::new();
        encode(&saved, &mut bytes)?;
        Ok(bytes)
    }

    fn add(&self, from: &Path, to: &Path) -> io::Result<()> {
        if let Some(folder) = to.parent() {
            let mut builder = std::fs::DirBuilder::new();
            #[cfg(unix)]
            std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
            builder.recursive(true).create(folder)?;
        }
        match std::fs::hard_link(from, to) {
            Ok(()) => Ok(()),
            Err(_) => std::fs::copy(from, to).map(drop),
        }
    }

    /// What was added outlives a loss of power.
    pub(super) fn sync(&mut self) -> io::Result<()> {
        if std::mem::take(&mut self.unsynced) {
            sync_all(&self.folder)?;
        }
        Ok(())
    }

    /// An output's bytes with its files where they are, if they all are.
    pub(super) fn find(&self, output: &[u8]) -> Result<Vec<u8>, BoxError> {
        let mut saved: SavedOutput = decode(output)?;
        for path in saved.paths_mut() {
            *path = self.folder.join(&path);
            if !path.try_exists()? {
                return Err(format!("its file `{}` is gone", path.display()).into());
            }
        }
        let mut bytes = Vec::new();
        encode(&saved, &mut bytes)?;
        Ok(bytes)
    }
}

/// A path as it can be joined to another.
fn below_root(path: &Path) -> PathBuf {
    let parts = path.components();
    parts
        .filter(|part| matches!(part, Component::Normal(_)))
        .collect()
}

/// The whole file system at once: there may be many files, in many folders.
#[cfg(target_os = "linux")]
fn sync_all(folder: &Path) -> io::Result<()> {
    Ok(rustix::fs::syncfs(File::open(folder)?)?)
}

#[cfg(not(target_os = "linux"))]
fn sync_all(folder: &Path) -> io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        match path.is_dir() {
            true => sync_all(&path)?,
            false => File::open(path)?.sync_all()?,
        }
    }
    Ok(())
}
