//! What can be seen of a run, and done about it, while it goes on and afterwards.

#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

mod conditions;
mod explain;
mod lists;
mod reactivate;
mod reactivate_arrays;
mod strays;
#[path = "../common/watchdog.rs"]
mod watchdog;
