//! Events in words, and as data.

use super::event::{Event, EventId, EventKind, NodeId, RunId, RunName};
use crate::engine::NodeKey;
use crate::model::{AttemptEnd, Error, Returned, TaskId};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use std::fmt;
use std::time::Duration;

/// The event as one flat map.
#[derive(Serialize)]
struct Flat<'a> {
    id: EventId,
    #[serde(serialize_with = "seconds")]
    at: Duration,
    #[serde(skip_serializing_if = "Option::is_none")]
    cause: Option<EventId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<RunId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    job: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    task: Option<String>,
    #[serde(flatten)]
    kind: &'a EventKind,
}

impl Serialize for Event {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let run = self.run.as_ref();
        let flat = Flat {
            id: self.id,
            at: self.at,
            cause: self.cause,
            run: run.map(RunName::id),
            job: run.map(RunName::job),
            task: self.task_label(),
            kind: &self.kind,
        };
        flat.serialize(serializer)
    }
}

pub(super) fn seconds<S: Serializer>(time: &Duration, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_f64(time.as_secs_f64())
}

pub(super) fn text<S: Serializer>(error: &Error, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(error)
}

pub(super) fn optional_text<S: Serializer>(
    error: &Option<Error>,
    to: S,
) -> Result<S::Ok, S::Error> {
    match error {
        Some(error) => text(error, to),
        None => to.serialize_none(),
    }
}

pub(super) fn outcome<S: Serializer>(end: &AttemptEnd, to: S) -> Result<S::Ok, S::Error> {
    let mut map = to.serialize_map(None)?;
    map.serialize_entry("outcome", outcome_name(end))?;
    match end {
        AttemptEnd::Succeeded | AttemptEnd::Cancelled => (),
        AttemptEnd::Failed(error) => map.serialize_entry("error", &error.to_string())?,
        AttemptEnd::Returned(why) => map.serialize_entry("why", why)?,
    }
    map.end()
}

/// How an attempt ended, as data and labels have it.
pub(super) fn outcome_name(end: &AttemptEnd) -> &'static str {
    match end {
        AttemptEnd::Succeeded => "succeeded",
        AttemptEnd::Failed(_) => "failed",
        AttemptEnd::Cancelled => "cancelled",
        AttemptEnd::Returned(_) => "returned",
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:>10.6} s  {}", self.at.as_secs_f64(), self.id)?;
        if let Some(cause) = self.cause {
            write!(f, " (by {cause})")?;
        }
        match &self.run {
            None => write!(f, "  {}", Words(&self.kind, None)),
            Some(run) => write!(f, "  {run}: {}", Words(&self.kind, Some(run))),
        }
    }
}

/// A kind in words, with names if the run is known.
struct Words<'a>(&'a EventKind, Option<&'a RunName>);

impl Words<'_> {
    fn label(&self, task: TaskId) -> String {
        self.1
            .map_or_else(|| task.to_string(), |run| run.task_label(task))
    }

    fn tasks(&self, first: TaskId, count: u32) -> String {
        let label = self.label(first);
        match count {
            1 => format!("`{label}`"),
            _ => format!("`{label}` and {} after it", count - 1),
        }
    }
}

impl fmt::Display for Words<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(task) = self.0.task() {
            let count = self.0.tasks().count() as u32;
            write!(f, "{} ", self.tasks(task, count))?;
        }
        match self.0 {
            EventKind::RunSubmitted { tasks } => write!(f, "submitted, {tasks} tasks"),
            EventKind::TasksReady { .. } => f.write_str("ready"),
            EventKind::TaskPostponed { until, .. } => {
                write!(f, "may not start before {:.3} s", until.as_secs_f64())
            }
            EventKind::AttemptStarted {
                attempt,
                node,
                slot,
                ..
            } => write!(f, "started, attempt {attempt}, on {node}, slot {slot}"),
            EventKind::ProgressReported { report, .. } => {
                let percent = report.fraction * 100.0;
                write!(f, "is at {percent:.0} %: {}", report.message)
            }
            EventKind::AttemptStalled { silent, .. } => {
                write!(f, "has said nothing for {silent:?}")
            }
            EventKind::AttemptEnded { attempt, end, .. } => {
                write!(f, "attempt {attempt} {}", AttemptWords(end))
            }
            EventKind::RetryPlanned {
                attempt, ready_at, ..
            } => {
                let at = ready_at.as_secs_f64();
                write!(
                    f,
                    "will be tried again, attempt {attempt}, from {at:.3} s on"
                )
            }
            EventKind::TaskFailed { .. } => f.write_str("failed for good"),
            EventKind::TasksSkipped { because_of, .. } => {
                let label = self.label(*because_of);
                write!(f, "skipped, since `{label}` did not succeed")
            }
            EventKind::TasksCancelled { .. } => f.write_str("cancelled"),
            EventKind::RunStopped { error } => write!(f, "stopped: {error}"),
            EventKind::RunDisabled => f.write_str("disabled"),
            EventKind::RunEnabled => f.write_str("enabled"),
            EventKind::RunEnded { error: None } => f.write_str("ended, all of it succeeded"),
            EventKind::RunEnded { error: Some(error) } => write!(f, "ended: {error}"),
            EventKind::NodeJoined { node, slots, .. } => {
                write!(f, "{node} joined with {slots} slots")
            }
            EventKind::NodeResized { node, slots } => write!(f, "{node} has {slots} slots now"),
            EventKind::NodeLeft { node } => write!(f, "{node} left"),
        }
    }
}

/// How an attempt ended, in words.
pub(super) struct AttemptWords<'a>(pub(super) &'a AttemptEnd);

impl fmt::Display for AttemptWords<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            AttemptEnd::Succeeded => f.write_str("succeeded"),
            AttemptEnd::Cancelled => f.write_str("was cancelled"),
            AttemptEnd::Failed(error) => f.write_str(&error.reason()),
            AttemptEnd::Returned(Returned::NotBegun) => f.write_str("was given back unbegun"),
            AttemptEnd::Returned(Returned::TakenAway) => f.write_str("had its node taken away"),
            AttemptEnd::Returned(Returned::NodeLost) => f.write_str("was lost with its node"),
        }
    }
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0)
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "run {}", self.0)
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "node {}", self.0)
    }
}

impl fmt::Display for RunName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} `{}`", self.id(), self.job())
    }
}

impl fmt::Debug for RunName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl From<NodeKey> for NodeId {
    fn from(key: NodeKey) -> Self {
        NodeId(key.number())
    }
}
