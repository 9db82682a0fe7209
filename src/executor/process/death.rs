//! How a child ended that should not have.

use crate::agent::Ended;
use crate::model::{Ending, ExitCode};
use std::error::Error as StdError;
use std::fmt;
use std::io;

/// The signal that nothing survives, and that says nothing about who sent it.
const KILL: i32 = 9;

/// How much of its standard error is quoted.
const LAST_WORDS: usize = 2000;

/// A body ended the process that it ran in, or had it ended: by `abort`, `exit`, a segmentation fault, an overflow of its
/// stack, for want of memory. The cause of its task's failure, found by [`Error::cause`](crate::Error::cause).
///
/// A signal 9 that is none of ours, and not for want of memory, is nobody's failure: the task has lost its node then, and
/// runs again.
#[derive(Clone, Debug)]
pub struct ChildDied {
    ending: Ending,
    code: Option<ExitCode>,
    last_words: String,
}

impl ChildDied {
    /// How the process ended.
    pub fn ending(&self) -> Ending {
        self.ending
    }

    /// The end of what it had written to its standard error since its last body had returned.
    pub fn last_words(&self) -> &str {
        &self.last_words
    }

    /// `None` if it was killed, and not for want of memory.
    pub(super) fn new(
        ended: io::Result<Ended>,
        memory_was_short: impl FnOnce() -> bool,
        stderr: &[u8],
    ) -> Option<Self> {
        let ending = match ended {
            Ok(Ended::Killed(KILL)) if memory_was_short() => Ending::OutOfMemory,
            Ok(Ended::Killed(KILL)) => return None,
            Ok(Ended::Killed(signal)) => Ending::Signal(signal),
            Ok(Ended::Exited(code)) => Ending::Code(code),
            // Somebody else has waited for it.
            Err(_) => return None,
        };
        let end = &stderr[stderr.len().saturating_sub(LAST_WORDS)..];
        Some(ChildDied {
            ending,
            code: match ending {
                // An exit condition for 0 is one for a success.
                Ending::Code(code) if code != 0 => Some(ExitCode(code)),
                _ => None,
            },
            last_words: String::from_utf8_lossy(end).trim().to_owned(),
        })
    }
}

impl fmt::Display for ChildDied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the process it ran in {}", self.ending)?;
        match self.last_words.is_empty() {
            true => Ok(()),
            false => write!(f, "; it said last:\n{}", self.last_words),
        }
    }
}

impl StdError for ChildDied {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        let code = self.code.as_ref()?;
        Some(code)
    }
}
