//! Failures before and after a body.

use crate::model::BoxError;
use std::error::Error as StdError;
use std::fmt;

/// A body's exit code, as the error that it fails with, or as a source of that error.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, thiserror::Error)]
#[error("exited with code {0}")]
pub struct ExitCode(pub i32);

/// What a task needs before its body can begin could not be had: a file, a program, an image.
#[derive(Debug)]
pub struct PreProcessingError(BoxError);

/// A body has ended, and its files could not be uploaded.
#[derive(Debug)]
pub struct FileUploadError {
    cause: BoxError,
    code: Option<ExitCode>,
}

impl PreProcessingError {
    /// A failure before the body. Its cause stays one: [`Error::cause`](crate::Error::cause) finds it.
    pub fn new(cause: impl Into<BoxError>) -> Self {
        PreProcessingError(cause.into())
    }
}

impl FileUploadError {
    /// A failure after the body. Its cause stays one: [`Error::cause`](crate::Error::cause) finds it.
    pub fn new(cause: impl Into<BoxError>) -> Self {
        FileUploadError {
            cause: cause.into(),
            code: None,
        }
    }

    /// With what the body had exited before.
    pub fn after(mut self, code: ExitCode) -> Self {
        self.code = Some(code);
        self
    }
}

impl fmt::Display for PreProcessingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "could not be begun: {}", self.0)
    }
}

impl StdError for PreProcessingError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        Some(&*self.0)
    }
}

impl fmt::Display for FileUploadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.code {
            Some(code) => write!(f, "{code}, and its files were not uploaded: ")?,
            None => f.write_str("its files were not uploaded: ")?,
        }
        fmt::Display::fmt(&self.cause, f)
    }
}

impl StdError for FileUploadError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        Some(&*self.cause)
    }
}
