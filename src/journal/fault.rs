//! What can be wrong with a journal.

use crate::model::{BoxError, Error, ErrorKind};
use std::path::{Path, PathBuf};

/// What is wrong with a journal: the cause of an error of kind [`Journal`](ErrorKind::Journal), found by
/// [`Error::cause`](crate::Error::cause).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JournalError {
    /// There is no such file.
    #[error("there is no journal; `Journal::create` makes one, if this is a new run")]
    Missing,
    /// There is a file where one was to be made.
    #[error("there is a file already; `Journal::open` goes on with the run in it")]
    Exists,
    /// The file is no journal, or is empty.
    #[error("is not a journal; give another path, or remove it if it isn't needed")]
    NotAJournal,
    /// It was written by a later version of this library.
    #[error(
        "has format {found}, and this version reads formats up to {known}; use a later version"
    )]
    NewerFormat {
        /// The file's format.
        found: u32,
        /// The latest that is known here.
        known: u32,
    },
    /// Bytes were changed, or lost, before its end.
    #[error(
        "is damaged at byte {offset}; `journal::salvage` copies what can still be read to another file"
    )]
    Damaged {
        /// Where the first damaged group begins, in bytes from the file's start.
        offset: u64,
    },
    /// Its bytes are whole, and can't be what a journal says.
    #[error("can't be understood: {0}")]
    Nonsense(String),
    /// Another program, or another part of this one, has it.
    #[error("is in use by {holder}; wait for its end, or end it")]
    Held {
        /// Who that is, as far as is known.
        holder: String,
    },
    /// It is of another job: nothing in it is part of this one.
    #[error("is of the job `{job}`, of which this job has no task; give another path")]
    OtherJob {
        /// The name of the job that it is of.
        job: String,
    },
    /// It couldn't be read or written.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

impl JournalError {
    /// As the crate's error, naming the file.
    pub(super) fn at(self, path: &Path) -> Error {
        about(path, self)
    }
}

/// Something is wrong with a journal's file.
pub(super) fn about(path: &Path, cause: impl Into<BoxError>) -> Error {
    Error::new(
        ErrorKind::Journal,
        format!("the journal `{}`", path.display()),
    )
    .caused_by(cause)
}

/// Something is wrong with a journal in an application's own store.
pub(super) fn in_store(cause: impl Into<BoxError>) -> Error {
    Error::new(ErrorKind::Journal, "the journal").caused_by(cause)
}

/// Where a journal is, for messages.
#[derive(Clone, Debug)]
pub(super) enum Place {
    File(PathBuf),
    Store,
}

impl Place {
    pub(super) fn error(&self, cause: impl Into<BoxError>) -> Error {
        match self {
            Place::File(path) => about(path, cause),
            Place::Store => in_store(cause),
        }
    }
}
