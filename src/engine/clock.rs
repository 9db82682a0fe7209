//! The engine's clock: a thread that sleeps until the policy has something to do at a time.
//!
//! It is started with the first timer, so that a pool whose jobs set no limits never has it.

use super::Engine;
use super::policy::Time;
use event_listener::{Event, Listener};
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant, SystemTime};

pub(super) struct Clock {
    start: Instant,
    started_at: SystemTime,
    /// The first timer was set, or set to another time, or the engine is gone.
    changed: Arc<Event>,
    started: OnceLock<bool>,
}

/// How long the thread keeps the time by itself when there is no timer.
const LONG: Duration = Duration::from_secs(3600);

impl Clock {
    pub(super) fn new() -> Self {
        Clock {
            start: Instant::now(),
            started_at: SystemTime::now(),
            changed: Arc::default(),
            started: OnceLock::new(),
        }
    }

    /// When it began, by this machine's clock.
    pub(super) fn started_at(&self) -> SystemTime {
        self.started_at
    }

    pub(super) fn now(&self) -> Time {
        self.start.elapsed()
    }

    /// Timers changed: the thread looks at them, and is started if it wasn't.
    pub(super) fn wind(&self, engine: &Weak<Engine>) {
        self.started.get_or_init(|| {
            let (engine, changed) = (engine.clone(), self.changed.clone());
            let thread = std::thread::Builder::new().name("batchyard-clock".into());
            // Without the thread there are no limits, but the jobs go on: there is nobody to tell.
            thread.spawn(move || tick(&engine, &changed)).is_ok()
        });
        self.changed.notify(1);
    }
}

impl Drop for Clock {
    fn drop(&mut self) {
        self.changed.notify(1);
    }
}

/// Rings what is due, until the engine is gone.
fn tick(engine: &Weak<Engine>, changed: &Event) {
    loop {
        let listener = changed.listen();
        let wait = match engine.upgrade() {
            None => return,
            Some(engine) => {
                let next = engine.with(|policy, effects| {
                    policy.tick(effects);
                    policy.next_alarm()
                });
                next.map_or(LONG, |next| next.saturating_sub(engine.now()))
            }
        };
        listener.wait_timeout(wait);
    }
}
