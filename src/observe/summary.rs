//! What became of a run, for people.

use super::progress::{Progress, Rate, Short, write_troubles};
use crate::engine::Run;
use crate::model::Error;
use std::fmt;

/// So many failures are named.
const NAMED: usize = 5;

/// What became of a run: see [`Run::summary`](crate::Run::summary). To be printed; the words may change.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Summary {
    /// How far the run is.
    pub progress: Progress,
    /// The first failures, in the order in which they happened.
    pub failures: Vec<Error>,
    /// Why the run has not succeeded, if it has ended and has not.
    pub error: Option<Error>,
    /// Whether every task has ended.
    pub ended: bool,
}

impl Summary {
    pub(crate) fn of(run: &Run) -> Self {
        let ended = run.has_ended();
        let mut failures = run.failures();
        failures.truncate(NAMED);
        Summary {
            progress: Progress::of(run),
            failures,
            error: run.error().filter(|_| ended),
            ended,
        }
    }

    pub(super) fn outcome(&self) -> &'static str {
        let tasks = &self.progress.tasks;
        match () {
            () if !self.ended => "is under way",
            () if self.error.is_none() => "succeeded",
            () if tasks.failed > 0 => "failed",
            () => "was cancelled",
        }
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Progress { job, tasks, .. } = &self.progress;
        let elapsed = Short(self.progress.elapsed);
        writeln!(f, "job `{job}` {} after {elapsed}", self.outcome())?;
        let rate = Rate(self.progress.rate());
        write!(
            f,
            "  {} of {} tasks succeeded",
            tasks.succeeded, tasks.total
        )?;
        write_troubles(f, tasks)?;
        write!(f, "; {rate}")?;
        if self.progress.retries > 0 {
            write!(f, "; {} attempts were repeated", self.progress.retries)?;
        }
        for array in &self.progress.arrays {
            let tasks = &array.tasks;
            write!(
                f,
                "\n  `{}`: {} of {} succeeded",
                array.name, tasks.succeeded, tasks.total
            )?;
            write_troubles(f, tasks)?;
        }
        self.write_failures(f)
    }
}

impl Summary {
    fn write_failures(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stopped = self.error.as_ref().filter(|_| self.failures.is_empty());
        if let Some(error) = stopped {
            return write!(f, "\n  {}", error.reason());
        }
        for error in &self.failures {
            let (task, attempt) = (error.task().unwrap_or("?"), error.attempt());
            write!(f, "\n  `{task}` {}", error.reason())?;
            if let Some(attempt) = attempt.filter(|&attempt| attempt > 1) {
                write!(f, " (attempt {attempt})")?;
            }
        }
        match self
            .progress
            .tasks
            .failed
            .saturating_sub(self.failures.len() as u64)
        {
            0 => Ok(()),
            more => write!(f, "\n  … and {more} more failures"),
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::model::ErrorKind;
    use crate::observe::progress::tests::midway;

    #[test]
    fn a_summary_names_the_first_failures_with_their_causes() {
        let failure = |task: &str, cause: &str| {
            Error::new(ErrorKind::TaskFailed, "failed")
                .in_job("digits")
                .of_task(task)
                .on_attempt(2)
                .caused_by(cause.to_owned())
        };
        let summary = Summary {
            progress: midway(),
            failures: vec![failure("score[3]", "no luck"), failure("score[9]", "none")],
            error: Some(Error::new(ErrorKind::TaskFailed, "3 failed")),
            ended: true,
        };
        assert_eq!(
            summary.to_string(),
            "job `digits` failed after 1 min 22 s\n  \
             400 of 1000 tasks succeeded, 3 failed, 7 skipped; 5.00 tasks/s; 2 attempts were repeated\n  \
             `score`: 400 of 1000 succeeded, 3 failed, 7 skipped\n  \
             `score[3]` failed: no luck (attempt 2)\n  \
             `score[9]` failed: none (attempt 2)\n  \
             … and 1 more failures"
        );
    }
}
