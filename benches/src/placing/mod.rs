//! Tasks with priorities and requests, for the `policy` benchmark.

pub mod batchyard;
pub mod limit;

/// How many priorities there are.
pub const PRIORITIES: u32 = 20;
/// How many distinct requests there are.
pub const CLASSES: u32 = 100;
/// How many nodes there are, and how many slots each has.
pub const NODES: u32 = 1_000;
/// As [`NODES`].
pub const SLOTS: u32 = 100;

/// The priority of a task, from 0: one after the other, without a pattern.
pub fn priority(task: u32) -> u32 {
    scatter(task) % PRIORITIES
}

/// Which request a task makes.
pub fn class(task: u32) -> u32 {
    scatter(task) / PRIORITIES % CLASSES
}

/// How many slots each task of a class takes: from 1 to 10.
pub fn slots(class: u32) -> u32 {
    class % 10 + 1
}

/// Spreads consecutive numbers over all there are.
fn scatter(number: u32) -> u32 {
    (number.wrapping_mul(0x9e37_79b9) >> 7) ^ number
}
