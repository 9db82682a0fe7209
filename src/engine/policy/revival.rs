//! Takes back that tasks have ended without success: theirs first, and then of what was skipped for them.
//!
//! It is the walk that skips, backwards. A task that was skipped comes back when the last of those it depends on has: so
//! each is looked at once for each edge to it, and its predecessors once.

use super::Run;
use crate::engine::flow::ranges;
use crate::graph::node_of;
use crate::job::LooseEdge;
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
        revival.wait_again();
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
        let before = Standing::of(self.run, node);
        word.reactivate();
        match self.run.job().array_of_node(node) {
            Some(array) => {
                self.run.flow().array(array).unblock();
                self.empty.push(array);
            }
            None => {
                self.count(state, 1);
                self.tasks.push(node..node + 1);
            }
        }
        self.look_behind(node, before);
    }

    fn bring_back_elements(&mut self, array: usize, elements: Range<u32>) {
        let (flow, part) = (self.run.flow().array(array), &self.run.job().arrays[array]);
        for state in elements.clone().filter_map(|index| flow.state(index)) {
            self.count(state, 1);
        }
        let before = Standing::of(self.run, part.node);
        self.tasks.push(part.ids(elements.clone()));
        flow.reactivate(elements.clone());
        for &to in &part.each_to {
            self.reach_elements(to as usize, elements.clone());
        }
        // As a whole, it ends as those elements did that are left.
        let word = self.run.flow().word(part.node);
        match flow.loss() {
            Some(state) => drop(word.end(state)),
            None if is_lost(word.ended()) => word.reactivate(),
            None => (),
        }
        if !elements_block(self.run, array) {
            flow.unblock();
        }
        self.look_behind(part.node, before);
    }

    /// A node has come back, or some of its elements have. What it kept from running, and keeps no more, is reached; what it
    /// let go does not wait again.
    fn look_behind(&mut self, node: u32, before: Standing) {
        let (job, flow) = (self.run.job(), self.run.flow());
        let now = Standing::of(self.run, node);
        for next in job.csr.successors(node).iter().map(|&entry| node_of(entry)) {
            let edge = job.loose_edge(node, next);
            if before.lets_pass(edge) && !now.is_over {
                flow.passed.add(node, next);
            } else if before.keeps(edge) && !now.keeps(edge) && !flow.passed.has(node, next) {
                self.reach(next, node);
            }
        }
    }

    /// What came back waits for all that has come back before it, and for all that goes on.
    fn wait_again(&self) {
        let (job, flow) = (self.run.job(), self.run.flow());
        if flow.passed.is_empty() {
            return;
        }
        let located = self
            .tasks
            .iter()
            .filter_map(|ids| job.locate(TaskId(ids.start)));
        let empty = self.empty.iter().map(|&array| job.arrays[array].node);
        for node in located.map(|(node, _)| node).chain(empty) {
            let opened = job
                .array_of_node(node)
                .is_some_and(|array| flow.array(array).was_opened());
            let before = job.nodes_before(node).iter().copied();
            if !opened {
                { before.clone() }
                    .filter(|&before| !Standing::of(self.run, before).is_over)
                    .for_each(|before| flow.passed.remove(before, node));
                let waits = before.filter(|&before| !passes(self.run, before, node));
                flow.word(node).wait_for(waits.count() as u32);
            }
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
    before.filter(move |&before| keeps(run, before, node))
}

/// Of the elements that an element depends on, one that has ended without success.
fn obstacle_of_element(run: &Run, array: usize, index: u32) -> Option<TaskId> {
    let from = run.job().arrays[array].each_from.iter();
    let element = |&from: &u32| TaskId(run.job().arrays[from as usize].ids(index..index + 1).start);
    let keeps = |&before: &TaskId| is_lost(run.ended_state(before)) || is_unusual(run, before);
    from.map(element).find(keeps)
}

/// How a node stands for those that depend on it as a whole.
#[derive(Clone, Copy)]
struct Standing {
    /// All of it has ended.
    is_over: bool,
    /// It, or an element of it, has ended without success.
    lost: bool,
    /// Its end, or that of an element, keeps what depends on it from running.
    blocks: bool,
}

impl Standing {
    fn of(run: &Run, node: u32) -> Self {
        let state = run.flow().word(node).ended();
        let array = run
            .job()
            .array_of_node(node)
            .map(|array| run.flow().array(array));
        Standing {
            is_over: state.is_some() && array.is_none_or(|array| array.is_over()),
            lost: is_lost(state),
            blocks: match array {
                Some(array) => array.blocks(),
                None => state.is_some() && is_lost(state) != is_unusual(run, TaskId(node)),
            },
        }
    }

    /// Whether what is behind this edge can't run, as things are.
    fn keeps(self, edge: Option<LooseEdge>) -> bool {
        match edge {
            Some(edge) => !edge.passes(!self.blocks),
            None => self.lost || self.blocks,
        }
    }

    /// Whether what is behind this edge has nothing to wait for.
    fn lets_pass(self, edge: Option<LooseEdge>) -> bool {
        self.is_over && !self.keeps(edge)
    }
}

/// Whether one node keeps another from running that depends on it as a whole.
fn keeps(run: &Run, before: u32, node: u32) -> bool {
    let edge = run.job().loose_edge(before, node);
    Standing::of(run, before).keeps(edge) && !run.flow().passed.has(before, node)
}

/// Whether a node no longer waits for another that it depends on as a whole.
pub(crate) fn passes(run: &Run, before: u32, node: u32) -> bool {
    let edge = run.job().loose_edge(before, node);
    Standing::of(run, before).lets_pass(edge) || run.flow().passed.has(before, node)
}

/// Whether, as its exit conditions say, a task has failed and satisfies its dependents, or has succeeded and blocks them.
fn is_unusual(run: &Run, task: TaskId) -> bool {
    run.ended_state(task).is_some() && run.ledger().is_unusual(task)
}

/// Whether the end of some element keeps what depends on the whole array from running.
fn elements_block(run: &Run, array: usize) -> bool {
    let part = &run.job().arrays[array];
    let state = |id: &u32| run.ended_state(TaskId(*id));
    part.ids(0..part.len).any(|id| {
        state(&id).is_some_and(|end| is_lost(Some(end)) != run.ledger().is_unusual(TaskId(id)))
    })
}

/// Whether nothing keeps a task from running, and all that it depends on has ended.
pub(crate) fn is_ready(run: &Run, node: u32, element: Option<(usize, u32)>) -> bool {
    let succeeded = |before: TaskId| {
        run.ended_state(before) == Some(TaskState::Succeeded) && !is_unusual(run, before)
    };
    let each_from = element.map_or(&[][..], |(array, _)| &run.job().arrays[array].each_from);
    let index = element.map_or(0, |(_, index)| index);
    let mut nodes = run.job().nodes_before(node).iter();
    let mut like = each_from
        .iter()
        .map(|&from| TaskId(run.job().arrays[from as usize].ids(index..index + 1).start));
    nodes.all(|&before| passes(run, before, node)) && like.all(succeeded)
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
