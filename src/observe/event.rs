//! One event: what happened, when, to what, and because of which other event.

use super::words::{optional_text, outcome, seconds, text};
use crate::engine::{Entry, Fact};
use crate::job::Frozen;
use crate::model::{AttemptEnd, Error, ProgressReport, TaskId};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Duration;

/// Something that happened to a run, a task or a node.
///
/// Serialises as one flat map, for JSON lines: `id`, `at` (seconds since the pool was made), `cause`, `run` (its number)
/// and `job` (its name), `task` (its name), `event` (the kind, in snake case), and the kind's own fields.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Event {
    /// From 1, in the order in which things happened.
    pub id: EventId,
    /// Since the pool was made. [`Events::wall_clock`](super::Events::wall_clock) makes a time of day of it.
    pub at: Duration,
    /// The event that brought this one about: for an attempt that has started, the one by which its task became ready;
    /// for that, the end of the last task that it waited for. None for what comes from outside.
    pub cause: Option<EventId>,
    /// The run that it happened to; none for nodes.
    pub run: Option<RunName>,
    /// What happened.
    pub kind: EventKind,
}

/// Tells an event from all others of its pool; later ones have larger numbers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EventId(pub(super) u64);

/// Tells a run from all others of its pool: numbers in the order of submission, from 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RunId(pub(super) u64);

/// Tells a node from all others of its pool: numbers in the order of joining, from 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct NodeId(pub(super) u32);

/// A run, and what its tasks are called.
#[derive(Clone)]
pub struct RunName {
    pub(super) id: RunId,
    pub(super) job: Arc<Frozen>,
}

/// What happened. More kinds may come.
///
/// Where tasks are told of together, they are `count` tasks whose ids follow on one another from `first`.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
#[non_exhaustive]
pub enum EventKind {
    /// A run was submitted.
    RunSubmitted {
        /// How many tasks it has; each element of an array is one.
        tasks: u64,
    },
    /// Tasks wait for nothing but room.
    TasksReady {
        /// The first of them.
        #[serde(rename = "task_id")]
        first: TaskId,
        /// How many.
        count: u32,
    },
    /// A task may not start before a time: see [`TaskSettings::start_after`](crate::TaskSettings::start_after).
    TaskPostponed {
        /// Which.
        #[serde(rename = "task_id")]
        task: TaskId,
        /// Since the pool was made.
        #[serde(serialize_with = "seconds")]
        until: Duration,
    },
    /// The body of a task was begun.
    AttemptStarted {
        /// Which.
        #[serde(rename = "task_id")]
        task: TaskId,
        /// From 1.
        attempt: u32,
        /// The node it runs on.
        node: NodeId,
        /// The place on that node, from 0. Attempts that run at the same time have different ones.
        slot: u32,
    },
    /// A body said how far it is: see [`Context::report_progress`](crate::Context::report_progress).
    ProgressReported {
        /// Which.
        #[serde(rename = "task_id")]
        task: TaskId,
        /// Which attempt.
        attempt: u32,
        /// What it said.
        #[serde(flatten)]
        report: ProgressReport,
    },
    /// A body has said nothing for longer than [`TaskSettings::stalled_after`](crate::TaskSettings::stalled_after).
    /// It runs on.
    AttemptStalled {
        /// Which.
        #[serde(rename = "task_id")]
        task: TaskId,
        /// Which attempt.
        attempt: u32,
        /// For how long nothing was heard.
        #[serde(serialize_with = "seconds")]
        silent: Duration,
    },
    /// An attempt is over. With success, so is its task.
    AttemptEnded {
        /// Which.
        #[serde(rename = "task_id")]
        task: TaskId,
        /// Which attempt.
        attempt: u32,
        /// How.
        #[serde(flatten, serialize_with = "outcome")]
        end: AttemptEnd,
    },
    /// Another attempt will be made.
    RetryPlanned {
        /// Of which task.
        #[serde(rename = "task_id")]
        task: TaskId,
        /// The number of the coming attempt.
        attempt: u32,
        /// Not before, since the pool was made.
        #[serde(serialize_with = "seconds")]
        ready_at: Duration,
    },
    /// A task has failed, and no attempt is left.
    TaskFailed {
        /// Which.
        #[serde(rename = "task_id")]
        task: TaskId,
        /// Why.
        #[serde(serialize_with = "text")]
        error: Error,
    },
    /// Tasks will never run, since one that they depend on did not succeed.
    TasksSkipped {
        /// The first of them.
        #[serde(rename = "task_id")]
        first: TaskId,
        /// How many.
        count: u32,
        /// The task, or array, that did not succeed.
        because_of: TaskId,
    },
    /// Tasks were cancelled. Bodies of theirs that run count as over.
    TasksCancelled {
        /// The first of them.
        #[serde(rename = "task_id")]
        first: TaskId,
        /// How many.
        count: u32,
    },
    /// What has not ended of a run is about to be cancelled.
    RunStopped {
        /// Why.
        #[serde(serialize_with = "text")]
        error: Error,
    },
    /// Nothing more of a run starts until it is enabled: see [`Run::disable`](crate::Run::disable).
    RunDisabled,
    /// A run that was disabled goes on.
    RunEnabled,
    /// Every task of a run has ended.
    RunEnded {
        /// Why it has not succeeded, if it has not.
        #[serde(serialize_with = "optional_text")]
        error: Option<Error>,
    },
    /// A node joined the pool.
    NodeJoined {
        /// Which.
        node: NodeId,
        /// Words that tell it from others.
        labels: Vec<String>,
        /// How many slots it has.
        slots: u32,
    },
    /// A node has another number of slots.
    NodeResized {
        /// Which.
        node: NodeId,
        /// How many slots it has now.
        slots: u32,
    },
    /// A node left the pool.
    NodeLeft {
        /// Which.
        node: NodeId,
    },
}

impl Event {
    /// The task that it is about, or the first of those.
    pub fn task(&self) -> Option<TaskId> {
        self.kind.task()
    }

    /// What that task is called: `name`, `name[index]`, or a description for one without a name.
    pub fn task_label(&self) -> Option<String> {
        Some(self.run.as_ref()?.task_label(self.task()?))
    }

    pub(super) fn new(entry: Entry, run: Option<RunName>) -> Self {
        Event {
            id: EventId(entry.id),
            at: Duration::from_nanos(entry.record.at),
            cause: (entry.cause != 0).then_some(EventId(entry.cause)),
            run,
            kind: EventKind::from(entry.record.fact),
        }
    }
}

impl EventKind {
    /// The task that it is about, or the first of those.
    pub fn task(&self) -> Option<TaskId> {
        match *self {
            EventKind::TasksReady { first, .. }
            | EventKind::TasksSkipped { first, .. }
            | EventKind::TasksCancelled { first, .. } => Some(first),
            EventKind::TaskPostponed { task, .. }
            | EventKind::AttemptStarted { task, .. }
            | EventKind::ProgressReported { task, .. }
            | EventKind::AttemptStalled { task, .. }
            | EventKind::AttemptEnded { task, .. }
            | EventKind::RetryPlanned { task, .. }
            | EventKind::TaskFailed { task, .. } => Some(task),
            EventKind::RunSubmitted { .. }
            | EventKind::RunStopped { .. }
            | EventKind::RunDisabled
            | EventKind::RunEnabled
            | EventKind::RunEnded { .. }
            | EventKind::NodeJoined { .. }
            | EventKind::NodeResized { .. }
            | EventKind::NodeLeft { .. } => None,
        }
    }

    /// All tasks that it is about.
    pub fn tasks(&self) -> impl Iterator<Item = TaskId> + use<> {
        let count = match *self {
            EventKind::TasksReady { count, .. }
            | EventKind::TasksSkipped { count, .. }
            | EventKind::TasksCancelled { count, .. } => count,
            _ => 1,
        };
        let first = self.task();
        first
            .into_iter()
            .flat_map(move |first| (first.0..first.0 + count).map(TaskId))
    }
}

impl RunId {
    #[cfg(feature = "timeline")]
    pub(super) fn of(run: &crate::engine::Run) -> Self {
        RunId(run.seq())
    }
}

impl RunName {
    /// The run's number in its pool.
    pub fn id(&self) -> RunId {
        self.id
    }

    /// The job's name.
    pub fn job(&self) -> &str {
        &self.job.name
    }

    /// What a task of the job is called: `name`, `name[index]`, or a description for one without a name.
    pub fn task_label(&self, task: TaskId) -> String {
        self.job.label(task)
    }
}

impl From<Fact> for EventKind {
    fn from(fact: Fact) -> Self {
        match fact {
            Fact::RunSubmitted(job) => EventKind::RunSubmitted { tasks: job.tasks },
            Fact::Ready { tasks, .. } => EventKind::TasksReady {
                first: tasks.first,
                count: tasks.count,
            },
            Fact::Postponed { task, until } => EventKind::TaskPostponed { task, until },
            Fact::Started {
                task,
                attempt,
                spot,
            } => EventKind::AttemptStarted {
                task,
                attempt,
                node: spot.node.into(),
                slot: spot.slot,
            },
            Fact::Succeeded(tasks) => EventKind::AttemptEnded {
                task: tasks.first,
                attempt: 1,
                end: AttemptEnd::Succeeded,
            },
            Fact::AttemptEnded { task, attempt, end } => EventKind::AttemptEnded {
                task,
                attempt,
                end: *end,
            },
            Fact::RetryPlanned { task, attempt, at } => EventKind::RetryPlanned {
                task,
                attempt,
                ready_at: at,
            },
            Fact::Failed { task, error } => EventKind::TaskFailed {
                task,
                error: *error,
            },
            Fact::Skipped { tasks, by } => EventKind::TasksSkipped {
                first: tasks.first,
                count: tasks.count,
                because_of: by,
            },
            Fact::Cancelled(tasks) => EventKind::TasksCancelled {
                first: tasks.first,
                count: tasks.count,
            },
            Fact::Progress {
                task,
                attempt,
                report,
            } => EventKind::ProgressReported {
                task,
                attempt,
                report: *report,
            },
            Fact::Stalled {
                task,
                attempt,
                silent,
            } => EventKind::AttemptStalled {
                task,
                attempt,
                silent,
            },
            Fact::RunStopped { why, .. } => EventKind::RunStopped { error: *why },
            Fact::RunDisabled => EventKind::RunDisabled,
            Fact::RunEnabled => EventKind::RunEnabled,
            Fact::RunEnded(error) => EventKind::RunEnded {
                error: error.map(|error| *error),
            },
            Fact::NodeJoined { node, seen } => EventKind::NodeJoined {
                node: node.into(),
                labels: seen.labels,
                slots: seen.slots,
            },
            Fact::NodeResized { node, slots } => EventKind::NodeResized {
                node: node.into(),
                slots,
            },
            Fact::NodeLeft(node) => EventKind::NodeLeft { node: node.into() },
        }
    }
}
