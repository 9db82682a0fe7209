//! What must hold after every transition. Looked at in debug builds, so in every test.

use super::{Entry, Policy};
use crate::model::TaskId;

/// As much of the state as is looked at each time: tests that have more have it for its size.
const MOST: usize = 64;

impl Policy {
    /// Whether the policy's state makes sense, as far as one run after another can tell.
    pub(in crate::engine) fn is_consistent(&self) -> bool {
        self.runs.values().take(MOST).all(Entry::is_consistent)
    }
}

impl Entry {
    fn is_consistent(&self) -> bool {
        let pending = |task: &TaskId| self.run.ended_state(*task).is_none();
        let leased = self.leased.keys().take(MOST);
        let delayed = self.delayed.keys().take(MOST);
        // Nobody holds, and nobody waits to start, what has ended; and nothing is both held and waiting.
        leased.into_iter().all(pending)
            && delayed
                .clone()
                .all(|task| pending(task) && !self.leased.contains_key(task))
            && self.opened.is_empty()
            && self.reached.is_empty()
            && !self.run.has_ended()
            && self.counts_add_up()
    }

    fn counts_add_up(&self) -> bool {
        let ledger = self.run.ledger();
        let lost = ledger.failed + ledger.skipped + ledger.cancelled;
        ledger.failures().len() as u64 == ledger.failed && lost <= self.run.total()
    }
}
