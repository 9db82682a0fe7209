//! The builder of jobs.

mod arrays;
mod tasks;

use super::addition::{Needs, Numbers, Ties};
use super::frozen::ArrayPart;
use super::settings::JobSettings;
use crate::graph::{Edges, Graph};
use crate::model::{Defect, DefectKind, JobTag, Name, Panic, TaskSettings};
use crate::work::{Layout, Slot, TaskRef, Unit, Upstream};
use std::collections::HashMap;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// A set of tasks and task arrays, the dependencies between them, and the values that flow along these.
///
/// Adding a task returns a typed handle, which later tasks name as their input: a dependency and a value in one. What
/// is wrong with a description is collected and told, all of it, when the job is [checked](Job::check),
/// [frozen](Job::freeze) or submitted; so adding never fails.
///
/// ```
/// use batchyard::{Job, Pool, ThreadExecutor};
///
/// let mut job = Job::new("sum of squares");
/// let squares = job.map("square", 1..=10u64, |n: &u64| n * n);
/// let sum = job.reduce("sum", &squares, |all: &[u64]| all.iter().sum::<u64>());
///
/// let pool = Pool::new(ThreadExecutor::new(2)?);
/// let run = pool.submit(job)?;
/// assert_eq!(*run.output(&sum).wait()?, 385);
/// # Ok::<(), batchyard::Error>(())
/// ```
pub struct Job {
    pub(super) tag: JobTag,
    pub(super) name: String,
    pub(super) whole: JobSettings,
    pub(super) defaults: TaskSettings,
    pub(super) settings: HashMap<u32, TaskSettings>,
    pub(super) edges: Edges,
    pub(super) units: Vec<Box<dyn Unit>>,
    pub(super) arrays: Vec<ArrayPart>,
    /// One more than the number of the last element.
    pub(super) elements: u32,
    /// What it may number its nodes and elements with: in an addition to a run, not from 0 on.
    pub(super) numbers: Numbers,
    /// Of an addition to a run: what ties it to that.
    pub(super) ties: Option<Box<Ties>>,
    pub(super) layout: Layout,
    pub(super) names: HashMap<Arc<str>, u32>,
    pub(super) labels: HashMap<u32, Arc<str>>,
    /// Dependencies by name, resolved when the job is frozen: the name may come later.
    pub(super) by_name: Vec<(u32, String)>,
    /// Edges, from and to, that carry no value, to tasks that may have inputs; and those that any outcome passes.
    pub(super) order_only: Vec<(u32, u32)>,
    pub(super) any_outcome: Vec<(u32, u32)>,
    /// How many inputs read a node's output, for nodes up to the last that owns what it puts out.
    pub(super) wanted: Vec<u32>,
    #[cfg(feature = "journal")]
    pub(super) inputs: super::InputOrder,
    pub(super) owners: Vec<u32>,
    pub(super) kept: Vec<u32>,
    /// Nodes whose bodies wait.
    pub(super) asynchronous: Vec<u32>,
    /// Nodes that are commands.
    pub(super) commands: Vec<u32>,
    #[cfg(feature = "command")]
    pub(super) command_settings: crate::model::CommandSettings,
    pub(super) defects: Vec<Defect>,
}

impl Job {
    /// A job without tasks. Its name is for people, and need not be unique.
    pub fn new(name: impl Into<String>) -> Self {
        Job {
            tag: JobTag::unique(),
            name: name.into(),
            whole: JobSettings::default(),
            defaults: TaskSettings::default(),
            settings: HashMap::new(),
            edges: Edges::default(),
            units: Vec::new(),
            arrays: Vec::new(),
            elements: 0,
            numbers: Numbers::default(),
            ties: None,
            layout: Layout::default(),
            names: HashMap::new(),
            labels: HashMap::new(),
            by_name: Vec::new(),
            order_only: Vec::new(),
            any_outcome: Vec::new(),
            wanted: Vec::new(),
            #[cfg(feature = "journal")]
            inputs: super::InputOrder::default(),
            owners: Vec::new(),
            kept: Vec::new(),
            asynchronous: Vec::new(),
            commands: Vec::new(),
            #[cfg(feature = "command")]
            command_settings: crate::model::CommandSettings::default(),
            defects: Vec::new(),
        }
    }

    /// Makes `after` wait for the success of `before`, with no value passed.
    pub fn order(&mut self, before: impl Into<TaskRef>, after: impl Into<TaskRef>) {
        let before = before.into();
        let Some(after) = self.own(after.into()) else {
            return;
        };
        if before.job == self.tag {
            self.add_order(self.local(before), after);
        } else {
            self.follow_earlier(after, before, Needs::Success);
        }
    }

    /// Keeps the outputs of a task or array as long as the [`Run`](crate::Run), although others depend on it.
    /// (Outputs that nobody depends on are kept anyway.)
    pub fn keep(&mut self, task: impl Into<TaskRef>) {
        let node = self.own(task.into());
        self.kept.extend(node);
    }

    /// The job's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How many tasks there are; each element of an array is one.
    pub fn len(&self) -> u64 {
        let singles = (self.units.len() - self.arrays.len()) as u64;
        singles + u64::from(self.elements - self.numbers.elements.start)
    }

    /// Whether there is no task. Such a job succeeds at once.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The dependency graph, for petgraph's algorithms and drawings. A task array is one node. Dependencies by name are
    /// left out until the job is frozen.
    pub fn graph(&self) -> Graph<'_> {
        Graph::new(self)
    }
}

/// The steps of adding a node.
impl Job {
    /// Takes the next number. What the node follows is told until it ends.
    #[inline]
    fn begin_node(&mut self, name: Name) -> u32 {
        let node = self.units.len() as u32;
        self.edges.begin_node();
        self.set_name(node, name);
        node
    }

    #[inline]
    fn end_node(&mut self, unit: Box<dyn Unit>) {
        let (node, kind) = (self.units.len() as u32, unit.kind());
        self.asynchronous.extend(kind.asynchronous.then_some(node));
        self.commands.extend(kind.command.then_some(node));
        self.units.push(unit);
        self.edges.end_node();
    }

    #[inline]
    fn set_name(&mut self, node: u32, name: Name) {
        let Some(name) = name.into_inner() else {
            return;
        };
        if name.is_empty() {
            return self.defect(node, DefectKind::EmptyName);
        }
        let name: Arc<str> = name.into();
        self.labels.insert(node, name.clone());
        if self.names.insert(name, node).is_some() {
            self.defect(node, DefectKind::DuplicateName);
        }
    }

    /// The node reads an input: it follows that node, and wants its output.
    #[inline]
    fn depend(&mut self, node: u32, input: Upstream) {
        match input.job == self.tag {
            true => self.edges.follow(self.local(input.task())),
            false => self.follow_earlier(node, input.task(), Needs::Value),
        }
        self.want(input);
    }

    /// Another input wants a node's output. Nodes whose outputs need no dropping aren't counted.
    #[inline]
    fn want(&mut self, input: Upstream) {
        if input.job != self.tag {
            return;
        }
        let node = self.local(input.task());
        #[cfg(feature = "journal")]
        self.inputs.note(self.units.len() as u32, node);
        if let Some(wanted) = self.wanted.get_mut(node as usize) {
            *wanted += 1;
        }
    }

    #[inline]
    fn follow(&mut self, node: u32, before: TaskRef) {
        if before.job == self.tag {
            self.edges.follow(self.local(before));
        } else {
            self.follow_earlier(node, before, Needs::Success);
        }
    }

    /// A node that has been added is to follow another, with no value passed.
    pub(super) fn add_order(&mut self, before: u32, after: u32) {
        if !self.edges.had(before, after) {
            self.order_only.push((before, after));
            self.edges.add_edge(before, after);
        }
    }

    /// The node of a handle, if it is one of this job, or of this addition.
    pub(super) fn own(&mut self, task: TaskRef) -> Option<u32> {
        let own = (task.job == self.tag).then(|| self.local(task));
        if own.is_none() {
            let kind = match self.ties {
                Some(_) => DefectKind::AddedBefore,
                None => DefectKind::ForeignHandle,
            };
            self.defects.push(Defect {
                index: None,
                task: Some(task.task.to_string()),
                kind,
            });
        }
        own
    }

    /// The node of one of its own handles, counted from 0.
    #[inline]
    pub(in crate::job) fn local(&self, task: TaskRef) -> u32 {
        task.task.0 - self.numbers.nodes.start
    }

    /// The number that a node has in handles.
    #[inline]
    pub(in crate::job) fn number(&self, node: u32) -> u32 {
        self.numbers.nodes.start + node
    }

    #[cold]
    pub(super) fn defect(&mut self, node: u32, kind: DefectKind) {
        self.defects.push(self.defect_of(node, kind));
    }

    pub(crate) fn defect_of(&self, node: u32, kind: DefectKind) -> Defect {
        Defect {
            index: None,
            task: Some(self.label(node)),
            kind,
        }
    }

    /// Room for a node's outputs.
    #[inline]
    fn place<T>(&mut self, node: u32, len: u32) -> Slot<T> {
        if std::mem::needs_drop::<T>() {
            self.owners.push(node);
            self.wanted.resize(node as usize + 1, 0);
        }
        self.layout.add(len as usize).unwrap_or_else(|| {
            self.defect(node, DefectKind::OutputsTooLarge);
            Slot::nowhere()
        })
    }

    pub(super) fn label(&self, node: u32) -> String {
        match self.labels.get(&node) {
            Some(name) => name.to_string(),
            None => format!("task {}", self.number(node)),
        }
    }
}

impl fmt::Debug for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Job")
            .field("name", &self.name)
            .field("tasks", &self.len())
            .finish_non_exhaustive()
    }
}

/// Collects what the user's iterator gives, and what it ended with if it panicked.
fn collect<T>(items: impl IntoIterator<Item = T>) -> (Vec<T>, Option<Defect>) {
    let mut collected = Vec::new();
    let result = catch_unwind(AssertUnwindSafe(|| collected.extend(items)));
    let panicked = result.err().map(|payload| {
        let message = Panic::from_payload(payload).message;
        Defect {
            index: None,
            task: None,
            kind: DefectKind::IteratorPanicked(collected.len(), message),
        }
    });
    (collected, panicked)
}
