//! No priority inversion, and no delay of the most urgent by the less urgent.

use crate::asks::Asks;
use crate::books::Name;
use crate::world::World;

/// A task begins on a node: nothing more urgent could have begun there instead, or is now kept from what it waits for.
pub(crate) fn is_kept(world: &World, node: usize, begins: Name) {
    // In grants that were not begun there may be anything. Its own is not counted at this point.
    if world.hides_tasks() {
        return;
    }
    let own = world.book(begins);
    let (urgency, asks) = (own.urgency(begins.node), own.asks(begins.node));
    let more_urgent = |name: &Name| world.book(*name).urgency(name.node) > urgency;
    let mut waiting = world.startable();
    waiting.retain(|name| more_urgent(name) && *name != begins);
    let free = world.free(&world.nodes[node]);
    for name in &waiting {
        let wants = world.book(*name).asks(name.node);
        assert!(
            !wants.fit(free),
            "{begins:?} begins where {name:?} could have"
        );
    }
    let most_urgent = waiting
        .iter()
        .map(|name| world.book(*name).urgency(name.node))
        .max();
    let first = |name: &&Name| Some(world.book(**name).urgency(name.node)) == most_urgent;
    let mut firsts = waiting.iter().filter(first);
    if let (Some(first), None) = (firsts.next(), firsts.next()) {
        let wants = world.book(*first).asks(first.node);
        if has_no_other(world, node, wants) {
            assert!(leaves(free, asks, wants), "{begins:?} delays {first:?}");
        }
    }
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
