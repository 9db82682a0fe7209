//! Whole pools under a seeded clock: real jobs, policies and feed; nodes that are not there.
//!
//! Each seed is a world: random jobs, random nodes, and random steps that delay, reorder, drop and kill. After every step
//! the checks look at what must hold; in the end the trouble stops, and everything has to come to its end.
//!
//! - `BATCHYARD_SEEDS` says how many seeds are tried. A failing one is printed;
//! - `BATCHYARD_SEED=n` tries that one, and prints what happened in it;
//! - a kind of step is a file in `steps/`, a property a file in `checks/`.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "the helpers of tests may panic, too; clippy.toml allows it only in the tests themselves"
)]

mod asks;
mod books;
mod checks;
mod plan;
mod seeds;
mod steps;
mod world;

use seeds::{DEFAULT, for_seeds};
use world::World;

#[test]
fn every_seed_comes_to_its_end_and_breaks_no_rule() {
    for_seeds(DEFAULT, |seed, trace| World::run(seed, trace));
}

#[test]
fn the_same_seed_gives_the_same_trace() {
    for seed in 1..=20 {
        let [mut first, mut second] = [Vec::new(), Vec::new()];
        World::run(seed, &mut first);
        World::run(seed, &mut second);
        let different = first.iter().zip(&second).find(|(one, other)| one != other);
        assert_eq!(different, None, "seed {seed}");
        assert_eq!(first.len(), second.len(), "seed {seed}");
    }
}
