//! What happened in a test pool, in order.

use std::fmt;
use std::time::Duration;

/// Everything that has happened to attempts, in order. Prints one line for each; equal if all of it is.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Trace(Vec<Entry>);

/// Something that happened to an attempt.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Entry {
    /// When, in simulated time.
    pub time: Duration,
    /// The job's name.
    pub job: String,
    /// The task's name, or a description.
    pub task: String,
    /// Which attempt of the task, from 1.
    pub attempt: u32,
    /// The name of the node.
    pub node: String,
    /// What happened.
    pub event: Event,
}

/// What can happen to an attempt.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Event {
    /// It began.
    Began,
    /// It succeeded.
    Succeeded,
    /// It failed, with this message.
    Failed(String),
    /// It was stopped, or what came of it did not count any more: it was cancelled, or past a limit.
    Stopped,
    /// It was lost with its node.
    Lost,
}

impl Trace {
    /// All entries, in order.
    pub fn entries(&self) -> &[Entry] {
        &self.0
    }

    pub(super) fn add(&mut self, entry: Entry) {
        self.0.push(entry);
    }
}

impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|entry| writeln!(f, "{entry}"))
    }
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (time, node) = (format!("{:?}", self.time), &self.node);
        let (job, task, attempt) = (&self.job, &self.task, self.attempt);
        write!(f, "{time:>10}  {job}/{task}, attempt {attempt}, ")?;
        match &self.event {
            Event::Began => write!(f, "began on {node}"),
            Event::Succeeded => f.write_str("succeeded"),
            Event::Failed(message) => write!(f, "failed: {message}"),
            Event::Stopped => f.write_str("was stopped"),
            Event::Lost => write!(f, "was lost with {node}"),
        }
    }
}
