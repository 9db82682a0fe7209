//! petgraph's traits for the view, and nothing else.

use super::view::{Dependency, Graph, GraphEdge, GraphNode};
use petgraph::data::DataMap;
use petgraph::graph::{DiGraph, NodeIndex};
use petgraph::visit::{
    Data, EdgeCount, EdgeRef, GraphBase, GraphProp, IntoEdgeReferences, IntoEdges,
    IntoEdgesDirected, IntoNeighbors, IntoNeighborsDirected, IntoNodeIdentifiers,
    IntoNodeReferences, NodeCompactIndexable, NodeCount, NodeIndexable, NodeRef, Visitable,
};
use petgraph::{Directed, Direction};
use std::iter::Map;
use std::ops::Range;
use std::slice;

/// There is at most one edge from one node to another, so that its ends tell which it is.
type EdgeId = (NodeIndex, NodeIndex);

type NodeIds = Map<Range<u32>, fn(u32) -> NodeIndex>;

type Neighbors<'g> = Map<slice::Iter<'g, GraphEdge>, fn(&'g GraphEdge) -> NodeIndex>;

/// petgraph's bit set, which it doesn't name.
type NodeSet = <DiGraph<(), ()> as Visitable>::Map;

impl GraphBase for Graph<'_> {
    type NodeId = NodeIndex;
    type EdgeId = EdgeId;
}

impl<'a> Data for Graph<'a> {
    type NodeWeight = GraphNode<'a>;
    type EdgeWeight = Dependency;
}

impl DataMap for Graph<'_> {
    fn node_weight(&self, id: NodeIndex) -> Option<&Self::NodeWeight> {
        self.nodes.get(id.index())
    }

    fn edge_weight(&self, (from, to): EdgeId) -> Option<&Dependency> {
        let edges = self.outgoing.of(from);
        let found = edges.binary_search_by_key(&to, |edge| edge.to).ok();
        found
            .and_then(|at| edges.get(at))
            .map(|edge| &edge.dependency)
    }
}

impl GraphProp for Graph<'_> {
    type EdgeType = Directed;
}

impl NodeCount for Graph<'_> {
    fn node_count(&self) -> usize {
        self.nodes.len()
    }
}

impl EdgeCount for Graph<'_> {
    fn edge_count(&self) -> usize {
        self.outgoing.edges.len()
    }
}

impl NodeIndexable for Graph<'_> {
    fn node_bound(&self) -> usize {
        self.nodes.len()
    }

    fn to_index(&self, id: NodeIndex) -> usize {
        id.index()
    }

    fn from_index(&self, index: usize) -> NodeIndex {
        NodeIndex::new(index)
    }
}

impl NodeCompactIndexable for Graph<'_> {}

impl Visitable for Graph<'_> {
    type Map = NodeSet;

    fn visit_map(&self) -> NodeSet {
        NodeSet::with_capacity(self.nodes.len())
    }

    fn reset_map(&self, map: &mut NodeSet) {
        map.clear();
        map.grow(self.nodes.len());
    }
}

impl IntoNodeIdentifiers for &Graph<'_> {
    type NodeIdentifiers = NodeIds;

    fn node_identifiers(self) -> NodeIds {
        (0..self.nodes.len() as u32).map(NodeIndex::from)
    }
}

impl<'g, 'a> IntoNodeReferences for &'g Graph<'a> {
    type NodeRef = &'g GraphNode<'a>;
    type NodeReferences = slice::Iter<'g, GraphNode<'a>>;

    fn node_references(self) -> Self::NodeReferences {
        self.nodes.iter()
    }
}

impl<'a> NodeRef for &GraphNode<'a> {
    type NodeId = NodeIndex;
    type Weight = GraphNode<'a>;

    fn id(&self) -> NodeIndex {
        self.id
    }

    fn weight(&self) -> &GraphNode<'a> {
        self
    }
}

impl<'g> IntoEdgeReferences for &'g Graph<'_> {
    type EdgeRef = &'g GraphEdge;
    type EdgeReferences = slice::Iter<'g, GraphEdge>;

    fn edge_references(self) -> Self::EdgeReferences {
        self.outgoing.edges.iter()
    }
}

impl EdgeRef for &GraphEdge {
    type NodeId = NodeIndex;
    type EdgeId = EdgeId;
    type Weight = Dependency;

    fn source(&self) -> NodeIndex {
        self.from
    }

    fn target(&self) -> NodeIndex {
        self.to
    }

    fn weight(&self) -> &Dependency {
        &self.dependency
    }

    fn id(&self) -> EdgeId {
        (self.from, self.to)
    }
}

impl<'g> IntoEdges for &'g Graph<'_> {
    type Edges = slice::Iter<'g, GraphEdge>;

    fn edges(self, node: NodeIndex) -> Self::Edges {
        self.edges_directed(node, Direction::Outgoing)
    }
}

impl<'g> IntoEdgesDirected for &'g Graph<'_> {
    type EdgesDirected = slice::Iter<'g, GraphEdge>;

    fn edges_directed(self, node: NodeIndex, direction: Direction) -> Self::EdgesDirected {
        match direction {
            Direction::Outgoing => self.outgoing.of(node).iter(),
            Direction::Incoming => self.incoming.of(node).iter(),
        }
    }
}

impl<'g> IntoNeighbors for &'g Graph<'_> {
    type Neighbors = Neighbors<'g>;

    fn neighbors(self, node: NodeIndex) -> Neighbors<'g> {
        self.neighbors_directed(node, Direction::Outgoing)
    }
}

impl<'g> IntoNeighborsDirected for &'g Graph<'_> {
    type NeighborsDirected = Neighbors<'g>;

    fn neighbors_directed(self, node: NodeIndex, direction: Direction) -> Neighbors<'g> {
        let far_end: fn(&'g GraphEdge) -> NodeIndex = match direction {
            Direction::Outgoing => |edge| edge.to,
            Direction::Incoming => |edge| edge.from,
        };
        self.edges_directed(node, direction).map(far_end)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Edges;
    use super::super::edges::tests::graphs;
    use super::super::view::tests::Sample;
    use super::*;
    use petgraph::algo;
    use proptest::prelude::*;
    use std::hash::RandomState;

    #[test]
    fn an_unknown_node_has_no_neighbors() {
        let graph = Graph::new(&Sample);
        assert_eq!(graph.neighbors(NodeIndex::end()).count(), 0);
        assert_eq!(graph.edge_weight((4.into(), 0.into())), None);
    }

    #[test]
    fn petgraphs_algorithms_take_it() {
        let graph = &Graph::new(&Sample);
        let (first, last) = (NodeIndex::new(0), NodeIndex::new(3));
        assert!(algo::has_path_connecting(graph, first, last, None));
        assert!(!algo::is_cyclic_directed(graph));
        assert_eq!(algo::tarjan_scc(graph).len(), 4);
        assert_eq!(
            algo::dijkstra(graph, first, None, |_| 1).get(&last),
            Some(&3)
        );
        assert_eq!(algo::page_rank(graph, 0.85_f64, 2).len(), 4);
        assert_eq!(
            algo::dominators::simple_fast(graph, first).immediate_dominator(last),
            Some(2.into())
        );
        assert_eq!(
            algo::all_simple_paths::<_, _, RandomState>(graph, first, last, 0, None)
                .map(|path: Vec<_>| path.len())
                .max(),
            Some(4)
        );
        assert_eq!(algo::condensation(graph.to_digraph(), true).node_count(), 4);
    }

    #[test]
    fn a_graph_of_nothing_is_empty() {
        let edges = Edges::default();
        assert_eq!(Graph::new(&edges).node_references().count(), 0);
    }

    proptest! {
        #[test]
        fn neighbors_are_those_of_petgraphs_own_graph((edges, set) in graphs(6)) {
            let (ours, theirs) = (Graph::new(&edges), DiGraph::<(), ()>::from_edges(&set));
            for node in 0..edges.len() {
                for direction in [Direction::Outgoing, Direction::Incoming] {
                    let mut expected: Vec<_> = theirs.neighbors_directed(node.into(), direction).collect();
                    expected.sort_unstable();
                    let found: Vec<_> = ours.neighbors_directed(node.into(), direction).collect();
                    prop_assert_eq!(found, expected);
                }
            }
        }

        #[test]
        fn both_forms_of_a_graph_look_the_same((edges, _) in graphs(2)) {
            let Ok(csr) = edges.freeze(&[]) else { return Ok(()) };
            let (open, frozen) = (Graph::new(&edges), Graph::new(&csr));
            prop_assert!(open.edge_references().eq(frozen.edge_references()));
            prop_assert_eq!(algo::toposort(&open, None).ok(), algo::toposort(&frozen, None).ok());
        }
    }
}
