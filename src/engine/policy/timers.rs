//! What is to happen at a time. The policy has no clock: whoever has one says what time it is.

use crate::engine::policy::entry::RunRank;
use crate::model::TaskId;
use std::collections::BTreeMap;
use std::time::Duration;

/// Since the engine was made, by a clock that never goes back.
pub(crate) type Time = Duration;

/// A timer that was set, to take it back by.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct TimerKey(Time, u64);

impl TimerKey {
    /// When it is due.
    pub(super) fn time(self) -> Time {
        self.0
    }
}

/// What happens then.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Alarm {
    /// A task that failed, or must not start before, is ready.
    Ready(RunRank, TaskId),
    /// The attempt has had its time.
    TimeLimit(RunRank, TaskId, u32),
    /// Nothing may have been heard of the attempt for too long.
    Stalled(RunRank, TaskId, u32),
    /// The task should have ended.
    Deadline(RunRank, TaskId),
    /// The run has had its time.
    RunLimit(RunRank),
}

#[derive(Default)]
pub(super) struct Timers {
    alarms: BTreeMap<TimerKey, Alarm>,
    set: u64,
}

impl Timers {
    pub(super) fn set(&mut self, at: Time, alarm: Alarm) -> TimerKey {
        self.set += 1;
        let key = TimerKey(at, self.set);
        self.alarms.insert(key, alarm);
        key
    }

    pub(super) fn clear(&mut self, key: TimerKey) {
        self.alarms.remove(&key);
    }

    pub(super) fn clear_all(&mut self, keys: impl IntoIterator<Item = TimerKey>) {
        keys.into_iter().for_each(|key| self.clear(key));
    }

    /// When the first is due.
    pub(super) fn next(&self) -> Option<Time> {
        self.alarms.first_key_value().map(|(key, _)| key.0)
    }

    /// The first that is due, with its key.
    pub(super) fn pop_due(&mut self, now: Time) -> Option<(TimerKey, Alarm)> {
        let due = self
            .alarms
            .first_key_value()
            .filter(|(key, _)| key.0 <= now)?;
        let key = *due.0;
        self.alarms.remove(&key).map(|alarm| (key, alarm))
    }
}
