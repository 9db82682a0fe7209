//! What decides whether, when and how often tasks run, through the public API.

#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a test fails by panicking")]

mod retries;
mod time;
