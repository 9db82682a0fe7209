//! Runs with a journal: what is reused, what is run again, and what is told when.

#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "a test that panics fails"
)]

mod closures;
#[cfg(all(feature = "command", target_os = "linux"))]
mod commands;
mod formats;
mod kill;
mod looking;
mod random;
mod reopen;
#[cfg(feature = "conformance")]
mod stores;
mod told;
mod yard;
