//! How those without work wait for it, at no cost for those who have some.

use super::atomic::{AtomicBool, AtomicU32, Ordering};
use super::{heavy, light};
use event_listener::{Event, IntoNotification, Listener};

/// How often a waiter looks again before it sleeps. Waking a sleeping core costs more than these looks.
const LOOKS: u32 = 64;

/// Rung by whoever makes work available; waited for by those who found none.
#[derive(Debug)]
pub(crate) struct Bell {
    waiting: AtomicU32,
    /// Not all who wait can take the same work.
    choosy: AtomicBool,
    event: Event,
}

impl Default for Bell {
    fn default() -> Self {
        Bell {
            waiting: AtomicU32::new(0),
            choosy: AtomicBool::new(false),
            event: Event::new(),
        }
    }
}

impl Bell {
    /// There is a piece of work more: wakes one waiter, if any. One load when there is none.
    #[inline]
    pub(crate) fn ring(&self) {
        light();
        if self.waiting.load(Ordering::Relaxed) != 0 {
            self.wake();
        }
    }

    /// From now on every ring is for all: the one that it would have woken might have to leave the work to others.
    pub(crate) fn ring_for_all(&self) {
        self.choosy.store(true, Ordering::Relaxed);
    }

    /// One more than have been woken and are not yet up: each ring is for another piece of work.
    #[cold]
    fn wake(&self) {
        if self.choosy.load(Ordering::Relaxed) {
            self.ring_all();
        } else {
            self.event.notify(1.additional());
        }
    }

    /// Something changed for everyone.
    pub(crate) fn ring_all(&self) {
        self.event.notify(usize::MAX);
    }

    /// Blocks until `look` finds something.
    pub(crate) fn wait<T>(&self, mut look: impl FnMut() -> Option<T>) -> T {
        for _ in 0..LOOKS {
            if let Some(found) = look() {
                return found;
            }
            (0..32).for_each(|_| std::hint::spin_loop());
        }
        loop {
            let listener = self.event.listen();
            let _waiting = self.enlist();
            if let Some(found) = look() {
                return found;
            }
            listener.wait();
        }
    }

    /// Waits until `look` finds something. May be dropped at any time.
    pub(crate) async fn wait_async<T>(&self, mut look: impl FnMut() -> Option<T>) -> T {
        loop {
            let listener = self.event.listen();
            let _waiting = self.enlist();
            if let Some(found) = look() {
                return found;
            }
            listener.await;
        }
    }

    /// After this, whoever rings sees us, or we see what was rung for.
    fn enlist(&self) -> Enlisted<'_> {
        self.waiting.fetch_add(1, Ordering::SeqCst);
        heavy();
        Enlisted(self)
    }
}

struct Enlisted<'a>(&'a Bell);

impl Drop for Enlisted<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::SeqCst);
    }
}
