//! Tasks, what depends on them, and runs are cancelled.

use crate::world::World;
use batchyard::TaskId;

pub(crate) fn task(world: &mut World) {
    if world.dice.u8(..4) == 0 {
        return run(world);
    }
    let Some((job, id)) = pick(world) else { return };
    let cancelled = world.books[job].run.cancel_task(id).expect("a task of its");
    world.books[job].cancelled |= cancelled > 0;
    world.happened(format_args!("{id} of {job} is cancelled: {cancelled}"));
}

pub(crate) fn subtree(world: &mut World) {
    let Some((job, id)) = pick(world) else { return };
    let cancelled = world.books[job]
        .run
        .cancel_subtree(id)
        .expect("a task of its");
    world.books[job].cancelled |= cancelled > 0;
    world.happened(format_args!(
        "{id} of {job} and what depends on it are cancelled: {cancelled}"
    ));
}

fn run(world: &mut World) {
    let Some((job, _)) = pick(world) else { return };
    world.books[job].run.cancel();
    world.books[job].cancelled = true;
    world.happened(format_args!("job {job} is cancelled"));
}

fn pick(world: &mut World) -> Option<(usize, TaskId)> {
    let going = (0..world.books.len()).filter(|&job| !world.books[job].run.has_ended());
    let job = world.dice.choice(going.collect::<Vec<_>>())?;
    let node = world.dice.usize(..world.books[job].ids.len());
    let ids = &world.books[job].ids[node];
    let id = ids[world.dice.usize(..ids.len())];
    Some((job, id))
}
