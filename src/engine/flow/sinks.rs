//! Where a lane leaves what becomes ready.

use super::shift::Shift;
use super::witness::Witness;
use super::{Item, Ready, Sink};
use crate::model::{ELEMENT, TaskId};
use std::ops::Range;

/// Newly ready work stays with the lane: the first node is next, the rest is up for stealing.
///
/// First, not last: a grid's diagonal stays in step that way, and runs three to four times as fast.
pub(super) struct Here<'a, 'b, S, W> {
    pub(super) shift: &'a Shift<'b, S>,
    pub(super) witness: &'a W,
    pub(super) by: Option<TaskId>,
}

impl<S: Witness, W: Witness> Here<'_, '_, S, W> {
    /// Whoever steals it must not be heard of first.
    #[inline]
    fn push(&self, item: Item) {
        self.witness.publish();
        self.shift.push(item);
    }
}

impl<S: Witness, W: Witness> Sink for Here<'_, '_, S, W> {
    fn ready(&mut self, item: Item) {
        if let (true, Ready::Elements(numbers)) = (W::ATTENTIVE, item.ready()) {
            let ids = numbers.start | ELEMENT..numbers.end | ELEMENT;
            self.witness.ready(ids, self.by);
        }
        self.push(item);
    }

    #[inline]
    fn node(&mut self, node: u32) {
        let id = self.shift.base + node;
        if W::ATTENTIVE && self.shift.nodes.runs_on_lanes(node) {
            self.witness.ready(id..id + 1, self.by);
        }
        let next = &self.shift.lane.next;
        match next.get() {
            None => next.set(Some(node)),
            Some(_) => self.push(Item::node(id)),
        }
    }

    fn queue_elements(&mut self, _: Range<u32>) {
        debug_assert!(false, "a node's success makes nodes ready, and no elements");
    }
}

/// As [`Here`], for the run's numbers, with what the policy must start put aside until the lane is outside the gate: the
/// engine's lock is never taken inside.
pub(super) struct Both<'a, 'b, 'q, S, W> {
    pub(super) here: Here<'a, 'b, S, W>,
    pub(super) queued: &'q mut Vec<Range<u32>>,
}

impl<S: Witness, W: Witness> Sink for Both<'_, '_, '_, S, W> {
    fn ready(&mut self, item: Item) {
        self.here.ready(item);
    }

    fn node(&mut self, node: u32) {
        self.here.node(node - self.here.shift.base);
    }

    fn queue_elements(&mut self, elements: Range<u32>) {
        self.queued.push(elements);
    }

    fn elements_succeeded(&mut self, elements: Range<u32>) {
        let ids = elements.start | ELEMENT..elements.end | ELEMENT;
        self.here.witness.settled(ids);
    }
}
