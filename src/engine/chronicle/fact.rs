//! What is written down: facts, as those who make them know them.

use crate::engine::policy::{NodeKey, Time};
use crate::job::Frozen;
use crate::model::{AttemptEnd, Error, ProgressReport, TaskId};
use std::ops::Range;
use std::sync::Arc;

/// Something that happened, without the id and the cause that the book adds.
///
/// Small, since lanes write several a task: what is large and rare is behind a pointer.
#[derive(Clone)]
pub(crate) enum Fact {
    RunSubmitted(Arc<Frozen>),
    /// Could start. `by` is the task whose end made them so, where that is known.
    Ready {
        tasks: TaskSpan,
        by: Option<TaskId>,
    },
    /// May not start before a time.
    Postponed {
        task: TaskId,
        until: Time,
    },
    Started {
        task: TaskId,
        attempt: u32,
        spot: Spot,
    },
    /// On a lane, at the first attempt.
    Succeeded(TaskSpan),
    AttemptEnded {
        task: TaskId,
        attempt: u32,
        end: Box<AttemptEnd>,
    },
    RetryPlanned {
        task: TaskId,
        attempt: u32,
        at: Time,
    },
    Failed {
        task: TaskId,
        error: Box<Error>,
    },
    Skipped {
        tasks: TaskSpan,
        by: TaskId,
    },
    Cancelled(TaskSpan),
    Progress {
        task: TaskId,
        attempt: u32,
        report: Box<ProgressReport>,
    },
    Stalled {
        task: TaskId,
        attempt: u32,
        silent: Time,
    },
    /// The run is ended before all its tasks are. `by` is the task whose failure is the reason, if one's is.
    RunStopped {
        why: Box<Error>,
        by: Option<TaskId>,
    },
    RunDisabled,
    RunEnabled,
    RunEnded(Option<Box<Error>>),
    NodeJoined {
        node: NodeKey,
        seen: Box<NodeSeen>,
    },
    NodeResized {
        node: NodeKey,
        slots: u32,
    },
    NodeLeft(NodeKey),
}

/// Tasks in a row, by id: single tasks, or elements of one array.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TaskSpan {
    pub(crate) first: TaskId,
    pub(crate) count: u32,
}

/// Where an attempt runs: a node, and the place on it, counted from 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Spot {
    pub(crate) node: NodeKey,
    pub(crate) slot: u32,
}

/// A node, as it is known by its events.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct NodeSeen {
    pub(crate) labels: Vec<String>,
    pub(crate) slots: u32,
}

/// A fact with its time and its run.
#[derive(Clone)]
pub(crate) struct Record {
    /// Nanoseconds since the pool began.
    pub(crate) at: u64,
    /// The run's number; of no meaning for what happens to nodes.
    pub(crate) run: u64,
    pub(crate) fact: Fact,
}

impl Fact {
    /// Whether it is about a node, and about no run.
    pub(crate) fn is_of_node(&self) -> bool {
        matches!(
            self,
            Fact::NodeJoined { .. } | Fact::NodeResized { .. } | Fact::NodeLeft(_)
        )
    }

    /// Whether it may hold something of the user's, which must not be dropped under a lock.
    pub(super) fn may_hold_users(&self) -> bool {
        matches!(
            self,
            Fact::RunSubmitted(_)
                | Fact::AttemptEnded { .. }
                | Fact::Failed { .. }
                | Fact::RunStopped { .. }
                | Fact::RunEnded(_)
        )
    }
}

impl TaskSpan {
    pub(crate) fn of(ids: Range<u32>) -> Self {
        TaskSpan {
            first: TaskId(ids.start),
            count: ids.end - ids.start,
        }
    }

    /// These tasks, those in a row together.
    pub(crate) fn all(tasks: impl IntoIterator<Item = TaskId>) -> Vec<TaskSpan> {
        let mut spans: Vec<TaskSpan> = Vec::new();
        for task in tasks {
            if !spans
                .last_mut()
                .is_some_and(|span| span.extend(task.into()))
            {
                spans.push(task.into());
            }
        }
        spans
    }

    pub(crate) fn ids(self) -> impl Iterator<Item = TaskId> {
        (self.first.0..self.first.0 + self.count).map(TaskId)
    }

    pub(crate) fn last(self) -> TaskId {
        TaskId(self.first.0 + self.count.saturating_sub(1))
    }

    /// Whether `next` follows at once.
    pub(crate) fn is_before(self, next: TaskSpan) -> bool {
        self.first.0 + self.count == next.first.0
    }

    /// Takes the tasks of `next` in, if they follow at once.
    pub(crate) fn extend(&mut self, next: TaskSpan) -> bool {
        let follows = self.is_before(next);
        if follows {
            self.count += next.count;
        }
        follows
    }
}

impl From<TaskId> for TaskSpan {
    fn from(task: TaskId) -> Self {
        TaskSpan {
            first: task,
            count: 1,
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_six_words_at_most() {
        assert!(size_of::<Record>() <= 48, "{}", size_of::<Record>());
    }

    #[test]
    fn a_span_takes_in_only_what_follows() {
        let mut span = TaskSpan::of(3..5);
        assert!(span.extend(TaskId(5).into()));
        assert!(!span.extend(TaskId(7).into()));
        assert_eq!(span, TaskSpan::of(3..6));
        assert_eq!(span.last(), TaskId(5));
    }
}
