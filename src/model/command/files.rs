//! Files that go into a command's working directory, and files that come out of it.

use serde::{Deserialize, Serialize};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// Where a file comes from that a command finds in its working directory.
#[derive(Clone, PartialEq, Debug)]
pub struct FileSource {
    pub(crate) content: Content,
    pub(crate) executable: bool,
}

#[derive(Clone, PartialEq)]
pub(crate) enum Content {
    Path(PathBuf),
    Bytes(Arc<[u8]>),
}

impl FileSource {
    /// A copy of a file on this machine, with its permissions.
    pub fn path(path: impl Into<PathBuf>) -> Self {
        Content::Path(path.into()).into()
    }

    /// A file with this content.
    pub fn bytes(bytes: impl Into<Vec<u8>>) -> Self {
        Content::Bytes(bytes.into().into()).into()
    }

    /// The command may run it as a program.
    pub fn executable(mut self) -> Self {
        self.executable = true;
        self
    }
}

impl From<Content> for FileSource {
    fn from(content: Content) -> Self {
        FileSource {
            content,
            executable: false,
        }
    }
}

impl From<&Path> for FileSource {
    fn from(path: &Path) -> Self {
        FileSource::path(path)
    }
}

impl From<PathBuf> for FileSource {
    fn from(path: PathBuf) -> Self {
        FileSource::path(path)
    }
}

impl std::fmt::Debug for Content {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Content::Path(path) => path.fmt(f),
            Content::Bytes(bytes) => write!(f, "{} bytes", bytes.len()),
        }
    }
}

/// A file to be put into the working directory.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct ResourceFile {
    pub(crate) name: PathBuf,
    pub(crate) source: FileSource,
}

/// Files that are picked up when a command has ended: see [`Command::output_files`](crate::Command::output_files).
///
/// They are named by a glob pattern, relative to the working directory, in which `*` and `?` stop at `/` and `**` does not.
/// Links are not followed, and not picked up. What is picked up is part of the task's
/// [output](crate::CommandOutput::files), and lives as long.
///
/// ```
/// use batchyard::{Command, OutputFiles, PickUp};
///
/// Command::new("./simulate")
///     .output_files("*.csv")
///     .output_files(OutputFiles::new("logs/**").when(PickUp::OnFailure).to("/srv/logs"));
/// ```
#[derive(Clone, PartialEq, Debug)]
pub struct OutputFiles {
    pub(crate) pattern: String,
    pub(crate) when: PickUp,
    pub(crate) to: Option<PathBuf>,
}

/// When output files are picked up. (Azure Batch: `uploadCondition`.)
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "data", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum PickUp {
    /// When the program exited with 0. The default.
    #[default]
    OnSuccess,
    /// When it did not.
    OnFailure,
    /// However it ended, unless it was cancelled.
    Always,
}

impl OutputFiles {
    /// The files that match this pattern, when the command succeeds. None need be there.
    pub fn new(pattern: impl Into<String>) -> Self {
        OutputFiles {
            pattern: pattern.into(),
            when: PickUp::default(),
            to: None,
        }
    }

    /// When they are picked up.
    pub fn when(mut self, when: PickUp) -> Self {
        self.when = when;
        self
    }

    /// Copies them into a directory, which is made if need be, under the names that they have in the working directory.
    /// Each appears there whole, or not at all; one of the same name is replaced.
    pub fn to(mut self, directory: impl Into<PathBuf>) -> Self {
        self.to = Some(directory.into());
        self
    }
}

impl From<&str> for OutputFiles {
    fn from(pattern: &str) -> Self {
        OutputFiles::new(pattern)
    }
}

impl From<String> for OutputFiles {
    fn from(pattern: String) -> Self {
        OutputFiles::new(pattern)
    }
}

/// Whether a name, taken from a directory, could be outside of it.
pub(crate) fn leaves(name: &Path) -> bool {
    let inside = |part| matches!(part, Component::Normal(_) | Component::CurDir);
    name.as_os_str().is_empty() || !name.components().all(inside)
}
