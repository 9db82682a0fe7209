//! Takes back that tasks have ended without success: theirs first, and then of what was skipped for them.
//!
//! It is the walk that skips, backwards. A task that was skipped comes back when the last of those it depends on has: so
//! each is looked at once for each edge to it, and its predecessors once.

use super::Run;
use crate::engine::flow::ranges;
use crate::graph::node_of;
use crate::model::{TaskId, TaskState};
use std::collections::{HashMap, HashSet};
use std::ops::Range;

/// What is to come back.
enum Lost {
    /// A single task, or an array that no element keeps from succeeding.
    Node(u32),
    Elements(usize, Range<u32>),
}

/// Tasks on their way back.
pub(super) struct Revival<'a> {
    run: &'a Run,
    next: Vec<Lost>,
    /// Tasks that were cancelled, and are to come back as soon as what they depend on has.
    wanted: HashSet<TaskId>,
    /// Of nodes that depend on what came back: how many they depend on that has ended without success, and who changed
    /// that last.
    before: HashMap<u32, (usize, u32)>,
    /// What came back: ids of single tasks, and of elements of one array each; and empty arrays.
    pub(super) tasks: Vec<Range<u32>>,
    pub(super) empty: Vec<usize>,
    /// How many of it had failed, been skipped, been cancelled.
    pub(super) counts: [u64; 3],
}

/// Nobody's number.
const NOBODY: u32 = u32::MAX;

impl<'a> Revival<'a> {
    /// `roots` have failed or been cancelled. Those that can't run, since they depend on others that have, stay as they are.
    pub(super) fn of(run: &'a Run, roots: &[TaskId]) -> Self {
        let mut revival = Revival {
            run,
            next: Vec::new(),
            wanted: roots.iter().copied().collect(),
            before: HashMap::new(),
            tasks: Vec::new(),
            empty: Vec::new(),
            counts: [0; 3],
        };
        for &task in roots {
            if obstacle(run, task).is_none() {
                revival.next.extend(lost(run, task));
            }
        }
        revival.walk();
        revival
    }

    fn walk(&mut self) {
        while let Some(lost) = self.next.pop() {
            match lost {
                Lost::Node(node) => self.bring_back(node),
                Lost::Elements(array, elements) => {
                    let is_lost = |index| is_lost(self.run.flow().array(array).state(index));
                    let lost: Vec<_> = ranges(elements, is_lost).collect();
                    lost.into_iter()
                        .for_each(|range| self.bring_back_elements(array, range));
                }
            }
        }
    }

    fn bring_back(&mut self, node: u32) {
        let word = self.run.flow().word(node);
        let Some(state) = word.ended().filter(|&state| is_lost(Some(state))) else {
            return;
        };
        word.reactivate();
        match self.run.job().array_of_node(node) {
            Some(array) => self.empty.push(array),
            None => {
                self.count(state, 1);
                self.tasks.push(node..node + 1);
            }
        }
        self.look_behind(node);
    }

    fn bring_back_elements(&mut self, array: usize, elements: Range<u32>) {
        let (flow, part) = (self.run.flow().array(array), &self.run.job().arrays[array]);
        for state in elements.clone().filter_map(|index| flow.state(index)) {
            self.count(state, 1);
        }
        self.tasks.push(part.ids(elements.clone()));
        flow.reactivate(elements.clone());
        for &to in &part.each_to {
            self.reach_elements(to as usize, elements.clone());
        }
        // As a whole, it ends as those elements did that are left.
        let word = self.run.flow().word(part.node);
        match flow.loss() {
            Some(state) => drop(word.end(state)),
            None if is_lost(word.ended()) => {
                word.reactivate();
                self.look_behind(part.node);
            }
            None => (),
        }
    }

    fn look_behind(&mut self, node: u32) {
        let job = self.run.job();
        for next in job.csr.successors(node).iter().map(|&entry| node_of(entry)) {
            self.reach(next, node);
        }
    }

    /// Something that the node depends on has come back.
    fn reach(&mut self, node: u32, from: u32) {
        let known = self.before.contains_key(&node);
        let (left, last) = self.before_of(node);
        if std::mem::replace(last, from) == from {
            return;
        }
        *left -= usize::from(known);
        if *left > 0 {
            return;
        }
        match self.run.job().array_of_node(node) {
            Some(array) if self.run.job().arrays[array].len > 0 => {
                self.reach_elements(array, 0..self.run.job().arrays[array].len);
            }
            _ => {
                let comes = self.comes_along(TaskId(node), self.run.flow().word(node).ended());
                self.next.extend(comes.then_some(Lost::Node(node)));
            }
        }
    }

    /// Something that each of these elements depends on has come back.
    fn reach_elements(&mut self, array: usize, elements: Range<u32>) {
        let part = &self.run.job().arrays[array];
        if *self.before_of(part.node).0 > 0 {
            return;
        }
        let (flow, first) = (self.run.flow(), part.ids(0..0).start);
        let comes = |index: u32| {
            self.comes_along(TaskId(first + index), flow.array(array).state(index))
                && obstacle_of_element(self.run, array, index).is_none()
        };
        let coming: Vec<_> = ranges(elements, comes).collect();
        let coming = coming.into_iter().map(|range| Lost::Elements(array, range));
        self.next.extend(coming);
    }

    /// What a node depends on that has ended without success. Looked for once, and counted down from then on.
    fn before_of(&mut self, node: u32) -> (&mut usize, &mut u32) {
        let run = self.run;
        let (left, last) = self.before.entry(node).or_insert_with(|| {
            let mut lost = lost_before(run, node).collect::<Vec<_>>();
            lost.dedup();
            (lost.len(), NOBODY)
        });
        (left, last)
    }

    /// Whether a task comes back with what it depends on.
    fn comes_along(&self, task: TaskId, state: Option<TaskState>) -> bool {
        match state {
            Some(TaskState::Skipped) => true,
            Some(TaskState::Cancelled) => self.wanted.contains(&task),
            _ => false,
        }
    }

    fn count(&mut self, state: TaskState, tasks: u64) {
        let at = match state {
            TaskState::Failed => 0,
            TaskState::Skipped => 1,
            _ => 2,
        };
        self.counts[at] += tasks;
    }
}

/// What a task, or an array as a whole, depends on that has ended without success: it can't run before that has.
pub(crate) fn obstacle(run: &Run, task: TaskId) -> Option<TaskId> {
    let (node, index) = run.job().locate(task)?;
    let whole = lost_before(run, node).next().map(TaskId);
    let array = run.job().array_of_node(node).filter(|_| task.is_element());
    whole.or_else(|| obstacle_of_element(run, array?, index))
}

/// The nodes that a node depends on as a whole, and that have ended without success.
fn lost_before(run: &Run, node: u32) -> impl Iterator<Item = u32> {
    let before = run.job().nodes_before(node).iter().copied();
    before.filter(|&before| is_lost(run.flow().word(before).ended()))
}

/// Of the elements that an element depends on, one that has ended without success.
fn obstacle_of_element(run: &Run, array: usize, index: u32) -> Option<TaskId> {
    let from = run.job().arrays[array].each_from.iter();
    let lost = |&&from: &&u32| is_lost(run.flow().array(from as usize).state(index));
    let &from = { from }.find(lost)?;
    let ids = run.job().arrays[from as usize].ids(index..index + 1);
    Some(TaskId(ids.start))
}

/// Whether all that a task depends on has succeeded.
pub(crate) fn is_ready(run: &Run, node: u32, element: Option<(usize, u32)>) -> bool {
    let succeeded = |state: Option<TaskState>| state == Some(TaskState::Succeeded);
    let each_from = element.map_or(&[][..], |(array, _)| &run.job().arrays[array].each_from);
    let index = element.map_or(0, |(_, index)| index);
    let mut nodes = run.job().nodes_before(node).iter();
    nodes.all(|&before| succeeded(run.flow().word(before).ended()))
        && each_from
            .iter()
            .all(|&from| succeeded(run.flow().array(from as usize).state(index)))
}

pub(super) fn is_lost(state: Option<TaskState>) -> bool {
    state.is_some_and(|state| state != TaskState::Succeeded)
}

fn lost(run: &Run, task: TaskId) -> Option<Lost> {
    let (node, index) = run.job().locate(task)?;
    Some(match run.job().array_of_node(node) {
        Some(array) if task.is_element() => Lost::Elements(array, index..index + 1),
        _ => Lost::Node(node),
    })
}
