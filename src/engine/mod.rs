//! Decides what runs, and keeps count of what ran.
//!
//! - [`flow`] is the fast path: readiness and success, by atomics alone.
//! - [`policy`] is everything else: what starts where, failure, cancellation. One lock around it, no I/O, no clock, no
//!   threads.
//! - [`Engine`] is the lock, and what must happen outside it: waking, telling, dropping values.

mod blame;
mod census;
#[cfg(feature = "journal")]
mod checkpoints;
mod chronicle;
mod clock;
mod current;
mod draft;
#[cfg(feature = "journal")]
mod durable;
mod effects;
mod flow;
#[cfg(feature = "testing")]
mod hand;
mod host;
mod late;
mod list;
mod listen;
mod open;
mod policy;
mod reasons;
mod run;
mod standing;
#[cfg(feature = "journal")]
mod survey;
mod telling;
mod trace;
mod upstream;

pub(crate) use chronicle::{Delivery, Entry, Fact, Log, NodeSeen, RunStanding, Standing};
pub(crate) use current::{Current, enter, forbids_waiting, in_a_body, waiting};
pub(crate) use draft::{Adder, add};
#[cfg(feature = "journal")]
pub(crate) use durable::Durable;
pub(crate) use effects::Effects;
pub(crate) use flow::{Item, Lane};
#[cfg(feature = "testing")]
pub(crate) use hand::Hand;
pub(crate) use list::Sought;
pub(crate) use open::Admits;
pub(crate) use policy::Again;
#[cfg(all(feature = "process", target_os = "linux"))]
pub(crate) use policy::Ended;
pub use policy::Outcome;
pub(crate) use policy::{
    Begun, Charge, LeaseKey, NodeKey, Order, Part, Place, Policy, Taken, TakenWork,
};
#[cfg(feature = "journal")]
pub(crate) use policy::{KnownTask, Past, PastEnd, Report};
pub(crate) use run::Run;
#[cfg(feature = "journal")]
pub(crate) use survey::{Found, Survey, Written};

use crate::job::FrozenJob;
use crate::model::{Error, ErrorKind, Offer, Result};
use crate::sync::{Bell, lock};
use chronicle::Chronicle;
use clock::Clock;
use event_listener::{Event, EventListener};
use policy::Time;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};

/// One pool's engine.
pub(crate) struct Engine {
    me: Weak<Engine>,
    policy: Mutex<Policy>,
    clock: Clock,
    submitted: AtomicU64,
    bell: Bell,
    chronicle: Chronicle,
    /// Something changed for those who carry out orders, or wait for the pool to empty.
    changed: Event,
    /// Who has the pool go on, if no thread does.
    #[cfg(feature = "testing")]
    hand: hand::Hands,
}

impl Engine {
    pub(crate) fn new() -> Arc<Self> {
        Self::with_clock(Clock::new())
    }

    fn with_clock(clock: Clock) -> Arc<Self> {
        Arc::new_cyclic(|me| Engine {
            me: me.clone(),
            policy: Mutex::default(),
            clock,
            submitted: AtomicU64::new(0),
            bell: Bell::default(),
            chronicle: Chronicle::default(),
            changed: Event::new(),
            #[cfg(feature = "testing")]
            hand: hand::Hands::default(),
        })
    }

    /// What time it is.
    pub(crate) fn now(&self) -> Time {
        self.clock.now()
    }

    /// Asks the policy, then does what it decided, outside the lock.
    pub(crate) fn with<R>(&self, ask: impl FnOnce(&mut Policy, &mut Effects) -> R) -> R {
        let mut effects = Effects::at(self.clock.moment(), &self.chronicle);
        let answer = {
            let mut policy = lock(&self.policy);
            let answer = ask(&mut policy, &mut effects);
            effects.write_down(self);
            debug_assert!(
                policy.is_consistent(),
                "a transition left a state that can't be"
            );
            answer
        };
        effects.apply(self);
        answer
    }

    /// Asks the policy for what has no effects.
    pub(crate) fn look<R>(&self, ask: impl FnOnce(&mut Policy) -> R) -> R {
        ask(&mut lock(&self.policy))
    }

    /// Begins a run, on an executor that can run this.
    pub(crate) fn submit(self: &Arc<Self>, job: &FrozenJob, offer: &Offer) -> Result<Arc<Run>> {
        let (job, seq) = (job.inner().clone(), self.next_seq());
        let run = Arc::new(Run::new(job, offer, self.clone(), seq));
        let offered = offer.nodes.as_deref().unwrap_or_default();
        self.with(|policy, effects| policy.submit(&run, offered, effects))?;
        #[cfg(feature = "testing")]
        self.show(&run);
        Ok(run)
    }

    /// Makes a run that is written down, and does not begin it.
    #[cfg(feature = "journal")]
    pub(crate) fn prepare(
        self: &Arc<Self>,
        (job, offer): (&FrozenJob, &Offer),
        durable: Arc<Durable>,
        carried: Time,
    ) -> Arc<Run> {
        let run = Run::new(job.inner().clone(), offer, self.clone(), self.next_seq());
        Arc::new(run.written_down(durable, carried))
    }

    /// Begins a run that was [prepared](Self::prepare), where an earlier life of it left off.
    #[cfg(feature = "journal")]
    pub(crate) fn go_on(&self, run: &Arc<Run>, offer: &Offer, past: Past) -> Result<()> {
        let offered = offer.nodes.as_deref().unwrap_or_default();
        self.with(|policy, effects| policy.go_on(run, offered, past, effects))
    }

    fn next_seq(&self) -> u64 {
        self.submitted.fetch_add(1, Ordering::Relaxed)
    }

    /// Rung when there is work to take.
    pub(crate) fn bell(&self) -> &Bell {
        &self.bell
    }

    /// Notified when there are orders, or runs or charges have ended.
    pub(crate) fn listen(&self) -> EventListener {
        self.changed.listen()
    }

    /// For those about to wait: has the pool go on by one step, if whoever waits is the one that must. `None` if threads
    /// do; an error if nothing will happen by itself any more.
    #[cfg(not(feature = "testing"))]
    pub(crate) fn step(&self) -> Option<Result<()>> {
        None
    }
}

pub(crate) fn pool_closed() -> Error {
    Error::new(
        ErrorKind::PoolClosed,
        "the pool is closed; make another to run jobs",
    )
}
