//! An executor's end of the pool.

use super::grant::Grant;
use super::{LeaseId, NodeSpec};
#[cfg(feature = "thread")]
use crate::engine::Taken;
use crate::engine::{self, Effects, Engine, NodeKey, Policy};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What an executor is given to serve: work on request, and orders. Cheap to clone.
#[derive(Clone)]
pub struct Feed {
    engine: Arc<Engine>,
}

/// A node that has joined the pool. Dropping it leaves the pool: no more is granted for it.
pub struct Node {
    engine: Arc<Engine>,
    key: NodeKey,
}

/// What the pool asks of its executor.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Order {
    /// The attempt no longer counts: stop it, if that is possible.
    Stop(LeaseId),
    /// Have this many slots. Tell the pool with [`Node::resize`].
    Resize(u32),
}

impl Feed {
    pub(crate) fn new(engine: Arc<Engine>) -> Self {
        Feed { engine }
    }

    /// Adds a node to the pool.
    pub fn join(&self, spec: NodeSpec) -> Node {
        let (key, others) = self
            .engine
            .with(|policy, effects| policy.join(spec, effects));
        if others {
            // A waiter of a node that is full must not keep the bell from those of one that has room.
            self.engine.bell().ring_for_all();
        }
        Node {
            engine: self.engine.clone(),
            key,
        }
    }

    /// The next order; `None` once the pool is closed and its runs have ended. May be dropped while it waits.
    pub async fn order(&self) -> Option<Order> {
        loop {
            let changed = self.engine.listen();
            let next = self.engine.with(|policy, _| match policy.next_order() {
                Some(order) => Some(Some(order)),
                None => policy.is_over().then_some(None),
            });
            match next {
                Some(next) => return next.map(Order::from),
                None => changed.await,
            }
        }
    }

    /// The next order, if there is one now.
    pub fn try_order(&self) -> Option<Order> {
        let next = self.engine.with(|policy, _| policy.next_order());
        next.map(Order::from)
    }

    /// Waits until the pool is closed and its runs have ended.
    #[cfg(feature = "testing")]
    pub(crate) async fn over(&self) {
        loop {
            let changed = self.engine.listen();
            if self.engine.look(|policy| policy.is_over()) {
                return;
            }
            changed.await;
        }
    }

    #[cfg(any(feature = "thread", feature = "process"))]
    pub(super) fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }
}

impl Node {
    /// At most `room` ready tasks of one run, charged to this node; `None` if there is nothing to do just now.
    pub fn try_take(&self, room: u32) -> Option<Grant> {
        let take = |policy: &mut Policy, effects: &mut Effects| {
            policy.take(self.key, room, false, effects)
        };
        self.engine.with(take).map(Grant::new)
    }

    /// As [`try_take`](Node::try_take), waiting until there is something. `None` once the pool is closed and its runs
    /// have ended. May be dropped while it waits.
    pub async fn take(&self, room: u32) -> Option<Grant> {
        let waiter = Waiter::of(self);
        self.engine
            .bell()
            .wait_async(|| waiter.grant_or_end(room))
            .await
    }

    /// As [`take`](Node::take), blocking this thread.
    pub fn take_blocking(&self, room: u32) -> Option<Grant> {
        let waiter = Waiter::of(self);
        self.engine.bell().wait(|| waiter.grant_or_end(room))
    }

    /// The node has another number of slots from now on. Tasks that are running are left alone; workers beyond the
    /// number give back what they have not begun.
    pub fn resize(&self, slots: u32) {
        self.engine
            .with(|policy, effects| policy.resize(self.key, slots, effects));
        self.engine.bell().ring_all();
    }

    /// What a lane's worker does next.
    #[cfg(feature = "thread")]
    pub(super) fn take_for_lane(
        &self,
        policy: &mut Policy,
        effects: &mut Effects,
    ) -> Option<Taken> {
        policy.take(self.key, 1, true, effects)
    }

    /// As [`try_take`](Node::try_take), in a transition that is under way.
    #[cfg(all(feature = "process", target_os = "linux"))]
    pub(super) fn take_in(
        &self,
        room: u32,
        policy: &mut Policy,
        effects: &mut Effects,
    ) -> Option<Grant> {
        policy.take(self.key, room, false, effects).map(Grant::new)
    }

    pub(super) fn is_over(&self) -> bool {
        self.engine.look(|policy| policy.is_over())
    }

    /// A worker more, or less, while a body waits for others.
    #[cfg(any(feature = "thread", feature = "testing"))]
    pub(crate) fn stand_in(&self, more: bool) {
        self.engine
            .with(|policy, effects| policy.stand_in(self.key, more, effects));
    }
}

/// Someone who waits for work for a node. While it does, tasks may be left for it by nodes that suit them less.
struct Waiter<'a> {
    node: &'a Node,
    waits: AtomicBool,
}

impl<'a> Waiter<'a> {
    fn of(node: &'a Node) -> Self {
        let waits = AtomicBool::new(false);
        Waiter { node, waits }
    }

    fn grant_or_end(&self, room: u32) -> Option<Option<Grant>> {
        let (engine, key) = (&self.node.engine, self.node.key);
        let taken = engine.with(|policy, effects| {
            let taken = policy.take(key, room, false, effects);
            if taken.is_none() {
                policy.set_waiting(key, true, effects);
            }
            taken
        });
        self.waits.store(taken.is_none(), Ordering::Relaxed);
        match taken {
            Some(taken) => Some(Some(Grant::new(taken))),
            None => self.node.is_over().then_some(None),
        }
    }
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        let (engine, key) = (&self.node.engine, self.node.key);
        if self.waits.load(Ordering::Relaxed) {
            engine.with(|policy, effects| policy.set_waiting(key, false, effects));
        }
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.engine
            .with(|policy, effects| policy.leave(self.key, effects));
    }
}

impl From<engine::Order> for Order {
    fn from(order: engine::Order) -> Self {
        match order {
            engine::Order::Stop(key) => Order::Stop(LeaseId(key)),
            engine::Order::Resize(slots) => Order::Resize(slots),
        }
    }
}

impl fmt::Debug for Feed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Feed").finish_non_exhaustive()
    }
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Node")
            .field("key", &self.key)
            .finish_non_exhaustive()
    }
}
