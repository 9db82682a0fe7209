//! How a case and its bodies wait for each other: no clock decides anything, except that a wait that is hopeless fails.

use crate::sync::lock;
use std::fmt;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

/// Longer than anything takes that is not stuck, and shorter than the suite's patience with a case.
const PATIENCE: Duration = Duration::from_secs(20);

/// A number that grows, and that can be waited for: what has happened, or with a one in it, a gate that is open.
#[derive(Clone)]
pub(super) struct Tally {
    of: &'static str,
    state: Arc<(Mutex<usize>, Condvar)>,
}

impl Tally {
    /// Nothing yet. `of` is said when a wait for it fails.
    pub(super) fn new(of: &'static str) -> Self {
        Tally {
            of,
            state: Arc::default(),
        }
    }

    /// One more has happened. Returns how many had before.
    pub(super) fn add(&self) -> usize {
        let mut count = lock(&self.state.0);
        *count += 1;
        self.state.1.notify_all();
        *count - 1
    }

    pub(super) fn count(&self) -> usize {
        *lock(&self.state.0)
    }

    /// Waits until so many have happened.
    pub(super) fn reach(&self, target: usize) {
        let count = lock(&self.state.0);
        let reached = self
            .state
            .1
            .wait_timeout_while(count, PATIENCE, |count| *count < target);
        let count = reached.map_or_else(|poisoned| *poisoned.into_inner().0, |(count, _)| *count);
        assert!(
            count >= target,
            "waited in vain for {target} {}: there were {count}",
            self.of
        );
    }

    /// Adds one, and waits for the others.
    pub(super) fn meet(&self, number: usize) {
        self.add();
        self.reach(number);
    }

    /// Something whose drop adds one.
    pub(super) fn on_drop(&self) -> OnDrop {
        OnDrop(self.clone())
    }
}

impl fmt::Debug for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.count(), self.of)
    }
}

/// Adds one to its tally when it is dropped.
pub(super) struct OnDrop(Tally);

impl Drop for OnDrop {
    fn drop(&mut self) {
        self.0.add();
    }
}
