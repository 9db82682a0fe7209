//! What has been scored: written, counted, and held against the thresholds.

use super::fault::{Category, Fault, ScoringError};
use super::output::{Scored, Sink};
use super::report::{Failure, MiniBatchReport, Report, Tally, Warning};
use super::settings::Thresholds;
use std::io;
use std::path::Path;

/// The books of one run. Each mini-batch is entered once, when its outcome is final.
pub(super) struct Ledger {
    thresholds: Thresholds,
    sink: Option<Sink>,
    items: Tally,
    mini_batches: Tally,
    rows: u64,
    entries: Vec<MiniBatchReport>,
    more_rows: u64,
    warnings: Vec<Warning>,
    last_error: String,
    ended: Option<ScoringError>,
}

impl Ledger {
    pub(super) fn new(thresholds: Thresholds, sink: Option<Sink>) -> Self {
        Ledger {
            thresholds,
            sink,
            items: Tally::default(),
            mini_batches: Tally::default(),
            rows: 0,
            entries: Vec::new(),
            more_rows: 0,
            warnings: Vec::new(),
            last_error: String::new(),
            ended: None,
        }
    }

    /// Whether rows fit to those before.
    pub(super) fn admit(&mut self, scored: &Scored) -> Result<(), Fault> {
        match (&mut self.sink, &scored.header) {
            (Some(sink), Some(header)) => sink
                .admit(header)
                .map_err(|why| Fault::new(Category::WrongResult, why)),
            _ => Ok(()),
        }
    }

    /// Enters a mini-batch that returned rows. Fewer than items are that many failed items.
    pub(super) fn succeed(&mut self, entry: MiniBatchReport, scored: Scored) -> bool {
        let succeeded = entry.items.min(scored.rows);
        let missing = entry.items - succeeded;
        self.items.count(succeeded, missing);
        self.mini_batches
            .count(u64::from(missing == 0), u64::from(missing > 0));
        self.rows += scored.rows;
        self.more_rows += u64::from(scored.rows > entry.items);
        if missing > 0 {
            let (index, items, rows) = (entry.index, entry.items, scored.rows);
            self.last_error = format!("mini-batch {index} returned {rows} rows for {items} items");
        }
        self.enter(entry, Some(scored))
    }

    /// Enters a mini-batch that has no try left.
    pub(super) fn fail(&mut self, mut entry: MiniBatchReport, failure: Failure) -> bool {
        self.items.count(0, entry.items);
        self.mini_batches.count(0, 1);
        self.last_error = format!(
            "mini-batch {} ({}): {}",
            entry.index, failure.origin, failure.message
        );
        entry.failure = Some(failure);
        self.enter(entry, None)
    }

    /// Returns whether the run ends with it.
    fn enter(&mut self, entry: MiniBatchReport, scored: Option<Scored>) -> bool {
        let written = match &mut self.sink {
            Some(sink) => sink
                .write(entry.index, scored)
                .map_err(|cause| output_error(sink.path(), &cause)),
            None => Ok(()),
        };
        self.entries.push(entry);
        if let Err(error) = written {
            self.end(error);
        }
        if let Some(exceeded) = self.exceeded() {
            self.end(exceeded);
        }
        self.ended.is_some()
    }

    fn exceeded(&self) -> Option<ScoringError> {
        let last = || self.last_error.clone();
        let (items, batches) = (self.items.failed, self.mini_batches.failed);
        if let Some(allowed) = self.thresholds.items.filter(|&most| items > most) {
            return Some(ScoringError::TooManyItems {
                failed: items,
                allowed,
                last: last(),
            });
        }
        let allowed = self
            .thresholds
            .mini_batches
            .filter(|&most| batches > most)?;
        Some(ScoringError::TooManyMiniBatches {
            failed: batches,
            allowed,
            last: last(),
        })
    }

    /// Ends the run early. The first reason counts.
    pub(super) fn end(&mut self, reason: ScoringError) {
        self.ended.get_or_insert(reason);
    }

    pub(super) fn warn(&mut self, warning: Warning) {
        if !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }

    /// Closes the books: the output gets its name, or is kept as partial. `report` knows what the ledger doesn't.
    pub(super) fn close(&mut self, report: &mut Report) -> Result<(), ScoringError> {
        self.check_share();
        if let Some(sink) = self.sink.take() {
            let path = sink.path().to_owned();
            let kept = if self.ended.is_none() {
                sink.commit()
            } else {
                sink.keep_partial()
            };
            match kept {
                Ok(path) => report.output = Some(path),
                Err(cause) => self.end(output_error(&path, &cause)),
            }
        }
        self.fill(report);
        self.ended.clone().map_or(Ok(()), Err)
    }

    /// The share can only be judged when all is done.
    fn check_share(&mut self) {
        let Tally { total, failed, .. } = self.mini_batches;
        let allowed = self.thresholds.percent.unwrap_or(100.0);
        if total > 0 && failed as f64 * 100.0 > allowed * total as f64 {
            let last = self.last_error.clone();
            self.end(ScoringError::TooGreatAShare {
                failed,
                total,
                allowed,
                last,
            });
        }
    }

    fn fill(&mut self, report: &mut Report) {
        self.entries.sort_by_key(|entry| entry.index);
        if self.more_rows > 0 {
            self.warn(Warning::MoreRowsThanItems(self.more_rows));
        }
        if self.rows == 0 && self.items.total > 0 {
            self.warn(Warning::NoRows);
        }
        report.items = self.items;
        report.mini_batches = self.mini_batches;
        report.rows = self.rows;
        report.reruns = self
            .entries
            .iter()
            .map(|entry| u64::from(entry.picked.saturating_sub(1)))
            .sum();
        report.table = std::mem::take(&mut self.entries);
        report.warnings = std::mem::take(&mut self.warnings);
    }
}

pub(super) fn output_error(path: &Path, cause: &io::Error) -> ScoringError {
    ScoringError::Output {
        path: path.display().to_string(),
        cause: cause.to_string(),
    }
}
