//! What decides whether, when, where and how often tasks run, through the public API.

#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

mod explain;
mod gangs;
#[cfg(feature = "testing")]
mod model;
mod order;
mod placement;
mod resources;
mod retries;
mod time;
#[path = "../common/watchdog.rs"]
mod watchdog;
