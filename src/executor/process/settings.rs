//! How children are started and what they may do.

use super::child::Child;
use super::protocol::Init;
use std::ffi::OsString;
use std::time::Duration;

/// What all children of one executor have in common.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    pub(super) program: OsString,
    pub(super) args: Vec<OsString>,
    pub(super) init: Option<Init>,
    pub(super) frame_limit: u32,
    pub(super) kill_grace: Duration,
    pub(super) recycle_after: Option<u64>,
    pub(super) recycle_above: Option<u64>,
}

impl Settings {
    pub(super) fn new(program: impl Into<OsString>, args: Vec<OsString>) -> Self {
        Settings {
            program: program.into(),
            args,
            init: None,
            frame_limit: 1 << 30,
            kill_grace: Duration::from_millis(500),
            recycle_after: None,
            recycle_above: None,
        }
    }
}

/// When a child has done enough.
impl Settings {
    /// How many items a child may still be sent.
    pub(super) fn room_of(&self, child: &Child) -> usize {
        let left = self
            .recycle_after
            .map(|most| most.saturating_sub(child.served));
        left.map_or(usize::MAX, |left| {
            usize::try_from(left).unwrap_or(usize::MAX).max(1)
        })
    }

    /// Whether a child is to be replaced before it is used again.
    pub(super) fn is_worn(&self, child: &Child) -> bool {
        self.recycle_after.is_some_and(|most| child.served >= most)
            || self.recycle_above.is_some_and(|most| child.resident > most)
    }
}
