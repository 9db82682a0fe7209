//! Adding single tasks.

use super::{Job, collect};
use crate::job::task::Task;
use crate::model::{Defect, DefectKind, Error, Name, Result, TaskSettings};
use crate::work::{Array, Body, Handle, Inputs, Ref, TaskRef, Upstream, task_unit};
use std::collections::HashMap;

impl Job {
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
        #[cfg(feature = "command")]
        let (mut task, mut wrong) = (task, None);
        #[cfg(feature = "command")]
        if let Some(command) = task.unit.command() {
            wrong = command.defect();
        }
        let node = self.begin_node(task.name);
        self.note_order_only(node, &task.inputs, &task.after);
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
        let unit = task.unit.make(slot, &mut |at| match inputs.next() {
            Some(input) if input.job != self.tag => self.import_one(input, at),
            _ => at,
        });
        self.end_node(unit);
        let handle = Handle {
            job: self.tag,
            node: self.number(node),
            slot,
        };
        task.after_any_outcome
            .into_iter()
            .for_each(|before| self.order_any_outcome(before, handle));
        #[cfg(feature = "command")]
        self.note_command(handle.into(), wrong);
        handle
    }

    /// Of a task with inputs, remembers what it follows without reading it.
    fn note_order_only(&mut self, node: u32, inputs: &[Upstream], after: &[TaskRef]) {
        if !inputs.is_empty() {
            let reads = |before: &TaskRef| inputs.iter().any(|input| input.task() == *before);
            let own = after.iter().filter(|before| before.job == self.tag);
            let order_only = own.filter(|before| !reads(before));
            let edges = order_only.map(|&before| (self.local(before), node));
            let edges: Vec<_> = edges.collect();
            self.order_only.extend(edges);
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
