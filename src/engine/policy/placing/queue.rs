//! What is ready, in order.
//!
//! A queue for each class, in it a lane for each run, in it entries by position. Heads are indexed twice: those of the
//! lanes of a class, and those of all classes. So a run that may not start anything is passed over as a whole, and no
//! decision looks at more than heads.

use super::heads::{EVERYWHERE, Head, Heads, Reach};
use super::rank::Position;
use super::{ClassId, RunKey, Span};
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};

/// All ready tasks.
#[derive(Default)]
pub(super) struct Ready {
    queues: Vec<Queue>,
    /// The first lanes of all classes.
    pub(super) heads: Heads,
    count: ReadyCount,
    stamp: u64,
}

/// How much is ready.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct ReadyCount {
    pub(crate) tasks: u64,
    /// The slots that these tasks would hold if all ran at once. Bodies that wait hold none.
    pub(crate) slots: u64,
}

/// The ready tasks of one class.
#[derive(Default)]
pub(super) struct Queue {
    lanes: FxHashMap<RunKey, Lane>,
    /// The lanes by their heads.
    pub(super) order: BTreeSet<(Position, RunKey)>,
    slots: u32,
    instances: u32,
    tasks: u64,
    /// Which nodes look at the first task although they have no slots for it.
    reach: Reach,
}

/// The ready tasks of one class and run. Opaque outside: dropping a large one takes time.
#[derive(Default)]
pub(crate) struct Lane {
    /// The first task of each entry. The last is in the position.
    entries: BTreeMap<Position, u32>,
    tasks: u64,
}

impl Ready {
    /// Makes the queue of a new class, whose tasks have so many instances with so many slots each.
    pub(super) fn add_class(&mut self, slots: u32, instances: u32) {
        self.queues.push(Queue {
            slots,
            instances,
            reach: EVERYWHERE,
            ..Queue::default()
        });
    }

    /// A number greater than all before.
    pub(super) fn stamp(&mut self) -> u64 {
        self.stamp += 1;
        self.stamp
    }

    /// The first task of a run in each class, and how many of the run there are in it.
    pub(super) fn heads_of(&self, run: RunKey) -> Vec<(u32, u64)> {
        let lanes = self.queues.iter().filter_map(|queue| queue.lanes.get(&run));
        let head = |lane: &Lane| Some((*lane.entries.first_key_value()?.1, lane.tasks));
        lanes.filter_map(head).collect()
    }

    pub(super) fn queue(&self, class: ClassId) -> &Queue {
        &self.queues[class.0 as usize]
    }

    /// Where the most urgent of a class is.
    pub(super) fn head(&self, class: ClassId) -> Option<Position> {
        self.queue(class).head().map(|(head, _)| head)
    }

    pub(super) fn count(&self) -> ReadyCount {
        self.count
    }

    /// The first task of a run in a class.
    pub(super) fn first(&self, class: ClassId, run: RunKey) -> Option<u32> {
        let lane = self.queue(class).lanes.get(&run)?;
        lane.entries.first_key_value().map(|(_, &first)| first)
    }

    pub(super) fn insert(&mut self, class: ClassId, run: RunKey, span: Span) {
        if span.is_empty() {
            return;
        }
        let added = self.change(class, run, |lane| lane.insert(span));
        self.add(class, added as i64);
    }

    /// Takes up to `most` of the run's tasks: of its first entry, and of those after it that come before `bound`.
    pub(super) fn take(
        &mut self,
        class: ClassId,
        run: RunKey,
        most: u32,
        bound: Option<Position>,
    ) -> Vec<Span> {
        let spans = self.change(class, run, |lane| lane.take(most, bound));
        let taken: u64 = spans.iter().map(Span::len).sum();
        self.add(class, -(taken as i64));
        spans
    }

    /// Forgets a run; what it had ready is returned, to be dropped where nobody waits for it.
    pub(super) fn remove_run(&mut self, run: RunKey) -> Vec<Lane> {
        let classes = (0..self.queues.len() as u32).map(ClassId);
        classes
            .filter_map(|class| self.remove_lane(class, run))
            .collect()
    }

    fn remove_lane(&mut self, class: ClassId, run: RunKey) -> Option<Lane> {
        if !self.queue(class).lanes.contains_key(&run) {
            return None;
        }
        let lane = self.change(class, run, std::mem::take);
        self.add(class, -(lane.tasks as i64));
        Some(lane)
    }

    /// Changes a lane, and both indexes if its head is another afterwards.
    fn change<R>(&mut self, class: ClassId, run: RunKey, change: impl FnOnce(&mut Lane) -> R) -> R {
        let queue = &mut self.queues[class.0 as usize];
        let lane = queue.lanes.entry(run).or_default();
        let before = lane.head();
        let answer = change(lane);
        let after = lane.head();
        if before != after {
            let first = queue.head();
            queue.reorder(run, before, after);
            let then = queue.head();
            self.reorder(class, first, then);
        } else if after.is_none() {
            queue.lanes.remove(&run);
        }
        answer
    }

    fn reorder(
        &mut self,
        class: ClassId,
        before: Option<(Position, RunKey)>,
        after: Option<(Position, RunKey)>,
    ) {
        if before != after {
            let head = |(position, run)| (position, class, run);
            let Queue { slots, reach, .. } = self.queues[class.0 as usize];
            let (before, after) = (before.map(head), after.map(head));
            self.heads.change(slots.into(), reach, before, after);
        }
    }

    /// Something is reserved for the first task of a class, or nearer, or no longer.
    pub(super) fn set_reach(&mut self, class: ClassId, reach: Reach) {
        let head = self.head_of(class);
        let queue = &mut self.queues[class.0 as usize];
        queue.reach = reach;
        if let Some(head) = head {
            self.heads.set_reach(queue.slots.into(), head, reach);
        }
    }

    pub(super) fn reach(&self, class: ClassId) -> Reach {
        self.queue(class).reach
    }

    /// The first lane of a class, as it stands among the heads of all.
    pub(super) fn head_of(&self, class: ClassId) -> Option<Head> {
        let (position, run) = self.queue(class).head()?;
        Some((position, class, run))
    }

    /// How many slots each instance of a class's tasks holds.
    pub(super) fn slots(&self, class: ClassId) -> i64 {
        self.queue(class).slots.into()
    }

    fn add(&mut self, class: ClassId, tasks: i64) {
        let queue = &mut self.queues[class.0 as usize];
        queue.tasks = queue.tasks.wrapping_add_signed(tasks);
        self.count.tasks = self.count.tasks.wrapping_add_signed(tasks);
        self.count.slots = self
            .count
            .slots
            .wrapping_add_signed(tasks * i64::from(queue.slots) * i64::from(queue.instances));
    }

    /// Whether the indexes and counts are those of the entries.
    #[cfg(test)]
    pub(super) fn is_consistent(&self) -> bool {
        let tasks: u64 = self.queues.iter().map(|queue| queue.tasks).sum();
        let heads = self
            .queues
            .iter()
            .filter(|queue| queue.head().is_some())
            .count();
        tasks == self.count.tasks
            && heads == self.heads.iter().count()
            && self.queues.iter().all(Queue::is_consistent)
    }
}

impl Queue {
    fn head(&self) -> Option<(Position, RunKey)> {
        self.order.first().copied()
    }

    fn reorder(&mut self, run: RunKey, before: Option<Position>, after: Option<Position>) {
        after.map(|head| self.order.insert((head, run)));
        before.map(|head| self.order.remove(&(head, run)));
        if after.is_none() {
            self.lanes.remove(&run);
        }
    }

    #[cfg(test)]
    fn is_consistent(&self) -> bool {
        let heads = self
            .lanes
            .iter()
            .filter_map(|(&run, lane)| Some((lane.head()?, run)));
        let tasks: u64 = self.lanes.values().map(|lane| lane.tasks).sum();
        heads.collect::<BTreeSet<_>>() == self.order
            && self.lanes.len() == self.order.len()
            && tasks == self.tasks
    }
}

impl Lane {
    fn head(&self) -> Option<Position> {
        self.entries.first_key_value().map(|(&head, _)| head)
    }

    /// Returns by how many tasks the lane has grown.
    fn insert(&mut self, span: Span) -> u64 {
        let old = self.entries.insert(span.position, span.start);
        debug_assert!(old.is_none(), "two entries of a run in one place");
        let replaced = old.map_or(0, |start| Span { start, ..span }.len());
        let added = span.len().wrapping_sub(replaced);
        self.tasks = self.tasks.wrapping_add(added);
        added
    }

    fn take(&mut self, most: u32, bound: Option<Position>) -> Vec<Span> {
        let mut spans = Vec::new();
        let mut left = most;
        while left > 0
            && self
                .head()
                .is_some_and(|head| may_take(head, &spans, bound))
        {
            let Some(span) = self.take_first(left) else {
                break;
            };
            left -= span.len() as u32;
            self.tasks -= span.len();
            spans.push(span);
        }
        spans
    }

    fn take_first(&mut self, most: u32) -> Option<Span> {
        let mut first = self.entries.first_entry()?;
        let (position, start) = (*first.key(), *first.get());
        let span = Span { position, start };
        if span.len() <= most.into() {
            first.remove();
            return Some(span);
        }
        first.insert(start + most);
        Some(Span {
            position: position.ending(start + most),
            start,
        })
    }
}

fn may_take(head: Position, spans: &[Span], bound: Option<Position>) -> bool {
    spans.is_empty() || bound.is_none_or(|bound| head < bound)
}
