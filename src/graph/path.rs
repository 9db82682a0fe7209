//! The path through a job that decides how long it takes.

use super::Graph;
use petgraph::Direction;
use petgraph::algo::{self, Measure};
use petgraph::graph::NodeIndex;
use petgraph::visit::{IntoNeighborsDirected, NodeCount};

/// The longest path through a [`Graph`]: however many workers there are, a job is not done before it is.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct CriticalPath<C> {
    /// Its nodes, from a node that waits for nothing to one that nothing waits for. Each waits for the one before.
    pub nodes: Vec<NodeIndex>,
    /// The sum of their costs.
    pub length: C,
}

/// The longest path that ends at some node.
#[derive(Clone, Default)]
struct Longest<C> {
    length: C,
    before: Option<NodeIndex>,
}

impl Graph<'_> {
    /// The path whose nodes cost most together, such as how long they took, or will take.
    ///
    /// `cost` is asked once for each node, in an order in which no node comes before one it waits for. Its result may
    /// be a [`Duration`](std::time::Duration), an integer, a float: in any unit, not negative, not NaN. A task array
    /// is one node, whose cost is that of the whole array. Among equally long paths, the one along lower numbers is
    /// taken. A graph without nodes has a path without nodes.
    ///
    /// # Errors
    ///
    /// A node that is on a cycle, if there is one, which can only be in a job that isn't frozen.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let mut job = batchyard::Job::new("breakfast");
    /// let water = job.task("water", (), || "hot");
    /// let toast = job.task("toast", (), || "brown");
    /// let tea = job.task("tea", &water, |_: &&str| "green");
    ///
    /// let graph = job.graph();
    /// let minutes = |node: batchyard::petgraph::graph::NodeIndex| match graph.nodes()[node.index()].name.as_deref() {
    ///     Some("water") => Duration::from_secs(180),
    ///     _ => Duration::from_secs(120),
    /// };
    /// let path = graph.critical_path(minutes).expect("no cycle");
    /// assert_eq!(path.length, Duration::from_secs(300));
    /// assert_eq!(path.nodes.len(), 2);
    /// ```
    pub fn critical_path<C: Measure>(
        &self,
        mut cost: impl FnMut(NodeIndex) -> C,
    ) -> Result<CriticalPath<C>, algo::Cycle<NodeIndex>> {
        let mut longest: Vec<Longest<C>> = vec![Longest::default(); self.node_count()];
        for node in algo::toposort(self, None)? {
            let before = furthest(&longest, self.neighbors_directed(node, Direction::Incoming));
            let start =
                before.map_or_else(C::default, |before| longest[before.index()].length.clone());
            longest[node.index()] = Longest {
                length: start + cost(node),
                before,
            };
        }
        Ok(walk_back(&longest))
    }
}

/// The first of the `nodes` with the longest path.
fn furthest<C: Measure>(
    longest: &[Longest<C>],
    nodes: impl Iterator<Item = NodeIndex>,
) -> Option<NodeIndex> {
    let length = |node: NodeIndex| &longest[node.index()].length;
    nodes.reduce(|best, node| {
        if length(node) > length(best) {
            node
        } else {
            best
        }
    })
}

fn walk_back<C: Measure>(longest: &[Longest<C>]) -> CriticalPath<C> {
    let last = furthest(longest, (0..longest.len()).map(NodeIndex::new));
    let length = last.map_or_else(C::default, |last| longest[last.index()].length.clone());
    let mut nodes: Vec<_> =
        std::iter::successors(last, |node| longest[node.index()].before).collect();
    nodes.reverse();
    CriticalPath { nodes, length }
}

#[cfg(test)]
mod tests {
    use super::super::Edges;
    use super::*;
    use std::time::Duration;

    fn diamond() -> Edges {
        let mut edges = Edges::default();
        edges.push_node([]);
        edges.push_node([0]);
        edges.push_node([0]);
        edges.push_node([1, 2]);
        edges
    }

    fn path<C: Measure>(edges: &Edges, cost: impl Fn(usize) -> C) -> Option<(Vec<usize>, C)> {
        let path = Graph::new(edges)
            .critical_path(|node| cost(node.index()))
            .ok()?;
        Some((
            path.nodes.iter().map(|node| node.index()).collect(),
            path.length,
        ))
    }

    #[test]
    fn the_costlier_side_is_critical() {
        let seconds = |node| Duration::from_secs([1, 2, 5, 1][node]);
        assert_eq!(
            path(&diamond(), seconds),
            Some((vec![0, 2, 3], Duration::from_secs(7)))
        );
    }

    #[test]
    fn equal_sides_give_the_one_added_first() {
        assert_eq!(path(&diamond(), |_| 1.5), Some((vec![0, 1, 3], 4.5)));
    }

    #[test]
    fn a_graph_of_nothing_has_an_empty_path() {
        assert_eq!(path(&Edges::default(), |_| 1), Some((vec![], 0)));
    }

    #[test]
    fn a_cycle_is_an_error() {
        let mut edges = diamond();
        edges.add_edge(3, 0);
        assert_eq!(path(&edges, |_| 1), None);
    }
}
