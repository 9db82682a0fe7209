//! Nodes take grants, and begin attempts.

use crate::books::Name;
use crate::checks;
use crate::world::{Fate, Held, Worker, World};
use batchyard::executor::Lease;
use std::time::Duration;

/// A node takes a grant, and mostly begins it at once.
pub(crate) fn take(world: &mut World) {
    if world.nodes.is_empty() {
        return;
    }
    let node = world.dice.usize(..world.nodes.len());
    if take_at(world, node) && world.dice.u8(..4) > 0 {
        begin_taken(world, node);
    }
}

/// A worker that is free goes on with its grant.
pub(crate) fn begin(world: &mut World) {
    let found = world.pick_worker(|worker| worker.held.is_none());
    if let Some((node, worker)) = found {
        begin_at(world, node, worker, false);
    }
}

/// Whatever can begin, begins. Returns whether anything did.
pub(crate) fn all(world: &mut World) -> bool {
    let mut any = false;
    while let Some((node, worker)) = world.pick_worker(|worker| worker.held.is_none()) {
        begin_at(world, node, worker, false);
        any = true;
    }
    for node in 0..world.nodes.len() {
        while take_at(world, node) {
            begin_taken(world, node);
            any = true;
        }
    }
    any
}

fn take_at(world: &mut World, node: usize) -> bool {
    let room = world.dice.u32(1..=4);
    let grant = world.nodes[node].node.try_take(room);
    let Some(grant) = grant else { return false };
    world.nodes[node].workers.push(Worker {
        grant: Some(grant),
        held: None,
        last: None,
    });
    checks::room::was_enough(world, node);
    let number = world.nodes[node].number;
    world.happened(format_args!("node {number} takes at most {room}"));
    true
}

/// Begins what was taken last.
fn begin_taken(world: &mut World, node: usize) {
    let worker = world.nodes[node].workers.len() - 1;
    begin_at(world, node, worker, true);
}

/// Begins the next task of a worker's grant, which it may have taken just now. A grant that is used up, or wanted back, is
/// dropped.
fn begin_at(world: &mut World, node: usize, worker: usize, just_taken: bool) {
    let number = world.nodes[node].number;
    let mut own = world.nodes[node].workers.remove(worker);
    let lease = own.grant.as_mut().and_then(|grant| grant.begin());
    let Some(lease) = lease else {
        drop(own);
        return world.happened(format_args!("a worker of node {number} is through"));
    };
    let name = name_of(world, &lease);
    checks::begin::may(world, node, name, &lease, just_taken);
    let page = &mut world.books[name.job].tasks[name.node][name.index];
    page.attempts = lease.attempt();
    let what = format!(
        "node {number} begins {}, attempt {}",
        label(&lease),
        lease.attempt()
    );
    own.last = Some(name);
    own.held = Some(hold(world, lease, name));
    // In the end nobody sits on what others could begin.
    own.grant = own.grant.filter(|_| !world.calm);
    world.nodes[node].workers.push(own);
    if just_taken {
        checks::room::was_enough(world, node);
    }
    world.happened(what);
}

fn name_of(world: &World, lease: &Lease) -> Name {
    let job: usize = lease.job_name().parse().expect("jobs are numbered");
    let (node, index) = world.books[job].find(lease.task_id());
    Name { job, node, index }
}

pub(crate) fn label(lease: &Lease) -> String {
    format!("{}/{}", lease.job_name(), lease.task_label())
}

/// Decides how an attempt will end, and when its report arrives.
fn hold(world: &mut World, lease: Lease, name: Name) -> Held {
    let began = world.now();
    let takes = match world.dice.u8(..10) {
        0 => 0,
        1 => world.dice.u64(10_000..40_000),
        _ => world.dice.u64(..8_000),
    };
    let fate = match world.dice.u8(..20) {
        0..=2 => Fate::Fails,
        3 if !world.calm => Fate::IsTakenAway,
        4 if !world.calm => Fate::IsLost,
        _ => Fate::Succeeds,
    };
    Held {
        due: began + Duration::from_millis(takes),
        lease,
        name,
        began,
        fate,
    }
}
