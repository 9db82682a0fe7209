//! How everything stands, for those who have not heard all that led to it.

use super::event::{EventId, NodeId, RunId, RunName};
use crate::engine::{NodeKey, NodeSeen, RunStanding, Standing};
use crate::model::{Counts, TaskId, TaskState};
use serde::Serialize;
use std::time::{Duration, SystemTime};

/// How the runs and nodes that are listened to stand, after one event and before the next.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Snapshot {
    /// The last event that is part of it.
    pub event: EventId,
    /// When the pool was made, by this machine's clock: what the times of events are counted from.
    pub pool_started: SystemTime,
    /// Runs that have not ended; after a reader has lagged, also those that ended meanwhile.
    pub runs: Vec<RunSnapshot>,
    /// Nodes that have joined and not left.
    pub nodes: Vec<NodeSnapshot>,
}

/// How a run stands.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct RunSnapshot {
    /// The run's number in its pool.
    pub run: RunId,
    /// The job's name.
    pub job: String,
    /// Whether it has ended.
    pub ended: bool,
    /// Whether it has ended, and with success.
    pub succeeded: bool,
    /// How many tasks have ended how.
    pub counts: Counts,
    /// Every task, in the order of ids: first the single ones, then the elements of arrays.
    pub tasks: Vec<TaskStates>,
    #[serde(skip)]
    pub(super) name: RunName,
}

/// Tasks whose ids follow on one another and that stand alike.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[non_exhaustive]
pub struct TaskStates {
    /// The first of them.
    pub first: TaskId,
    /// How many.
    pub count: u32,
    /// How they stand.
    pub state: TaskState,
}

/// A node that is there.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[non_exhaustive]
pub struct NodeSnapshot {
    /// The node's number in its pool.
    pub node: NodeId,
    /// Words that tell it from others.
    pub labels: Vec<String>,
    /// How many slots it has.
    pub slots: u32,
}

impl Snapshot {
    pub(super) fn new(standing: Standing, pool_started: SystemTime) -> Self {
        Snapshot {
            event: EventId(standing.event),
            pool_started,
            runs: standing.runs.into_iter().map(RunSnapshot::from).collect(),
            nodes: standing.nodes.into_iter().map(NodeSnapshot::from).collect(),
        }
    }

    /// The time of day of an event's [`at`](super::Event::at).
    pub fn wall_clock(&self, at: Duration) -> SystemTime {
        self.pool_started + at
    }
}

impl RunSnapshot {
    /// How a task stood.
    pub fn state(&self, task: TaskId) -> Option<TaskState> {
        let after = self.tasks.partition_point(|tasks| tasks.first <= task);
        let tasks = self.tasks.get(after.checked_sub(1)?)?;
        (task.0 - tasks.first.0 < tasks.count).then_some(tasks.state)
    }

    /// The tasks that stood so.
    pub fn tasks_in(&self, state: TaskState) -> impl Iterator<Item = TaskId> + '_ {
        let tasks = self.tasks.iter().filter(move |tasks| tasks.state == state);
        tasks.flat_map(|tasks| (tasks.first.0..tasks.first.0 + tasks.count).map(TaskId))
    }

    /// What a task is called.
    pub fn task_label(&self, task: TaskId) -> String {
        self.name.task_label(task)
    }
}

impl From<RunStanding> for RunSnapshot {
    fn from(standing: RunStanding) -> Self {
        let id = RunId(standing.run);
        let mut counts = Counts::default();
        let tasks = standing.spans.into_iter().map(|(span, state)| {
            counts.add(state, u64::from(span.count));
            TaskStates {
                first: span.first,
                count: span.count,
                state,
            }
        });
        let tasks = tasks.collect();
        RunSnapshot {
            run: id,
            job: standing.job.name.clone(),
            ended: standing.ended,
            succeeded: standing.succeeded,
            counts,
            tasks,
            name: RunName {
                id,
                job: standing.job,
            },
        }
    }
}

impl From<(NodeKey, NodeSeen)> for NodeSnapshot {
    fn from((node, seen): (NodeKey, NodeSeen)) -> Self {
        NodeSnapshot {
            node: node.into(),
            labels: seen.labels,
            slots: seen.slots,
        }
    }
}
