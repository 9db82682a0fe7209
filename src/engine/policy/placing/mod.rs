//! Which ready task starts next, and where.
//!
//! Plain state: no clock, no I/O, no lock. Executors pull, so a decision is always the answer to one node's
//! [`take`](Placing::take): the most urgent ready task that has room there.
//!
//! - Each distinct request is a *class* with a queue; decisions look at the heads of queues only, so their cost grows
//!   with the number of classes and not with that of tasks. Never a solver.
//! - When the first task of a class has room on no node, though it could have, a *reservation* is made on the node that
//!   is nearest to having room. Less urgent tasks may take from that node only what the reserved one does not use or
//!   what is left over once it has all that it needs. So what it lacks never grows by anything less urgent, shrinks
//!   with every task that ends there, and is zero in the end: a large request never starves, and is never delayed by a
//!   less urgent one. What is on other nodes, or of other kinds, the less urgent may have.
//! - A *gang*, which is a task with several instances, starts as a whole or not at all: its reservation is a set of nodes, and is taken up when all of them have
//!   room at once. Its parts are charged then, and wait for their nodes to ask.
//! - Packing and spreading: a node that asks is passed over when another that waits for work suits the first task
//!   better, and that one is named in [`woken`](Placing::woken).

mod classes;
mod explain;
mod floor;
mod gang;
mod gpus;
mod heads;
mod levels;
mod names;
mod needs;
mod nodes;
mod placement;
mod queue;
mod rank;
mod reserve;
#[cfg(test)]
mod tests;
mod visit;
mod walk;

pub(crate) use explain::Explanation;
pub(crate) use needs::Request;
pub(crate) use nodes::Allocation;
pub(crate) use queue::Lane;
#[cfg(test)]
pub(crate) use queue::ReadyCount;
pub(crate) use rank::{Position, Rank, Tie};

use crate::model::{Capacity, Placement, Resources};
use floor::Floor;
use heads::EVERYWHERE;
use levels::lacking;
use queue::Ready;
use std::ops::Range;
use visit::{Choice, Visit};

/// Ready tasks, nodes, and who gets what.
#[derive(Default)]
pub(crate) struct Placing {
    ready: Ready,
    floor: Floor,
}

/// A distinct request.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct ClassId(u32);

/// A node. Keys are not used again.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct NodeKey(u32);

impl NodeKey {
    /// In the order of joining, from 0.
    pub(crate) fn number(self) -> u32 {
        self.0
    }
}

/// A run, or a part of one that has a limit of its own, such as an array. The number means nothing here.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct RunKey(pub(crate) u32);

/// How many more tasks of a run may run now.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Limit(pub(crate) u32);

/// What a node asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Room {
    /// At most so many tasks.
    pub(crate) tasks: u32,
    /// They run one after another, so that all of them are charged as one.
    pub(crate) sequential: bool,
}

/// Consecutive tasks of one entry, and the entry's place in the order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Span {
    position: Position,
    start: u32,
}

/// Tasks that a node was given, and the share of it that they hold.
#[derive(PartialEq, Eq, Debug)]
pub(crate) struct Placed {
    pub(crate) class: ClassId,
    pub(crate) run: RunKey,
    pub(crate) spans: Vec<Span>,
    pub(crate) allocation: Allocation,
    /// Which of the instances it is, if there are several.
    pub(crate) part: Option<Part>,
}

/// An instance of a task that has several.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Part {
    /// Those that started together have the same number.
    pub(crate) gang: u64,
    pub(crate) instance: u32,
    pub(crate) instances: u32,
}

impl Placing {
    /// Places tasks as told from now on.
    pub(crate) fn set_placement(&mut self, placement: Placement) {
        self.floor.placement = placement;
    }

    /// The class of a request: the same for equal requests.
    pub(crate) fn intern(&mut self, request: &Request) -> ClassId {
        let (class, new) = self.floor.classes.intern(request);
        if new {
            let instances = request.gang().map_or(1, |gang| gang.instances);
            self.ready.add_class(request.slots(), instances);
        }
        class
    }

    /// Tasks became ready. A range stays one entry, however long.
    pub(crate) fn push(&mut self, class: ClassId, rank: Rank, run: RunKey, tasks: Range<u32>) {
        let span = self.span(rank, tasks);
        self.insert(class, run, span);
    }

    fn span(&mut self, rank: Rank, tasks: Range<u32>) -> Span {
        let position = Position::new(rank, self.ready.stamp(), tasks.end);
        Span {
            position,
            start: tasks.start,
        }
    }

    /// Tasks that were taken and not begun go back to their place in the order; a gang only as a whole.
    pub(crate) fn requeue(
        &mut self,
        class: ClassId,
        run: RunKey,
        spans: impl IntoIterator<Item = Span>,
    ) {
        spans
            .into_iter()
            .for_each(|span| self.insert(class, run, span));
    }

    /// Forgets what a run has ready. What is returned is only to be dropped, outside locks: it may be large. What the
    /// run has running goes on, until it is released.
    #[must_use = "drop it outside locks"]
    pub(crate) fn remove_run(&mut self, run: RunKey) -> Vec<Lane> {
        let removed = self.ready.remove_run(run);
        self.floor.withdraw(&mut |part| part.run == run);
        for class in self.floor.classes.ids() {
            self.note_head(class);
        }
        self.note_holds();
        removed
    }

    /// The most urgent ready tasks that have room on the node: of one class and run, which `may` lets start; only of
    /// those that come `before` a place in the order, if that is given.
    ///
    /// `None` means that there is nothing for this node now, or that another one is to have it first: see
    /// [`woken`](Placing::woken). Ask again after whatever makes room or work.
    pub(crate) fn take(
        &mut self,
        node: NodeKey,
        room: Room,
        before: Option<Position>,
        may: &mut dyn FnMut(RunKey) -> Limit,
    ) -> Option<Placed> {
        if let Some(part) = self.floor.pick_up(node) {
            self.floor.note_answer(node, true);
            return Some(part);
        }
        let visit = Visit { node, room, before };
        let choice = self.floor.choose(&self.ready, visit, may);
        let placed = choice.and_then(|choice| self.start(node, room, choice));
        self.note_holds();
        self.floor.note_answer(node, placed.is_some());
        self.floor.check(node);
        placed
    }

    fn start(&mut self, node: NodeKey, room: Room, choice: Choice) -> Option<Placed> {
        let placed = match choice {
            Choice::Tasks(choice) => {
                let (class, run) = (choice.class, choice.run);
                let spans = self.ready.take(class, run, choice.tasks, choice.bound);
                let tasks = spans.iter().map(|span| span.len() as u32).sum();
                let units = if room.sequential { 1 } else { tasks };
                Some(Placed {
                    class,
                    run,
                    spans,
                    allocation: self.floor.charge(node, class, units),
                    part: None,
                })
            }
            Choice::Gang(choice) => {
                let (class, run) = (choice.class, choice.run);
                let spans = self.ready.take(class, run, 1, None);
                self.floor.start_gang(class, run, &spans, &choice.places);
                self.note_head(class);
                self.floor.pick_up(node)
            }
        }?;
        self.note_head(placed.class);
        Some(placed)
    }

    /// The first task of a class is another one: what is reserved is for that, if there is one.
    fn note_head(&mut self, class: ClassId) {
        let head = self.ready.head(class);
        if head.is_none() {
            self.floor.drop_hold(class);
        }
        self.floor.classes.get_mut(class).hold.head = head;
    }

    /// Arranges what is ready by what is reserved now.
    fn note_holds(&mut self) {
        while let Some(class) = self.floor.reheld.pop() {
            let hold = &self.floor.classes.get(class).hold;
            let reach = match hold.places[..] {
                [] => EVERYWHERE,
                _ => lacking(self.ready.slots(class), hold.shortfall),
            };
            self.ready.set_reach(class, reach);
        }
    }

    /// One slot for work of this rank that is not placed task by task, unless what the node has is kept for something
    /// more urgent.
    pub(crate) fn charge_slot(&mut self, node: NodeKey, rank: Rank) -> Option<Allocation> {
        let class = self.slot_class();
        let behind = Position::behind(rank);
        let is_before = |other: ClassId| self.ready.head(other).is_some_and(|head| head < behind);
        let room = self.floor.left(node, &is_before)?;
        if !room.fits(&self.floor.classes.get(class).needs) {
            return None;
        }
        let allocation = self.floor.charge(node, class, 1);
        self.floor.check(node);
        Some(allocation)
    }

    /// The class of what asks for a slot and nothing else.
    pub(crate) fn slot_class(&mut self) -> ClassId {
        self.intern(&Request::blocking(Resources::default()))
    }

    /// Whether the tasks of a class hold slots: bodies that wait don't.
    pub(crate) fn holds_slots(&self, class: ClassId) -> bool {
        self.floor.classes.get(class).needs.slots() > 0
    }

    /// Gives back what tasks held. Of a node that has left, there is nothing to give back.
    pub(crate) fn release(&mut self, node: NodeKey, allocation: Allocation) {
        let needs = &self.floor.classes.get(allocation.class()).needs;
        self.floor.nodes.release(node, needs, allocation);
        self.floor.check(node);
    }

    /// Takes back the parts of a gang that no node has asked for yet.
    pub(crate) fn withdraw(&mut self, gang: u64) {
        let is_of = |placed: &Placed| placed.part.is_some_and(|part| part.gang == gang);
        self.floor.withdraw(&mut |placed| is_of(placed));
    }

    /// Nodes that are to ask now, since the last call: others stood back for them, or a part of a gang waits there.
    pub(crate) fn woken(&mut self) -> Vec<NodeKey> {
        std::mem::take(&mut self.floor.woken)
    }

    fn insert(&mut self, class: ClassId, run: RunKey, span: Span) {
        self.ready.insert(class, run, span);
        self.floor.classes.get_mut(class).hold.head = self.ready.head(class);
    }
}

/// Nodes.
impl Placing {
    /// A node joins.
    pub(crate) fn add_node(&mut self, capacity: &Capacity) -> NodeKey {
        self.floor.add_node(capacity)
    }

    /// A node leaves. What it held is gone with it; returned are parts of gangs that it had not asked for yet.
    pub(crate) fn remove_node(&mut self, node: NodeKey) -> Vec<Placed> {
        let parts = self.floor.remove_node(node);
        self.note_holds();
        parts
    }

    /// A node has another number of slots. It may be fewer than are in use: then nothing starts until enough are free.
    pub(crate) fn resize_slots(&mut self, node: NodeKey, slots: u32) {
        self.floor.drop_holds_at(node);
        self.note_holds();
        self.floor.nodes.resize_slots(node, slots);
        self.floor.check(node);
    }

    /// So many slots come on top of the node's own while bodies wait there.
    pub(crate) fn set_lent(&mut self, node: NodeKey, slots: u32) {
        self.floor.nodes.set_lent(node, slots);
        self.floor.check(node);
    }

    /// A node waits for work, and asks as soon as it is woken; or no longer. Packing and spreading choose among these. A
    /// successful [`take`](Placing::take) clears it. Says whether others stood back for one that no longer waits.
    pub(crate) fn set_hungry(&mut self, node: NodeKey, hungry: bool) -> bool {
        self.floor.nodes.set_hungry(node, hungry);
        let state = self.floor.nodes.get_mut(node).filter(|_| !hungry);
        state.is_some_and(|state| std::mem::take(&mut state.expected))
    }

    /// How many slots a node has, lent ones included, and how many of them are in use.
    #[cfg(test)]
    pub(crate) fn slots(&self, node: NodeKey) -> Option<(u32, u32)> {
        Some(self.floor.nodes.get(node)?.slots())
    }

    /// Whether some node has more slots in use than it has.
    pub(crate) fn is_over_committed(&self) -> bool {
        self.floor
            .nodes
            .iter()
            .any(|(_, node)| node.free.slots() < 0)
    }
}

/// What is ready.
impl Placing {
    /// Whether anything is ready, whether or not it may start.
    pub(crate) fn has_ready(&self) -> bool {
        self.ready.count().tasks > 0
    }

    /// What a run has ready, class by class: the first task of each, and how many there are.
    pub(crate) fn heads_of(&self, run: RunKey) -> Vec<(u32, u64)> {
        self.ready.heads_of(run)
    }

    /// How much is ready.
    #[cfg(test)]
    pub(crate) fn ready(&self) -> ReadyCount {
        self.ready.count()
    }
}

impl Limit {
    /// Nothing may start.
    pub(crate) const NONE: Limit = Limit(0);
    /// As many as have room.
    pub(crate) const UNLIMITED: Limit = Limit(u32::MAX);
}

impl Span {
    /// The tasks.
    pub(crate) fn tasks(self) -> Range<u32> {
        self.start..self.position.end()
    }

    /// Leaves the first `tasks` here, and gives the others.
    #[cfg(test)]
    pub(crate) fn split_off(&mut self, tasks: u32) -> Span {
        let middle = self.start.saturating_add(tasks).min(self.position.end());
        let rest = Span {
            start: middle,
            ..*self
        };
        self.position = self.position.ending(middle);
        rest
    }

    fn len(&self) -> u64 {
        self.position.end().saturating_sub(self.start).into()
    }

    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
impl Placed {
    /// All tasks, in order.
    pub(crate) fn tasks(&self) -> impl Iterator<Item = u32> {
        self.spans.iter().flat_map(|span| span.tasks())
    }
}
