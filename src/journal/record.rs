//! What a journal says: records, several of them a group, as postcard's bytes.
//!
//! Tasks are numbered as in the job that was submitted last. A group is closed: it says of no task that it has ended
//! unless it, or one before it, says so of all that the task waited for.

use super::spans::Spans;
use super::submission::Submission;
use crate::model::{BoxError, Counts, TaskCounters, TaskState};
use crate::work::{CodecError, encode, take};
use serde::de::Visitor;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// One thing that happened. Their order is part of the format: new ones are added at the end.
#[derive(Serialize, Deserialize, Clone, Debug)]
pub(super) enum Record {
    /// The job, as it was submitted. What was said before is of another numbering, and is forgotten.
    Submitted(Box<Submission>),
    /// The same job was submitted again, at this time.
    Opened(Millis),
    /// Tasks have ended.
    Ended(Ended),
    /// All that is known of one task beside that. It stands for what was said of it before.
    Task(u32, Box<TaskRecord>),
    /// Attempts that had begun, and not ended, when somebody looked.
    Running(Vec<(u32, u32)>),
    /// Tasks are to run again that had ended.
    Again(Spans),
    /// All has ended.
    Finished(Box<Finished>),
    /// The run goes on after that.
    GoesOn,
    /// What a task has saved for its next attempt; nothing any more, if it is empty.
    Checkpoint(u32, Bytes),
}

/// Milliseconds since 1970.
pub(super) type Millis = u64;

/// Tasks that ended alike.
#[derive(Serialize, Deserialize, Clone, Debug)]
pub(super) struct Ended {
    pub(super) end: End,
    pub(super) tasks: Spans,
    /// How long the bytes of each task's output are, in the order of the spans. One for all alike; none if they are
    /// empty.
    pub(super) lengths: Vec<u32>,
    pub(super) outputs: Bytes,
}

/// How a task ended.
#[derive(Serialize, Deserialize, Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum End {
    Succeeded,
    /// Its output could not be made into bytes: it has to run again if the journal is opened.
    SucceededUnkept,
    Failed,
    Skipped,
    Cancelled,
}

/// A task that did not simply succeed at its first attempt.
#[derive(Serialize, Deserialize, Clone, Default, Debug)]
pub(super) struct TaskRecord {
    /// The last attempt that has begun.
    pub(super) attempt: u32,
    pub(super) counters: TaskCounters,
    /// Attempts that have ended, the first first.
    pub(super) attempts: Vec<AttemptRecord>,
    /// It may not start before.
    pub(super) not_before: Option<Millis>,
    /// No attempt may begin after.
    pub(super) until: Option<Millis>,
    /// Why it failed, and how many had failed before it.
    pub(super) failure: Option<(u64, ErrorRecord)>,
    /// Its end means for those after it what it usually does not.
    pub(super) unusual: bool,
}

#[derive(Serialize, Deserialize, Clone, Debug)]
pub(super) struct AttemptRecord {
    pub(super) number: u32,
    /// Both since the job was first submitted.
    pub(super) started: Option<Millis>,
    pub(super) ended: Millis,
    pub(super) end: AttemptEndRecord,
}

#[derive(Serialize, Deserialize, Clone, Debug)]
pub(super) enum AttemptEndRecord {
    Succeeded,
    Failed(ErrorRecord),
    Cancelled,
    Returned(crate::model::Returned),
}

/// An error, as text: what caused it was of types that only the program knew that made it.
#[derive(Serialize, Deserialize, Clone, Debug)]
pub(super) struct ErrorRecord {
    pub(super) kind: String,
    pub(super) message: String,
    pub(super) task: Option<String>,
    pub(super) attempt: Option<u32>,
    /// The messages of its causes, each of which the next caused.
    pub(super) causes: Vec<String>,
}

/// How a run ended.
#[derive(Serialize, Deserialize, Clone, Debug)]
pub(super) struct Finished {
    pub(super) at: Millis,
    /// Why it was ended before all its tasks were.
    pub(super) stopped: Option<ErrorRecord>,
    pub(super) counts: Counts,
}

impl End {
    pub(super) fn of(state: TaskState) -> End {
        match state {
            TaskState::Succeeded => End::Succeeded,
            TaskState::Failed => End::Failed,
            TaskState::Skipped => End::Skipped,
            _ => End::Cancelled,
        }
    }

    pub(super) fn state(self) -> TaskState {
        match self {
            End::Succeeded | End::SucceededUnkept => TaskState::Succeeded,
            End::Failed => TaskState::Failed,
            End::Skipped => TaskState::Skipped,
            End::Cancelled => TaskState::Cancelled,
        }
    }
}

/// Adds a record to a group.
pub(super) fn write(record: &Record, group: &mut Vec<u8>) -> Result<(), CodecError> {
    encode(record, group)
}

/// The records of a group. Bytes that are none are an error.
pub(super) fn read(
    mut group: &[u8],
    mut each: impl FnMut(Record) -> Result<(), BoxError>,
) -> Result<(), BoxError> {
    while !group.is_empty() {
        let (record, rest) = take(group)?;
        each(record)?;
        group = rest;
    }
    Ok(())
}

/// Bytes that are written as they are, and not one by one.
#[derive(Clone, Default, PartialEq, Eq)]
pub(super) struct Bytes(pub(super) Vec<u8>);

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.0)
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_byte_buf(BytesVisitor)
    }
}

struct BytesVisitor;

impl Visitor<'_> for BytesVisitor {
    type Value = Bytes;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("bytes")
    }

    fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Bytes, E> {
        Ok(Bytes(bytes.to_vec()))
    }

    fn visit_byte_buf<E>(self, bytes: Vec<u8>) -> Result<Bytes, E> {
        Ok(Bytes(bytes))
    }
}

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.0.len())
    }
}
