//! What must hold, each property in a file of its own.

pub(crate) mod begin;
mod counts;
mod ends;
pub(crate) mod room;
pub(crate) mod starvation;
mod urgency;

use crate::world::World;

/// How often the dearer checks are made.
const NOW_AND_THEN: usize = 8;

pub(crate) fn after_each_step(world: &World, step: usize) {
    room::nothing_is_over_committed(world);
    if step.is_multiple_of(NOW_AND_THEN) {
        counts::add_up(world);
    }
}

pub(crate) fn at_the_end(world: &mut World) {
    counts::add_up(world);
    ends::are_right(world);
    room::is_all_free(world);
}
