//! What one writer has written and nobody has entered yet.

use super::fact::Record;
use crate::sync::lock;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

/// So many records, and a writer sees to it by itself that they are entered.
const MOST: usize = 1 << 16;

/// The records of one writer, in the order of their times.
#[derive(Default)]
pub(crate) struct Log(Mutex<Vec<Record>>);

/// The reading end of a log.
pub(super) struct Source {
    log: Arc<Log>,
    /// Taken from the log and not yet entered.
    pub(super) waiting: VecDeque<Record>,
    /// Its writer had gone when it was read last.
    orphaned: bool,
}

impl Log {
    /// Adds records. Returns whether there are too many by now.
    pub(super) fn write(&self, records: impl IntoIterator<Item = Record>) -> bool {
        let mut log = lock(&self.0);
        log.extend(records);
        log.len() > MOST
    }
}

impl Source {
    pub(super) fn new(log: Arc<Log>) -> Self {
        Source {
            log,
            waiting: VecDeque::new(),
            orphaned: false,
        }
    }

    pub(super) fn is_of(&self, log: &Arc<Log>) -> bool {
        Arc::ptr_eq(&self.log, log)
    }

    /// Whether its writer has gone and left nothing.
    pub(super) fn is_exhausted(&self) -> bool {
        self.orphaned && self.waiting.is_empty()
    }

    /// Takes what has been written. The writer goes on in the buffer that was read last.
    pub(super) fn refill(&mut self) {
        // Asked first: what it wrote before it went is read below.
        self.orphaned = Arc::strong_count(&self.log) == 1;
        let spare = match self.waiting.is_empty() {
            true => Vec::from(std::mem::take(&mut self.waiting)),
            false => Vec::new(),
        };
        let written = std::mem::replace(&mut *lock(&self.log.0), spare);
        match self.waiting.is_empty() {
            true => self.waiting = written.into(),
            false => self.waiting.extend(written),
        }
    }

    /// When the next record was written, if it was by `horizon`.
    pub(super) fn next_at(&self, horizon: u64) -> Option<u64> {
        let next = self.waiting.front().map(|record| record.at);
        next.filter(|&at| at <= horizon)
    }
}
