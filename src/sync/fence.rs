//! An asymmetric fence: free for the side that runs once a task, a system call for the side that runs once in a while.
//!
//! A [`light`] fence paired with a [`heavy`] one orders as two sequentially consistent fences would. Where the
//! system has no `membarrier`, and under loom, both are such fences.

use super::atomic::{Ordering, fence};

/// The cheap side. Called on every task.
#[inline(always)]
pub(crate) fn light() {
    if membarrier::available() {
        std::sync::atomic::compiler_fence(std::sync::atomic::Ordering::SeqCst);
    } else {
        fence(Ordering::SeqCst);
    }
}

/// Decides which kind of fence the process uses. The system takes milliseconds for it once there are threads, so pools
/// ask before they start any.
pub(crate) fn prepare() {
    light();
}

/// The expensive side: about a microsecond.
pub(crate) fn heavy() {
    fence(Ordering::SeqCst);
    if membarrier::available() {
        membarrier::run();
    }
}

#[cfg(all(target_os = "linux", not(loom)))]
mod membarrier {
    use rustix::thread::{MembarrierCommand, membarrier};
    use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

    const UNKNOWN: u8 = 0;
    const AVAILABLE: u8 = 1;
    const ABSENT: u8 = 2;

    /// Decided once, before any second thread of ours exists, and never changed: both sides must agree.
    static STATE: AtomicU8 = AtomicU8::new(UNKNOWN);

    #[inline(always)]
    pub(super) fn available() -> bool {
        match STATE.load(Relaxed) {
            AVAILABLE => true,
            ABSENT => false,
            _ => register(),
        }
    }

    #[cold]
    fn register() -> bool {
        let found = membarrier(MembarrierCommand::RegisterPrivateExpedited).is_ok()
            && membarrier(MembarrierCommand::PrivateExpedited).is_ok();
        let state = if found { AVAILABLE } else { ABSENT };
        // The first answer stands: a later one could disagree with a light fence already taken.
        match STATE.compare_exchange(UNKNOWN, state, Relaxed, Relaxed) {
            Ok(_) => found,
            Err(first) => first == AVAILABLE,
        }
    }

    pub(super) fn run() {
        // Registered and tried in `register`, so this cannot fail; if it did, the fence before it still stands.
        let _ = membarrier(MembarrierCommand::PrivateExpedited);
    }
}

#[cfg(not(all(target_os = "linux", not(loom))))]
mod membarrier {
    #[inline(always)]
    pub(super) fn available() -> bool {
        false
    }

    pub(super) fn run() {}
}
