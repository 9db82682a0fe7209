//! The gate between a run's lanes, which settle tasks without a lock, and the engine, which now and then must look
//! at the run, or change it, while nobody settles anything.
//!
//! It is a reader–writer lock with a biased reader. A lane *enters* when a body has returned, settles the task, and
//! *leaves* before the next body: two plain stores and one load. The engine *closes* the gate by raising the signal
//! and waiting until no lane is inside. It waits for nanoseconds of our own code, never for a body.
//!
//! The closer holds the engine's lock, and a lane learns the signal only under it. A lane that finds the signal changed
//! stays outside and takes that lock, so that it goes on only when the engine is done, and sees what the engine did.

use super::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use super::{heavy, light};
use crossbeam_utils::CachePadded;

/// What a lane last knew of its run. It differs from the gate's as soon as the engine wants the lane's attention.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Signal(u32);

impl Signal {
    /// Whether another was raised after this one. The number wraps.
    pub(crate) fn precedes(self, other: Signal) -> bool {
        other.0.wrapping_sub(self.0).cast_signed() > 0
    }
}

/// A signal that others may look at.
#[derive(Debug, Default)]
pub(crate) struct SharedSignal(AtomicU32);

/// The signal with which something was done last that lanes with an older one have not heard of; at first, none.
#[derive(Debug, Default)]
pub(crate) struct Mark(AtomicU64);

impl SharedSignal {
    pub(crate) fn set(&self, signal: Signal) {
        self.0.store(signal.0, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> Signal {
        Signal(self.0.load(Ordering::Relaxed))
    }
}

/// Set under the engine's lock, with the gate closed. Whoever has learnt a later signal sees it.
impl Mark {
    const SET: u64 = 1 << 32;

    pub(crate) fn set(&self, signal: Signal) {
        self.0
            .store(Mark::SET | u64::from(signal.0), Ordering::Relaxed);
    }

    /// Whether something was done after this signal.
    pub(crate) fn is_after(&self, signal: Signal) -> bool {
        let mark = self.0.load(Ordering::Relaxed);
        mark & Mark::SET != 0 && signal.precedes(Signal(mark as u32))
    }
}

/// A lane's side of the gate.
#[derive(Debug, Default)]
pub(crate) struct Turnstile {
    inside: CachePadded<AtomicBool>,
}

/// The engine's side of the gate. One a run.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    signal: CachePadded<AtomicU32>,
}

impl Gate {
    /// The present signal. A lane asks for it under the engine's lock: learnt while the gate is closed, it would open it.
    #[inline(always)]
    pub(crate) fn signal(&self) -> Signal {
        Signal(self.signal.load(Ordering::Relaxed))
    }

    /// Goes in, unless the signal is no longer the one the lane has `seen`.
    #[inline(always)]
    pub(crate) fn enter(&self, turnstile: &Turnstile, seen: Signal) -> bool {
        turnstile.inside.store(true, Ordering::Relaxed);
        light();
        let open = self.signal() == seen;
        if !open {
            turnstile.leave();
        }
        open
    }

    /// Asks every lane for its attention, without waiting for any.
    pub(crate) fn raise(&self) {
        self.signal.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns when no lane is inside. None gets in again before the caller gives up the engine's lock.
    ///
    /// `lanes` is called when the signal has been raised: a lane that is not among them by then has yet to join, under
    /// a lock that lets it see the signal.
    pub(crate) fn close<'a, L: Iterator<Item = &'a Turnstile>>(&self, lanes: impl FnOnce() -> L) {
        self.raise();
        let lanes = lanes();
        heavy();
        lanes.for_each(Turnstile::wait_until_outside);
    }
}

impl Turnstile {
    /// Tells it from all others that there are.
    pub(crate) fn number(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    /// Goes out. What was settled inside is visible to whoever closes the gate next.
    #[inline(always)]
    pub(crate) fn leave(&self) {
        self.inside.store(false, Ordering::Release);
    }

    fn wait_until_outside(&self) {
        while self.inside.load(Ordering::Acquire) {
            // The lane may have been preempted inside: give it the core.
            #[cfg(not(loom))]
            std::thread::yield_now();
            #[cfg(loom)]
            loom::thread::yield_now();
        }
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use loom::sync::{Arc, Mutex};

    /// A lane settles by a plain load and store; the engine cancels whatever is not settled. Never both.
    #[test]
    fn loom_a_task_is_settled_by_the_lane_or_by_the_engine_never_by_both() {
        loom::model(|| {
            let gate = Arc::new((
                Gate::default(),
                Turnstile::default(),
                AtomicU32::new(0),
                Mutex::new(()),
            ));
            let lane = {
                let gate = gate.clone();
                let seen = gate.0.signal();
                loom::thread::spawn(move || {
                    let (gate, turnstile, word, engine) = &*gate;
                    if !gate.enter(turnstile, seen) {
                        drop(engine.lock());
                        return word.load(Ordering::Relaxed);
                    }
                    if word.load(Ordering::Relaxed) == 0 {
                        word.store(1, Ordering::Relaxed);
                    }
                    turnstile.leave();
                    1
                })
            };
            let (gate, turnstile, word, engine) = &*gate;
            let by_engine = {
                let _held = engine.lock();
                gate.close(|| [turnstile].into_iter());
                let unsettled = word.load(Ordering::Relaxed) == 0;
                if unsettled {
                    word.store(2, Ordering::Relaxed);
                }
                unsettled
            };
            let seen_by_lane = lane.join().expect("lane");
            let last = word.load(Ordering::Relaxed);
            assert_eq!(last, if by_engine { 2 } else { 1 });
            assert_eq!(
                last, seen_by_lane,
                "a lane that was shut out sees what the engine did"
            );
        });
    }
}
