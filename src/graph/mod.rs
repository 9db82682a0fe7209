//! The dependency graph of a job: how it is built, frozen, checked, and shown to the outside.
//!
//! A *node* is a single task or a whole task array, numbered in the order of adding. The same edges have three forms:
//!
//! - [`Edges`], while a job is built: each node's predecessors, appended;
//! - [`Csr`], frozen, for running: each node's successors, and how many predecessors to count down;
//! - [`Graph`], on demand, for people: petgraph's view of either, with names and kinds.
//!
//! There is no execution state here.

mod check;
mod edges;
mod path;
mod view;
mod visit;

pub use path::CriticalPath;
pub use view::{Dependency, Graph, GraphEdge, GraphNode};

pub(crate) use edges::{COUNT_BITS, Csr, Edges, FreezeError, SOLE, Successors, node_of};

/// What a [`Graph`] is made from: a job, open or frozen.
///
/// Whatever has edges has a graph; the rest is known to those who also have tasks.
pub(crate) trait GraphSource {
    /// How many nodes there are: they are numbered below it.
    fn node_count(&self) -> u32;

    /// Calls `visit(from, to)` for every edge, each once, in any order.
    fn edges(&self, visit: &mut dyn FnMut(u32, u32));

    /// The node's name, if it has one.
    fn name(&self, _node: u32) -> Option<&str> {
        None
    }

    /// How many tasks the node stands for: the length of an array, else 1.
    fn tasks(&self, _node: u32) -> u32 {
        1
    }

    /// Whether the node is a task array.
    fn is_array(&self, _node: u32) -> bool {
        false
    }

    /// Whether the elements of array `to` wait each for one element of array `from`, and for nothing else of it.
    fn is_each(&self, _from: u32, _to: u32) -> bool {
        false
    }
}
