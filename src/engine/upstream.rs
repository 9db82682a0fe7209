//! What of a run waits for what, through all its segments.

use super::Run;
use super::flow::{Place, Sink, Verdict};
use super::late::LateEdge;
use crate::graph::node_of;
use crate::model::{ELEMENT, TaskId, TaskState};
use std::collections::{HashSet, VecDeque};
use std::ops::Range;

impl Run {
    /// A task upstream of `task` that `is_sought`, the nearest first.
    pub(crate) fn upstream_of(
        &self,
        task: TaskId,
        is_sought: impl Fn(TaskId) -> bool,
    ) -> Option<TaskId> {
        let mut seen = HashSet::from([task]);
        let mut next = VecDeque::from([task]);
        while let Some(at) = next.pop_front() {
            for before in self.predecessors(at) {
                if is_sought(before) {
                    return Some(before);
                }
                if seen.insert(before) {
                    next.push_back(before);
                }
            }
        }
        None
    }

    /// The nearest task for which one was skipped, and that was not skipped itself.
    pub(super) fn root_cause(&self, task: TaskId) -> Option<TaskId> {
        let mut seen = HashSet::from([task]);
        let mut next = VecDeque::from([task]);
        while let Some(at) = next.pop_front() {
            for before in self.predecessors(at) {
                if !self.blocks(before, at) || !seen.insert(before) {
                    continue;
                }
                if self.ended_state(before) != Some(TaskState::Skipped) {
                    return Some(before);
                }
                next.push_back(before);
            }
        }
        None
    }

    /// Something that the task itself waits for, and that `is_sought`.
    pub(crate) fn predecessor_of(
        &self,
        task: TaskId,
        is_sought: impl Fn(TaskId) -> bool,
    ) -> Option<TaskId> {
        let mut before = self.predecessors(task).into_iter();
        before.find(|&before| is_sought(before))
    }

    /// Whether a task that has ended keeps another, which depends on it, from running.
    pub(super) fn blocks(&self, before: TaskId, after: TaskId) -> bool {
        let verdict = self.ended_state(before).map(|_| self.verdict(before));
        verdict.is_some_and(|verdict| !self.may_follow(before, after, verdict))
    }

    /// What the end of a task means for those that depend on it.
    pub(super) fn verdict(&self, task: TaskId) -> Verdict {
        let succeeded = self.ended_state(task) == Some(TaskState::Succeeded);
        match self.ledger().is_unusual(task) {
            false if succeeded => Verdict::Succeeded,
            unusual => Verdict::without_success(unusual && !succeeded),
        }
    }

    /// Whether `after`, which depends on `before`, may go on after such an end.
    fn may_follow(&self, before: TaskId, after: TaskId, verdict: Verdict) -> bool {
        if verdict == Verdict::Succeeded {
            return true;
        }
        let Some((from, to)) = self.locate(before).zip(self.locate(after)) else {
            return false;
        };
        let (satisfied, job) = (verdict == Verdict::Satisfies, &to.segment.job);
        if from.segment.number == to.segment.number {
            let edge = job.loose_between(before, after);
            // Of a failure, there is no value.
            return edge.is_some_and(|edge| edge.passes(satisfied));
        }
        let late = job.late_of(to.node).iter();
        let mut between = late.filter(|late| [before, from.task()].contains(&late.from));
        between.all(|late| late.needs.passes(satisfied))
    }

    /// A task, or an array as a whole, has ended: what was added and may go on goes to `sink`.
    pub(super) fn pass_late(&self, task: TaskId, verdict: Verdict, sink: &mut impl Sink) {
        let Some(open) = &self.open else { return };
        let edges = open.late_from(task).into_iter();
        for edge in edges.filter(|edge| edge.passes(verdict)) {
            if let Some(place) = self.locate(edge.to) {
                place.segment.arrive_late(edge.at, place.node, sink);
            }
        }
    }

    /// What was added and waits for a task, or for an array as a whole, and can't go on after such an end.
    pub(super) fn blocked_late(&self, task: TaskId, verdict: Verdict) -> Vec<TaskId> {
        let Some(open) = &self.open else {
            return Vec::new();
        };
        let edges = open.late_from(task).into_iter();
        let edges = edges.filter(|edge| !edge.passes(verdict) && self.waits_at(edge));
        edges.map(|edge| edge.to).collect()
    }

    /// Whether a late edge was not counted down.
    pub(super) fn waits_at(&self, edge: &LateEdge) -> bool {
        let place = self.locate(edge.to);
        place.is_some_and(|place| !place.segment.is_counted(edge.at))
    }

    /// What a task, or an array as a whole, waits for by itself: others, other arrays as a whole, and elements of the same
    /// index.
    pub(crate) fn direct_predecessors(&self, task: TaskId) -> Vec<TaskId> {
        let Some(place) = self.flow.locate(task) else {
            return Vec::new();
        };
        let job = &place.segment.job;
        let late = job.late_of(place.node).iter();
        let late = late.filter_map(|late| match late.is_each() && task.is_element() {
            true => self.element(late.from, place.index),
            false => Some(late.from),
        });
        job.direct_predecessors(task).chain(late).collect()
    }

    fn predecessors(&self, task: TaskId) -> Vec<TaskId> {
        let Some(place) = self.flow.locate(task) else {
            return Vec::new();
        };
        let mut found = place.segment.job.predecessors(task);
        for late in place.segment.job.late_of(place.node) {
            match (late.is_each(), task.is_element()) {
                (true, true) => found.extend(self.element(late.from, place.index)),
                _ => found.extend(self.tasks_of(late.from)),
            }
        }
        found
    }

    /// An element of the array that a node is.
    pub(super) fn element(&self, node: TaskId, index: u32) -> Option<TaskId> {
        let place = self.flow.locate(node)?;
        let part = &place.segment.job.arrays[place.array()?];
        (index < part.len).then(|| TaskId(ELEMENT | (part.first + index)))
    }

    /// Elements of the array that a node is, by their indexes.
    pub(super) fn elements(&self, node: TaskId, indexes: &Range<u32>) -> Vec<TaskId> {
        let place = self.flow.locate(node);
        let array = place
            .as_ref()
            .and_then(|place| Some((place, place.array()?)));
        let ids = array.map(|(place, array)| place.segment.job.arrays[array].ids(indexes.clone()));
        ids.into_iter().flatten().map(TaskId).collect()
    }

    /// The ids of all elements of the array that a node is; of a single task, none.
    pub(super) fn ids_of(&self, node: TaskId) -> Range<u32> {
        let place = self.flow.locate(node).filter(|_| !node.is_element());
        let ids = place.and_then(|place| {
            let part = &place.segment.job.arrays[place.array()?];
            Some(part.ids(0..part.len))
        });
        ids.unwrap_or_default()
    }

    /// The elements of the array that a node is, or the task itself.
    fn tasks_of(&self, task: TaskId) -> Vec<TaskId> {
        match !task.is_element() && self.is_array(task.0) {
            true => self.ids_of(task).map(TaskId).collect(),
            false => vec![task],
        }
    }

    /// What directly depends on a task, or on a whole array.
    pub(super) fn dependents(&self, task: TaskId) -> Vec<TaskId> {
        let Some(place) = self.flow.locate(task) else {
            return Vec::new();
        };
        let job = &place.segment.job;
        let successors = job.csr.successors(place.node).iter();
        let mut found: Vec<_> = successors.map(|&entry| job.task(node_of(entry))).collect();
        let each_to = place.array().map(|array| &job.arrays[array].each_to);
        for &to in each_to.into_iter().flatten() {
            let part = &job.arrays[to as usize];
            found.push(match task.is_element() {
                true => TaskId(ELEMENT | (part.first + place.index)),
                false => job.task(part.node),
            });
        }
        found.extend(self.late_dependents(task, &place));
        found
    }

    /// What was added later and depends on single elements of the array that a node is.
    pub(super) fn late_dependents_of_elements(&self, node: TaskId) -> Vec<TaskId> {
        let open = self.open.as_ref();
        let edges = open.map(|open| open.late_from_any(self.ids_of(node)));
        edges.into_iter().flatten().collect()
    }

    /// Those beyond its segment.
    fn late_dependents(&self, task: TaskId, place: &Place<'_>) -> Vec<TaskId> {
        let Some(open) = &self.open else {
            return Vec::new();
        };
        let after = |task| open.late_from(task).into_iter().map(|edge| edge.to);
        let (node, mut found) = (place.task(), after(task).collect::<Vec<_>>());
        let each = open.each_dependents(node).into_iter();
        if task.is_element() {
            found.extend(after(node));
            found.extend(each.filter_map(|to| self.element(to, place.index)));
        } else {
            found.extend(each);
        }
        found
    }
}
