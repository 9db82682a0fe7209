//! What bodies do, and what is known of what they did.

use super::ends::value_of;
use super::plan::{Fate, Node, Plan};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::{Sender, channel};

/// An output: of a type that needs dropping, or of one that doesn't.
pub(crate) trait Value: Clone + Send + Sync + 'static {
    fn new(number: u64, living: &Arc<AtomicI64>) -> Self;
    fn number(&self) -> u64;
}

impl Value for u64 {
    fn new(number: u64, _: &Arc<AtomicI64>) -> Self {
        number
    }

    fn number(&self) -> u64 {
        *self
    }
}

/// Counts how many of it are alive, and dies if it is used or dropped when it is dead.
pub(crate) struct Living {
    number: Box<u64>,
    count: Arc<AtomicI64>,
}

impl Value for Living {
    fn new(number: u64, living: &Arc<AtomicI64>) -> Self {
        living.fetch_add(1, SeqCst);
        Living {
            number: Box::new(number),
            count: living.clone(),
        }
    }

    fn number(&self) -> u64 {
        *self.number
    }
}

impl Clone for Living {
    fn clone(&self) -> Self {
        Living::new(*self.number, &self.count)
    }
}

impl Drop for Living {
    fn drop(&mut self) {
        self.count.fetch_sub(1, SeqCst);
    }
}

/// What bodies do, and what is known of what they did.
pub(crate) struct World {
    pub(crate) plan: Plan,
    pub(crate) living: Arc<AtomicI64>,
    pub(crate) ran: Vec<Vec<AtomicU32>>,
    pub(crate) begun: AtomicUsize,
    /// Every body succeeds from now on.
    pub(crate) mended: AtomicBool,
    pub(crate) events: Sender<Event>,
}

pub(crate) enum Event {
    /// So many bodies have begun. The one that sends it may wait for the answer.
    Begun(usize, Option<Sender<()>>),
    Ended,
}

#[derive(Debug, thiserror::Error)]
#[error("failed as planned")]
pub(crate) struct Planned;

impl World {
    pub(crate) fn new(plan: &Plan, events: Sender<Event>) -> Self {
        let counters = |node: &Node| node.fates.iter().map(|_| AtomicU32::new(0)).collect();
        World {
            plan: plan.clone(),
            living: Arc::default(),
            ran: plan.nodes.iter().map(counters).collect(),
            begun: AtomicUsize::new(0),
            mended: AtomicBool::new(false),
            events,
        }
    }

    pub(crate) fn body<V: Value>(
        &self,
        node: usize,
        index: usize,
        inputs: impl IntoIterator<Item = u64>,
    ) -> Result<V, Planned> {
        self.ran[node][index].fetch_add(1, SeqCst);
        let value = V::new(value_of(node, index, inputs), &self.living);
        let begun = self.begun.fetch_add(1, SeqCst) + 1;
        for cancel in self
            .plan
            .cancels
            .iter()
            .filter(|cancel| cancel.after == begun)
        {
            let (answer, done) = channel();
            let sent = self
                .events
                .send(Event::Begun(begun, cancel.held.then_some(answer)));
            if sent.is_ok() && cancel.held {
                let _ = done.recv();
            }
        }
        match self.plan.nodes[node].fates[index] {
            _ if self.mended.load(SeqCst) => Ok(value),
            Fate::Succeeds => Ok(value),
            Fate::Fails => Err(Planned),
            Fate::Panics => panic!("panicked as planned"),
        }
    }
}
