//! What a listener has not heard yet.

use super::book::{Entry, RunStanding, Standing};
use super::fact::Fact;
use std::collections::VecDeque;
use std::task::Waker;

/// How many events are kept for a listener, unless it asks for another number.
const CAPACITY: usize = 1 << 16;

/// What somebody listens to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Scope {
    /// Every run, and the nodes.
    Pool,
    /// One run, by its number, and the nodes.
    Run(u64),
}

/// What a listener is handed.
pub(crate) enum Delivery {
    /// In this order: how many events were lost, how everything stands now, and what has happened since.
    News {
        lost: u64,
        standing: Option<Standing>,
        entries: VecDeque<Entry>,
    },
    Nothing,
    Over,
}

/// One listener's events. When there are more than it has room for, all are thrown away: it will be told how everything
/// stands instead.
pub(super) struct Queue {
    pub(super) scope: Scope,
    pub(super) capacity: usize,
    /// Nothing will be added.
    pub(super) over: bool,
    /// How everything stood when the listener came.
    first: Option<Standing>,
    entries: VecDeque<Entry>,
    /// How many events were thrown away since the listener last asked.
    lost: u64,
    /// How the runs stood whose ends were thrown away.
    ended: Vec<RunStanding>,
    waker: Option<Waker>,
}

impl Scope {
    pub(super) fn has(self, run: u64) -> bool {
        match self {
            Scope::Pool => true,
            Scope::Run(own) => own == run,
        }
    }
}

impl Queue {
    pub(super) fn new(scope: Scope, first: Standing) -> Self {
        Queue {
            scope,
            capacity: CAPACITY,
            over: false,
            first: Some(first),
            entries: VecDeque::new(),
            lost: 0,
            ended: Vec::new(),
            waker: None,
        }
    }

    pub(super) fn lags(&self) -> bool {
        self.lost > 0
    }

    /// Adds an event, if the listener is interested in it. What is thrown away for it goes to `dropped`.
    pub(super) fn offer(&mut self, entry: &Entry, dropped: &mut Vec<Entry>) {
        let record = &entry.record;
        if !(record.fact.is_of_node() || self.scope.has(record.run)) {
            return;
        }
        // The end of the run is the end of its events.
        self.over |= matches!(record.fact, Fact::RunEnded(_)) && self.scope != Scope::Pool;
        if self.lags() {
            self.lost += 1;
        } else if self.entries.len() < self.capacity {
            self.entries.push_back(entry.clone());
        } else {
            self.lost = self.entries.len() as u64 + 1;
            self.first = None;
            dropped.extend(self.entries.drain(..));
        }
    }

    /// A run has ended, and the listener will not hear of it otherwise.
    pub(super) fn keep_end(&mut self, standing: RunStanding) {
        if self.ended.len() < self.capacity {
            self.ended.push(standing);
        }
    }

    /// What has not been heard. `standing` says how everything stands now.
    pub(super) fn deliver(
        &mut self,
        standing: impl FnOnce() -> Standing,
        waker: &Waker,
        replaced: &mut Vec<Waker>,
    ) -> Delivery {
        let lost = std::mem::take(&mut self.lost);
        let standing = match lost {
            0 => self.first.take(),
            _ => Some(standing().with_ended(std::mem::take(&mut self.ended))),
        };
        if standing.is_none() && self.entries.is_empty() {
            if self.over {
                return Delivery::Over;
            }
            replaced.extend(self.waker.replace(waker.clone()));
            return Delivery::Nothing;
        }
        Delivery::News {
            lost,
            standing,
            entries: std::mem::take(&mut self.entries),
        }
    }

    pub(super) fn take_waker(&mut self) -> Option<Waker> {
        self.waker.take()
    }

    pub(super) fn into_entries(self) -> VecDeque<Entry> {
        self.entries
    }
}
