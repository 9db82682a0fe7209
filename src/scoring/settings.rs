//! What a parallel run is told, and what it does where it is told nothing.

use super::mini_batch::MiniBatchSize;
use super::output::Append;
use crate::model::{Error, ErrorKind, Result};
use std::path::PathBuf;
use std::time::Duration;

/// A mini-batch of files, unless told otherwise: 10. (Azure ML: the same.)
pub(super) const FILES: usize = 10;
/// A mini-batch of a table, unless told otherwise: about 1 MB, 1024-based. (Azure ML: the same.)
pub(super) const BYTES: u64 = 1 << 20;
/// How often the worker of a mini-batch may die of a signal before the mini-batch is taken for the cause.
pub(super) const LOSSES: u32 = 5;

/// The settings of a [`ParallelRun`](super::ParallelRun).
#[derive(Clone, Debug)]
pub(super) struct Settings {
    pub(super) size: Option<MiniBatchSize>,
    pub(super) partition_keys: Vec<String>,
    pub(super) tries: u32,
    pub(super) call_timeout: Duration,
    pub(super) overhead_timeout: Duration,
    pub(super) first_timeout: Duration,
    pub(super) shutdown_timeout: Duration,
    pub(super) thresholds: Thresholds,
    pub(super) nodes: u32,
    pub(super) workers_per_node: Option<u32>,
    pub(super) append: Option<Append>,
    pub(super) logs: Option<PathBuf>,
}

/// What is borne; `None` is everything.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Thresholds {
    pub(super) items: Option<u64>,
    pub(super) mini_batches: Option<u64>,
    pub(super) percent: Option<f64>,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            size: None,
            partition_keys: Vec::new(),
            tries: 3,
            call_timeout: Duration::from_secs(60),
            overhead_timeout: Duration::from_secs(600),
            first_timeout: Duration::from_secs(600),
            shutdown_timeout: Duration::from_secs(30),
            thresholds: Thresholds::default(),
            nodes: 1,
            workers_per_node: None,
            append: None,
            logs: None,
        }
    }
}

impl Settings {
    /// Refuses what can't be meant.
    pub(super) fn check(&self) -> Result<()> {
        let percent = self.thresholds.percent.unwrap_or(0.0);
        let defects = [
            (self.tries == 0, "a mini-batch needs at least one try"),
            (self.nodes == 0, "a run needs at least one node"),
            (
                self.workers_per_node == Some(0),
                "a node needs at least one worker",
            ),
            (
                self.size.is_some_and(MiniBatchSize::is_zero),
                "a mini-batch needs at least one file or byte",
            ),
            (
                self.size.is_some() && !self.partition_keys.is_empty(),
                "a mini-batch is cut by size or by partition keys; choose one",
            ),
            (
                !(0.0..=100.0).contains(&percent),
                "a percentage of failed mini-batches lies between 0 and 100",
            ),
            (
                [self.call_timeout, self.overhead_timeout, self.first_timeout]
                    .contains(&Duration::ZERO),
                "a timeout of nothing leaves no time to score; leave it out, or give it a length",
            ),
        ];
        match defects.iter().find(|(defect, _)| *defect) {
            Some((_, message)) => Err(Error::new(ErrorKind::InvalidSetting, *message)),
            None => Ok(()),
        }
    }

    /// How many workers there are at most, where a node runs so many tasks at once.
    pub(super) fn workers(&self, slots: u32) -> u32 {
        let each = self.workers_per_node.unwrap_or(slots);
        self.nodes.saturating_mul(each).max(1)
    }
}
