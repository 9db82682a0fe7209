//! No node has more in use than it has.

use crate::world::{FakeNode, Held, World};
use std::collections::HashSet;

/// Something was given out just now: there was room for it.
pub(crate) fn was_enough(world: &World, node: usize) {
    let (node, free) = (&world.nodes[node], world.free(&world.nodes[node]));
    let enough = free.0.iter().all(|&left| left >= 0);
    assert!(enough, "node {} has {:?} left", node.number, free.0);
}

/// Slots may be more than there are, after the node has shrunk.
pub(crate) fn nothing_is_over_committed(world: &World) {
    for node in &world.nodes {
        let free = world.free(node);
        let number = node.number;
        assert!(
            free.0[1..].iter().all(|&left| left >= 0),
            "node {number} has {:?} left",
            free.0
        );
        gpus_are_exclusive(world, node);
    }
}

fn gpus_are_exclusive(world: &World, node: &FakeNode) {
    let held = node
        .workers
        .iter()
        .filter_map(|worker| worker.held.as_ref());
    let asks = |held: &Held| world.book(held.name).asks(held.name.node).0[2] as usize;
    let asking: Vec<_> = held.filter(|held| asks(held) > 0).collect();
    let gpus: Vec<_> = asking.iter().flat_map(|held| held.lease.gpus()).collect();
    let wanted: usize = asking.iter().map(|held| asks(held)).sum();
    let distinct: HashSet<_> = gpus.iter().collect();
    assert_eq!(
        (gpus.len(), distinct.len()),
        (wanted, wanted),
        "GPUs {gpus:?}"
    );
}

/// Nothing has leaked: a task that asks for everything starts on each node.
pub(crate) fn is_all_free(world: &mut World) {
    for at in 0..world.nodes.len() {
        let has = world.nodes[at].has;
        let mut job = batchyard::Job::new("all of it");
        let task = batchyard::Task::new("all", (), || ());
        job.add(task.resources(has.resources()));
        let run = world.pool.submit(job).expect("valid");
        let node = &world.nodes[at];
        let lease = node.node.try_take(1).and_then(|mut grant| grant.begin());
        let lease = lease.unwrap_or_else(|| panic!("node {} is not free", node.number));
        let outcome = lease.run();
        lease.complete(outcome);
        run.wait().expect("success");
    }
}
