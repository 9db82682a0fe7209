//! What a command that has ended leaves.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// The output of a command task: what the program wrote, the files that were picked up, and what it used.
///
/// Its files live as long as it does: until its dependents are through with it, or as long as the
/// [`Run`](crate::Run) if there are none. Copy what is to stay, or use [`OutputFiles::to`](crate::OutputFiles::to).
#[derive(Debug)]
pub struct CommandOutput {
    pub(crate) stdout: Captured,
    pub(crate) stderr: Captured,
    pub(crate) files: Vec<PathBuf>,
    pub(crate) usage: Usage,
    pub(crate) stragglers: Vec<Straggler>,
    pub(crate) directory: Option<PathBuf>,
    /// Removes the files, once nobody wants them.
    #[expect(dead_code, reason = "held for what it does when it is dropped")]
    pub(crate) kept: Option<Kept>,
}

impl CommandOutput {
    /// What the program wrote to its standard output.
    pub fn stdout(&self) -> &Captured {
        &self.stdout
    }

    /// What the program wrote to its standard error.
    pub fn stderr(&self) -> &Captured {
        &self.stderr
    }

    /// The files that were picked up, where they lie now, each once, by name.
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// The file that was picked up under this name, as it was called in the working directory: a further command's input.
    pub fn file(&self, name: impl AsRef<Path>) -> Option<&Path> {
        let named = |file: &&PathBuf| file.ends_with(name.as_ref());
        self.files.iter().find(named).map(PathBuf::as_path)
    }

    /// What it used.
    pub fn usage(&self) -> &Usage {
        &self.usage
    }

    /// Processes that were still there when the time for [stragglers](crate::Stragglers) was over, and were ended.
    pub fn stragglers(&self) -> &[Straggler] {
        &self.stragglers
    }

    /// The attempt's working directory, if it was kept.
    pub fn working_directory(&self) -> Option<&Path> {
        self.directory.as_deref()
    }
}

/// An output as it is written down: the files are where they are.
#[cfg(feature = "journal")]
#[derive(serde::Serialize, serde::Deserialize)]
pub(crate) struct SavedOutput {
    stdout: Captured,
    stderr: Captured,
    files: Vec<PathBuf>,
    usage: Usage,
    stragglers: Vec<Straggler>,
    directory: Option<PathBuf>,
}

#[cfg(feature = "journal")]
impl SavedOutput {
    pub(crate) fn of(output: &CommandOutput) -> Self {
        SavedOutput {
            stdout: output.stdout.clone(),
            stderr: output.stderr.clone(),
            files: output.files.clone(),
            usage: output.usage,
            stragglers: output.stragglers.clone(),
            directory: output.directory.clone(),
        }
    }

    /// Nobody removes its files.
    pub(crate) fn into_output(self) -> CommandOutput {
        CommandOutput {
            stdout: self.stdout,
            stderr: self.stderr,
            files: self.files,
            usage: self.usage,
            stragglers: self.stragglers,
            directory: self.directory,
            kept: None,
        }
    }

    /// All its files, to be put elsewhere.
    pub(crate) fn paths_mut(&mut self) -> impl Iterator<Item = &mut PathBuf> {
        let streams = [&mut self.stdout.path, &mut self.stderr.path];
        streams.into_iter().flatten().chain(&mut self.files)
    }
}

/// What a program wrote to its standard output, or to its standard error.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
#[cfg_attr(feature = "journal", derive(serde::Serialize, serde::Deserialize))]
pub struct Captured {
    pub(crate) path: Option<PathBuf>,
    pub(crate) len: u64,
    pub(crate) dropped: u64,
}

impl Captured {
    /// What is kept of it. If something was dropped, a note in the middle says how much.
    ///
    /// # Errors
    /// Those of reading the file.
    pub fn bytes(&self) -> io::Result<Vec<u8>> {
        self.path
            .as_ref()
            .map_or_else(|| Ok(Vec::new()), std::fs::read)
    }

    /// As [`bytes`](Self::bytes), as text; what is not UTF-8 is replaced.
    ///
    /// # Errors
    /// Those of reading the file.
    pub fn text(&self) -> io::Result<String> {
        self.bytes()
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The file that it lies in; there is none if nothing was written.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// How many bytes the program wrote, those that were dropped counted.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether nothing was written.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// How many bytes were dropped from the middle, since there was more than the
    /// [limit](crate::CommandSettings::output_limit).
    pub fn dropped(&self) -> u64 {
        self.dropped
    }
}

/// What an attempt used. But for the wall clock, processes that left its program behind are not counted.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[cfg_attr(feature = "journal", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Usage {
    /// From the start of the program to the end of the last of its processes.
    pub wall: Duration,
    /// CPU time in the program.
    pub user: Duration,
    /// CPU time in the system on its behalf.
    pub system: Duration,
    /// The most memory that one of its processes had resident, in bytes.
    pub peak_memory: u64,
    /// How many bytes it read, from files, pipes and whatever else.
    pub bytes_read: u64,
    /// How many bytes it wrote.
    pub bytes_written: u64,
}

/// A process that a program left behind, and that was ended.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "journal", derive(serde::Serialize, serde::Deserialize))]
pub struct Straggler {
    pub(crate) pid: u32,
    pub(crate) name: String,
}

impl Straggler {
    /// Its id.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// The name of its program, as the system has it: at most 15 bytes.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl fmt::Display for Straggler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (process {})", self.name, self.pid)
    }
}

/// Whoever holds this keeps an attempt's files.
pub(crate) type Kept = Arc<dyn Keeper>;

/// Removes files when it is dropped.
pub(crate) trait Keeper: fmt::Debug + Send + Sync {}
