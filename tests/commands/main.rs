//! Tasks that are commands: what they see, leave and use, how they end, and that nothing of them stays.

#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "the helpers of tests may panic, too; clippy.toml allows it only in the tests themselves"
)]

mod basics;
mod ending;
mod launching;
mod output;
mod surroundings;
#[path = "../common/watchdog.rs"]
mod watchdog;
mod yard;
