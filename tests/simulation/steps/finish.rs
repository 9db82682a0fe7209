//! Attempts end, and what is reported of them arrives: late, in any order, or never.

use super::begin::label;
use crate::world::{Fate, Held, Worker, World};
use batchyard::executor::{Outcome, Returned};

/// The report of an attempt that is over arrives.
pub(crate) fn finish(world: &mut World) {
    let now = world.now();
    let due = move |worker: &Worker| worker.held.as_ref().is_some_and(|held| held.due <= now);
    if let Some((node, worker)) = world.pick_worker(due) {
        let held = world.nodes[node].workers[worker].held.take();
        held.into_iter().for_each(|held| report(world, held));
    }
}

/// All reports that are due arrive. Returns whether there were any.
pub(crate) fn all(world: &mut World) -> bool {
    let now = world.now();
    let due = |world: &World| world.held().any(|held| held.due <= now);
    let any = due(world);
    while due(world) {
        finish(world);
    }
    any
}

/// A worker dies with its attempt, but not its node.
pub(crate) fn lose(world: &mut World) {
    if let Some((node, worker)) = world.pick_worker(|worker| worker.held.is_some()) {
        let lost = world.nodes[node].workers.remove(worker);
        let held = lost.held;
        drop(lost.grant);
        held.into_iter().for_each(|held| drop_lost(world, held));
    }
}

/// An attempt is lost: nobody reports anything.
pub(crate) fn drop_lost(world: &mut World, held: Held) {
    note_loss(world, &held);
    let what = format!("{} is lost", label(&held.lease));
    drop(held);
    world.happened(what);
}

fn note_loss(world: &mut World, held: &Held) {
    let name = held.name;
    let counts = !held.lease.is_cancelled();
    let page = &mut world.books[name.job].tasks[name.node][name.index];
    page.losses += u32::from(counts);
}

fn report(world: &mut World, held: Held) {
    if held.fate == Fate::IsLost {
        return drop_lost(world, held);
    }
    let (now, name, counts) = (world.now(), held.name, !held.lease.is_cancelled());
    let backoff = world.book(name).node(name.node).backoff;
    let page = &mut world.books[name.job].tasks[name.node][name.index];
    let outcome = match held.fate {
        Fate::Succeeds => {
            let outcome = held.lease.run();
            page.succeeded |= counts;
            outcome
        }
        Fate::Fails => {
            page.failures += u32::from(counts);
            page.not_before = if counts {
                now + backoff
            } else {
                page.not_before
            };
            Outcome::Failed("as planned".into())
        }
        _ => Outcome::Returned(Returned::TakenAway),
    };
    let late = if counts { "" } else { ", too late" };
    let what = format!("{} {:?}{late}", label(&held.lease), held.fate);
    held.lease.complete(outcome);
    world.happened(what);
}
