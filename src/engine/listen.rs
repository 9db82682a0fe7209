//! Listening to what happens.

use super::chronicle::{Chronicle, Scope};
use super::{Engine, Run};
use std::sync::Arc;
use std::time::SystemTime;

impl Engine {
    /// The pool's events.
    pub(crate) fn chronicle(&self) -> &Chronicle {
        &self.chronicle
    }

    /// What times are counted from, by this machine's clock.
    pub(crate) fn started_at(&self) -> SystemTime {
        self.clock.started_at()
    }

    #[cfg(not(feature = "testing"))]
    fn is_by_hand(&self) -> bool {
        false
    }

    /// Whether no thread has the pool go on.
    #[cfg(feature = "testing")]
    fn is_by_hand(&self) -> bool {
        self.clock.is_by_hand()
    }

    /// Adds a listener: to one run, or to everything.
    pub(crate) fn add_listener(&self, run: Option<&Arc<Run>>) -> u64 {
        if !self.is_by_hand() {
            self.chronicle.open_desk(&self.me);
        }
        let scope = run.map_or(Scope::Pool, |run| Scope::Run(run.seq()));
        let (listener, aftermath, _openings) = self.with(|policy, effects| {
            let openings = policy.open(run, effects);
            // What quiescing brought about was decided before there was a listener.
            effects.write_down(self);
            let nodes = policy.nodes_seen();
            let (listener, aftermath) = self.chronicle.listen(scope, self.now(), &openings, nodes);
            (listener, aftermath, openings)
        });
        aftermath.finish();
        listener
    }

    /// A listener goes.
    pub(crate) fn remove_listener(&self, listener: u64) {
        let aftermath = self.with(|policy, _| {
            let (nobody, aftermath) = self.chronicle.leave(listener);
            if nobody {
                policy.close_to_listeners();
            }
            aftermath
        });
        aftermath.finish();
    }

    /// Enters what has been written down. Returns whether that was anything.
    pub(crate) fn enter_events(&self) -> bool {
        self.chronicle.enter(self.now())
    }

    /// The pool is over.
    pub(crate) fn end_events(&self) {
        self.chronicle.end(self.now());
    }
}
