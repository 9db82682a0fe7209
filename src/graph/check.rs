//! Finds a cycle, and says which.

use super::Graph;
use petgraph::algo::{astar, toposort};
use petgraph::data::DataMap;
use petgraph::graph::NodeIndex;

impl Graph<'_> {
    /// Nodes that wait for each other, if there are such.
    ///
    /// Each is a predecessor of the next, and the last one of the first; a node that waits for itself is alone. The
    /// first added is first.
    pub(crate) fn find_cycle(&self) -> Option<Vec<u32>> {
        // Of petgraph's checks, the one that doesn't recurse: a chain of a million nodes would overflow the stack.
        let on_cycle = toposort(self, None).err()?.node_id();
        let mut path = self.shortest_cycle_through(on_cycle);
        let first = (0..path.len()).min_by_key(|&at| path[at]).unwrap_or(0);
        path.rotate_left(first);
        Some(path.into_iter().map(|node| node.index() as u32).collect())
    }

    /// For a `node` that is on a cycle.
    fn shortest_cycle_through(&self, node: NodeIndex) -> Vec<NodeIndex> {
        let closes = |last| self.edge_weight((last, node)).is_some();
        let found = astar(self, node, closes, |_| 1_u32, |_| 0);
        found.map_or_else(|| vec![node], |(_, path)| path)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Edges;
    use super::super::edges::FreezeError;
    use super::super::edges::tests::graphs;
    use petgraph::graph::DiGraph;
    use proptest::prelude::*;

    fn cycle(nodes: u32, late: &[(u32, u32)]) -> Option<Vec<u32>> {
        let mut edges = Edges::default();
        for _ in 0..nodes {
            edges.push_node([]);
        }
        late.iter().for_each(|&(from, to)| edges.add_edge(from, to));
        match edges.freeze(&[]) {
            Err(FreezeError::Cycle(path)) => Some(path),
            _ => None,
        }
    }

    #[test]
    fn a_node_that_waits_for_itself_is_a_cycle_alone() {
        assert_eq!(cycle(3, &[(0, 1), (1, 1)]), Some(vec![1]));
    }

    #[test]
    fn a_cycle_is_told_in_order_from_its_first_node() {
        assert_eq!(
            cycle(4, &[(3, 2), (2, 1), (1, 3), (0, 3)]),
            Some(vec![1, 3, 2])
        );
    }

    #[test]
    fn a_detour_is_not_told() {
        assert_eq!(
            cycle(3, &[(0, 1), (1, 2), (2, 0), (0, 2)]),
            Some(vec![0, 2])
        );
    }

    #[test]
    fn a_long_chain_needs_no_deep_stack() {
        let chain: Vec<_> = (0..200_000).map(|node| (node + 1, node)).collect();
        assert_eq!(cycle(200_001, &chain), None);
        let ring: Vec<_> = chain.iter().copied().chain([(0, 200_000)]).collect();
        assert_eq!(cycle(200_001, &ring).map(|path| path.len()), Some(200_001));
    }

    proptest! {
        #[test]
        fn a_cycle_is_found_where_petgraph_finds_one((edges, set) in graphs(6)) {
            let theirs = DiGraph::<(), (), u32>::from_edges(set.iter().copied());
            match edges.freeze(&[]) {
                Ok(_) => prop_assert!(!petgraph::algo::is_cyclic_directed(&theirs)),
                Err(FreezeError::Cycle(path)) => {
                    let next = path.iter().cycle().skip(1);
                    prop_assert!(path.iter().zip(next).all(|(&from, &to)| set.contains(&(from, to))));
                    prop_assert!((1..path.len()).all(|at| !path[at..].contains(&path[at - 1])), "no node twice");
                }
                Err(error) => prop_assert!(false, "{error}"),
            }
        }
    }
}
