//! Whatever can run does, in the end.

use crate::world::World;

/// All nodes have been asked, and have nothing to begin: so of the most urgent that could start, one at least has room
/// nowhere.
pub(crate) fn nothing_stands_still(world: &World) {
    let mut first = world.startable();
    let most = first.iter().map(|&name| world.urgency(name)).max();
    if first.iter().any(|&name| world.is_suspect(name)) {
        // It waits for a node of its own, and others for it.
        return;
    }
    first.retain(|&name| Some(world.urgency(name)) == most);
    for node in world.nodes.iter().filter(|_| !first.is_empty()) {
        let free = world.free(node);
        assert!(
            first.iter().any(|&name| !world.asks(name).fit(free)),
            "node {} has room for {first:?}, and nothing begins",
            node.number
        );
    }
}

/// Nothing happens any more, and not everything has ended.
pub(crate) fn stuck(world: &World) -> ! {
    let mut why = String::new();
    for book in world.books.iter().filter(|book| !book.run.has_ended()) {
        for (node, index) in book
            .all()
            .filter(|&(node, index)| !book.state(node, index).is_final())
        {
            let words = book
                .run
                .explain(book.ids[node][index])
                .expect("a task of its");
            why += &format!("\n  n{node}[{index}] {words}");
        }
    }
    panic!("nothing happens any more:{why}")
}
