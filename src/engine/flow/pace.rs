//! How ranges are cut into pieces.

use std::cell::Cell;
use std::time::{Duration, Instant};

/// A piece of a range should take about this long: short enough to share, long enough not to notice the cutting.
pub(super) const PIECE: Duration = Duration::from_micros(50);

/// The most tasks in a piece, and the most successes a lane keeps to itself.
pub(super) const MOST: u32 = 1 << 13;

/// How a piece of sources gets on. It looks at the clock after one of them, two, four and so on: a piece was cut for quick
/// ones, and when slow ones follow, others should have the rest.
pub(super) struct Pace {
    started: Instant,
    done: Cell<u32>,
}

impl Pace {
    pub(super) fn new() -> Self {
        Pace {
            started: Instant::now(),
            done: Cell::new(0),
        }
    }

    pub(super) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    pub(super) fn is_slow(&self) -> bool {
        let done = self.done.get();
        self.done.set(done + 1);
        done.is_power_of_two() && self.elapsed() > PIECE
    }
}

/// Grows pieces while they are short, shrinks them when they are long.
pub(super) fn tuned(grain: u32, tasks: u32, took: Duration) -> u32 {
    match took {
        short if short < PIECE / 2 && tasks >= grain => (grain * 2).min(MOST),
        long if long > PIECE * 2 => (grain / 2).max(1),
        _ => grain,
    }
}
