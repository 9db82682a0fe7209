//! The thread that enters what has been written, and wakes those who listen.
//!
//! It is started with the first listener. While nothing happens it sleeps; once woken it looks at intervals, so that
//! writers seldom wake it, and listeners hear of many small tasks at a time.

use crate::engine::Engine;
use event_listener::{Event, Listener};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

/// How late a listener may hear of what has happened.
const PACE: Duration = Duration::from_millis(1);

#[derive(Default)]
pub(super) struct Desk {
    shared: Arc<Shared>,
    /// Whether the thread could be started.
    started: OnceLock<bool>,
}

#[derive(Default)]
struct Shared {
    /// Nobody will look before being called.
    asleep: AtomicBool,
    call: Event,
}

impl Desk {
    /// Has the thread there.
    pub(super) fn open(&self, engine: &Weak<Engine>) {
        self.started.get_or_init(|| {
            let (engine, shared) = (engine.clone(), self.shared.clone());
            let thread = std::thread::Builder::new().name("batchyard-events".into());
            thread.spawn(move || shared.work(&engine)).is_ok()
        });
    }

    /// Something has been written. Returns whether somebody will look; else the caller must.
    #[inline]
    pub(super) fn call(&self) -> bool {
        self.shared.call();
        self.started.get() == Some(&true)
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        self.shared.call.notify(usize::MAX);
    }
}

impl Shared {
    #[inline]
    fn call(&self) {
        if self.asleep.load(Ordering::Relaxed) && self.asleep.swap(false, Ordering::AcqRel) {
            self.call.notify(usize::MAX);
        }
    }

    /// Looks at intervals while there is something, until the engine is gone.
    fn work(&self, engine: &Weak<Engine>) {
        loop {
            let listener = self.call.listen();
            // Who writes from here on finds it set, or is found: both take the log's lock.
            self.asleep.store(true, Ordering::Release);
            match engine.upgrade().map(|engine| engine.enter_events()) {
                None => return,
                Some(false) => listener.wait(),
                Some(true) => {
                    self.asleep.store(false, Ordering::Release);
                    std::thread::sleep(PACE);
                }
            }
        }
    }
}
