//! Whatever can run does, in the end.

use crate::world::World;

/// All nodes have been asked, and have nothing to begin: so of the most urgent that could start, one at least has room
/// nowhere.
pub(crate) fn nothing_stands_still(world: &World) {
    let startable = world.startable();
    let urgency = |name: &_| {
        let name: &crate::books::Name = name;
        world.book(*name).urgency(name.node)
    };
    let Some(most) = startable.iter().map(urgency).max() else {
        return;
    };
    let first: Vec<_> = startable
        .iter()
        .filter(|name| urgency(name) == most)
        .collect();
    for node in &world.nodes {
        let free = world.free(node);
        let fits = |name: &&&_| {
            let name: &crate::books::Name = name;
            world.book(*name).asks(name.node).fit(free)
        };
        assert_ne!(
            first.iter().filter(fits).count(),
            first.len(),
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
