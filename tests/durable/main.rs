//! Runs with a journal: what is reused, what is run again, and what is told when.

#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "a test that panics fails"
)]

mod kill;
mod reopen;
mod yard;
