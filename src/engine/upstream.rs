//! What of a run waits for what, through all its segments.

use super::Run;
use super::flow::Place;
use crate::graph::node_of;
use crate::model::{ELEMENT, TaskId};
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

    fn predecessors(&self, task: TaskId) -> Vec<TaskId> {
        let Some(place) = self.flow.locate(task) else {
            return Vec::new();
        };
        let mut found = place.segment.job.predecessors(task);
        for late in place.segment.job.late_of(place.node) {
            match (late.each, task.is_element()) {
                (true, true) => found.extend(self.element(late.from, place.index)),
                _ => found.extend(self.tasks_of(late.from)),
            }
        }
        found
    }

    /// An element of the array that a node is.
    fn element(&self, node: TaskId, index: u32) -> Option<TaskId> {
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
        let first = array.map(|(place, array)| place.segment.job.arrays[array].first);
        let all = first.into_iter().flat_map(|first| {
            let numbers = first + indexes.start..first + indexes.end;
            numbers.map(|number| TaskId(ELEMENT | number))
        });
        all.collect()
    }

    /// The elements of the array that a node is, or the task itself.
    fn tasks_of(&self, task: TaskId) -> Vec<TaskId> {
        let place = self.flow.locate(task).filter(|_| !task.is_element());
        let array = place
            .as_ref()
            .and_then(|place| Some((place, place.array()?)));
        match array {
            Some((place, array)) => place.segment.job.elements(array).collect(),
            None => vec![task],
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

    /// Those beyond its segment.
    fn late_dependents(&self, task: TaskId, place: &Place<'_>) -> Vec<TaskId> {
        let Some(open) = &self.open else {
            return Vec::new();
        };
        let direct = open.dependents(task).into_iter().map(|(to, _)| to);
        let mut found: Vec<_> = direct.collect();
        if task.is_element() {
            for (to, each) in open.dependents(place.task()) {
                match each {
                    true => found.extend(self.element(to, place.index)),
                    false => found.push(to),
                }
            }
        }
        found
    }
}
