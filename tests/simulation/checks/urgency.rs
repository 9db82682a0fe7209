//! No priority inversion, and no delay of the most urgent by the less urgent.

use crate::asks::Asks;
use crate::books::{Name, Urgency};
use crate::world::World;

/// A task begins on a node that has just asked: the most urgent could not all have begun there instead, and the only one
/// is not kept from what it waits for. Those behind them may have to wait for what is reserved.
pub(crate) fn is_kept(world: &World, node: usize, begins: Name) {
    let (urgency, asks) = (world.urgency(begins), world.asks(begins));
    let free = world.free(&world.nodes[node]);
    let first = first(world, urgency);
    let fits = |name: &Name| world.asks(*name).fit(free);
    assert!(
        first.is_empty() || !first.iter().all(fits),
        "{begins:?} begins where {first:?} could have, which {}",
        world.explain(first[0])
    );
    if let [first] = first[..] {
        let wants = world.asks(first);
        if has_no_other(world, node, wants) {
            assert!(leaves(free, asks, wants), "{begins:?} delays {first:?}");
        }
    }
}

/// A task begins on a node from a grant that was taken before: nothing of a more urgent job needs this worker's slot.
pub(crate) fn is_not_recalled(world: &World, node: usize, begins: Name) {
    let priority = |name: Name| world.book(name).plan.priority;
    let free = world.free(&world.nodes[node]);
    for name in waiting(world, |name| priority(begins) < priority(name)) {
        let wants = world.asks(name);
        let needs_it = wants.fit(free) && !wants.fit(free.without(Asks::ONE_SLOT));
        let mut others = (0..world.nodes.len()).filter(|&at| at != node);
        let elsewhere = others.any(|at| wants.fit(world.free(&world.nodes[at])));
        assert!(
            !needs_it || elsewhere,
            "{begins:?} begins in the place of {name:?}"
        );
    }
}

/// Tasks that could start anywhere, and are in no grant.
fn waiting(world: &World, which: impl Fn(Name) -> bool) -> Vec<Name> {
    let mut found = world.startable();
    found.retain(|&name| which(name) && !world.is_hidden(name.job) && !world.is_suspect(name));
    found
}

/// The most urgent that wait, if they are more urgent than this, and if they are known: if none can be hidden.
fn first(world: &World, than: Urgency) -> Vec<Name> {
    let hidden = (0..world.books.len()).any(|job| world.is_hidden(job));
    let mut found = world.startable();
    if hidden || found.iter().any(|&name| world.is_suspect(name)) {
        return Vec::new();
    }
    let most = found.iter().map(|&name| world.urgency(name)).max();
    let most = most.filter(|&most| most > than);
    found.retain(|&name| Some(world.urgency(name)) == most);
    found
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
