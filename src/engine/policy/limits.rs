//! How many tasks of a run, or of an array of it, may run at once.

use super::RunRank;
use super::placing::{Limit, RunKey};
use rustc_hash::FxHashMap;

/// The groups that the ready tasks of all runs are in, and how many of each run.
#[derive(Default)]
pub(super) struct Limits {
    groups: FxHashMap<RunKey, Group>,
    made: u32,
}

/// A run's tasks; or the elements of one of its arrays, if that has a limit of its own.
struct Group {
    run: RunRank,
    most: Option<u32>,
    running: u32,
    /// Nothing may start.
    paused: bool,
    /// The run's, for an array's.
    whole: Option<RunKey>,
}

impl Limits {
    /// Makes a group. Keys come again after four billion.
    pub(super) fn add(&mut self, run: RunRank, most: Option<u32>, whole: Option<RunKey>) -> RunKey {
        self.made = self.made.wrapping_add(1);
        let key = RunKey(self.made);
        let group = Group {
            run,
            most,
            running: 0,
            paused: false,
            whole,
        };
        self.groups.insert(key, group);
        key
    }

    pub(super) fn forget(&mut self, key: RunKey) {
        self.groups.remove(&key);
    }

    pub(super) fn run_of(&self, key: RunKey) -> Option<RunRank> {
        self.groups.get(&key).map(|group| group.run)
    }

    /// How many more of a group may start now.
    pub(super) fn room(&self, key: RunKey) -> Limit {
        let rooms = self.chain(key).filter_map(Group::room);
        rooms.min().map_or(Limit::UNLIMITED, Limit)
    }

    /// The limit that keeps a group from starting more, and whether it is an array's.
    pub(super) fn reached(&self, key: RunKey) -> Option<(u32, bool)> {
        let full = |group: &&Group| group.room() == Some(0);
        let group = self.chain(key).find(full)?;
        Some((group.most?, group.whole.is_some()))
    }

    /// Lets nothing more of a group start, or lets it again.
    pub(super) fn pause(&mut self, key: RunKey, paused: bool) {
        if let Some(group) = self.groups.get_mut(&key) {
            group.paused = paused;
        }
    }

    pub(super) fn begin(&mut self, key: RunKey) {
        self.change(key, |running| *running += 1);
    }

    pub(super) fn end(&mut self, key: RunKey) {
        self.change(key, |running| *running = running.saturating_sub(1));
    }

    fn change(&mut self, key: RunKey, change: impl Fn(&mut u32)) {
        let mut next = Some(key);
        while let Some(group) = next.and_then(|key| self.groups.get_mut(&key)) {
            change(&mut group.running);
            next = group.whole;
        }
    }

    /// A group, and the one that it is part of.
    fn chain(&self, key: RunKey) -> impl Iterator<Item = &Group> {
        let group = self.groups.get(&key);
        let whole = group.and_then(|group| self.groups.get(&group.whole?));
        group.into_iter().chain(whole)
    }
}

impl Group {
    fn room(&self) -> Option<u32> {
        match self.paused {
            true => Some(0),
            false => Some(self.most?.saturating_sub(self.running)),
        }
    }
}
