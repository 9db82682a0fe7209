//! What the world knows of its jobs by itself, beside what the engine says.

use crate::asks::Asks;
use crate::plan::{Node, Plan};
use batchyard::{Run, TaskId, TaskState};
use std::collections::BTreeMap;
use std::time::Duration;

/// A task: its job, its node in the job's plan, its index there.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Name {
    pub(crate) job: usize,
    pub(crate) node: usize,
    pub(crate) index: usize,
}

/// A job that was submitted.
pub(crate) struct Book {
    pub(crate) plan: Plan,
    pub(crate) run: Run,
    pub(crate) submitted: Duration,
    pub(crate) ids: Vec<Vec<TaskId>>,
    names: BTreeMap<TaskId, (usize, usize)>,
    pub(crate) tasks: Vec<Vec<Page>>,
    /// Somebody cancelled something of it.
    pub(crate) cancelled: bool,
}

/// What happened to a task.
#[derive(Clone, Default)]
pub(crate) struct Page {
    /// The number of its last attempt.
    pub(crate) attempts: u32,
    /// A success was reported that counted.
    pub(crate) succeeded: bool,
    /// Failures that counted, and losses of its node.
    pub(crate) failures: u32,
    pub(crate) losses: u32,
    /// It waits for its next attempt until then.
    pub(crate) not_before: Duration,
}

/// How urgent a task is: its job's priority, then its own.
pub(crate) type Urgency = (i32, i32);

impl Book {
    pub(crate) fn new(plan: Plan, run: Run, ids: Vec<Vec<TaskId>>, submitted: Duration) -> Self {
        let pages = |ids: &Vec<TaskId>| vec![Page::default(); ids.len()];
        let named = |(node, ids): (usize, &Vec<TaskId>)| {
            let indexes = ids.iter().enumerate();
            indexes
                .map(|(index, &id)| (id, (node, index)))
                .collect::<Vec<_>>()
        };
        Book {
            tasks: ids.iter().map(pages).collect(),
            names: ids.iter().enumerate().flat_map(named).collect(),
            cancelled: false,
            plan,
            run,
            ids,
            submitted,
        }
    }

    pub(crate) fn find(&self, task: TaskId) -> (usize, usize) {
        self.names[&task]
    }

    pub(crate) fn node(&self, node: usize) -> &Node {
        &self.plan.nodes[node]
    }

    pub(crate) fn asks(&self, node: usize) -> Asks {
        self.node(node).asks.unwrap_or(Asks::ONE_SLOT)
    }

    /// Whether the pool starts a node's tasks itself, and not the workers of a grant.
    pub(crate) fn is_queued(&self, node: usize) -> bool {
        self.plan.is_ordered() || self.node(node).has_limits()
    }

    pub(crate) fn urgency(&self, node: usize) -> Urgency {
        (self.plan.priority, self.node(node).priority)
    }

    pub(crate) fn state(&self, node: usize, index: usize) -> TaskState {
        self.run
            .state(self.ids[node][index])
            .expect("a task of its")
    }

    /// Whether everything that a task depends on has succeeded.
    pub(crate) fn may_begin(&self, node: usize, index: usize) -> bool {
        let plan = self.node(node);
        let whole = |&before: &usize| self.tasks[before].iter().all(|page| page.succeeded);
        let same = |each: usize| self.tasks[each][index].succeeded;
        plan.after.iter().all(whole) && plan.each.is_none_or(same)
    }

    /// All its tasks, by node and index.
    pub(crate) fn all(&self) -> impl Iterator<Item = (usize, usize)> {
        let nodes = self.ids.iter().enumerate();
        nodes.flat_map(|(node, ids)| (0..ids.len()).map(move |index| (node, index)))
    }
}
