//! The engine's clock: a thread that sleeps until the policy has something to do at a time.
//!
//! It is started with the first timer, so that a pool whose jobs set no limits never has it. A clock that is driven by
//! hand (feature `testing`) never has it: its time moves when it is told.

use super::Engine;
use super::policy::Time;
use event_listener::{Event, Listener};
use std::cell::OnceCell;
#[cfg(feature = "testing")]
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant, SystemTime};

pub(super) struct Clock {
    source: Source,
    started_at: SystemTime,
    /// The first timer was set, or set to another time, or the engine is gone.
    changed: Arc<Event>,
    started: OnceLock<bool>,
}

/// Where the time comes from.
enum Source {
    /// The system's clock, since then.
    System(Instant),
    /// Whoever drives it, in nanoseconds.
    #[cfg(feature = "testing")]
    Hand(AtomicU64),
}

/// A time that is read from the clock when it is first asked for: most transitions never do, and reading takes as long as
/// some of them.
#[derive(Default)]
pub(super) struct Moment {
    /// Since when the system's clock counts, if it is still to be read.
    start: Option<Instant>,
    time: OnceCell<Time>,
}

/// How long the thread keeps the time by itself when there is no timer.
const LONG: Duration = Duration::from_secs(3600);

impl Clock {
    pub(super) fn new() -> Self {
        Self::of(Source::System(Instant::now()))
    }

    /// A clock that stands at zero until it is [moved](Clock::go_to).
    #[cfg(feature = "testing")]
    pub(super) fn by_hand() -> Self {
        Self::of(Source::Hand(AtomicU64::new(0)))
    }

    fn of(source: Source) -> Self {
        Clock {
            source,
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
        match &self.source {
            Source::System(start) => start.elapsed(),
            #[cfg(feature = "testing")]
            Source::Hand(nanos) => Duration::from_nanos(nanos.load(Ordering::SeqCst)),
        }
    }

    pub(super) fn moment(&self) -> Moment {
        match &self.source {
            Source::System(start) => Moment {
                start: Some(*start),
                time: OnceCell::new(),
            },
            #[cfg(feature = "testing")]
            Source::Hand(_) => Moment {
                start: None,
                time: self.now().into(),
            },
        }
    }

    /// Whether somebody moves it.
    #[cfg(feature = "testing")]
    pub(super) fn is_by_hand(&self) -> bool {
        matches!(self.source, Source::Hand(_))
    }

    /// It is this late now, if it was earlier. The system's clock can't be moved.
    #[cfg(feature = "testing")]
    pub(super) fn go_to(&self, time: Time) {
        if let Source::Hand(nanos) = &self.source {
            let time = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
            nanos.fetch_max(time, Ordering::SeqCst);
        }
    }

    /// Timers changed: the thread looks at them, and is started if it wasn't.
    pub(super) fn wind(&self, engine: &Weak<Engine>) {
        if !matches!(self.source, Source::System(_)) {
            return;
        }
        self.started.get_or_init(|| {
            let (engine, changed) = (engine.clone(), self.changed.clone());
            let thread = std::thread::Builder::new().name("batchyard-clock".into());
            // Without the thread there are no limits, but the jobs go on: there is nobody to tell.
            thread.spawn(move || tick(&engine, &changed)).is_ok()
        });
        self.changed.notify(1);
    }
}

impl Moment {
    pub(super) fn time(&self) -> Time {
        let read = || self.start.map_or(Time::ZERO, |start| start.elapsed());
        *self.time.get_or_init(read)
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
