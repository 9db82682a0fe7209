//! The settings of a job, and of its tasks; and what follows from them for who starts which task.

use super::{ArrayPart, Frozen, Job, Rules};
use crate::model::{ELEMENT, FailurePolicy, TaskId, TaskOrder, TaskSettings};
use crate::work::{Queued, TaskRef};
use std::collections::{BTreeSet, HashSet};
use std::time::Duration;

/// Settings of a job as a whole.
#[derive(Default, PartialEq)]
pub(super) struct JobSettings {
    /// Its runs take more tasks.
    pub(super) open: bool,
    pub(super) policy: FailurePolicy,
    pub(super) priority: i32,
    pub(super) time_limit: Option<Duration>,
    pub(super) task_order: Option<TaskOrder>,
    pub(super) max_parallel_tasks: Option<u32>,
    pub(super) rules: Rules,
}

impl JobSettings {
    pub(super) fn order(&self) -> TaskOrder {
        self.task_order.unwrap_or_else(|| self.rules.task_order())
    }

    /// Those of a job that was frozen.
    pub(super) fn of(job: &Frozen) -> Self {
        JobSettings {
            open: job.open,
            policy: job.policy,
            priority: job.priority,
            time_limit: job.time_limit,
            task_order: Some(job.task_order),
            max_parallel_tasks: job.max_parallel_tasks,
            rules: job.rules,
        }
    }
}

/// Which nodes only the policy starts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum QueuedNodes {
    None,
    Some,
    All,
}

impl Job {
    /// What a failed task means for the others. Default: [`FailurePolicy::Continue`].
    pub fn failure_policy(&mut self, policy: FailurePolicy) {
        self.whole.policy = policy;
    }

    /// What the settings of its tasks are, where these set nothing themselves.
    pub fn defaults(&mut self, settings: TaskSettings) {
        self.defaults = settings.or(&self.defaults);
    }

    /// Sets when and how often a task, or each element of an array, may run. What was set before is kept where this
    /// sets nothing.
    pub fn configure(&mut self, task: impl Into<TaskRef>, settings: TaskSettings) {
        if let Some(node) = self.own(task.into()) {
            let before = self.settings.remove(&node).unwrap_or_default();
            self.settings.insert(node, settings.or(&before));
        }
    }

    /// How long the whole job may take from its submission. What has not ended then is cancelled, and the run ends with
    /// [`ErrorKind::TimedOut`](crate::ErrorKind::TimedOut). Default: no limit. (Azure Batch: `maxWallClockTime` of a job.)
    pub fn time_limit(&mut self, limit: Duration) {
        self.whole.time_limit = Some(limit);
    }

    /// Which of a pool's jobs go first: those of higher priority. A more urgent job overtakes within one task of each
    /// worker; it interrupts none. Default 0. (Azure Batch: job priority, from -1000 to 1000; here any number.)
    pub fn priority(&mut self, priority: i32) {
        self.whole.priority = priority;
    }

    /// Which of the job's ready tasks go first, among those of equal [priority](TaskSettings::priority). Default:
    /// [`TaskOrder::Ready`].
    pub fn task_order(&mut self, order: TaskOrder) {
        self.whole.task_order = Some(order);
    }

    /// At most so many of the job's tasks run at once. 0 counts as 1. Default: as many as have room. (Azure Batch:
    /// `maxParallelTasks`.)
    pub fn max_parallel_tasks(&mut self, tasks: u32) {
        self.whole.max_parallel_tasks = Some(tasks.max(1));
    }
}

/// The steps of freezing.
impl Job {
    /// Marks what the policy must start: bodies that wait, commands, and tasks whose settings need it. All of them, where one that
    /// a lane started could jump the order or a limit. Says whether there are such.
    pub(super) fn queue_units(&mut self) -> QueuedNodes {
        let nodes = self.queued_nodes();
        for &node in &nodes {
            Queued::hide(&mut self.units[node as usize]);
            if let Some(array) = self.array_of(node) {
                self.arrays[array as usize].queued = true;
            }
        }
        match nodes.len() {
            0 => QueuedNodes::None,
            some if some < self.units.len() => QueuedNodes::Some,
            _ => QueuedNodes::All,
        }
    }

    fn queued_nodes(&self) -> BTreeSet<u32> {
        if self.is_ordered() || !self.defaults.is_plain() {
            return (0..self.units.len() as u32).collect();
        }
        let set = self
            .settings
            .iter()
            .filter(|(_, settings)| !settings.is_plain());
        let set = set.map(|(&node, _)| node);
        let leased = self.asynchronous.iter().chain(&self.commands).copied();
        set.chain(leased).collect()
    }

    fn is_ordered(&self) -> bool {
        self.whole.max_parallel_tasks.is_some()
            || self.whole.order() != TaskOrder::Ready
            || self.defaults.is_ordered()
            || self.settings.values().any(TaskSettings::is_ordered)
    }

    /// Of each distinct request for resources, the first node that makes it.
    pub(super) fn distinct_requests(&self) -> Vec<u32> {
        if self.defaults.resources.is_none() && self.settings.is_empty() {
            return Vec::new();
        }
        let mut seen = HashSet::new();
        let mut is_new = |node: &u32| {
            let asks = self.settings_of(*node).resources.as_ref();
            asks.is_some_and(|asks| seen.insert((asks, self.waits(*node))))
        };
        let nodes = 0..self.units.len() as u32;
        nodes.filter(|node| is_new(node)).collect()
    }

    fn waits(&self, node: u32) -> bool {
        self.units[node as usize].kind().asynchronous
    }

    pub(super) fn settings_of(&self, node: u32) -> &TaskSettings {
        self.settings.get(&node).unwrap_or(&self.defaults)
    }
}

/// What the settings come to, frozen.
impl Frozen {
    /// When and how often a task may run.
    pub(crate) fn settings_of(&self, task: TaskId) -> &TaskSettings {
        let node = match task.is_element() {
            _ if self.settings.is_empty() => None,
            false => Some(task.0.wrapping_sub(self.base)),
            true => self.locate(task).map(|(node, _)| node),
        };
        node.map_or(&self.defaults, |node| self.node_settings(node))
    }

    /// When and how often a node's tasks may run.
    pub(crate) fn node_settings(&self, node: u32) -> &TaskSettings {
        self.settings.get(node).unwrap_or(&self.defaults)
    }

    /// Whether only the policy starts a node.
    pub(crate) fn is_queued(&self, node: u32) -> bool {
        match self.queued {
            QueuedNodes::None => false,
            QueuedNodes::Some => self.units[node as usize].kind().queued,
            QueuedNodes::All => true,
        }
    }

    pub(crate) fn is_asynchronous(&self, node: u32) -> bool {
        self.asynchronous.binary_search(&node).is_ok()
    }

    /// Whether a task is a command.
    pub(crate) fn is_command(&self, task: TaskId) -> bool {
        let kind = |(node, _): (u32, u32)| self.units[node as usize].kind();
        self.locate(task).is_some_and(|at| kind(at).command)
    }

    /// The arrays of which only so many elements may run at once, by node.
    pub(crate) fn limited_arrays(&self) -> impl Iterator<Item = (u32, u32)> {
        let limit = |part: &ArrayPart| self.settings_of(TaskId(self.base + part.node)).max_parallel;
        let arrays = self.arrays.iter();
        arrays.filter_map(move |part| Some((self.base + part.node, limit(part)?.max(1))))
    }

    /// Every task that has a deadline.
    pub(crate) fn deadlines(&self) -> Vec<(Duration, TaskId)> {
        if self.defaults.deadline.is_none() && self.settings.is_empty() {
            return Vec::new();
        }
        let nodes = (0..self.units.len() as u32).map(|node| self.task(node));
        let limited = nodes.filter_map(|node| Some((self.settings_of(node).deadline?, node)));
        limited
            .flat_map(|(deadline, node)| self.tasks_of(node).map(move |task| (deadline, task)))
            .collect()
    }

    /// The elements of an array, or the single task that a node is.
    pub(crate) fn tasks_of(&self, node: TaskId) -> impl Iterator<Item = TaskId> + use<> {
        let array = self.array_of_node(node.0 - self.base);
        let (first, len) = array.map_or((node.0, 1), |array| {
            let part = &self.arrays[array];
            (ELEMENT | part.first, part.len)
        });
        (first..first + len).map(TaskId)
    }
}
