//! A job in the form in which it is run.

use super::addition::Late;
use super::distinct::DistinctSettings;
use super::settings::QueuedNodes;
use super::{LooseEdge, Rules};
use crate::graph::{Csr, Graph, GraphSource, node_of};
use crate::model::{
    ELEMENT, FailurePolicy, JobTag, Panic, Result, TaskId, TaskOrder, TaskSettings,
};
use crate::sync::lock;
use crate::work::{Layout, Unit};
use std::collections::HashMap;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

/// A job that has been checked and made compact: run it as often as you like, also at the same time.
///
/// Cheap to clone. Handles of the [`Job`](crate::Job) it was made from are valid for each of its runs.
///
/// ```
/// use batchyard::{Job, Pool, ThreadExecutor};
///
/// let mut job = Job::new("again");
/// let answer = job.task("answer", (), || 42);
/// let job = job.freeze()?;
///
/// let pool = Pool::new(ThreadExecutor::new(1)?);
/// for _ in 0..3 {
///     assert_eq!(*pool.submit(&job)?.output(&answer).wait()?, 42);
/// }
/// # Ok::<(), batchyard::Error>(())
/// ```
#[derive(Clone)]
pub struct FrozenJob(Arc<Frozen>);

/// What runs share.
pub(crate) struct Frozen {
    pub(crate) tag: JobTag,
    /// What its first node is called in a run: nodes are counted from 0 here, tasks and elements through the run.
    pub(crate) base: u32,
    /// Its runs take more tasks.
    pub(crate) open: bool,
    /// Of an addition: what its nodes wait for beyond it, by ascending node.
    pub(crate) late: Box<[Late]>,
    pub(crate) name: String,
    pub(crate) policy: FailurePolicy,
    pub(crate) csr: Csr,
    /// What the first run counts down, laid out with the rest so that running begins at once. Later runs copy it anew.
    pub(crate) first_counts: Mutex<Vec<u32>>,
    pub(crate) units: Box<[Box<dyn Unit>]>,
    /// The numbers of its elements in a run.
    pub(crate) elements: Range<u32>,
    /// In the order of their nodes, and of their elements.
    pub(crate) arrays: Box<[ArrayPart]>,
    /// Tasks in all, each element being one.
    pub(crate) tasks: u64,
    pub(crate) layout: Layout,
    /// Nodes whose outputs must be dropped.
    pub(crate) owners: Vec<u32>,
    /// Nodes that read more than one input, and these: in the order in which they were named.
    #[cfg(feature = "journal")]
    pub(crate) inputs: Box<[(u32, u32)]>,
    pub(crate) labels: HashMap<u32, Arc<str>>,
    pub(crate) names: HashMap<Arc<str>, u32>,
    pub(crate) priority: i32,
    pub(crate) time_limit: Option<Duration>,
    pub(crate) task_order: TaskOrder,
    pub(crate) max_parallel_tasks: Option<u32>,
    /// Of tasks without settings of their own.
    pub(crate) defaults: TaskSettings,
    pub(crate) rules: Rules,
    /// Edges that need no success, by where they lead from.
    pub(crate) loose: Box<[LooseEdge]>,
    /// The success of some task has consequences of its own.
    pub(crate) acts_on_success: bool,
    pub(crate) settings: DistinctSettings,
    pub(crate) queued: QueuedNodes,
    /// Nodes whose bodies wait, in order.
    pub(crate) asynchronous: Vec<u32>,
    /// Of commands that set nothing themselves.
    #[cfg(feature = "command")]
    pub(crate) command_settings: crate::model::CommandSettings,
    /// Of each distinct request for resources, the first node that makes it.
    pub(crate) requests: Vec<u32>,
    /// Made when first asked for.
    pub(crate) reverse: OnceLock<Reverse>,
}

impl Drop for Frozen {
    /// Bodies and items are the user's, and it may be a worker that drops them, or the thread that serves the pool.
    fn drop(&mut self) {
        Panic::ignore_dropping(std::mem::take(&mut self.units).into_vec());
    }
}

/// Each node's predecessors.
pub(crate) struct Reverse {
    ends: Box<[u32]>,
    predecessors: Box<[u32]>,
}

/// A task array's place in the graph.
#[derive(Clone, Debug)]
pub(crate) struct ArrayPart {
    pub(crate) node: u32,
    /// The number of its first element among those of all arrays.
    pub(crate) first: u32,
    pub(crate) len: u32,
    /// The arrays whose elements its own wait for one by one, and the other way round: positions in `arrays`.
    pub(crate) each_from: Vec<u32>,
    pub(crate) each_to: Vec<u32>,
    /// How many things each element waits for: the node as a whole, if that waits, and an element of each `each_from`.
    pub(crate) conditions: u32,
    /// Only the policy starts its elements.
    pub(crate) queued: bool,
}

impl FrozenJob {
    pub(super) fn new(frozen: Frozen) -> Self {
        FrozenJob(Arc::new(frozen))
    }

    pub(crate) fn inner(&self) -> &Arc<Frozen> {
        &self.0
    }

    /// The job's name.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// How many tasks there are; each element of an array is one.
    pub fn len(&self) -> u64 {
        self.0.tasks
    }

    /// Whether there is no task. Such a job succeeds at once.
    pub fn is_empty(&self) -> bool {
        self.0.tasks == 0
    }

    /// The dependency graph, for petgraph's algorithms and drawings. A task array is one node.
    pub fn graph(&self) -> Graph<'_> {
        Graph::new(&*self.0)
    }
}

impl fmt::Debug for FrozenJob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FrozenJob")
            .field("name", &self.0.name)
            .field("tasks", &self.0.tasks)
            .finish_non_exhaustive()
    }
}

/// What can be submitted: a [`Job`](crate::Job), which is frozen then, or a [`FrozenJob`].
pub trait IntoFrozen {
    /// The job in the form in which it is run.
    ///
    /// # Errors
    /// As [`Job::freeze`](crate::Job::freeze).
    fn into_frozen(self) -> Result<FrozenJob>;
}

impl IntoFrozen for crate::Job {
    fn into_frozen(self) -> Result<FrozenJob> {
        self.freeze()
    }
}

impl IntoFrozen for FrozenJob {
    fn into_frozen(self) -> Result<FrozenJob> {
        Ok(self)
    }
}

impl IntoFrozen for &FrozenJob {
    fn into_frozen(self) -> Result<FrozenJob> {
        Ok(self.clone())
    }
}

impl Frozen {
    /// How many predecessors each node of a new run waits for.
    pub(crate) fn take_counts(&self) -> Vec<u32> {
        let first = std::mem::take(&mut *lock(&self.first_counts));
        if first.is_empty() {
            self.csr.in_degrees.to_vec()
        } else {
            first
        }
    }

    /// What a node is called in a run.
    pub(crate) fn task(&self, node: u32) -> TaskId {
        TaskId(self.base + node)
    }

    /// The node of a task, or of an array as a whole, if it is one of these.
    fn node(&self, task: TaskId) -> Option<u32> {
        let node = task.0.checked_sub(self.base)?;
        ((node as usize) < self.units.len()).then_some(node)
    }

    pub(crate) fn is_array(&self, node: u32) -> bool {
        self.array_of_node(node).is_some()
    }

    pub(crate) fn array_of_node(&self, node: u32) -> Option<usize> {
        array_of_node(&self.arrays, node)
    }

    /// The task or array of a name.
    pub(crate) fn named(&self, name: &str) -> Option<TaskId> {
        self.names.get(name).copied().map(TaskId)
    }

    pub(crate) fn is_empty_array(&self, node: u32) -> bool {
        let array = self.array_of_node(node);
        array.is_some_and(|array| self.arrays[array].len == 0)
    }

    /// The array that the element of this number is in.
    pub(crate) fn array_of_element(&self, number: u32) -> Option<usize> {
        // Empty arrays share their first number with the array after them, which is the one found.
        let after = self.arrays.partition_point(|part| part.first <= number);
        let array = after.checked_sub(1)?;
        (number - self.arrays[array].first < self.arrays[array].len).then_some(array)
    }

    /// The node that a task is, or is an element of, and its index there.
    pub(crate) fn locate(&self, task: TaskId) -> Option<(u32, u32)> {
        if !task.is_element() {
            return Some((self.node(task)?, 0));
        }
        let part = &self.arrays[self.array_of_element(task.number())?];
        Some((part.node, task.0 - (ELEMENT | part.first)))
    }

    /// What a node, or its elements, waits for beyond the addition that it is part of.
    pub(crate) fn late_of(&self, node: u32) -> &[Late] {
        let start = self.late_start(node);
        let rest = &self.late[start..];
        &rest[..rest.partition_point(|late| late.node == node)]
    }

    /// What the node waits for as a whole beyond that addition, numbered among all of its late edges.
    pub(crate) fn late_nodes(&self, node: u32) -> impl Iterator<Item = (u32, &Late)> {
        let start = self.late_start(node) as u32;
        let numbered = (start..).zip(self.late_of(node));
        numbered.filter(|(_, late)| !late.is_each())
    }

    /// Whether an array as a node has to become ready, before its elements do or beside what they wait for.
    pub(crate) fn is_opened(&self, part: &ArrayPart) -> bool {
        let waits_each = || self.late_of(part.node).iter().any(Late::is_each);
        self.csr.in_degrees[part.node as usize] > 0 || part.each_from.is_empty() && !waits_each()
    }

    fn late_start(&self, node: u32) -> usize {
        self.late.partition_point(|late| late.node < node)
    }

    /// What a task waits for: single tasks, all elements of arrays, or elements of the same index.
    pub(crate) fn predecessors(&self, task: TaskId) -> Vec<TaskId> {
        let Some((node, index)) = self.locate(task) else {
            return Vec::new();
        };
        let mut found = Vec::new();
        for &before in self.reverse().of(node) {
            match self.array_of_node(before) {
                None => found.push(self.task(before)),
                Some(array) => found.extend(self.elements(array)),
            }
        }
        if let Some(array) = self.array_of_node(node) {
            let each_from = self.arrays[array]
                .each_from
                .iter()
                .map(|&from| &self.arrays[from as usize]);
            match task.is_element() {
                true => found.extend(each_from.map(|part| TaskId(ELEMENT | (part.first + index)))),
                // The array as a whole waits for what its elements wait for.
                false => each_from.for_each(|part| {
                    found.extend(
                        (part.first..part.first + part.len).map(|number| TaskId(ELEMENT | number)),
                    );
                }),
            }
            if !task.is_element() {
                found.extend(self.elements(array));
            }
        }
        found
    }

    /// What a task, or an array as a whole, waits for by itself: other arrays as a whole, and elements of the same index.
    pub(crate) fn direct_predecessors(&self, task: TaskId) -> impl Iterator<Item = TaskId> + '_ {
        let located = self.locate(task).into_iter();
        located.flat_map(move |(node, index)| self.before(node, task.is_element().then_some(index)))
    }

    fn before(&self, node: u32, index: Option<u32>) -> impl Iterator<Item = TaskId> + '_ {
        let part = self.array_of_node(node).map(|array| &self.arrays[array]);
        let each = part.into_iter().flat_map(|part| &part.each_from);
        let nodes = self.reverse().of(node).iter().map(|&node| self.task(node));
        let each = each.map(move |&from| match (&self.arrays[from as usize], index) {
            (from, Some(index)) => TaskId::element(from.first + index),
            (from, None) => self.task(from.node),
        });
        nodes.chain(each)
    }

    pub(crate) fn elements(&self, array: usize) -> impl Iterator<Item = TaskId> + use<> {
        let ArrayPart { first, len, .. } = self.arrays[array];
        (first..first + len).map(|number| TaskId(ELEMENT | number))
    }

    /// The nodes that a node waits for, in order; one may be there more than once.
    pub(crate) fn nodes_before(&self, node: u32) -> &[u32] {
        self.reverse().of(node)
    }

    fn reverse(&self) -> &Reverse {
        self.reverse.get_or_init(|| Reverse::new(&self.csr))
    }

    /// What a task is called in errors and events.
    pub(crate) fn label(&self, task: TaskId) -> String {
        match self.locate(task) {
            Some((node, index)) if task.is_element() => {
                format!("{}[{index}]", self.node_label(node))
            }
            Some((node, _)) => self.node_label(node),
            None => task.to_string(),
        }
    }

    /// What a task or array is called, if that does not follow from its number as a task.
    #[cfg(feature = "process")]
    pub(crate) fn name_of(&self, node: u32) -> std::borrow::Cow<'_, str> {
        match self.labels.get(&node) {
            Some(name) => (**name).into(),
            None if self.is_array(node) => self.node_label(node).into(),
            None => "".into(),
        }
    }

    pub(crate) fn node_label(&self, node: u32) -> String {
        match self.labels.get(&node) {
            Some(name) => name.to_string(),
            None if self.array_of_node(node).is_some() => format!("array {}", self.base + node),
            None => format!("task {}", self.base + node),
        }
    }
}

impl GraphSource for Frozen {
    fn node_count(&self) -> u32 {
        self.units.len() as u32
    }

    fn edges(&self, visit: &mut dyn FnMut(u32, u32)) {
        for node in 0..self.node_count() {
            self.csr
                .successors(node)
                .iter()
                .for_each(|&entry| visit(node, node_of(entry)));
        }
        element_wise_edges(&self.arrays, visit);
    }

    fn name(&self, node: u32) -> Option<&str> {
        self.labels.get(&node).map(|name| &**name)
    }

    fn tasks(&self, node: u32) -> u32 {
        self.array_of_node(node)
            .map_or(1, |array| self.arrays[array].len)
    }

    fn is_array(&self, node: u32) -> bool {
        self.is_array(node)
    }

    fn is_each(&self, from: u32, to: u32) -> bool {
        is_each(&self.arrays, from, to)
    }
}

impl Reverse {
    fn new(csr: &Csr) -> Self {
        let mut ends = vec![0; csr.len() as usize].into_boxed_slice();
        let successors = (0..csr.len()).flat_map(|node| csr.successors(node));
        successors.for_each(|&entry| ends[node_of(entry) as usize] += 1);
        let mut total = 0;
        for end in &mut ends {
            total += std::mem::replace(end, total);
        }
        // `ends` holds starts now, and is moved on to the ends while the lists are filled.
        let mut predecessors = vec![0; total as usize].into_boxed_slice();
        for node in 0..csr.len() {
            for next in csr
                .successors(node)
                .iter()
                .map(|&entry| node_of(entry) as usize)
            {
                predecessors[ends[next] as usize] = node;
                ends[next] += 1;
            }
        }
        Reverse { ends, predecessors }
    }

    fn of(&self, node: u32) -> &[u32] {
        let start = node
            .checked_sub(1)
            .map_or(0, |before| self.ends[before as usize]);
        &self.predecessors[start as usize..self.ends[node as usize] as usize]
    }
}

impl ArrayPart {
    pub(super) fn new(node: u32, first: u32, len: u32, each_from: Vec<u32>) -> Self {
        ArrayPart {
            node,
            first,
            len,
            each_from,
            each_to: Vec::new(),
            conditions: 1,
            queued: false,
        }
    }

    /// The ids of some elements, without their type.
    pub(crate) fn ids(&self, elements: Range<u32>) -> Range<u32> {
        let first = self.first | ELEMENT;
        first + elements.start..first + elements.end
    }
}

pub(super) fn array_of_node(arrays: &[ArrayPart], node: u32) -> Option<usize> {
    arrays.binary_search_by_key(&node, |part| part.node).ok()
}

/// The edges that the flow keeps apart, since they join elements and not nodes.
pub(super) fn element_wise_edges(arrays: &[ArrayPart], visit: &mut dyn FnMut(u32, u32)) {
    for part in arrays {
        part.each_from
            .iter()
            .for_each(|&from| visit(arrays[from as usize].node, part.node));
    }
}

pub(super) fn is_each(arrays: &[ArrayPart], from: u32, to: u32) -> bool {
    let (Some(from), Some(to)) = (array_of_node(arrays, from), array_of_node(arrays, to)) else {
        return false;
    };
    arrays[to].each_from.contains(&(from as u32))
}
