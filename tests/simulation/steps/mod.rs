//! What can happen, each kind in a file of its own.

mod begin;
mod cancel;
mod finish;
mod grants;
mod nodes;
mod orders;
mod submit;
mod time;

use crate::asks::Asks;
use crate::world::World;

/// A kind of step: does one, if it is possible, and says so to the world.
type Kind = fn(&mut World);

/// The kinds of steps, by how often they are tried.
const KINDS: &[(u32, Kind)] = &[
    (4, submit::submit),
    (30, begin::take),
    (20, begin::begin),
    (3, grants::split),
    (3, grants::give_back),
    (30, finish::finish),
    (1, finish::lose),
    (2, nodes::join),
    (1, nodes::lose),
    (2, nodes::resize),
    (1, cancel::task),
    (1, cancel::subtree),
    (10, orders::receive),
    (8, orders::carry_out),
    (20, time::pass),
    (3, time::pass_a_little),
];

/// Tries one step.
pub(crate) fn random(world: &mut World) {
    let all: u32 = KINDS.iter().map(|(often, _)| often).sum();
    let mut at = world.dice.u32(..all);
    for (often, kind) in KINDS {
        match at.checked_sub(*often) {
            Some(rest) => at = rest,
            None => return kind(world),
        }
    }
}

/// There is a job, and a node.
pub(crate) fn begin_world(world: &mut World) {
    submit::submit(world);
    match world.dice.bool() {
        true => nodes::join(world),
        false => nodes::join_one(world, Asks::LARGE),
    }
}

/// From now on nothing goes wrong but bodies, everything is submitted, and there is a node for every task.
pub(crate) fn calm_down(world: &mut World) {
    world.calm = true;
    grants::give_all_back(world);
    while !world.plans.is_empty() {
        submit::submit(world);
    }
    nodes::join_one(world, Asks::LARGE);
}

/// Does all that can be done now; then lets time pass.
pub(crate) fn go_on(world: &mut World) {
    while orders::receive_all(world)
        || orders::carry_out_all(world)
        || begin::all(world)
        || finish::all(world)
    {}
    crate::checks::starvation::nothing_stands_still(world);
    time::pass(world);
}
