//! Commands in containers, with a real engine: podman, and an image that is made of busybox.

#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "the helpers of tests may panic, too; clippy.toml allows it only in the tests themselves"
)]

mod ending;
mod image;
mod running;
mod yard;
