//! What the attempts of a run did, and when: recorded from events (feature `timeline`).

mod chart;
mod page;
mod recorder;
mod recording;
mod trace;

pub use recording::Recording;

use super::drawing::Drawing;
use super::event::{NodeId, RunName};
use super::snapshot::NodeSnapshot;
use super::summary::Summary;
use crate::model::TaskId;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// What the attempts of one run did, and when: see [`Recording`]. All times are since the pool was made.
#[derive(Clone)]
pub struct Timeline {
    run: RunName,
    nodes: Vec<NodeSnapshot>,
    attempts: Vec<AttemptTimes>,
    begun: Duration,
    until: Duration,
    lost: u64,
    omitted: u64,
    drawing: Drawing,
    summary: Summary,
}

/// One attempt of a [`Timeline`].
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct AttemptTimes {
    /// The task.
    pub task: TaskId,
    /// Which of its attempts, from 1.
    pub attempt: u32,
    /// The node it ran on.
    pub node: NodeId,
    /// The place on that node, from 0.
    pub slot: u32,
    /// When it could have started, if that was heard.
    pub ready: Option<Duration>,
    /// When its body was begun.
    pub started: Duration,
    /// When it was over; none, while it runs.
    pub ended: Option<Duration>,
    /// How it ended.
    pub outcome: AttemptOutcome,
    /// Why it did not succeed, in words.
    pub reason: Option<Arc<str>>,
}

/// How an attempt of a [`Timeline`] ended.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum AttemptOutcome {
    /// It has not ended.
    Running,
    /// With success.
    Succeeded,
    /// With an error, or a panic.
    Failed,
    /// It was cancelled.
    Cancelled,
    /// It was given back, taken away, or lost with its node.
    Returned,
}

impl Timeline {
    /// The attempts, in the order in which they started.
    pub fn attempts(&self) -> &[AttemptTimes] {
        &self.attempts
    }

    /// How many events the recording was too slow for: what they told is missing.
    pub fn lost_events(&self) -> u64 {
        self.lost
    }

    /// How many attempts are missing because the recording was [full](Recording).
    pub fn omitted_attempts(&self) -> u64 {
        self.omitted
    }

    /// When the run was submitted, or was first heard of.
    pub fn begun(&self) -> Duration {
        self.begun
    }

    /// When the run ended; if it has not, when the timeline was asked for.
    pub fn until(&self) -> Duration {
        self.until
    }

    /// For [Perfetto](https://ui.perfetto.dev) or `chrome://tracing`, in the
    /// [trace event format](https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU): nodes are
    /// processes, slots their threads, attempts complete events; waits are asynchronous events of the job, which is a
    /// process too; what a task depends on leads to it as a flow, from the element that ended last where it depends on all
    /// of an array.
    pub fn chrome_trace(&self) -> impl fmt::Display + '_ {
        trace::Trace(self)
    }

    /// A page by itself, for a browser: what became of the run, a chart of attempts, how many slots were in use, the slowest
    /// attempts, the graph. Nothing in it is loaded from elsewhere, and nothing is a script. It stays small: of a run with
    /// many attempts or slots it shows shares of time instead, and says so.
    pub fn html(&self) -> impl fmt::Display + '_ {
        page::Page(self)
    }

    /// The chart of attempts alone, as an SVG picture.
    pub fn svg(&self) -> impl fmt::Display + '_ {
        chart::Gantt::new(self)
    }

    /// The graph, and how its tasks stood when the timeline was asked for.
    pub fn drawing(&self) -> &Drawing {
        &self.drawing
    }

    /// How long it took, so far.
    fn span(&self) -> Duration {
        self.until.saturating_sub(self.begun)
    }

    /// How far a time is on the way from the beginning to the end, from 0 to 1.
    fn fraction(&self, at: Duration) -> f64 {
        let span = self.span().as_secs_f64();
        let fraction = at.saturating_sub(self.begun).as_secs_f64() / span;
        if span > 0.0 { fraction.min(1.0) } else { 0.0 }
    }

    fn end_of(&self, attempt: &AttemptTimes) -> Duration {
        attempt.ended.unwrap_or(self.until).max(attempt.started)
    }

    /// How long it took, so far.
    fn length_of(&self, attempt: &AttemptTimes) -> Duration {
        self.end_of(attempt).saturating_sub(attempt.started)
    }
}

impl AttemptTimes {
    /// How long it was ready and not begun.
    pub fn wait(&self) -> Option<Duration> {
        Some(self.started.saturating_sub(self.ready?))
    }

    /// How long it took, if it is over.
    pub fn took(&self) -> Option<Duration> {
        Some(self.ended?.saturating_sub(self.started))
    }
}

impl AttemptOutcome {
    fn name(self) -> &'static str {
        match self {
            AttemptOutcome::Running => "running",
            AttemptOutcome::Succeeded => "succeeded",
            AttemptOutcome::Failed => "failed",
            AttemptOutcome::Cancelled => "cancelled",
            AttemptOutcome::Returned => "returned",
        }
    }
}

impl fmt::Display for AttemptOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Debug for Timeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Timeline")
            .field("run", &self.run)
            .field("attempts", &self.attempts.len())
            .finish_non_exhaustive()
    }
}
