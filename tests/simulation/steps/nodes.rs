//! Nodes join, change, and are lost.

use super::finish::drop_lost;
use crate::asks::Asks;
use crate::world::{FakeNode, World};

pub(crate) fn join(world: &mut World) {
    if world.nodes.len() < 3 {
        let has = Asks::random_node(&mut world.dice);
        join_one(world, has);
    }
}

pub(crate) fn join_one(world: &mut World, has: Asks) {
    world.joined += 1;
    let number = world.joined;
    let node = world.feed.join(has.node());
    world.nodes.push(FakeNode {
        number,
        has,
        workers: Vec::new(),
        node,
    });
    world.happened(format_args!("node {number} joins with {:?}", has.0));
}

/// A node is lost, with everything that runs there. Sometimes the attempts' loss is noticed before the node's.
pub(crate) fn lose(world: &mut World) {
    if world.nodes.is_empty() {
        return;
    }
    let at = world.dice.usize(..world.nodes.len());
    let FakeNode {
        number,
        workers,
        node,
        ..
    } = world.nodes.remove(at);
    let mut node = Some(node);
    if world.dice.bool() {
        node = None;
    }
    world.happened(format_args!("node {number} is lost"));
    for worker in workers {
        drop(worker.grant);
        worker
            .held
            .into_iter()
            .for_each(|held| drop_lost(world, held));
    }
    drop(node);
}

/// A node has another number of slots.
pub(crate) fn resize(world: &mut World) {
    if world.nodes.is_empty() {
        return;
    }
    let at = world.dice.usize(..world.nodes.len());
    let slots = world.dice.u32(1..=4);
    let node = &mut world.nodes[at];
    node.has.0[0] = slots.into();
    node.node.resize(slots);
    let number = node.number;
    world.happened(format_args!("node {number} has {slots} slots"));
}
