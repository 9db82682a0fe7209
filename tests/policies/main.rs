//! What decides whether, when, where and how often tasks run, through the public API.

#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

mod explain;
#[cfg(feature = "testing")]
mod model;
mod order;
mod resources;
mod retries;
mod time;
#[path = "../common/watchdog.rs"]
mod watchdog;
