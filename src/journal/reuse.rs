//! What of a journal a run could use.

use std::fmt;

/// What was taken over from an earlier life of a run, and what is run again and why: see
/// [`Run::reuse`](crate::Run::reuse).
#[derive(Clone, Default, Debug)]
#[non_exhaustive]
pub struct Reuse {
    /// Tasks that had ended, and have not been run again.
    pub reused: u64,
    /// Tasks that had begun, or failed and were to be tried again: they go on with their next attempt.
    pub resumed: u64,
    /// Tasks and arrays that had ended, in part at least, and are run again; or that are new. The first thousand.
    pub rerun: Vec<Rerun>,
    /// What was mended in the journal when it was opened.
    pub warnings: Vec<String>,
}

/// A task, or an array, that is run again although there is a journal.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Rerun {
    /// Its name, or a description.
    pub task: String,
    /// Why, in words: `changed: arguments`. For people: the words may change.
    pub why: String,
}

/// How many are named.
const NAMED: usize = 1000;

impl Reuse {
    pub(super) fn rerun(&mut self, task: impl FnOnce() -> String, why: impl Into<String>) {
        if self.rerun.len() < NAMED {
            let (task, why) = (task(), why.into());
            self.rerun.push(Rerun { task, why });
        }
    }
}

impl fmt::Display for Reuse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} tasks had ended before", self.reused)?;
        if self.resumed > 0 {
            write!(f, ", {} go on with another attempt", self.resumed)?;
        }
        for Rerun { task, why } in &self.rerun {
            write!(f, "\n  `{task}` is run: {why}")?;
        }
        for warning in &self.warnings {
            write!(f, "\n  the journal was mended: {warning}")?;
        }
        Ok(())
    }
}
