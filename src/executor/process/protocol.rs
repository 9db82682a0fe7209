//! What parent and child say to each other.
//!
//! The parent sends the child's memory and a [`Setup`], and the child answers with [`Said::Hello`] and [`Said::Ready`]. Then the parent sends
//! batches, one at a time, and the child a [`Said::Done`] for each. What came of an item is written into the memory that
//! both share (see [`board`](super::board)), where the parent finds it also when the child is dead; only what has no room
//! there goes through the socket.

use crate::model::{
    BoxError, ExitCode, FileUploadError, Fingerprint, Panic, Permanent, PreProcessingError,
};
use crate::work::Instance;
use serde::{Deserialize, Serialize};
use std::error::Error as StdError;
use std::fmt;

/// Raised when anything here, or on the board, changes: parent and child may be different programs.
pub(super) const VERSION: u32 = 1;

/// Is in the environment of children.
pub(super) const VARIABLE: &str = "BATCHYARD_CHILD";

/// How many tasks may travel together.
pub(super) const MOST_ITEMS: usize = 4096;

/// What a child must know before it is of use.
#[derive(Serialize, Deserialize, Debug)]
pub(super) struct Setup {
    pub(super) frame_limit: u32,
    pub(super) init: Option<Init>,
    /// Whether it is to say how much memory it has.
    pub(super) weigh: bool,
    /// Up to which level it is to send what it logs; 0 for nothing.
    pub(super) log_level: u8,
}

/// A function that is called in each child before its first task.
#[derive(Clone, Serialize, Deserialize, Debug)]
pub(super) struct Init {
    pub(super) function: Fingerprint,
    pub(super) argument: Vec<u8>,
}

/// What stands before the items of a batch.
#[derive(Serialize, Deserialize, Debug)]
pub(super) struct BatchHead<'a> {
    /// Tells the run from others of the pool.
    pub(super) run: u64,
    pub(super) job: &'a str,
}

/// What stands before an item's argument, whose length, of four bytes, comes between.
#[derive(Default, Serialize, Deserialize, Debug)]
pub(super) struct ItemHead<'a> {
    /// The function's place in the child's hello.
    pub(super) function: u32,
    pub(super) task: u32,
    pub(super) index: u32,
    pub(super) attempt: u32,
    /// What the task, or its array, is called, if that is not what the one before is called; empty for a task without a
    /// name.
    pub(super) name: Option<&'a str>,
    pub(super) place: Option<Place>,
}

/// What only few attempts have.
#[derive(Clone, Serialize, Deserialize, Debug)]
pub(super) struct Place {
    pub(super) instance: u32,
    pub(super) instances: u32,
    pub(super) gpus: Vec<u32>,
}

impl Place {
    pub(super) fn instance(&self) -> Instance {
        Instance {
            index: self.instance,
            of: self.instances,
        }
    }
}

/// What a child says.
#[derive(Serialize, Deserialize, Debug)]
pub(super) enum Said {
    /// It is there, and knows these functions.
    Hello {
        version: u32,
        functions: Vec<Fingerprint>,
    },
    /// It is initialised.
    Ready,
    /// It can't be of use.
    Refused(String),
    /// A record that has no room on the board follows: what came of this item.
    Output { item: u32 },
    Progress {
        item: u32,
        fraction: f64,
        message: String,
    },
    /// A line of the body's logging.
    Logged {
        item: u32,
        level: u8,
        target: String,
        message: String,
    },
    /// The batch is through.
    Done {
        /// How much memory it has, if it was to be weighed.
        resident: u64,
        /// How much it has written to standard output and error so far.
        written: [u64; 2],
    },
}

/// What came of an item. An output's bytes follow.
#[derive(Serialize, Deserialize, Debug)]
pub(super) enum Record {
    Succeeded,
    Failed(Failure),
    /// It was not begun: it was cancelled, or taken back.
    Skipped,
    /// The last so many items, this one included, wrote this to standard output and error: from where, to where.
    Printed {
        items: u32,
        ranges: [(u64, u64); 2],
    },
}

/// An error of a body, as far as it can leave its process: words, and what decides about retries and dependents.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, Debug)]
pub(super) struct Failure {
    /// The error's words, and its sources'.
    words: Vec<String>,
    kind: FailureKind,
    code: Option<i32>,
}

#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, Debug)]
enum FailureKind {
    Panic { place: Option<String> },
    Error,
    Permanent,
    PreProcessing,
    FileUpload,
}

impl Failure {
    pub(super) fn of_panic(panic: Panic) -> Self {
        Failure {
            words: vec![panic.message],
            kind: FailureKind::Panic { place: panic.place },
            code: None,
        }
    }

    /// Calls code of the user's.
    pub(super) fn of_error(error: &BoxError) -> Self {
        let (mut words, mut kind, mut code) = (Vec::new(), FailureKind::Error, None);
        let mut next: Option<&(dyn StdError + 'static)> = Some(&**error);
        while let Some(error) = next {
            kind = kind_of(error).unwrap_or(kind);
            let own = error.downcast_ref::<ExitCode>().copied();
            code = code.or(own.map(|code| code.0));
            words.push(error.to_string());
            next = error.source();
        }
        Failure { words, kind, code }
    }

    /// The error that the task fails with.
    pub(super) fn into_error(self) -> BoxError {
        let Failure { words, kind, code } = self;
        let code = code.map(ExitCode);
        // What wraps an error says the same again.
        let inner = |words: Vec<String>| BodyError::chain(words.into_iter().skip(1), code);
        match kind {
            FailureKind::Panic { place } => {
                let message = words.into_iter().next().unwrap_or_default();
                Panic { message, place }.into()
            }
            FailureKind::Error => BodyError::chain(words.into_iter(), code),
            FailureKind::Permanent => Permanent::new(inner(words)).into(),
            FailureKind::PreProcessing => PreProcessingError::new(inner(words)).into(),
            FailureKind::FileUpload => {
                let error = FileUploadError::new(inner(words));
                match code {
                    Some(code) => error.after(code).into(),
                    None => error.into(),
                }
            }
        }
    }
}

fn kind_of(error: &(dyn StdError + 'static)) -> Option<FailureKind> {
    if error.is::<Permanent>() {
        return Some(FailureKind::Permanent);
    }
    if error.is::<PreProcessingError>() {
        return Some(FailureKind::PreProcessing);
    }
    error
        .is::<FileUploadError>()
        .then_some(FailureKind::FileUpload)
}

/// An error of a body in a child, whose type stayed there. Its sources are such errors too, and the last may be an
/// [`ExitCode`].
#[derive(Debug)]
pub struct BodyError {
    message: String,
    source: Option<BoxError>,
}

impl BodyError {
    /// An error that says the first words, with sources that say the others.
    fn chain(words: impl DoubleEndedIterator<Item = String>, code: Option<ExitCode>) -> BoxError {
        let code_words = code.map(|code| code.to_string());
        let code = code.map(BoxError::from);
        let chained = words
            .rev()
            .filter(|words| Some(words) != code_words.as_ref())
            .fold(code, |source, message| {
                Some(BodyError { message, source }.into())
            });
        chained.unwrap_or_else(|| "failed".into())
    }
}

impl fmt::Display for BodyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl StdError for BodyError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        let source = self.source.as_deref()?;
        Some(source as &(dyn StdError + 'static))
    }
}

#[cfg(all(test, not(loom)))]
#[allow(clippy::expect_used, reason = "the helpers of tests may panic, too")]
mod tests {
    use super::*;
    use crate::work::{decode, encode};
    use proptest::prelude::*;

    #[derive(Debug, thiserror::Error)]
    #[error("outer")]
    struct Outer(#[source] ExitCode);

    fn travelled(error: BoxError) -> BoxError {
        let mut bytes = Vec::new();
        encode(&Failure::of_error(&error), &mut bytes).expect("written");
        decode::<Failure>(&bytes).expect("read").into_error()
    }

    #[test]
    fn an_error_keeps_its_words_and_its_exit_code() {
        let error = travelled(Outer(ExitCode(3)).into());
        assert_eq!(error.to_string(), "outer");
        let code = error
            .source()
            .and_then(|source| source.downcast_ref::<ExitCode>());
        assert_eq!(code, Some(&ExitCode(3)));
    }

    #[test]
    fn what_decides_about_retries_stays_what_it_is() {
        assert!(travelled(Permanent::new("for good").into()).is::<Permanent>());
        let error = travelled(PreProcessingError::new("no file").into());
        assert!(error.is::<PreProcessingError>());
        assert_eq!(error.to_string(), "could not be begun: no file");
        assert!(travelled(ExitCode(7).into()).is::<ExitCode>());
    }

    proptest! {
        #[test]
        fn whatever_arrives_is_a_message_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = decode::<Said>(&bytes);
            let _ = decode::<Record>(&bytes);
            let _ = decode::<Setup>(&bytes);
        }
    }
}
