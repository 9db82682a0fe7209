//! The builder of jobs.

use super::addition::{Numbers, Ties};
use super::frozen::{ArrayPart, array_of_node};
use super::settings::JobSettings;
use super::task::Task;
use crate::graph::{Dependency, Edges, Graph};
use crate::model::{Defect, DefectKind, Error, JobTag, Name, Panic, Result, TaskSettings};
use crate::work::{
    Array, Body, EachInputs, Handle, Inputs, Layout, Prepend, Ref, Slot, TaskRef, Unit, Upstream,
    each_unit, index_unit, map_unit, task_unit,
};
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
    /// How many inputs read a node's output, for nodes up to the last that owns what it puts out.
    pub(super) wanted: Vec<u32>,
    pub(super) owners: Vec<u32>,
    pub(super) kept: Vec<u32>,
    /// Nodes whose bodies wait.
    pub(super) asynchronous: Vec<u32>,
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
            wanted: Vec::new(),
            owners: Vec::new(),
            kept: Vec::new(),
            asynchronous: Vec::new(),
            defects: Vec::new(),
        }
    }

    /// Adds a task that reads `inputs` and runs `body` on them.
    ///
    /// `inputs` is `()`, a `&Handle`, a `&Array` (whole, as a slice), or a tuple of these; the body takes a reference
    /// to each.
    #[inline]
    pub fn task<I, B, M>(&mut self, name: impl Into<Name>, inputs: I, body: B) -> Handle<B::Output>
    where
        I: Inputs,
        B: Body<I::Args, M>,
        M: 'static,
    {
        let node = self.begin_node(name.into());
        inputs.upstreams(&mut |input| self.depend(node, input));
        let mut places = inputs.places();
        if self.ties.is_some() {
            let mut upstreams = Vec::new();
            inputs.upstreams(&mut |input| upstreams.push(input));
            self.import(&mut places, &upstreams);
        }
        let slot = self.place(node, 1);
        self.end_node(task_unit(body, places, slot));
        Handle {
            job: self.tag,
            node: self.number(node),
            slot,
        }
    }

    /// Adds a task without inputs that runs when all of `after` have succeeded.
    ///
    /// The quickest way to add a great many tasks; [`Task::after`] does the same for one that also has inputs.
    #[inline]
    pub fn task_after<B, M>(
        &mut self,
        name: impl Into<Name>,
        after: impl IntoIterator<Item = TaskRef>,
        body: B,
    ) -> Handle<B::Output>
    where
        B: Body<(), M>,
        M: 'static,
    {
        let node = self.begin_node(name.into());
        after
            .into_iter()
            .for_each(|before| self.follow(node, before));
        let slot = self.place(node, 1);
        self.end_node(task_unit(body, (), slot));
        Handle {
            job: self.tag,
            node: self.number(node),
            slot,
        }
    }

    /// Adds a task with settings of its own.
    pub fn add<T: Send + Sync + 'static>(&mut self, task: Task<T>) -> Handle<T> {
        let node = self.begin_node(task.name);
        task.inputs
            .iter()
            .for_each(|&input| self.depend(node, input));
        task.after
            .into_iter()
            .for_each(|before| self.follow(node, before));
        self.by_name
            .extend(task.after_named.into_iter().map(|name| (node, name)));
        self.kept.extend(task.keep.then_some(node));
        if task.settings != TaskSettings::default() {
            self.settings.insert(node, task.settings);
        }
        let slot = self.place(node, 1);
        let mut inputs = task.inputs.iter();
        let unit = (task.unit)(slot, &mut |at| match inputs.next() {
            Some(input) if input.job != self.tag => self.import_one(input, at),
            _ => at,
        });
        self.end_node(unit);
        Handle {
            job: self.tag,
            node: self.number(node),
            slot,
        }
    }

    /// Adds all these tasks, or none.
    ///
    /// # Errors
    /// [`InvalidJob`](crate::ErrorKind::InvalidJob), listing every bad item with its index and what is wrong; then the
    /// job is as it was. A panic of the iterator is reported so too.
    pub fn add_all<T: Send + Sync + 'static>(
        &mut self,
        tasks: impl IntoIterator<Item = Task<T>>,
    ) -> Result<Vec<Handle<T>>> {
        let (tasks, panicked) = collect(tasks);
        let mut defects: Vec<_> = panicked.into_iter().collect();
        let mut new_names = HashMap::new();
        for (index, task) in tasks.iter().enumerate() {
            let found = self.defects_of(task, index, &mut new_names);
            defects.extend(found.map(|kind| Defect {
                index: Some(index),
                task: task.label(),
                kind,
            }));
        }
        if !defects.is_empty() {
            return Err(Error::invalid_job(&self.name, defects));
        }
        Ok(tasks.into_iter().map(|task| self.add(task)).collect())
    }

    /// Adds a task array with one element for each item, which its body reads by reference.
    ///
    /// An array is one object, however long: a million elements cost their items, a few bits, and their outputs.
    pub fn map<A, B, M>(
        &mut self,
        name: impl Into<Name>,
        items: impl IntoIterator<Item = A>,
        body: B,
    ) -> Array<B::Output>
    where
        A: Send + Sync + 'static,
        B: Body<<() as Prepend<A>>::Prepended, M>,
        M: 'static,
    {
        self.map_with(name, items, (), body)
    }

    /// As [`map`](Job::map); every element's body also reads `inputs`, whole, after its item.
    pub fn map_with<A, I, B, M>(
        &mut self,
        name: impl Into<Name>,
        items: impl IntoIterator<Item = A>,
        inputs: I,
        body: B,
    ) -> Array<B::Output>
    where
        A: Send + Sync + 'static,
        I: Inputs,
        I::Args: Prepend<A>,
        B: Body<<I::Args as Prepend<A>>::Prepended, M>,
        M: 'static,
    {
        let node = self.begin_node(name.into());
        let (items, panicked) = collect(items);
        self.defects.extend(panicked.map(|defect| Defect {
            task: Some(self.label(node)),
            index: None,
            ..defect
        }));
        let mut upstreams = Vec::new();
        inputs.upstreams(&mut |input| upstreams.push(input));
        let mut places = inputs.places();
        self.import(&mut places, &upstreams);
        let len = self.array_len(node, items.len());
        let slot = self.place(node, len);
        self.end_array(map_unit(body, items, places, slot), &upstreams, len, slot)
    }

    /// Adds a task array of so many elements, each of which reads its index. It costs no memory for them but a few bits,
    /// and their outputs.
    ///
    /// ```
    /// # let mut job = batchyard::Job::new("simulate");
    /// let energies = job.array("simulate", 1_000, |seed: &usize| (*seed as f64).sin());
    /// ```
    pub fn array<B, M>(&mut self, name: impl Into<Name>, len: usize, body: B) -> Array<B::Output>
    where
        B: Body<<() as Prepend<usize>>::Prepended, M>,
        M: 'static,
    {
        self.array_with(name, len, (), body)
    }

    /// As [`array`](Job::array); every element's body also reads `inputs`, whole, after its index.
    pub fn array_with<I, B, M>(
        &mut self,
        name: impl Into<Name>,
        len: usize,
        inputs: I,
        body: B,
    ) -> Array<B::Output>
    where
        I: Inputs,
        I::Args: Prepend<usize>,
        B: Body<<I::Args as Prepend<usize>>::Prepended, M>,
        M: 'static,
    {
        let node = self.begin_node(name.into());
        let mut upstreams = Vec::new();
        inputs.upstreams(&mut |input| upstreams.push(input));
        let mut places = inputs.places();
        self.import(&mut places, &upstreams);
        let len = self.array_len(node, len);
        let slot = self.place(node, len);
        let unit = index_unit(body, len, places, slot);
        self.end_array(unit, &upstreams, len, slot)
    }

    /// Adds a task array with one element for each element of another, whose output its body reads.
    ///
    /// An element runs as soon as the one it reads has succeeded. `inputs` is a `&Array`, or a tuple that begins with
    /// one; further `&Array`s are read element by element too, `&Handle`s and [`all`](crate::all)`(&array)` whole.
    pub fn each<I, B, M>(&mut self, name: impl Into<Name>, inputs: I, body: B) -> Array<B::Output>
    where
        I: EachInputs,
        B: Body<I::Args, M>,
        M: 'static,
    {
        let node = self.begin_node(name.into());
        let mut upstreams = Vec::new();
        inputs.upstreams(&mut |input| upstreams.push(input));
        let len = upstreams.first().map_or(0, |first| first.len);
        let uneven = upstreams
            .iter()
            .find(|input| input.kind == Dependency::Each && input.len != len);
        if let Some(other) = uneven {
            self.defect(node, DefectKind::LengthMismatch(len, other.len));
        }
        let mut places = inputs.places();
        self.import(&mut places, &upstreams);
        let len = self.array_len(node, len as usize);
        let slot = self.place(node, len);
        self.end_array(each_unit(body, places, slot, len), &upstreams, len, slot)
    }

    /// Adds a task that reads all outputs of an array: [`task`](Job::task) with one input, under the usual name.
    /// An empty array gives it an empty slice.
    pub fn reduce<T, B, M>(
        &mut self,
        name: impl Into<Name>,
        array: &Array<T>,
        body: B,
    ) -> Handle<B::Output>
    where
        T: Send + Sync + 'static,
        B: Body<(Ref<[T]>,), M>,
        M: 'static,
    {
        self.task(name, array, body)
    }

    /// Makes `after` wait for the success of `before`, with no value passed.
    pub fn order(&mut self, before: impl Into<TaskRef>, after: impl Into<TaskRef>) {
        let before = before.into();
        let Some(after) = self.own(after.into()) else {
            return;
        };
        if before.job == self.tag {
            self.edges.add_edge(self.local(before), after);
        } else {
            self.follow_earlier(after, before, false);
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
        if unit.kind().asynchronous {
            self.asynchronous.push(self.units.len() as u32);
        }
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
        self.follow(node, input.task());
        self.want(input);
    }

    /// Another input wants a node's output. Nodes whose outputs need no dropping aren't counted.
    #[inline]
    fn want(&mut self, input: Upstream) {
        if input.job != self.tag {
            return;
        }
        let node = self.local(input.task());
        if let Some(wanted) = self.wanted.get_mut(node as usize) {
            *wanted += 1;
        }
    }

    #[inline]
    fn follow(&mut self, node: u32, before: TaskRef) {
        if before.job == self.tag {
            self.edges.follow(self.local(before));
        } else {
            self.follow_earlier(node, before, false);
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
    fn local(&self, task: TaskRef) -> u32 {
        task.task.0 - self.numbers.nodes.start
    }

    /// The number that a node has in handles.
    #[inline]
    pub(super) fn number(&self, node: u32) -> u32 {
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

    fn end_array<T>(
        &mut self,
        unit: Box<dyn Unit>,
        upstreams: &[Upstream],
        len: u32,
        slot: Slot<T>,
    ) -> Array<T> {
        let node = self.units.len() as u32;
        let mut each = Vec::new();
        for &input in upstreams {
            match input.kind {
                // Without elements nothing happens element by element: the array waits for the other as a whole.
                Dependency::Each if len == 0 => self.depend(node, input),
                Dependency::Each if input.job == self.tag => {
                    self.want(input);
                    each.extend(self.array_of(self.local(input.task())));
                }
                Dependency::Each => self.follow_earlier(node, input.task(), true),
                _ => self.depend(node, input),
            }
        }
        each.sort_unstable();
        each.dedup();
        let (array, first) = (self.arrays.len() as u32, self.elements);
        each.iter()
            .for_each(|&from| self.arrays[from as usize].each_to.push(array));
        self.arrays.push(ArrayPart::new(node, first, len, each));
        self.elements += len;
        self.end_node(unit);
        Array {
            job: self.tag,
            node: self.number(node),
            slot,
            first,
            len,
        }
    }

    pub(super) fn array_of(&self, node: u32) -> Option<u32> {
        array_of_node(&self.arrays, node).map(|array| array as u32)
    }

    /// The length of a new array; none if the job would hold too many elements.
    fn array_len(&mut self, node: u32, len: usize) -> u32 {
        let room = (self.numbers.elements.end - self.elements) as usize;
        if len > room {
            self.defect(node, DefectKind::TooManyTasks);
            return 0;
        }
        len as u32
    }

    pub(super) fn label(&self, node: u32) -> String {
        match self.labels.get(&node) {
            Some(name) => name.to_string(),
            None => format!("task {}", self.number(node)),
        }
    }

    /// What is wrong with a task that may be added, given the names of those before it.
    fn defects_of<'a, T>(
        &self,
        task: &'a Task<T>,
        index: usize,
        new_names: &mut HashMap<&'a str, usize>,
    ) -> impl Iterator<Item = DefectKind> + use<T> {
        let name = task.name.as_str();
        let taken = name.is_some_and(|name| {
            self.names.contains_key(name) || new_names.insert(name, index).is_some()
        });
        let foreign = self.ties.is_none() && task.dependencies().any(|tag| tag != self.tag);
        [
            (name == Some("")).then_some(DefectKind::EmptyName),
            taken.then_some(DefectKind::DuplicateName),
            foreign.then_some(DefectKind::ForeignHandle),
        ]
        .into_iter()
        .flatten()
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
