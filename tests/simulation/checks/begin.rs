//! Whether an attempt may begin: what it depends on, that nobody else has it, its limits, and whose turn it is.

use super::urgency;
use crate::books::Name;
use crate::world::World;
use batchyard::executor::Lease;

/// `just_taken` says that nothing has happened since its grant was taken.
pub(crate) fn may(world: &World, node: usize, name: Name, lease: &Lease, just_taken: bool) {
    let book = world.book(name);
    let page = &book.tasks[name.node][name.index];
    let at = format!("{name:?}, attempt {}", lease.attempt());
    assert!(!page.succeeded, "{at} begins after a success");
    assert!(
        book.may_begin(name.node, name.index),
        "{at} begins before what it depends on"
    );
    assert_eq!(lease.attempt(), page.attempts + 1, "{at} is out of turn");
    let holders = world.held().filter(|held| held.name == name);
    for held in holders {
        assert!(
            held.lease.is_cancelled(),
            "{at} begins beside another attempt"
        );
    }
    is_in_time(world, name, &at);
    has_a_retry_left(world, name, &at);
    is_within_limits(world, name, &at);
    if just_taken && world.is_suspect(name) {
        let others = &world.nodes[node].workers;
        assert!(
            others.iter().all(|worker| worker.held.is_none()),
            "{at} does not begin alone"
        );
    }
    match just_taken {
        true => urgency::is_kept(world, node, name),
        false => urgency::is_not_recalled(world, node, name),
    }
}

fn is_in_time(world: &World, name: Name, at: &str) {
    let (now, book) = (world.now(), world.book(name));
    let node = book.node(name.node);
    let start = book.submitted + node.start_after.unwrap_or_default();
    let not_before = book.tasks[name.node][name.index].not_before.max(start);
    assert!(now >= not_before, "{at} begins too early");
    let ends = [node.deadline, book.plan.time_limit].into_iter().flatten();
    for end in ends.map(|limit| book.submitted + limit) {
        assert!(now < end, "{at} begins too late");
    }
}

fn has_a_retry_left(world: &World, name: Name, at: &str) {
    let book = world.book(name);
    let page = &book.tasks[name.node][name.index];
    let most = book.node(name.node).retries;
    assert!(page.failures <= most, "{at} begins after its last retry");
    assert!(page.losses <= 5, "{at} begins after its last recovery");
}

fn is_within_limits(world: &World, name: Name, at: &str) {
    let plan = &world.book(name).plan;
    let limits = [
        (plan.max_parallel, None),
        (plan.nodes[name.node].max_parallel, Some(name.node)),
    ];
    for (most, node) in limits {
        let running = world.running(name.job, node);
        assert!(
            most.is_none_or(|most| running < most),
            "{at} is one too many"
        );
    }
}
