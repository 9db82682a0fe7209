//! Takes back that tasks have ended without success: theirs first, and then of what was skipped for them.
//!
//! It is the walk that skips, backwards. A task that was skipped comes back when the last of those it depends on has: so
//! each is looked at once for each edge to it, and its predecessors once.

use super::Run;
use crate::engine::flow::{Place, ranges};
use crate::engine::standing::{Standing, is_lost};
use crate::graph::node_of;
use crate::model::{TaskId, TaskState};
use std::collections::{HashMap, HashSet};
use std::ops::Range;

/// What is to come back. Nodes, here and below, have their numbers in the run.
enum Lost {
    /// A single task, or an array that no element keeps from succeeding.
    Node(TaskId),
    Elements(TaskId, Range<u32>),
}

/// Tasks on their way back.
pub(super) struct Revival<'a> {
    run: &'a Run,
    next: Vec<Lost>,
    /// Tasks that were cancelled, and are to come back as soon as what they depend on has.
    wanted: HashSet<TaskId>,
    /// Of nodes that depend on what came back: how many they depend on that has ended without success, and who changed
    /// that last.
    before: HashMap<TaskId, (usize, Option<TaskId>)>,
    /// What came back: ids of single tasks, and of elements of one array each; and empty arrays.
    pub(super) tasks: Vec<Range<u32>>,
    pub(super) empty: Vec<TaskId>,
    /// How many of it had failed, been skipped, been cancelled.
    pub(super) counts: [u64; 3],
}

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
            if run.obstacle(task).is_none() {
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
                Lost::Elements(node, elements) => self.bring_back_lost(node, elements),
            }
        }
    }

    fn bring_back(&mut self, node: TaskId) {
        let Some(place) = self.run.locate(node) else {
            return;
        };
        let word = place.segment.word(place.node);
        let Some(state) = word.ended().filter(|&state| is_lost(Some(state))) else {
            return;
        };
        let before = Standing::of(self.run, node);
        word.reactivate();
        match place.array() {
            Some(array) => {
                place.segment.array(array).unblock();
                self.empty.push(node);
            }
            None => {
                self.count(state, 1);
                self.tasks.push(node.0..node.0 + 1);
            }
        }
        self.look_behind(&place, before);
    }

    fn bring_back_lost(&mut self, node: TaskId, elements: Range<u32>) {
        let Some(place) = self.run.locate(node) else {
            return;
        };
        let Some(array) = place.array() else { return };
        let is_lost = |index| is_lost(place.segment.array(array).state(index));
        let lost: Vec<_> = ranges(elements, is_lost).collect();
        lost.into_iter()
            .for_each(|range| self.bring_back_elements(&place, array, range));
    }

    fn bring_back_elements(&mut self, place: &Place<'_>, array: usize, elements: Range<u32>) {
        let (flow, job) = (place.segment.array(array), &place.segment.job);
        let part = &job.arrays[array];
        for state in elements.clone().filter_map(|index| flow.state(index)) {
            self.count(state, 1);
        }
        let before = Standing::of(self.run, place.task());
        let each_before = self.late_standings(place, &elements);
        self.tasks.push(part.ids(elements.clone()));
        flow.reactivate(elements.clone());
        for &to in &part.each_to {
            let to = job.task(job.arrays[to as usize].node);
            self.reach_elements(to, elements.clone());
        }
        if let Some(open) = &self.run.open {
            for to in open.each_dependents(place.task()) {
                self.reach_elements(to, elements.clone());
            }
        }
        // As a whole, it ends as those elements did that are left.
        let word = place.segment.word(place.node);
        match flow.loss() {
            Some(state) => drop(word.end(state)),
            None if is_lost(word.ended()) => word.reactivate(),
            None => (),
        }
        if !self.elements_block(place, array) {
            flow.unblock();
        }
        self.look_behind(place, before);
        for (element, before) in each_before {
            self.look_behind_late(element, before);
        }
    }

    /// Whether the end of some element keeps what depends on the whole array from running.
    fn elements_block(&self, place: &Place<'_>, array: usize) -> bool {
        let len = place.segment.job.arrays[array].len;
        let ids = place.segment.job.arrays[array].ids(0..len);
        let state = |index| place.segment.array(array).state(index);
        ids.zip(0..len).any(|(id, index)| {
            state(index)
                .is_some_and(|end| is_lost(Some(end)) != self.run.ledger().is_unusual(TaskId(id)))
        })
    }

    /// How those of these elements stand that something waits for which was added later.
    fn late_standings(&self, place: &Place<'_>, elements: &Range<u32>) -> Vec<(TaskId, Standing)> {
        let Some(open) = &self.run.open else {
            return Vec::new();
        };
        let mut tasks = self.run.elements(place.task(), elements);
        tasks.retain(|&task| !open.late_from(task).is_empty());
        let standing = |task| (task, Standing::of(self.run, task));
        tasks.into_iter().map(standing).collect()
    }

    /// A node has come back, or some of its elements have. What it kept from running, and keeps no more, is reached; what it
    /// let go does not wait again.
    fn look_behind(&mut self, place: &Place<'_>, before: Standing) {
        let (segment, node) = (&*place.segment, place.node);
        let job = &segment.job;
        let now = Standing::of(self.run, place.task());
        for next in job.csr.successors(node).iter().map(|&entry| node_of(entry)) {
            let needs = job.needs(node, next);
            if before.lets_pass(needs) && !now.is_over {
                segment.passed.add(node, next);
            } else if before.keeps(needs) && !now.keeps(needs) && !segment.passed.has(node, next) {
                self.reach(job.task(next), place.task());
            }
        }
        self.look_behind_late(place.task(), before);
    }

    /// As well, beyond its segment. There, what was let go is known to have been counted down.
    fn look_behind_late(&mut self, task: TaskId, before: Standing) {
        let Some(open) = &self.run.open else { return };
        let now = Standing::of(self.run, task);
        for edge in open.late_from(task) {
            let reaches = before.keeps(edge.needs) && !now.keeps(edge.needs);
            if reaches && self.run.waits_at(&edge) {
                self.reach(edge.to, task);
            }
        }
    }

    /// What came back waits for all that has come back before it, and for all that goes on.
    fn wait_again(&self) {
        let first = self.tasks.iter().map(|ids| TaskId(ids.start));
        for task in first.chain(self.empty.iter().copied()) {
            if let Some(place) = self.run.locate(task) {
                self.node_waits_again(&place);
            }
        }
    }

    fn node_waits_again(&self, place: &Place<'_>) {
        let (segment, node) = (&*place.segment, place.node);
        let job = &segment.job;
        let opened = place
            .array()
            .is_some_and(|array| segment.array(array).was_opened());
        let as_before = segment.passed.is_empty() && job.late_of(node).is_empty();
        if opened || as_before {
            return;
        }
        let before = job.nodes_before(node).iter().copied();
        { before.clone() }
            .filter(|&before| !Standing::of_node(self.run, segment, before).is_over)
            .for_each(|before| segment.passed.remove(before, node));
        for (at, late) in job.late_nodes(node) {
            let standing = Standing::of(self.run, late.from);
            match standing.is_over {
                // Whoever is about to count it down comes too late.
                true if standing.lets_pass(late.needs) => segment.set_counted(at, true),
                true => continue,
                false => segment.set_counted(at, false),
            };
        }
        let waits = before.filter(|&before| !self.run.passes(segment, before, node));
        let waits_late = job.late_nodes(node);
        let waits_late = waits_late.filter(|(at, late)| !self.run.passes_late(segment, *at, late));
        let waits = waits.count() + waits_late.count();
        segment.word(node).wait_for(waits as u32);
    }

    /// Something that the node depends on has come back.
    fn reach(&mut self, node: TaskId, from: TaskId) {
        let Some(place) = self.run.locate(node) else {
            return;
        };
        let known = self.before.contains_key(&node);
        let (left, last) = self.before_of(&place);
        if last.replace(from) == Some(from) {
            return;
        }
        *left -= usize::from(known);
        if *left > 0 {
            return;
        }
        let len = place
            .array()
            .map(|array| place.segment.job.arrays[array].len);
        match len.filter(|&len| len > 0) {
            Some(len) => self.reach_elements(node, 0..len),
            None => {
                let comes = self.comes_along(node, place.segment.word(place.node).ended());
                self.next.extend(comes.then_some(Lost::Node(node)));
            }
        }
    }

    /// Something that each of these elements depends on has come back.
    fn reach_elements(&mut self, node: TaskId, elements: Range<u32>) {
        let Some(place) = self.run.locate(node) else {
            return;
        };
        let Some(array) = place.array() else { return };
        if *self.before_of(&place).0 > 0 {
            return;
        }
        let flow = place.segment.array(array);
        let first = place.segment.job.arrays[array].ids(0..0).start;
        let comes = |index: u32| {
            self.comes_along(TaskId(first + index), flow.state(index))
                && self
                    .run
                    .obstacle_of_element(TaskId(first + index))
                    .is_none()
        };
        let coming: Vec<_> = ranges(elements, comes).collect();
        let coming = coming.into_iter().map(|range| Lost::Elements(node, range));
        self.next.extend(coming);
    }

    /// What a node depends on that has ended without success. Looked for once, and counted down from then on.
    fn before_of(&mut self, place: &Place<'_>) -> (&mut usize, &mut Option<TaskId>) {
        let run = self.run;
        let (left, last) = self.before.entry(place.task()).or_insert_with(|| {
            let lost: HashSet<_> = run.lost_before(place).collect();
            (lost.len(), None)
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

fn lost(run: &Run, task: TaskId) -> Option<Lost> {
    let place = run.locate(task)?;
    Some(match task.is_element() {
        true => Lost::Elements(place.task(), place.index..place.index + 1),
        false => Lost::Node(task),
    })
}
