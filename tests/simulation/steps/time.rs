//! Time passes.

use crate::world::World;
use std::time::Duration;

/// Until the next thing that time alone brings about.
pub(crate) fn pass(world: &mut World) {
    let now = world.now();
    let reports = world.held().map(|held| held.due).filter(|&due| due > now);
    if let Some(next) = reports.chain(world.executor.next_alarm()).min() {
        let wait = next.saturating_sub(now);
        pass_for(world, wait);
    }
}

/// A moment, which nothing has to happen in.
pub(crate) fn pass_a_little(world: &mut World) {
    let wait = Duration::from_millis(world.dice.u64(..500));
    pass_for(world, wait);
}

fn pass_for(world: &mut World, wait: Duration) {
    let counted: Vec<_> = world
        .held()
        .filter(|held| !held.lease.is_cancelled())
        .collect();
    let counted: Vec<_> = counted.iter().map(|held| (held.name, held.began)).collect();
    world.executor.advance(wait);
    let now = world.now();
    for (name, began) in counted {
        let node = world.book(name).node(name.node);
        let end = node
            .time_limit
            .map(|limit| began + limit)
            .filter(|&end| end <= now);
        let backoff = node.backoff;
        let page = &mut world.books[name.job].tasks[name.node][name.index];
        if let Some(end) = end {
            page.failures += 1;
            page.not_before = end + backoff;
        }
    }
    world.happened(format_args!("{wait:?} pass"));
}
