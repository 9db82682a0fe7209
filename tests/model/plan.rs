//! The job, as data.

use batchyard::FailurePolicy;

#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) nodes: Vec<Node>,
    /// From an earlier node to a later one.
    pub(crate) orders: Vec<(usize, usize)>,
    pub(crate) policy: FailurePolicy,
    pub(crate) threads: usize,
    pub(crate) cancels: Vec<Cancel>,
    pub(crate) keep: Vec<usize>,
}

#[derive(Clone, Debug)]
pub(crate) struct Node {
    /// `None` for a single task.
    pub(crate) len: Option<usize>,
    pub(crate) inputs: Vec<Input>,
    pub(crate) waits: bool,
    /// By element.
    pub(crate) fates: Vec<Fate>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Input {
    /// A single task's output.
    One(usize),
    /// All of an array.
    Whole(usize),
    /// The element of the same index.
    Same(usize),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Fate {
    Succeeds,
    Fails,
    Panics,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Cancel {
    /// Once so many bodies have begun.
    pub(crate) after: usize,
    /// The body that makes it due waits until it is done.
    pub(crate) held: bool,
    pub(crate) what: What,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum What {
    Task(usize, usize),
    Node(usize),
    Subtree(usize, usize),
    Run,
}

impl Input {
    pub(crate) fn node(self) -> usize {
        let (Input::One(node) | Input::Whole(node) | Input::Same(node)) = self;
        node
    }
}

impl Plan {
    pub(crate) fn tasks(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        let indexes = |node: usize| 0..self.nodes[node].len.unwrap_or(1);
        (0..self.nodes.len()).flat_map(move |node| indexes(node).map(move |index| (node, index)))
    }

    pub(crate) fn is_cancelled_by_someone(&self) -> bool {
        !self.cancels.is_empty()
    }

    /// Nodes that must have succeeded wholly before this one, by value or order.
    pub(crate) fn whole_dependencies(&self, node: usize) -> impl Iterator<Item = usize> + '_ {
        let empty = self.nodes[node].len == Some(0);
        let inputs = self.nodes[node].inputs.iter();
        inputs
            .filter(move |input| empty || !matches!(input, Input::Same(_)))
            .map(|input| input.node())
            .chain(
                self.orders
                    .iter()
                    .filter(move |order| order.1 == node)
                    .map(|order| order.0),
            )
    }
}
