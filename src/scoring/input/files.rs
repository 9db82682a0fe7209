//! Files as input: found by pattern, folder or list.

use super::listing::{Lister, Listing};
use super::pattern::{Keys, Pattern};
use crate::model::{Error, ErrorKind, Result};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use walkdir::WalkDir;

/// Files to score. They are listed when this is made, in the order of their folders, then names; only their names are
/// kept, at some 16 bytes a file beside the name, so that a million files cost some 30 MB and a few seconds.
///
/// Folders, pipes and links that lead nowhere are left out, and named in the report; an empty file is a file. Names that
/// begin with a dot are left out too, unless they are listed or the pattern asks for them.
///
/// ```
/// # fn main() -> Result<(), batchyard::Error> {
/// use batchyard::scoring::Files;
///
/// let sources = Files::glob("src/**/*.rs")?;
/// let listed = Files::list(["Cargo.toml", "README.md"]);
/// assert_eq!(listed.len(), 2);
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Files {
    pub(super) listing: Arc<Listing>,
    pub(super) keys: Keys,
    pub(super) left_out: Vec<LeftOut>,
}

/// A path that was found and is not scored.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct LeftOut {
    /// The path.
    pub path: PathBuf,
    /// Why it is left out.
    pub reason: String,
}

impl Files {
    /// The files whose paths match a pattern: `*` and `?` within a name, `[a-z]`, and `**` for any number of folders.
    ///
    /// `{year}` stands for a name, or the part of one, and makes it the value of a *partition key*: see
    /// [`ParallelRun::partition_keys`](crate::scoring::ParallelRun::partition_keys).
    ///
    /// # Errors
    /// [`InvalidSetting`](ErrorKind::InvalidSetting) for a pattern that is none;
    /// [`InvalidInput`](ErrorKind::InvalidInput) if nothing matches, or a folder can't be read.
    pub fn glob(pattern: impl AsRef<str>) -> Result<Self> {
        let text = pattern.as_ref();
        let pattern = Pattern::new(text)?;
        let walk = WalkDir::new(pattern.root())
            .min_depth(1)
            .max_depth(pattern.max_depth())
            .follow_links(true)
            .into_iter()
            .filter_entry(|entry| pattern.may_lead_to(entry));
        let mut found = Self::walked(walk, |path| pattern.matches(path))?;
        found.keys = pattern.keys();
        if found.is_empty() {
            let message = format!("no file matches `{text}`; look at the folder it is relative to");
            return Err(Error::new(ErrorKind::InvalidInput, message));
        }
        Ok(found)
    }

    /// Exactly these files, in this order. Whether they are there is seen when they are scored.
    pub fn list(paths: impl IntoIterator<Item = impl AsRef<Path>>) -> Self {
        let mut lister = Lister::default();
        paths
            .into_iter()
            .for_each(|path| lister.push(path.as_ref()));
        Files {
            listing: Arc::new(lister.in_order()),
            keys: Keys::default(),
            left_out: Vec::new(),
        }
    }

    /// The files of a folder, without those of its sub-folders.
    ///
    /// # Errors
    /// [`InvalidInput`](ErrorKind::InvalidInput) if the folder can't be read.
    pub fn directory(path: impl AsRef<Path>) -> Result<Self> {
        Self::below(path.as_ref(), 1)
    }

    /// The files of a folder and of all its sub-folders.
    ///
    /// # Errors
    /// [`InvalidInput`](ErrorKind::InvalidInput) if a folder can't be read.
    pub fn recursive(path: impl AsRef<Path>) -> Result<Self> {
        Self::below(path.as_ref(), usize::MAX)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.listing.len()
    }

    /// Whether there are none. A run with no input succeeds.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn below(root: &Path, depth: usize) -> Result<Self> {
        let walk = WalkDir::new(root)
            .min_depth(1)
            .max_depth(depth)
            .follow_links(true)
            .into_iter()
            .filter_entry(|entry| entry.depth() == 0 || !is_hidden(entry));
        Self::walked(walk, |_| true)
    }

    fn walked(
        walk: impl Iterator<Item = walkdir::Result<walkdir::DirEntry>>,
        matches: impl Fn(&Path) -> bool,
    ) -> Result<Self> {
        let mut lister = Lister::default();
        let mut left_out = Vec::new();
        for entry in walk {
            match entry {
                Ok(entry) if !matches(entry.path()) => {}
                Ok(entry) if entry.file_type().is_file() => lister.push(entry.path()),
                Ok(entry) if entry.file_type().is_dir() => {}
                Ok(entry) => left_out.push(LeftOut {
                    path: entry.into_path(),
                    reason: "neither a file nor a folder".into(),
                }),
                Err(error) => left_out.push(leads_nowhere(error)?),
            }
        }
        left_out.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(Files {
            listing: Arc::new(lister.sorted()),
            keys: Keys::default(),
            left_out,
        })
    }
}

/// A link that leads nowhere, or in a circle, is left out; a folder that can't be read is an error.
fn leads_nowhere(error: walkdir::Error) -> Result<LeftOut> {
    let path = error.path().map(Path::to_owned).unwrap_or_default();
    let is_link = path.symlink_metadata().is_ok_and(|data| data.is_symlink());
    if error.loop_ancestor().is_some() || is_link {
        let reason = error.to_string();
        return Ok(LeftOut { path, reason });
    }
    let message = format!("can't list {}", path.display());
    Err(Error::new(ErrorKind::InvalidInput, message).caused_by(error))
}

pub(super) fn is_hidden(entry: &walkdir::DirEntry) -> bool {
    entry.file_name().as_encoded_bytes().first() == Some(&b'.')
}

impl<P: AsRef<Path>> From<P> for Files {
    /// One file.
    fn from(path: P) -> Self {
        Files::list([path])
    }
}

impl fmt::Debug for Files {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Files")
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}
