//! The first tasks of all classes, arranged so that a node with few free slots looks at few of them.
//!
//! Classes that ask for equally many slots stand on one shelf. A node that has no room for a whole shelf passes over those
//! that wait for their reservations elsewhere, unless the node might be nearer to having room than what is reserved.

use super::queue::Ready;
use super::rank::Position;
use super::visit::Scratch;
use super::walk::Walk;
use super::{ClassId, RunKey};

/// Where the most urgent lane of a class begins.
pub(super) type Head = (Position, ClassId, RunKey);

/// The heads of all classes that have tasks ready.
#[derive(Default)]
pub(super) struct Heads {
    /// In the order of slots.
    shelves: Vec<Shelf>,
}

/// The heads of classes whose tasks hold so many slots, in order. There are as many as distinct requests, so moving them
/// costs little.
struct Shelf {
    slots: i64,
    row: Vec<Seat>,
}

#[derive(Clone, Copy)]
struct Seat {
    head: Head,
    reach: Reach,
}

/// Of nodes that have no room for a class, only those that lack fewer slots need to look at it: with a reservation, the
/// others are no nearer than what is reserved.
pub(super) type Reach = i64;

/// Of a class for which nothing is reserved.
pub(super) const EVERYWHERE: Reach = Reach::MAX;

/// Where a look along a row stands.
#[derive(Clone, Copy)]
pub(super) struct Cursor {
    pub(super) head: Head,
    pub(super) slots: i64,
    /// How many slots the node that looks lacks for the shelf.
    lacks: i64,
    /// The shelf, and where in its row; none for a head by itself.
    place: Option<(usize, usize)>,
}

/// What lacks less than any reach.
const NOTHING: i64 = i64::MIN;

impl Heads {
    pub(super) fn change(
        &mut self,
        slots: i64,
        reach: Reach,
        before: Option<Head>,
        after: Option<Head>,
    ) {
        let at = self.shelf(slots);
        let shelf = &mut self.shelves[at];
        if let Some(Ok(at)) = before.map(|head| shelf.find(&head)) {
            shelf.row.remove(at);
        }
        if let Some((Err(at), head)) = after.map(|head| (shelf.find(&head), head)) {
            shelf.row.insert(at, Seat { head, reach });
        }
    }

    /// A reservation was made for a class, dropped, or has come nearer.
    pub(super) fn set_reach(&mut self, slots: i64, head: Head, reach: Reach) {
        let at = self.shelf(slots);
        let shelf = &mut self.shelves[at];
        if let Ok(at) = shelf.find(&head) {
            shelf.row[at].reach = reach;
        }
    }

    /// All heads, in no order.
    pub(super) fn iter(&self) -> impl Iterator<Item = Head> {
        let rows = self.shelves.iter().flat_map(|shelf| &shelf.row);
        rows.map(|seat| seat.head)
    }

    /// A look at what concerns a node with so many free slots: what it may have room for, and what it may only have to
    /// reserve something for.
    pub(super) fn look<'a>(
        &'a self,
        free: i64,
        reserved: impl Iterator<Item = ClassId>,
        ready: &'a Ready,
        scratch: &'a mut Scratch,
    ) -> (Walk<'a>, Walk<'a>) {
        let Scratch { near, far } = scratch;
        near.clear();
        far.clear();
        for (at, shelf) in self.shelves.iter().enumerate() {
            match shelf.slots - free {
                ..=0 => near.extend(shelf.cursor((at, 0), NOTHING)),
                lacks => far.extend(shelf.cursor((at, 0), lacks)),
            }
        }
        for class in reserved.filter(|&class| !self.is_among(class, free, ready)) {
            let head = ready.head_of(class);
            far.extend(head.map(|head| Cursor {
                head,
                slots: ready.slots(class),
                lacks: NOTHING,
                place: None,
            }));
        }
        (Walk::new(ready, near), Walk::new(ready, far))
    }

    /// Whether the head of a class with a reservation is looked at by such a node wherever that is.
    fn is_among(&self, class: ClassId, free: i64, ready: &Ready) -> bool {
        let lacks = ready.slots(class) - free;
        lacks <= 0 || lacks < ready.reach(class)
    }

    /// All heads, in order.
    pub(super) fn all(&self) -> Vec<Cursor> {
        let shelves = self.shelves.iter().enumerate();
        let cursor = |(at, shelf): (usize, &Shelf)| shelf.cursor((at, 0), NOTHING);
        shelves.filter_map(cursor).collect()
    }

    /// The head of a cursor, which goes on to the next of its row.
    pub(super) fn advance(&self, at: usize, cursors: &mut Vec<Cursor>) -> Head {
        let Cursor {
            head, lacks, place, ..
        } = cursors[at];
        let next = place.and_then(|(shelf, at)| self.shelves[shelf].cursor((shelf, at + 1), lacks));
        match next {
            Some(next) => cursors[at] = next,
            None => drop(cursors.swap_remove(at)),
        }
        head
    }

    fn shelf(&mut self, slots: i64) -> usize {
        let at = self
            .shelves
            .binary_search_by_key(&slots, |shelf| shelf.slots);
        at.unwrap_or_else(|at| {
            let row = Vec::new();
            self.shelves.insert(at, Shelf { slots, row });
            at
        })
    }
}

impl Shelf {
    fn find(&self, head: &Head) -> Result<usize, usize> {
        self.row.binary_search_by(|seat| seat.head.cmp(head))
    }

    /// The first from a place in the row on that concerns a node that lacks so much.
    fn cursor(&self, (shelf, from): (usize, usize), lacks: i64) -> Option<Cursor> {
        let rest = self.row.get(from..)?;
        let next = rest.iter().position(|seat| lacks < seat.reach)?;
        Some(Cursor {
            head: rest[next].head,
            slots: self.slots,
            lacks,
            place: Some((shelf, from + next)),
        })
    }
}
