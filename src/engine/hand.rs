//! An engine that is driven by hand: time moves when it is told, and whoever waits has the pool go on (feature
//! `testing`).

use super::clock::Clock;
use super::policy::Time;
use super::{Engine, Run};
use crate::model::Result;
use std::sync::{Arc, OnceLock, Weak};

/// Who has a pool go on whose executor has no threads.
pub(crate) trait Hand: Send + Sync {
    /// Does the next thing that is to be done, or lets time pass until there is one.
    ///
    /// # Errors
    /// Nothing will happen by itself any more.
    fn step(&self) -> Result<()>;

    /// A run was submitted.
    fn submitted(&self, run: &Arc<Run>);
}

pub(super) type Hands = OnceLock<Weak<dyn Hand>>;

impl Engine {
    /// An engine whose time stands still until it is [moved](Engine::go_to).
    pub(crate) fn by_hand() -> Arc<Self> {
        Self::with_clock(Clock::by_hand())
    }

    /// From now on, those who wait have this one go on.
    pub(crate) fn set_hand(&self, hand: Weak<dyn Hand>) {
        let _ = self.hand.set(hand);
    }

    /// For those about to wait: has the pool go on by one step, if whoever waits is the one that must. `None` if threads
    /// do; an error if nothing will happen by itself any more.
    pub(crate) fn step(&self) -> Option<Result<()>> {
        Some(self.the_hand()?.step())
    }

    pub(super) fn show(&self, run: &Arc<Run>) {
        if let Some(hand) = self.the_hand() {
            hand.submitted(run);
        }
    }

    fn the_hand(&self) -> Option<Arc<dyn Hand>> {
        self.hand.get()?.upgrade()
    }

    /// When the policy has something to do next.
    pub(crate) fn next_alarm(&self) -> Option<Time> {
        self.with(|policy, _| policy.next_alarm())
    }

    /// Lets time pass until then. What is due on the way is done in its order, each at its own time.
    pub(crate) fn go_to(&self, time: Time) {
        while let Some(alarm) = self.next_alarm().filter(|&alarm| alarm <= time) {
            self.clock.go_to(alarm);
            self.with(|policy, effects| policy.tick(effects));
        }
        self.clock.go_to(time);
    }
}
