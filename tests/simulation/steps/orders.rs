//! Orders travel: they arrive late, in any order, and some are ignored.

use super::begin::label;
use crate::world::{World, stopped};
use batchyard::executor::Outcome;

/// An order leaves the pool.
pub(crate) fn receive(world: &mut World) {
    if let Some(order) = world.feed.try_order() {
        world.happened(format_args!("an order is received: {order:?}"));
        world.orders.push(order);
    }
}

/// All orders leave the pool. Returns whether there were any.
pub(crate) fn receive_all(world: &mut World) -> bool {
    let before = world.orders.len();
    while let Some(order) = world.feed.try_order() {
        world.orders.push(order);
    }
    let any = world.orders.len() > before;
    if any {
        world.happened("all orders are received");
    }
    any
}

/// An order reaches its node: the attempt is stopped, if it is still there, or goes on regardless.
pub(crate) fn carry_out(world: &mut World) {
    if world.orders.is_empty() {
        return;
    }
    let at = world.dice.usize(..world.orders.len());
    let order = world.orders.swap_remove(at);
    let listens = world.calm || world.dice.bool();
    let id = stopped(&order).filter(|_| listens);
    let worker = world.pick_worker(|worker| {
        let held = worker.held.as_ref();
        held.is_some_and(|held| Some(held.lease.id()) == id)
    });
    let held = worker.and_then(|(node, worker)| world.nodes[node].workers[worker].held.take());
    let Some(held) = held else {
        return world.happened(format_args!("an order is passed over: {order:?}"));
    };
    assert!(
        held.lease.is_cancelled(),
        "an attempt that counts is to be stopped"
    );
    let what = format!("{} is stopped", label(&held.lease));
    held.lease.complete(Outcome::Cancelled);
    world.happened(what);
}

/// All orders reach their nodes. Returns whether there were any.
pub(crate) fn carry_out_all(world: &mut World) -> bool {
    let any = !world.orders.is_empty();
    while !world.orders.is_empty() {
        carry_out(world);
    }
    any
}
