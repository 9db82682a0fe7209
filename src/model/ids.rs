//! Small integers with a meaning.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

/// Set in the id of a task that is an element of an array.
pub(crate) const ELEMENT: u32 = 1 << 31;

/// Single tasks and array elements are each numbered below this: the two bits above are ours.
pub(crate) const MAX_INDEX: u32 = (1 << 30) - 1;

/// One task of a job: a single task, or one element of a task array.
///
/// Ids are small integers in the order of adding, unique in their job, and mean nothing in another.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TaskId(pub(crate) u32);

impl TaskId {
    pub(crate) fn element(number: u32) -> Self {
        TaskId(number | ELEMENT)
    }

    /// Whether this is an element of a task array.
    pub fn is_element(self) -> bool {
        self.0 & ELEMENT != 0
    }

    /// The number among the single tasks, or among all array elements, of the job.
    pub fn number(self) -> u32 {
        self.0 & !ELEMENT
    }
}

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if self.is_element() { "element" } else { "task" };
        write!(f, "{kind} {}", self.number())
    }
}

impl fmt::Debug for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Tells the jobs of this process apart, so that a handle of one is never taken for another's. Public only in
/// name, since sealed traits mention it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[doc(hidden)]
pub struct JobTag(u64);

impl JobTag {
    /// A tag no other job of this process has.
    pub(crate) fn unique() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        JobTag(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}
