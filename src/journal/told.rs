//! Records of what the engine tells, and the other way round.

use super::record::{AttemptEndRecord, AttemptRecord, ErrorRecord, Millis, TaskRecord};
use crate::engine::KnownTask;
use crate::model::{Attempt, AttemptEnd, BoxError, Error, ErrorKind};
use std::error::Error as StdError;
use std::fmt;
use std::time::{Duration, SystemTime};

/// The time, by this machine's clock.
pub(super) fn now() -> Millis {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    millis(since.unwrap_or_default())
}

fn millis(time: Duration) -> Millis {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

impl TaskRecord {
    pub(super) fn of(known: &KnownTask, now: Millis) -> Self {
        let at = |wait: Option<Duration>| wait.map(|wait| now.saturating_add(millis(wait)));
        let failure = known.failure.as_ref();
        TaskRecord {
            attempt: known.attempt,
            counters: known.counters,
            attempts: known.attempts.iter().map(AttemptRecord::of).collect(),
            not_before: at(known.not_before),
            until: at(known.until),
            failure: failure.map(|(place, error)| (*place, ErrorRecord::of(error))),
            unusual: known.unusual,
        }
    }

    pub(super) fn known(&self, job: &str, now: Millis) -> KnownTask {
        let from_now = |at: Millis| Duration::from_millis(at.saturating_sub(now));
        let failure = self.failure.as_ref();
        KnownTask {
            attempt: self.attempt,
            counters: self.counters,
            attempts: self.attempts.iter().map(|one| one.attempt(job)).collect(),
            not_before: self.not_before.map(from_now).filter(|wait| !wait.is_zero()),
            until: self.until.map(from_now),
            unusual: self.unusual,
            failure: failure.map(|(place, error)| (*place, error.error(job))),
        }
    }
}

impl AttemptRecord {
    fn of(attempt: &Attempt) -> Self {
        AttemptRecord {
            number: attempt.number,
            started: attempt.started.map(millis),
            ended: millis(attempt.ended),
            end: match &attempt.end {
                AttemptEnd::Succeeded => AttemptEndRecord::Succeeded,
                AttemptEnd::Failed(error) => AttemptEndRecord::Failed(ErrorRecord::of(error)),
                AttemptEnd::Cancelled => AttemptEndRecord::Cancelled,
                AttemptEnd::Returned(why) => AttemptEndRecord::Returned(*why),
            },
        }
    }

    fn attempt(&self, job: &str) -> Attempt {
        Attempt {
            number: self.number,
            started: self.started.map(Duration::from_millis),
            ended: Duration::from_millis(self.ended),
            end: match &self.end {
                AttemptEndRecord::Succeeded => AttemptEnd::Succeeded,
                AttemptEndRecord::Failed(error) => AttemptEnd::Failed(error.error(job)),
                AttemptEndRecord::Cancelled => AttemptEnd::Cancelled,
                AttemptEndRecord::Returned(why) => AttemptEnd::Returned(*why),
            },
        }
    }
}

/// Kinds of errors that runs and tasks end with, by name.
const KINDS: [(ErrorKind, &str); 7] = [
    (ErrorKind::TaskFailed, "task failed"),
    (ErrorKind::TimedOut, "timed out"),
    (ErrorKind::TaskSkipped, "task skipped"),
    (ErrorKind::Cancelled, "cancelled"),
    (ErrorKind::Disabled, "disabled"),
    (ErrorKind::Executor, "executor"),
    (ErrorKind::Journal, "journal"),
];

impl ErrorRecord {
    /// Also calls code of the user's, whose errors say themselves what they are.
    pub(super) fn of(error: &Error) -> Self {
        let known = KINDS.iter().find(|(kind, _)| *kind == error.kind());
        let mut causes = Vec::new();
        let mut next = error.source();
        while let Some(cause) = next {
            let said = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| cause.to_string()));
            causes.push(said.unwrap_or_else(|_| "an error whose text can't be had".to_owned()));
            next = cause.source();
        }
        ErrorRecord {
            kind: known.map_or("task failed", |(_, name)| *name).to_owned(),
            message: error.message().to_owned(),
            task: error.task().map(str::to_owned),
            attempt: error.attempt(),
            causes,
        }
    }

    pub(super) fn error(&self, job: &str) -> Error {
        let known = KINDS.iter().find(|(_, name)| *name == self.kind);
        let kind = known.map_or(ErrorKind::TaskFailed, |(kind, _)| *kind);
        let mut error = Error::new(kind, self.message.clone()).in_job(job);
        if let Some(task) = &self.task {
            error = error.of_task(task.clone());
        }
        if let Some(attempt) = self.attempt {
            error = error.on_attempt(attempt);
        }
        match Recorded::chain(&self.causes) {
            Some(cause) => error.caused_by(cause),
            None => error,
        }
    }
}

/// What an error said in an earlier life of the run. Its type is not known any more.
#[derive(Debug)]
struct Recorded {
    said: String,
    cause: Option<Box<Recorded>>,
}

impl Recorded {
    fn chain(causes: &[String]) -> Option<BoxError> {
        let chain = causes.iter().rev().fold(None, |cause, said| {
            let said = said.clone();
            Some(Box::new(Recorded { said, cause }))
        });
        chain.map(|first| first as BoxError)
    }
}

impl fmt::Display for Recorded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.said)
    }
}

impl StdError for Recorded {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.cause.as_deref().map(|cause| cause as _)
    }
}
