//! How many attempts should travel together: one at first, then as many as take about a millisecond.

use super::protocol::MOST_ITEMS;
use std::collections::HashMap;
use std::time::Duration;

/// How long a batch should take: long enough for the journey not to matter, short enough to share.
const TARGET: Duration = Duration::from_millis(1);

/// How fast batches grow.
const GROWTH: usize = 8;

/// More kinds of work than this are not told apart.
const MOST_KINDS: usize = 64;

/// What is alike in how long it takes: a function, in a run.
pub(super) type Kind = (u64, usize);

/// One minder's measurements.
#[derive(Default)]
pub(super) struct Pace {
    rooms: HashMap<Kind, usize>,
    last: usize,
}

impl Pace {
    /// How many to take when it is not known what they are.
    pub(super) fn guess(&self) -> u32 {
        u32::try_from(self.last.max(1)).unwrap_or(u32::MAX)
    }

    /// How many of a kind should travel together.
    pub(super) fn room(&self, kind: Kind) -> usize {
        self.rooms.get(&kind).copied().unwrap_or(1)
    }

    /// So many took so long.
    pub(super) fn note(&mut self, kind: Kind, items: usize, took: Duration) {
        if items == 0 {
            return;
        }
        let ideal = TARGET.as_nanos() * items as u128 / took.as_nanos().max(1);
        let ideal = usize::try_from(ideal).unwrap_or(MOST_ITEMS);
        if self.rooms.len() >= MOST_KINDS {
            self.rooms.clear();
        }
        self.last = ideal.clamp(1, (items * GROWTH).min(MOST_ITEMS));
        self.rooms.insert(kind, self.last);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_first_travels_alone_and_short_ones_soon_together() {
        let (mut pace, kind) = (Pace::default(), (1, 1));
        assert_eq!(pace.room(kind), 1);
        for _ in 0..10 {
            let items = pace.room(kind);
            pace.note(kind, items, Duration::from_micros(items as u64 / 2));
        }
        assert_eq!(pace.room(kind), 2000);
        pace.note(kind, 2000, Duration::from_secs(2));
        assert_eq!((pace.room(kind), pace.room((2, 1))), (1, 1));
    }
}
