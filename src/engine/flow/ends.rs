//! What the ends of tasks mean for others.

use std::ops::Range;

/// Elements of an array that have succeeded.
pub(crate) struct Settled {
    /// The array as a node, by its number in the run.
    pub(crate) node: u32,
    /// By their indexes.
    pub(crate) elements: Range<u32>,
    /// They were the last ones.
    pub(crate) end: Option<ArrayEnd>,
}

/// How an array has ended as a whole.
#[derive(Clone, Copy)]
pub(crate) struct ArrayEnd {
    pub(crate) verdict: Verdict,
    /// All of its elements have succeeded: what it wanted as a whole can be let go.
    pub(crate) succeeded: bool,
}

/// What the end of a node means for those that depend on it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    Succeeded,
    /// As good as a success for those who need no value.
    Satisfies,
    Blocks,
}

impl Verdict {
    /// Of an end that is no success.
    pub(crate) fn without_success(satisfied: bool) -> Self {
        match satisfied {
            true => Verdict::Satisfies,
            false => Verdict::Blocks,
        }
    }
}

impl Settled {
    /// What the array wanted as a whole can be let go.
    pub(crate) fn releases(&self) -> bool {
        self.end.is_some_and(|end| end.succeeded)
    }
}
