//! Every task has ended as what happened to it says.

use crate::books::Book;
use crate::world::World;
use batchyard::{ErrorKind, FailurePolicy, TaskState};

pub(crate) fn are_right(world: &World) {
    for book in &world.books {
        for (node, index) in book.all() {
            is_right(book, node, index);
        }
    }
}

fn is_right(book: &Book, node: usize, index: usize) {
    let (page, plan) = (&book.tasks[node][index], book.node(node));
    let state = book.state(node, index);
    let at = format!("n{node}[{index}] of {}: {state}", book.run.counts().total);
    let could = book.may_begin(node, index);
    assert_eq!(page.succeeded, state == TaskState::Succeeded, "{at}");
    match state {
        TaskState::Succeeded => assert!(could, "{at}, before what it depends on"),
        TaskState::Skipped => {
            assert_eq!(page.attempts, 0, "{at}, and ran");
            assert!(!could, "{at} for nothing");
        }
        TaskState::Failed => {
            let spent = page.failures > plan.retries || page.losses > 5;
            let late = plan.deadline.is_some();
            assert!(spent || late, "{at} with retries left");
        }
        TaskState::Cancelled => assert!(may_be_cancelled(book), "{at} by nobody"),
        _ => panic!("{at} in the end"),
    }
}

/// Somebody cancelled something, or the job ended before its tasks.
fn may_be_cancelled(book: &Book) -> bool {
    let failed = book.run.counts().failed;
    let too_many = match book.plan.policy {
        FailurePolicy::FailFast => failed > 0,
        FailurePolicy::MaxFailures(most) => failed > most,
        _ => false,
    };
    let error = book.run.wait().err();
    let timed_out = error.is_some_and(|error| error.kind() == ErrorKind::TimedOut);
    book.cancelled || too_many || timed_out
}
