//! What tasks do: nothing that can be seen, or spin for a while.

use std::hint::black_box;
use std::time::{Duration, Instant};

/// A body that does nothing, with 16 bytes of its own so that no two tasks are the same.
pub fn empty(task: u32) -> impl Fn() + Copy + Send + Sync + 'static {
    let (x, y) = (u64::from(task), !u64::from(task));
    move || {
        black_box(x ^ y);
    }
}

/// A body that spins, of the same size.
pub fn spinning(spins: u64, task: u32) -> impl Fn() + Copy + Send + Sync + 'static {
    let seed = u64::from(task);
    move || {
        black_box(spin(spins, seed));
    }
}

/// The work of one element of an array.
pub fn element(item: u64) {
    black_box(item ^ !item);
}

/// A chain of multiplications that touches no memory and that nobody can shorten.
fn spin(spins: u64, seed: u64) -> u64 {
    (0..spins).fold(seed, |x, turn| {
        black_box(x.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(turn))
    })
}

/// How many turns take `duration` on one thread of this machine, by the fastest of many trials.
pub fn calibrate(duration: Duration) -> u64 {
    const TURNS: u64 = 20_000;
    let trial = |seed| {
        let start = Instant::now();
        black_box(spin(TURNS, seed));
        start.elapsed()
    };
    let fastest = (0..200)
        .map(trial)
        .min()
        .unwrap_or_default()
        .as_nanos()
        .max(1);
    (u128::from(TURNS) * duration.as_nanos() / fastest) as u64
}
