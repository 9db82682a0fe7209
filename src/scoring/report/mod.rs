//! What is known of a run when it has ended.

mod advice;
mod files;

pub(super) use files::write;

use super::fault::Category;
use super::input::LeftOut;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// What a parallel run did.
///
/// Its `Display` is a few lines for people, with one line of advice.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Report {
    /// How many items there were, and how they ended.
    pub items: Tally,
    /// How many mini-batches there were, and how they ended. One that failed and was tried again with success succeeded;
    /// one that returned fewer rows than it had items failed, though its rows are in the output.
    pub mini_batches: Tally,
    /// How many rows were returned.
    pub rows: u64,
    /// How often a mini-batch was tried again.
    pub reruns: u64,
    /// How many workers there were.
    pub workers: u32,
    /// From the first mini-batch to the last.
    pub wall: Duration,
    /// Every mini-batch, in the order of the input.
    pub table: Vec<MiniBatchReport>,
    /// Where the rows are, unless they were only counted.
    pub output: Option<PathBuf>,
    /// Where scripts' output, tracebacks and the report's files are, if there are such.
    pub logs: Option<PathBuf>,
    /// What was found as input and not scored: links that lead nowhere, empty tables.
    pub left_out: Vec<LeftOut>,
    /// What went on that nobody may have meant.
    pub warnings: Vec<Warning>,
}

/// So many of something, by how they ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Tally {
    /// All that were processed.
    pub total: u64,
    /// Those that ended well.
    pub succeeded: u64,
    /// Those that did not.
    pub failed: u64,
}

/// How one mini-batch went.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct MiniBatchReport {
    /// Its number in the order of the input, from 0.
    pub index: u64,
    /// How many items it has.
    pub items: u64,
    /// How many rows were returned for it; none if it failed.
    pub rows: u64,
    /// How often a worker picked it up: once, if all went well.
    pub picked: u32,
    /// The worker that had it last.
    pub worker: u32,
    /// When that was, from the run's begin.
    pub started: Duration,
    /// How long that took, reading and writing included.
    pub elapsed: Duration,
    /// How long the scorer itself ran.
    pub run_time: Duration,
    /// The CPU time of that, as far as it is known: of a Rust scorer it is `run_time`.
    pub process_time: Duration,
    /// Why it failed, if it did.
    pub failure: Option<Failure>,
}

/// Why a mini-batch failed.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Failure {
    /// What kind of failure the last one was.
    pub category: Category,
    /// The last error, with Python's traceback if there is one.
    pub message: String,
    /// The files or rows.
    pub origin: String,
}

/// Something that is no failure, and may be a mistake.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Warning {
    /// So many mini-batches returned more rows than they had items.
    MoreRowsThanItems(u64),
    /// Nothing was scored with success: the output has no row.
    NoRows,
    /// A worker's `shutdown` failed.
    Shutdown(String),
    /// What a worker noticed about its scorer.
    Scorer(String),
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Warning::MoreRowsThanItems(batches) => {
                write!(
                    f,
                    "{batches} mini-batches returned more rows than they had items"
                )
            }
            Warning::NoRows => f.write_str("there is no row in the output"),
            Warning::Shutdown(error) => write!(f, "`shutdown` failed: {error}"),
            Warning::Scorer(note) => f.write_str(note),
        }
    }
}

impl Tally {
    pub(super) fn count(&mut self, succeeded: u64, failed: u64) {
        self.total += succeeded + failed;
        self.succeeded += succeeded;
        self.failed += failed;
    }
}

impl Report {
    /// How long the scorers ran, all workers together.
    pub fn scorer_time(&self) -> Duration {
        self.table.iter().map(|batch| batch.run_time).sum()
    }

    /// The part of the workers' time in which scorers ran: 1 would be all of it.
    pub fn efficiency(&self) -> f64 {
        ratio(self.scorer_time(), self.wall * self.workers)
    }

    /// The part of the mini-batches' time that was not the scorers'.
    pub fn overhead_share(&self) -> f64 {
        let elapsed: Duration = self.table.iter().map(|batch| batch.elapsed).sum();
        ratio(elapsed.saturating_sub(self.scorer_time()), elapsed)
    }

    /// The ten mini-batches whose scorers ran longest, the slowest first.
    pub fn slowest(&self) -> Vec<&MiniBatchReport> {
        let mut batches: Vec<_> = self.table.iter().collect();
        batches.sort_by_key(|batch| std::cmp::Reverse(batch.run_time));
        batches.truncate(10);
        batches
    }

    /// The mini-batches that failed for good.
    pub fn failures(&self) -> impl Iterator<Item = &MiniBatchReport> {
        self.table.iter().filter(|batch| batch.failure.is_some())
    }

    /// What to change, in one line.
    pub fn advice(&self) -> String {
        advice::of(self)
    }
}

fn ratio(part: Duration, whole: Duration) -> f64 {
    if whole.is_zero() {
        0.0
    } else {
        part.div_duration_f64(whole)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Tally { total, failed, .. } = self.items;
        let batches = self.mini_batches;
        writeln!(
            f,
            "{total} items in {} mini-batches: {failed} items failed, {} mini-batches",
            batches.total, batches.failed
        )?;
        writeln!(
            f,
            "{} rows, {} reruns, {:.3?} on {} workers",
            self.rows, self.reruns, self.wall, self.workers
        )?;
        let (efficiency, overhead) = (100.0 * self.efficiency(), 100.0 * self.overhead_share());
        writeln!(f, "efficiency {efficiency:.0} %, overhead {overhead:.1} %")?;
        for warning in &self.warnings {
            writeln!(f, "warning: {warning}")?;
        }
        f.write_str(&self.advice())
    }
}
