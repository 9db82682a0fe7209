//! How far a run is.

use crate::engine::Run;
use crate::model::Counts;
use serde::Serialize;
use std::fmt;
use std::time::Duration;

/// How far a run is: see [`Run::progress`](crate::Run::progress). Printed, it is one line.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Progress {
    /// The job's name.
    pub job: String,
    /// How many tasks have ended how. Exact once the run has ended, and at most a few tasks behind before.
    pub tasks: Counts,
    /// The same in slots: each task counts as the slots that it asks for.
    pub slots: Counts,
    /// Tasks that are in a body, roughly.
    pub running: u64,
    /// Attempts that failed or were lost, and were followed by another, or will be.
    pub retries: u64,
    /// Each task array, in the order of adding.
    pub arrays: Vec<ArrayProgress>,
    /// Since the job was submitted, until now or its end.
    pub elapsed: Duration,
}

/// How far a task array is.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct ArrayProgress {
    /// Its name, or a description.
    pub name: String,
    /// How many of its elements have ended how.
    pub tasks: Counts,
}

impl Progress {
    pub(crate) fn of(run: &Run) -> Self {
        let arrays = run.array_counts().into_iter();
        let arrays = arrays.map(|(name, tasks)| ArrayProgress { name, tasks });
        let tasks = run.counts();
        Progress {
            job: run.name().to_owned(),
            slots: run.slot_counts(),
            running: run.running().min(tasks.unfinished()),
            retries: run.retries(),
            arrays: arrays.collect(),
            elapsed: run.elapsed(),
            tasks,
        }
    }

    /// How much is done, from 0 to 1: in slots, so that large tasks count for more.
    pub fn fraction(&self) -> f64 {
        match self.slots.total {
            0 => 1.0,
            total => self.slots.ended() as f64 / total as f64,
        }
    }

    /// Tasks that ended in a second, on average so far.
    pub fn rate(&self) -> f64 {
        match self.elapsed.as_secs_f64() {
            0.0 => 0.0,
            seconds => self.tasks.ended() as f64 / seconds,
        }
    }

    /// How long the rest will take if it goes on at the same rate. None before anything has ended; nothing after the end.
    pub fn remaining(&self) -> Option<Duration> {
        let fraction = self.fraction();
        if self.tasks.unfinished() == 0 {
            return Some(Duration::ZERO);
        }
        let whole = self.elapsed.as_secs_f64() / fraction;
        Duration::try_from_secs_f64(whole - self.elapsed.as_secs_f64()).ok()
    }
}

impl fmt::Display for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (ended, total) = (self.tasks.ended(), self.tasks.total);
        let percent = (self.fraction() * 100.0).floor();
        write!(f, "{}: {ended}/{total} ({percent} %)", self.job)?;
        write!(f, ", {} running", self.running)?;
        write_troubles(f, &self.tasks)?;
        match self.retries {
            0 => (),
            1 => f.write_str(", 1 retry")?,
            retries => write!(f, ", {retries} retries")?,
        }
        write!(f, ", {}", Rate(self.rate()))?;
        match self.remaining() {
            Some(Duration::ZERO) => write!(f, ", took {}", Short(self.elapsed)),
            Some(left) => write!(f, ", {} left", Short(left)),
            None => Ok(()),
        }
    }
}

/// The counts of what did not succeed, as far as there is something to count.
pub(super) fn troubles(tasks: &Counts) -> impl Iterator<Item = (u64, &'static str)> {
    let all = [
        (tasks.failed, "failed"),
        (tasks.skipped, "skipped"),
        (tasks.cancelled, "cancelled"),
    ];
    all.into_iter().filter(|(count, _)| *count > 0)
}

pub(super) fn write_troubles(f: &mut fmt::Formatter<'_>, tasks: &Counts) -> fmt::Result {
    troubles(tasks).try_for_each(|(count, what)| write!(f, ", {count} {what}"))
}

/// Tasks in a second, with three digits.
pub(super) struct Rate(pub(super) f64);

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = match self.0 {
            rate if rate < 10.0 => 2,
            rate if rate < 100.0 => 1,
            _ => 0,
        };
        write!(f, "{:.digits$} tasks/s", self.0)
    }
}

/// A time in two units at most, for people.
pub(super) struct Short(pub(super) Duration);

impl fmt::Display for Short {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0.as_secs();
        match seconds {
            0 if self.0.as_millis() == 0 => write!(f, "{} µs", self.0.as_micros()),
            0 => write!(f, "{} ms", self.0.as_millis()),
            1..60 => write!(f, "{:.1} s", self.0.as_secs_f64()),
            60..3600 => write!(f, "{} min {} s", seconds / 60, seconds % 60),
            _ => write!(f, "{} h {} min", seconds / 3600, seconds / 60 % 60),
        }
    }
}

#[cfg(all(test, not(loom)))]
pub(super) mod tests {
    use super::*;

    /// A run of a thousand tasks that is part of its way.
    pub(crate) fn midway() -> Progress {
        let tasks = Counts {
            disabled: false,
            waiting: 0,
            ready: 586,
            running: 4,
            total: 1000,
            succeeded: 400,
            failed: 3,
            skipped: 7,
            cancelled: 0,
        };
        let array = ArrayProgress {
            name: "score".into(),
            tasks,
        };
        Progress {
            job: "digits".into(),
            tasks,
            slots: tasks,
            running: 4,
            retries: 2,
            arrays: vec![array],
            elapsed: Duration::from_secs(82),
        }
    }

    #[test]
    fn a_line_says_what_is_done_what_went_wrong_and_what_is_left() {
        assert_eq!(
            midway().to_string(),
            "digits: 410/1000 (41 %), 4 running, 3 failed, 7 skipped, 2 retries, 5.00 tasks/s, \
             1 min 58 s left"
        );
    }

    #[test]
    fn a_line_of_a_run_that_has_ended_says_how_long_it_took() {
        let mut progress = midway();
        progress.tasks = Counts {
            total: 1000,
            succeeded: 1000,
            ..Counts::default()
        };
        progress.slots = progress.tasks;
        (progress.running, progress.retries) = (0, 0);
        assert_eq!(
            progress.to_string(),
            "digits: 1000/1000 (100 %), 0 running, 12.2 tasks/s, took 1 min 22 s"
        );
    }

    #[test]
    fn what_is_left_is_counted_in_slots() {
        let mut progress = midway();
        progress.slots.total = 4100;
        progress.elapsed = Duration::from_secs(10);
        assert_eq!(progress.fraction(), 0.1);
        assert_eq!(progress.remaining(), Some(Duration::from_secs(90)));
    }

    #[test]
    fn nothing_is_said_of_the_end_before_anything_has_ended() {
        let mut progress = midway();
        progress.tasks = Counts {
            total: 5,
            ..Counts::default()
        };
        progress.slots = progress.tasks;
        assert_eq!(progress.remaining(), None);
    }
}
