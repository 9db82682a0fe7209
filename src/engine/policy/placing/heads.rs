//! The first tasks of all classes, arranged so that a node with few free slots looks at few of them.
//!
//! Classes that ask for equally many slots stand on one shelf, in one row those for which something is reserved, in
//! another those for which nothing is. A node that has no room for a whole shelf passes over what waits for its
//! reservation elsewhere, unless the node might be nearer to having room than what is reserved.

use super::levels::lacking;
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

/// The heads of classes whose tasks hold so many slots.
#[derive(Default)]
struct Shelf {
    slots: i64,
    loose: Row,
    held: Row,
    /// Of nodes that have no room, only those that lack fewer slots may be nearer than what is reserved.
    reach: i64,
}

/// Heads in order. There are as many as distinct requests, so moving them costs little.
type Row = Vec<Head>;

/// Where a look along a row stands.
#[derive(Clone, Copy)]
pub(super) struct Cursor {
    pub(super) head: Head,
    pub(super) slots: i64,
    /// The shelf, whether it is the row of those with reservations, and where in it; none for a head by itself.
    place: Option<(usize, bool, usize)>,
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
        if let Some(Ok(at)) = before.map(|head| row.binary_search(&head)) {
            row.remove(at);
        }
        if let Some((Err(at), head)) = after.map(|head| (row.binary_search(&head), head)) {
            row.insert(at, head);
        }
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
        rows.flatten().copied()
    }

    /// The classes of so many slots that have reservations.
    pub(super) fn held_with(&self, slots: i64) -> impl Iterator<Item = ClassId> {
        let at = self
            .shelves
            .binary_search_by_key(&slots, |shelf| shelf.slots);
        let heads = at.ok().map(|at| self.shelves[at].held.iter());
        heads.into_iter().flatten().map(|&(_, class, _)| class)
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
            match shelf.slots <= free {
                true => near.extend(
                    shelf
                        .cursor(at, false)
                        .into_iter()
                        .chain(shelf.cursor(at, true)),
                ),
                false => {
                    let held = shelf
                        .cursor(at, true)
                        .filter(|_| shelf.slots - free < shelf.reach);
                    far.extend(shelf.cursor(at, false).into_iter().chain(held));
                }
            }
        }
        for class in reserved.filter(|&class| !self.is_among(class, free, ready)) {
            let head = ready.head_of(class);
            far.extend(head.map(|head| Cursor {
                head,
                slots: ready.slots(class),
                place: None,
            }));
        }
        (Walk::new(ready, near), Walk::new(ready, far))
    }

    /// Whether the head of a class with a reservation is looked at by such a node wherever that is.
    fn is_among(&self, class: ClassId, free: i64, ready: &Ready) -> bool {
        let slots = ready.slots(class);
        let at = self
            .shelves
            .binary_search_by_key(&slots, |shelf| shelf.slots);
        slots <= free || at.is_ok_and(|at| slots - free < self.shelves[at].reach)
    }

    /// All heads, in order.
    pub(super) fn all(&self) -> Vec<Cursor> {
        let rows = self.shelves.iter().enumerate();
        rows.flat_map(|(at, shelf)| [shelf.cursor(at, false), shelf.cursor(at, true)])
            .flatten()
            .collect()
    }

    /// The head of a cursor, which goes on to the next of its row.
    pub(super) fn advance(&self, at: usize, cursors: &mut Vec<Cursor>) -> Head {
        let Cursor { head, place, .. } = cursors[at];
        let next = place.map(|(shelf, held, at)| (shelf, held, at + 1));
        let next = next.and_then(|place| Some((self.at(place)?, place)));
        match next {
            Some((head, place)) => (cursors[at].head, cursors[at].place) = (head, Some(place)),
            None => drop(cursors.swap_remove(at)),
        }
        head
    }

    fn at(&self, (shelf, held, at): (usize, bool, usize)) -> Option<Head> {
        self.shelves[shelf].row(held).get(at).copied()
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
    fn cursor(&self, at: usize, held: bool) -> Option<Cursor> {
        let &head = self.row(held).first()?;
        let (slots, place) = (self.slots, Some((at, held, 0)));
        Some(Cursor { head, slots, place })
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
