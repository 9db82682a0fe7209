//! Who goes first.

use std::cmp::Ordering;

/// How urgent a ready task is: higher priorities first, and among equals as the [`Tie`] says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Rank {
    pub(crate) job_priority: i32,
    pub(crate) task_priority: i32,
    pub(crate) tie: Tie,
}

/// Order among equal priorities. `job` is the job's place in the order of submission.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Tie {
    /// First job first, and in it in the order of becoming ready.
    Ready { job: u32 },
    /// First job first, and in it by a number of the caller's. Entries of one number go by their ends.
    Submission { job: u32, order: u64 },
    /// In the order of becoming ready, whatever the job; behind jobs that don't interleave.
    Interleaved,
}

/// A place in the order of all that is ready: the smallest goes first.
///
/// The end of the entry's range is the last word in it. So the front of a range can be taken without moving the rest,
/// and what is given back goes before the rest.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Position {
    /// Both priorities, turned around so that more urgent is smaller.
    priorities: u64,
    /// The job, and the upper half of the order in it: three words compare faster than five numbers.
    job: u64,
    /// The lower half, and the end of the range.
    rest: u64,
}

const _: () = assert!(size_of::<Position>() == 24);

/// Written out, since decisions do little else than compare positions: two comparisons, not three.
impl Ord for Position {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        let major =
            |position: &Position| u128::from(position.priorities) << 64 | u128::from(position.job);
        let first = major(self).cmp(&major(other));
        first.then_with(|| self.rest.cmp(&other.rest))
    }
}

impl PartialOrd for Position {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Position {
    pub(super) fn new(rank: Rank, stamp: u64, end: u32) -> Self {
        let (major, minor) = match rank.tie {
            Tie::Ready { job } => (job, stamp),
            Tie::Submission { job, order } => (job, order),
            Tie::Interleaved => (u32::MAX, stamp),
        };
        let priorities = descending(rank.job_priority) << 32 | descending(rank.task_priority);
        Position {
            priorities,
            job: u64::from(major) << 32 | minor >> 32,
            rest: minor << 32 | u64::from(end),
        }
    }

    /// Before everything of this rank.
    pub(crate) fn before(rank: Rank) -> Self {
        Position::new(rank, 0, 0)
    }

    /// Behind everything of this rank.
    pub(crate) fn behind(rank: Rank) -> Self {
        Position::new(rank, u64::MAX, u32::MAX)
    }

    /// The same place, for an entry with another end.
    pub(super) fn ending(self, end: u32) -> Self {
        Position {
            rest: self.rest & !u64::from(u32::MAX) | u64::from(end),
            ..self
        }
    }

    pub(super) fn end(self) -> u32 {
        self.rest as u32
    }
}

fn descending(priority: i32) -> u64 {
    u64::from(!(priority.cast_unsigned() ^ 1 << 31))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(job_priority: i32, task_priority: i32, tie: Tie, stamp: u64) -> Position {
        Position::new(
            Rank {
                job_priority,
                task_priority,
                tie,
            },
            stamp,
            0,
        )
    }

    #[test]
    fn order_promises() {
        let ready = |job| Tie::Ready { job };
        let submitted = |job, order| Tie::Submission { job, order };
        let ascending = [
            at(i32::MAX, i32::MIN, Tie::Interleaved, 9),
            at(1, 0, ready(7), 8),
            at(0, 5, ready(7), 7),
            at(0, -1, ready(3), 6),
            at(0, -1, submitted(4, 1), 5),
            at(0, -1, submitted(4, 2), 4),
            at(0, -1, ready(5), 2),
            at(0, -1, ready(5), 3),
            at(0, -1, Tie::Interleaved, 0),
            at(i32::MIN, i32::MAX, ready(0), 0),
        ];
        assert!(ascending.is_sorted());
    }
}
