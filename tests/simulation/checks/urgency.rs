//! No priority inversion, and no delay of the most urgent by the less urgent.

use crate::asks::Asks;
use crate::books::Name;
use crate::world::World;

/// A task begins on a node that has just asked: nothing more urgent could have begun there instead, or is now kept from
/// what it waits for.
pub(crate) fn is_kept(world: &World, node: usize, begins: Name) {
    let book = world.book(begins);
    let (urgency, asks) = (book.urgency(begins.node), book.asks(begins.node));
    let free = world.free(&world.nodes[node]);
    let waiting = waiting(world, |name| urgency < world.urgency(name));
    for &name in &waiting {
        let wants = world.asks(name);
        assert!(
            !wants.fit(free),
            "{begins:?} begins where {name:?} could have"
        );
    }
    if let Some(first) = first(world, &waiting) {
        let wants = world.asks(first);
        if has_no_other(world, node, wants) {
            assert!(leaves(free, asks, wants), "{begins:?} delays {first:?}");
        }
    }
}

/// A task begins on a node from a grant that was taken before: nothing of a more urgent job needs the worker's slot.
pub(crate) fn is_not_recalled(world: &World, node: usize, begins: Name) {
    let priority = |name: Name| world.book(name).plan.priority;
    let free = world.free(&world.nodes[node]);
    for name in waiting(world, |name| priority(begins) < priority(name)) {
        let wants = world.asks(name);
        let needs_it = wants.fit(free) && !wants.fit(free.without(Asks::ONE_SLOT));
        assert!(!needs_it, "{begins:?} begins in the place of {name:?}");
    }
}

/// Tasks that could start, and in no grant.
fn waiting(world: &World, which: impl Fn(Name) -> bool) -> Vec<Name> {
    let mut found = world.startable();
    found.retain(|&name| which(name) && !world.is_hidden(name.job));
    found
}

/// The one that is more urgent than all others, if it is known: if none can be hidden.
fn first(world: &World, waiting: &[Name]) -> Option<Name> {
    if (0..world.books.len()).any(|job| world.is_hidden(job)) {
        return None;
    }
    let most = waiting.iter().map(|&name| world.urgency(name)).max()?;
    let mut firsts = waiting.iter().filter(|&&name| world.urgency(name) == most);
    firsts.next().copied().filter(|_| firsts.next().is_none())
}

/// Whether a request could be met on this node, and on no other.
fn has_no_other(world: &World, node: usize, wants: Asks) -> bool {
    let fitting = (0..world.nodes.len()).filter(|&at| wants.fit(world.nodes[at].has));
    fitting.eq([node])
}

/// Whether what begins takes nothing that the one that waits will need.
fn leaves(free: Asks, asks: Asks, wants: Asks) -> bool {
    let amounts = free.0.iter().zip(asks.0).zip(wants.0);
    let mut amounts = amounts.map(|((&free, asks), wants)| (free, asks, wants));
    amounts.all(|(free, asks, wants)| wants == 0 || asks == 0 || free - asks >= wants)
}
