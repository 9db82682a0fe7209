//! The first tasks of all classes, arranged so that a node with few free slots looks at few of them.
//!
//! Classes that ask for equally many slots stand on one shelf, in one row those for which something is reserved, in
//! another those for which nothing is. A node that has no room for a whole shelf passes over what waits for its
//! reservation elsewhere, unless the node might be nearer to having room than what is reserved.

use super::levels::lacking;
use super::rank::Position;
use super::{ClassId, RunKey};
use std::collections::BTreeSet;
use std::ops::Bound;

/// Where the most urgent lane of a class begins.
pub(super) type Head = (Position, ClassId, RunKey);

/// The heads of all classes that have tasks ready.
#[derive(Default)]
pub(super) struct Heads {
    /// In the order of slots.
    shelves: Vec<Shelf>,
}

/// The heads of classes whose tasks hold so many slots.
#[derive(Default)]
struct Shelf {
    slots: i64,
    loose: Row,
    held: Row,
    /// Of nodes that have no room, only those that lack fewer slots may be nearer than what is reserved.
    reach: i64,
}

/// Heads in order, with the first at hand.
#[derive(Default)]
struct Row {
    heads: BTreeSet<Head>,
    first: Option<Head>,
}

/// Where a look along a row stands.
#[derive(Clone, Copy)]
pub(super) struct Cursor {
    pub(super) head: Head,
    /// The shelf, and whether it is the row of those with reservations; none for a head by itself.
    row: Option<(usize, bool)>,
}

impl Heads {
    pub(super) fn change(
        &mut self,
        slots: i64,
        held: bool,
        before: Option<Head>,
        after: Option<Head>,
    ) {
        let at = self.shelf(slots);
        let row = self.shelves[at].row_mut(held);
        // In this order: a set that would be empty in between is freed and allocated again.
        after.map(|head| row.heads.insert(head));
        before.map(|head| row.heads.remove(&head));
        row.first = row.heads.first().copied();
    }

    /// A reservation was made for a class, or dropped: its head changes rows.
    pub(super) fn set_held(&mut self, slots: i64, held: bool, head: Option<Head>) {
        self.change(slots, !held, head, None);
        self.change(slots, held, None, head);
    }

    /// What is reserved for classes of so many slots is as far from having room as this, or nearer.
    pub(super) fn set_reach(&mut self, slots: i64, shortfalls: impl Iterator<Item = u64>) {
        let at = self.shelf(slots);
        let farthest = shortfalls.max().unwrap_or(0);
        self.shelves[at].reach = lacking(slots, farthest);
    }

    /// All heads, in no order.
    pub(super) fn iter(&self) -> impl Iterator<Item = Head> {
        let rows = self
            .shelves
            .iter()
            .flat_map(|shelf| [&shelf.loose, &shelf.held]);
        rows.flat_map(|row| row.heads.iter().copied())
    }

    /// The classes of so many slots that have reservations.
    pub(super) fn held_with(&self, slots: i64) -> impl Iterator<Item = ClassId> {
        let at = self
            .shelves
            .binary_search_by_key(&slots, |shelf| shelf.slots);
        let heads = at.ok().map(|at| self.shelves[at].held.heads.iter());
        heads.into_iter().flatten().map(|&(_, class, _)| class)
    }

    /// Begins a look at what concerns a node with so many free slots.
    pub(super) fn begin(&self, free: i64, cursors: &mut Vec<Cursor>) {
        cursors.clear();
        for (at, shelf) in self.shelves.iter().enumerate() {
            let loose = shelf.loose.first.map(|head| (head, false));
            let held = shelf
                .held
                .first
                .filter(|_| shelf.concerns(free))
                .map(|head| (head, true));
            let heads = loose.into_iter().chain(held);
            cursors.extend(heads.map(|(head, held)| Cursor {
                head,
                row: Some((at, held)),
            }));
        }
    }

    /// Adds the head of a class that a node must look at whatever it asks for, unless it is looked at anyway.
    pub(super) fn add(&self, slots: i64, free: i64, head: Head, cursors: &mut Vec<Cursor>) {
        let at = self
            .shelves
            .binary_search_by_key(&slots, |shelf| shelf.slots);
        if at.is_ok_and(|at| !self.shelves[at].concerns(free)) {
            cursors.push(Cursor { head, row: None });
        }
    }

    /// The head of a cursor, which goes on to the next of its row.
    pub(super) fn advance(&self, at: usize, cursors: &mut Vec<Cursor>) -> Head {
        let Cursor { head, row } = cursors[at];
        let after = (Bound::Excluded(head), Bound::Unbounded);
        let next =
            row.and_then(|(shelf, held)| self.shelves[shelf].row(held).heads.range(after).next());
        match next {
            Some(&next) => cursors[at].head = next,
            None => drop(cursors.swap_remove(at)),
        }
        head
    }

    fn shelf(&mut self, slots: i64) -> usize {
        let at = self
            .shelves
            .binary_search_by_key(&slots, |shelf| shelf.slots);
        at.unwrap_or_else(|at| {
            self.shelves.insert(
                at,
                Shelf {
                    slots,
                    ..Shelf::default()
                },
            );
            at
        })
    }
}

impl Shelf {
    /// Whether a node with so many free slots has room for what waits for a reservation, or may be nearer than that.
    fn concerns(&self, free: i64) -> bool {
        self.slots <= free || self.slots - free < self.reach
    }

    fn row(&self, held: bool) -> &Row {
        if held { &self.held } else { &self.loose }
    }

    fn row_mut(&mut self, held: bool) -> &mut Row {
        if held {
            &mut self.held
        } else {
            &mut self.loose
        }
    }
}
