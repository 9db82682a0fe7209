//! The loose edges that were passed when a task ended which is to end once more, or has.

use crate::sync::lock;
use std::collections::BTreeSet;
use std::sync::{Mutex, OnceLock};

/// Those edges. What they lead to does not wait again for what they lead from.
///
/// Without a reactivated task there are none, and nobody takes the lock. It is the policy that changes them, with the gate
/// closed; lanes never end what has ended before.
#[derive(Default)]
pub(crate) struct PassedEdges(OnceLock<Mutex<BTreeSet<(u32, u32)>>>);

impl PassedEdges {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.get().is_none_or(|edges| lock(edges).is_empty())
    }

    pub(crate) fn has(&self, from: u32, to: u32) -> bool {
        let edges = self.0.get();
        edges.is_some_and(|edges| lock(edges).contains(&(from, to)))
    }

    pub(crate) fn add(&self, from: u32, to: u32) {
        lock(self.0.get_or_init(Mutex::default)).insert((from, to));
    }

    /// What it leads to came back, and waits again.
    pub(crate) fn remove(&self, from: u32, to: u32) {
        if let Some(edges) = self.0.get() {
            lock(edges).remove(&(from, to));
        }
    }
}
