//! Which runs have plain tasks to give, so that nobody looks at the others.

use super::entry::Entry;
use super::{Policy, Run, RunRank};
use std::collections::BTreeSet;

/// Runs that may have plain tasks ready, and runs in which tasks were ended that may be queued.
#[derive(Default)]
pub(super) struct Offers {
    ready: BTreeSet<RunRank>,
    stale: BTreeSet<RunRank>,
}

impl Policy {
    /// Something may have been added to what a run has ready.
    pub(super) fn offer(&mut self, run: &Run) {
        if self.runs.get(&run.rank()).is_some_and(Entry::has_plain) {
            self.offers.ready.insert(run.rank());
        }
    }

    /// Tasks of the run were ended that may be queued.
    pub(super) fn mark_stale(&mut self, run: &Run) {
        self.offers.stale.insert(run.rank());
    }

    pub(super) fn has_stale(&self) -> bool {
        !self.offers.stale.is_empty()
    }

    pub(super) fn withdraw(&mut self, rank: RunRank) {
        self.offers.ready.remove(&rank);
        self.offers.stale.remove(&rank);
    }

    /// The most urgent run that has plain tasks: ready ones, or, if `shared`, some to steal from a lane. Only runs with a
    /// lane have such.
    pub(super) fn first_plain(&self, shared: bool) -> Option<RunRank> {
        let has_plain = |rank: &&RunRank| self.runs.get(rank).is_some_and(Entry::has_plain);
        let has_surplus = |rank: &&RunRank| {
            let entry = self.runs.get(rank);
            entry.is_some_and(Entry::shares_plain)
        };
        let ready = self.offers.ready.iter().find(has_plain).copied();
        let lanes = self.charges.recallable_runs().filter(|_| shared);
        let surplus = { lanes }.find(has_surplus).copied();
        match (ready, surplus) {
            (Some(ready), Some(surplus)) => Some(ready.min(surplus)),
            (ready, surplus) => ready.or(surplus),
        }
    }

    /// If plain tasks of a run are ready, who has such of less urgent runs is asked to look: see `wants_back`.
    pub(super) fn recall_less_urgent(&self, run: &Run) {
        let has_ready = |entry: &Entry| !entry.ready.is_empty();
        if self.runs.get(&run.rank()).is_some_and(has_ready) {
            self.recall(|other| run.rank().is_more_urgent_than(other));
        }
    }

    /// Whoever has tasks of such a run is asked to look whether it is to give back what it has not begun.
    pub(super) fn recall(&self, of: impl Fn(RunRank) -> bool) {
        let runs = self.charges.recallable_runs().filter(|rank| of(**rank));
        let entries = runs.filter_map(|rank| self.runs.get(rank));
        entries.for_each(|entry| entry.run.flow().gate.raise());
    }

    /// What a run has ready was taken.
    pub(super) fn offer_taken(&mut self, rank: RunRank) {
        if !self.runs.get(&rank).is_some_and(Entry::has_plain) {
            self.offers.ready.remove(&rank);
        }
    }
}
