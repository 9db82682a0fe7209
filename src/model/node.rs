//! What executors offer and nodes have.

use super::{Capacity, Fingerprint, IntoAmount};
use std::collections::BTreeSet;
use std::sync::Arc;

/// What an executor can run.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Offer {
    /// Closures: only where they were made, in this process.
    pub closures: bool,
    /// Bodies that wait.
    pub asynchronous: bool,
    /// Named [`Function`](crate::Function)s.
    pub functions: bool,
    /// Commands: programs that are started for a task.
    pub commands: bool,
    /// What its nodes have, or may come to have; `None` if it can't say. A job with a task that none of them, and none of
    /// the nodes that have joined, could ever run is refused.
    pub nodes: Option<Vec<Capacity>>,
    /// The functions that it knows, by their fingerprints; `None` if it can't say, or knows all that there are here. A job
    /// with another is refused.
    pub known: Option<Arc<BTreeSet<Fingerprint>>>,
}

impl Offer {
    /// Everything that a process can run itself, and no commands. Bodies that wait need nodes with
    /// [room for them](NodeSpec::async_slots).
    pub fn in_process() -> Self {
        Offer {
            closures: true,
            asynchronous: true,
            functions: true,
            commands: false,
            nodes: None,
            known: None,
        }
    }

    /// Functions alone: what can leave this process.
    pub fn functions_only() -> Self {
        Offer {
            closures: false,
            asynchronous: false,
            ..Self::in_process()
        }
    }

    /// The functions that it knows: no others.
    pub fn known(mut self, functions: impl IntoIterator<Item = Fingerprint>) -> Self {
        self.known = Some(Arc::new(functions.into_iter().collect()));
        self
    }

    /// What its nodes have, or may come to have.
    pub fn nodes(mut self, nodes: impl IntoIterator<Item = Capacity>) -> Self {
        self.nodes = Some(nodes.into_iter().collect());
        self
    }

    /// The same with commands.
    pub fn commands(mut self) -> Self {
        self.commands = true;
        self
    }

    /// The same without bodies that wait.
    pub fn blocking_only(mut self) -> Self {
        self.asynchronous = false;
        self
    }
}

/// What a node has. A node is where resources are charged: a machine, or this process.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct NodeSpec {
    /// What it has for tasks.
    pub capacity: Capacity,
    /// Words that tell the node from others, for people and for placement.
    pub labels: Vec<String>,
}

impl NodeSpec {
    /// A node with so many slots, as many for bodies that wait, and nothing else.
    pub fn new(slots: u32) -> Self {
        Capacity::slots(slots).async_slots(slots).into()
    }

    /// How many bodies may be waiting at once. Default: as many as there are slots. With 0, none ever starts.
    pub fn async_slots(self, async_slots: u32) -> Self {
        self.with(|capacity| capacity.async_slots(async_slots))
    }

    /// The node's CPUs. Default none. A float that is no [`Amount`](crate::Amount) counts as none.
    pub fn cpus(self, cpus: impl IntoAmount) -> Self {
        self.with(|capacity| capacity.cpus(cpus))
    }

    /// The node's memory, in bytes. Default none.
    pub fn memory(self, bytes: u64) -> Self {
        self.with(|capacity| capacity.memory(bytes))
    }

    /// The node's GPUs, by index. Default none.
    pub fn gpus(self, gpus: impl IntoIterator<Item = u32>) -> Self {
        self.with(|capacity| capacity.gpus(gpus))
    }

    /// An amount of something that tasks may ask for under this name.
    pub fn custom(self, name: impl Into<String>, amount: impl IntoAmount) -> Self {
        self.with(|capacity| capacity.custom(name, amount))
    }

    fn with(mut self, change: impl FnOnce(Capacity) -> Capacity) -> Self {
        self.capacity = change(self.capacity);
        self
    }

    /// Adds a label.
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.labels.push(label.into());
        self
    }
}

impl From<Capacity> for NodeSpec {
    fn from(capacity: Capacity) -> Self {
        NodeSpec {
            capacity,
            labels: Vec::new(),
        }
    }
}
