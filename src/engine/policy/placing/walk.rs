//! Candidates for the next start, most urgent first.

use super::heads::{Cursor, Head};
use super::queue::Ready;
use super::rank::Position;
use super::{ClassId, Limit, Placing, RunKey};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Goes through the classes by the most urgent of their tasks that may start.
pub(super) struct Walk<'a> {
    ready: &'a Ready,
    cursors: &'a mut Vec<Cursor>,
    /// The cursor at the most urgent head.
    first: Option<usize>,
    /// Classes whose first lanes may not start anything: what of them may, later in the order.
    deferred: BinaryHeap<Reverse<Candidate>>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Candidate {
    pub(super) position: Position,
    pub(super) class: ClassId,
    pub(super) run: RunKey,
    pub(super) limit: Limit,
}

pub(super) enum Step {
    Candidate(Candidate),
    /// Nothing of the class may start.
    Paused(ClassId),
}

impl<'a> Walk<'a> {
    pub(super) fn new(ready: &'a Ready, cursors: &'a mut Vec<Cursor>) -> Self {
        let first = first_of(cursors);
        Walk {
            ready,
            cursors,
            first,
            deferred: BinaryHeap::new(),
        }
    }

    pub(super) fn next(&mut self, may: &mut dyn FnMut(RunKey) -> Limit) -> Option<Step> {
        loop {
            let head = self.first.map(|at| self.cursors[at].head);
            if self
                .deferred
                .peek()
                .is_some_and(|Reverse(other)| is_before(other, head))
            {
                return self
                    .deferred
                    .pop()
                    .map(|Reverse(other)| Step::Candidate(other));
            }
            let (position, class, run) = self.ready.heads.advance(self.first?, self.cursors);
            self.first = first_of(self.cursors);
            let limit = may(run);
            if limit > Limit::NONE {
                return Some(Step::Candidate(Candidate {
                    position,
                    class,
                    run,
                    limit,
                }));
            }
            match self.first_allowed(class, may) {
                None => return Some(Step::Paused(class)),
                Some(found) => self.deferred.push(Reverse(found)),
            }
        }
    }

    /// Where in the order something comes next, whether or not it may start.
    pub(super) fn peek(&self) -> Option<Position> {
        let head = self.first.map(|at| self.cursors[at].head.0);
        let deferred = self.deferred.peek().map(|Reverse(other)| other.position);
        head.into_iter().chain(deferred).min()
    }

    /// Has a candidate come again.
    pub(super) fn put_back(&mut self, candidate: Candidate) {
        self.deferred.push(Reverse(candidate));
    }

    /// Leaves what asks for more slots to another walk.
    pub(super) fn limit(&mut self, slots: i64, others: &mut Walk<'_>) {
        let more = |cursor: &mut Cursor| cursor.slots > slots.max(0);
        let before = self.cursors.len();
        others.cursors.extend(self.cursors.extract_if(.., more));
        if self.cursors.len() < before {
            self.first = first_of(self.cursors);
            others.first = first_of(others.cursors);
        }
    }

    /// Where the next lane of a class begins, behind this candidate.
    pub(super) fn lane_behind(&self, candidate: Candidate) -> Option<Position> {
        let here = (candidate.position, candidate.run);
        let lanes = self.ready.queue(candidate.class).order.range(here..);
        lanes.skip(1).map(|&(position, _)| position).next()
    }

    /// Behind the first lane, which is not allowed anything.
    fn first_allowed(
        &self,
        class: ClassId,
        may: &mut dyn FnMut(RunKey) -> Limit,
    ) -> Option<Candidate> {
        self.ready
            .queue(class)
            .order
            .iter()
            .skip(1)
            .find_map(|&(position, run)| {
                let limit = may(run);
                (limit > Limit::NONE).then_some(Candidate {
                    position,
                    class,
                    run,
                    limit,
                })
            })
    }
}

/// The first in the order.
impl Placing {
    /// Whether something that holds slots, may start and comes before this place in the order is ready.
    pub(crate) fn has_before(&self, bound: Position, may: &mut dyn FnMut(RunKey) -> Limit) -> bool {
        let mut cursors = self.ready.heads.all();
        let mut walk = Walk::new(&self.ready, &mut cursors);
        while let Some(step) = walk.next(may) {
            match step {
                Step::Candidate(found) if found.position >= bound => return false,
                Step::Candidate(found) if self.may_ever_start(found.class) => return true,
                Step::Candidate(_) | Step::Paused(_) => {}
            }
        }
        false
    }

    fn may_ever_start(&self, class: ClassId) -> bool {
        self.holds_slots(class) && !self.floor.is_hopeless(class)
    }

    /// Forgets the first tasks of all classes as long as they are `over`, so that nothing is kept for them.
    pub(crate) fn discard_heads(&mut self, over: &mut dyn FnMut(RunKey, u32) -> bool) {
        loop {
            let heads = self.ready.heads.iter();
            let stale: Vec<_> = heads
                .filter(|&(_, class, run)| {
                    let first = self.ready.first(class, run);
                    first.is_some_and(|task| over(run, task))
                })
                .collect();
            if stale.is_empty() {
                return;
            }
            for (_, class, run) in stale {
                self.ready.take(class, run, 1, None);
                self.floor.drop_hold(class);
                self.note_head(class);
            }
            self.note_holds();
        }
    }
}

fn first_of(cursors: &[Cursor]) -> Option<usize> {
    let mut first: Option<(usize, Position)> = None;
    // No two heads are in the same place.
    for (at, cursor) in cursors.iter().enumerate() {
        let position = cursor.head.0;
        if first.is_none_or(|(_, least)| position < least) {
            first = Some((at, position));
        }
    }
    first.map(|(at, _)| at)
}

fn is_before(other: &Candidate, head: Option<Head>) -> bool {
    head.is_none_or(|head| (other.position, other.class, other.run) < head)
}
