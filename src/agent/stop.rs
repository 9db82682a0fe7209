//! Telling a thread that waits for a command that it is no longer wanted.

use rustix::event::{EventfdFlags, eventfd};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};

/// A request to end a command, which may come at any time.
#[derive(Debug)]
pub(crate) struct Stop {
    requested: AtomicBool,
    event: OwnedFd,
}

impl Stop {
    pub(crate) fn new() -> io::Result<Self> {
        let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
        Ok(Stop {
            requested: AtomicBool::new(false),
            event: eventfd(0, flags)?,
        })
    }

    /// Ends the command.
    pub(crate) fn request(&self) {
        self.requested.store(true, Ordering::Release);
        let _ = rustix::io::write(&self.event, &1u64.to_ne_bytes());
    }

    pub(super) fn is_requested(&self) -> bool {
        self.requested.load(Ordering::Acquire)
    }

    /// Fit for another command.
    pub(crate) fn reset(&self) {
        if self.requested.swap(false, Ordering::AcqRel) {
            let _ = rustix::io::read(&self.event, &mut [0; 8]);
        }
    }
}

impl AsFd for Stop {
    /// Becomes readable with the request.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.event.as_fd()
    }
}
