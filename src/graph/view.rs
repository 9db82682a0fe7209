//! petgraph's view of a job's graph.

use super::GraphSource;
use super::edges::{counts_to_starts, slice_between, zeros};
use petgraph::graph::{DiGraph, NodeIndex};
use std::borrow::Cow;
use std::fmt;

/// The dependency graph of a job, in [petgraph]'s terms.
///
/// A node is a single task or a whole task array, an edge leads from what is waited for to what waits. Nodes are
/// numbered in the order of adding, without holes, and between two of them there is at most one edge each way.
///
/// A reference to it has petgraph's visit traits, so that petgraph's algorithms, and its [`Dot`] drawings, work on it.
/// For algorithms that change a graph there is [`to_digraph`](Self::to_digraph). (Some of petgraph's recurse, such as
/// [`is_cyclic_directed`] and [`tarjan_scc`], and overflow the stack where a path is some ten thousand tasks long;
/// [`toposort`] and [`kosaraju_scc`] don't.)
///
/// The view is made when it is asked for, in time and memory proportional to the job: keep it instead of asking again.
/// That of a job that isn't frozen may have cycles.
///
/// ```
/// use batchyard::petgraph::{algo, dot::Dot};
///
/// let mut job = batchyard::Job::new("g");
/// let a = job.task("a", (), || 1u64);
/// let b = job.task("b", &a, |a: &u64| a + 1);
///
/// let graph = job.graph();
/// let order = algo::toposort(&graph, None).expect("no cycle");
/// assert_eq!(order.len(), 2);
/// println!("{}", Dot::new(&graph));
///
/// // The path that decides how long the job takes, if every task takes equally long.
/// let path = graph.critical_path(|_| 1).expect("no cycle");
/// assert_eq!((path.nodes, path.length), (order, 2));
/// ```
///
/// [`Dot`]: petgraph::dot::Dot
/// [`is_cyclic_directed`]: petgraph::algo::is_cyclic_directed
/// [`tarjan_scc`]: petgraph::algo::tarjan_scc()
/// [`toposort`]: petgraph::algo::toposort
/// [`kosaraju_scc`]: petgraph::algo::kosaraju_scc()
#[derive(Clone, Debug)]
pub struct Graph<'a> {
    pub(super) nodes: Vec<GraphNode<'a>>,
    pub(super) outgoing: Sheaves,
    pub(super) incoming: Sheaves,
}

/// A node of a [`Graph`]: a single task or a task array.
///
/// Displayed, it is its name, or `task 17` if it has none and its number is 17; and for an array its length in brackets.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct GraphNode<'a> {
    /// Its number in the graph.
    pub id: NodeIndex,
    /// The name of the task or array, if it has one.
    pub name: Option<Cow<'a, str>>,
    /// How many tasks it stands for: the length of an array, else 1.
    pub tasks: u32,
    /// Whether it is a task array, which may well be one of length 1.
    pub array: bool,
}

/// An edge of a [`Graph`]: `to` waits for `from`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct GraphEdge {
    /// What is waited for.
    pub from: NodeIndex,
    /// What waits.
    pub to: NodeIndex,
    /// What exactly waits for what.
    pub dependency: Dependency,
}

/// What exactly waits for what along an edge of a [`Graph`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Dependency {
    /// For a single task. Displayed as nothing.
    Task,
    /// For all elements of an array. Displayed as `all`.
    All,
    /// Each element for the one at its own position in an equally long array. Displayed as `each`.
    Each,
}

impl<'a> Graph<'a> {
    pub(crate) fn new(source: &'a impl GraphSource) -> Self {
        let nodes: Vec<_> = (0..source.node_count())
            .map(|node| GraphNode::new(source, node))
            .collect();
        let mut edges = Vec::new();
        source.edges(&mut |from, to| edges.push(GraphEdge::new(source, from, to)));
        // A radix sort: bound by one end, what was in order of the other stays so.
        let by_target = Sheaves::bind(nodes.len(), &edges, GraphEdge::target);
        drop(edges);
        let outgoing = Sheaves::bind(nodes.len(), &by_target.edges, GraphEdge::source);
        drop(by_target);
        let incoming = Sheaves::bind(nodes.len(), &outgoing.edges, GraphEdge::target);
        Graph {
            nodes,
            outgoing,
            incoming,
        }
    }

    /// The nodes, in the order of their numbers: that of `id` is `nodes()[id.index()]`.
    pub fn nodes(&self) -> &[GraphNode<'a>] {
        &self.nodes
    }

    /// A petgraph graph of its own, that outlives the job and can be changed. Nodes keep their numbers.
    pub fn to_digraph(&self) -> DiGraph<GraphNode<'static>, Dependency> {
        let mut graph = DiGraph::with_capacity(self.nodes.len(), self.outgoing.edges.len());
        for node in &self.nodes {
            graph.add_node(node.to_owned_name());
        }
        for edge in &self.outgoing.edges {
            graph.add_edge(edge.from, edge.to, edge.dependency);
        }
        graph
    }
}

impl<'a> GraphNode<'a> {
    fn new(source: &'a impl GraphSource, node: u32) -> Self {
        GraphNode {
            id: node.into(),
            name: source.name(node).map(Cow::Borrowed),
            tasks: source.tasks(node),
            array: source.is_array(node),
        }
    }

    fn to_owned_name(&self) -> GraphNode<'static> {
        GraphNode {
            name: self.name.as_deref().map(|name| Cow::Owned(name.to_owned())),
            ..*self
        }
    }
}

impl fmt::Display for GraphNode<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            Some(name) => f.write_str(name)?,
            None => write!(f, "task {}", self.id.index())?,
        }
        if self.array {
            write!(f, "[{}]", self.tasks)
        } else {
            Ok(())
        }
    }
}

impl fmt::Display for Dependency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Dependency::Task => "",
            Dependency::All => "all",
            Dependency::Each => "each",
        })
    }
}

impl GraphEdge {
    fn new(source: &impl GraphSource, from: u32, to: u32) -> Self {
        let dependency = match (source.is_array(from), source.is_each(from, to)) {
            (false, _) => Dependency::Task,
            (true, false) => Dependency::All,
            (true, true) => Dependency::Each,
        };
        GraphEdge {
            from: from.into(),
            to: to.into(),
            dependency,
        }
    }

    fn source(&self) -> NodeIndex {
        self.from
    }

    fn target(&self) -> NodeIndex {
        self.to
    }
}

/// Edges bound together by their sources, or by their targets, ascending by the other end.
#[derive(Clone, Debug)]
pub(super) struct Sheaves {
    /// One more than there are nodes: the edges of `n` are those from `offsets[n]` to `offsets[n + 1]`.
    offsets: Box<[u32]>,
    pub(super) edges: Vec<GraphEdge>,
}

impl Sheaves {
    /// A stable counting sort, whose cursors are the offsets themselves, as in freezing.
    fn bind(nodes: usize, edges: &[GraphEdge], end: fn(&GraphEdge) -> NodeIndex) -> Self {
        let mut offsets = zeros(nodes + 1);
        for edge in edges {
            offsets[end(edge).index() + 1] += 1;
        }
        counts_to_starts(&mut offsets);
        let mut bound = edges.to_vec();
        for edge in edges {
            let cursor = &mut offsets[end(edge).index() + 1];
            bound[*cursor as usize] = *edge;
            *cursor += 1;
        }
        Sheaves {
            offsets,
            edges: bound,
        }
    }

    /// The edges of a node: none, if there is no such node.
    pub(super) fn of(&self, node: NodeIndex) -> &[GraphEdge] {
        let node = node.index();
        slice_between(
            &self.edges,
            self.offsets.get(node),
            self.offsets.get(node + 1),
        )
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use petgraph::dot::Dot;

    /// An array of three, one each after it, a task after all of those, and a nameless one after that.
    pub(crate) struct Sample;

    impl GraphSource for Sample {
        fn node_count(&self) -> u32 {
            4
        }

        fn edges(&self, visit: &mut dyn FnMut(u32, u32)) {
            [(2, 3), (0, 1), (1, 2)]
                .into_iter()
                .for_each(|(from, to)| visit(from, to));
        }

        fn name(&self, node: u32) -> Option<&str> {
            ["count", "each", "merge"].get(node as usize).copied()
        }

        fn tasks(&self, node: u32) -> u32 {
            if node < 2 { 3 } else { 1 }
        }

        fn is_array(&self, node: u32) -> bool {
            node < 2
        }

        fn is_each(&self, from: u32, to: u32) -> bool {
            (from, to) == (0, 1)
        }
    }

    #[test]
    fn a_drawing_shows_names_lengths_and_kinds() {
        let drawing = Dot::new(&Graph::new(&Sample)).to_string();
        for part in [
            "\"count[3]\"",
            "\"merge\"",
            "\"task 3\"",
            "0 -> 1 [ label = \"each\"",
            "1 -> 2 [ label = \"all\"",
        ] {
            assert!(drawing.contains(part), "{part} in {drawing}");
        }
    }

    #[test]
    fn a_digraph_outlives_its_source() {
        let graph = Graph::new(&Sample).to_digraph();
        assert_eq!(graph[NodeIndex::new(0)].name.as_deref(), Some("count"));
        assert_eq!(
            graph.find_edge(1.into(), 2.into()).map(|edge| graph[edge]),
            Some(Dependency::All)
        );
    }
}
