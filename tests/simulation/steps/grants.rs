//! Grants are shared and given back.

use crate::world::{Worker, World};

/// Half of a grant goes to another worker.
pub(crate) fn split(world: &mut World) {
    let Some((node, worker)) = world.pick_worker(|worker| worker.grant.is_some()) else {
        return;
    };
    let whole = &mut world.nodes[node].workers[worker];
    let last = whole.last;
    let Some(half) = whole.grant.as_mut().and_then(|grant| grant.split()) else {
        return;
    };
    world.nodes[node].workers.push(Worker {
        grant: Some(half),
        held: None,
        last,
    });
    let number = world.nodes[node].number;
    world.happened(format_args!("a grant of node {number} is split"));
}

/// Whatever has not been begun goes back.
pub(crate) fn give_all_back(world: &mut World) {
    let workers = world.nodes.iter_mut().flat_map(|node| &mut node.workers);
    workers.for_each(|worker| drop(worker.grant.take()));
    world.happened("all grants are given back");
}

/// What a worker has not begun goes back.
pub(crate) fn give_back(world: &mut World) {
    let Some((node, worker)) = world.pick_worker(|worker| worker.grant.is_some()) else {
        return;
    };
    drop(world.nodes[node].workers[worker].grant.take());
    let number = world.nodes[node].number;
    world.happened(format_args!("a grant of node {number} is given back"));
}
