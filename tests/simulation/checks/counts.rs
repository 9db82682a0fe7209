//! What a run counts is what its tasks are.

use crate::books::Book;
use crate::world::World;
use batchyard::TaskState;

pub(crate) fn add_up(world: &World) {
    world.books.iter().for_each(of);
}

fn of(book: &Book) {
    let counts = book.run.counts();
    let states: Vec<_> = book
        .all()
        .map(|(node, index)| book.state(node, index))
        .collect();
    let count = |sought| states.iter().filter(|state| **state == sought).count() as u64;
    let seen = [
        TaskState::Succeeded,
        TaskState::Failed,
        TaskState::Skipped,
        TaskState::Cancelled,
    ];
    let counted = [
        counts.succeeded,
        counts.failed,
        counts.skipped,
        counts.cancelled,
    ];
    assert_eq!(seen.map(count), counted, "{states:?}");
    assert_eq!(counts.total, states.len() as u64);
    assert_eq!(book.run.has_ended(), counts.unfinished() == 0, "{states:?}");
    assert_eq!(book.run.failures().len() as u64, counts.failed);
}
