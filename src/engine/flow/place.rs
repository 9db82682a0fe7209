//! Where a task of a run is found, and how it stands there.

use super::SegmentRef;
use super::array::ArrayFlow;
use crate::model::{TaskId, TaskState};

/// Where a task of a run is found.
pub(crate) struct Place<'a> {
    pub(crate) segment: SegmentRef<'a>,
    /// Its node, or that of its array, counted from 0 in the segment.
    pub(crate) node: u32,
    /// Its index in its array, or 0.
    pub(crate) index: u32,
}

impl Place<'_> {
    /// The node, by its number in the run.
    pub(crate) fn task(&self) -> TaskId {
        self.segment.job.task(self.node)
    }

    /// Asks to be told of the end of the task, or of the array and each of its elements. The engine calls it with the gate
    /// closed.
    pub(crate) fn watch(&self) {
        match self.array() {
            Some(array) => self.segment.array(array).watch(),
            None => self.segment.word(self.node).watch(),
        }
    }

    pub(crate) fn is_watched(&self) -> bool {
        match self.array() {
            Some(array) => self.segment.array(array).is_watched(),
            None => self.segment.word(self.node).is_watched(),
        }
    }

    /// The array that the node is, if it is one.
    pub(crate) fn array(&self) -> Option<usize> {
        self.segment.job.array_of_node(self.node)
    }

    /// How the task, the element, or the array as a whole, ended.
    pub(crate) fn ended(&self, task: TaskId) -> Option<TaskState> {
        match self.element(task) {
            Some(array) => array.state(self.index),
            None => self.segment.word(self.node).ended(),
        }
    }

    /// Whether a lane may settle the task: it has not ended, and was not reactivated.
    pub(crate) fn is_for_lanes(&self, task: TaskId) -> bool {
        match self.element(task) {
            Some(array) => !array.ended.get(self.index),
            None => self.segment.word(self.node).is_pending(),
        }
    }

    /// Whether the task is to run again, after it had ended without success.
    pub(super) fn is_reactivated(&self, task: TaskId) -> bool {
        match self.element(task) {
            Some(array) => array.is_reactivated(self.index),
            None => self.segment.word(self.node).is_reactivated(),
        }
    }

    /// The state of the array that the task is an element of.
    fn element(&self, task: TaskId) -> Option<&ArrayFlow> {
        let array = self.array().filter(|_| task.is_element())?;
        Some(self.segment.array(array))
    }
}
