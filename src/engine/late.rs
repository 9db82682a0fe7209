//! Late edges: from what a run had to what was added.
//!
//! They are kept by where they lead from. Whether one was counted down is known to the segment that it leads to; between
//! elements, here.

use super::flow::Verdict;
use super::open::Open;
use crate::job::Needs;
use crate::model::TaskId;
use std::collections::HashMap;
use std::ops::Range;

#[derive(Default)]
pub(super) struct LateEdges {
    nodes: HashMap<TaskId, Vec<LateEdge>>,
    each: HashMap<TaskId, Vec<EachEdge>>,
}

/// To a node that waits as a whole.
#[derive(Clone, Copy)]
pub(crate) struct LateEdge {
    pub(crate) to: TaskId,
    pub(crate) needs: Needs,
    /// Its number among the late edges of the segment that it leads to.
    pub(crate) at: u32,
}

/// To an array each of whose elements waits for the one of the same index.
pub(crate) struct EachEdge {
    pub(crate) to: TaskId,
    /// The elements that have not been counted down.
    pub(crate) waits: Box<[bool]>,
}

impl Open {
    /// The late edges from a task, or from an array as a whole.
    pub(super) fn late_from(&self, task: TaskId) -> Vec<LateEdge> {
        let state = self.state();
        state.late.nodes.get(&task).cloned().unwrap_or_default()
    }

    /// The nodes that late edges lead to from any of these tasks.
    pub(super) fn late_from_any(&self, ids: Range<u32>) -> Vec<TaskId> {
        let state = self.state();
        let edges = ids.filter_map(|id| state.late.nodes.get(&TaskId(id)));
        edges.flatten().map(|edge| edge.to).collect()
    }

    /// The arrays of whose elements each depends on one of the array that `node` is.
    pub(super) fn each_dependents(&self, node: TaskId) -> Vec<TaskId> {
        let state = self.state();
        let edges = state.late.each.get(&node).into_iter().flatten();
        edges.map(|edge| edge.to).collect()
    }

    /// Elements have succeeded: those that wait for them, and have not heard of it, by their array and index.
    pub(super) fn take_each(&self, node: TaskId, elements: &Range<u32>) -> Vec<(TaskId, u32)> {
        let mut state = self.state();
        let edges = state.late.each.get_mut(&node).into_iter().flatten();
        let waiting = edges.flat_map(|edge| {
            let (to, waits) = (edge.to, &mut edge.waits);
            let news = |index: &u32| waits.get_mut(*index as usize).is_some_and(std::mem::take);
            let news: Vec<_> = elements.clone().filter(news).collect();
            news.into_iter().map(move |index| (to, index))
        });
        waiting.collect()
    }
}

impl LateEdges {
    pub(super) fn add(&mut self, from: TaskId, edge: LateEdge) {
        self.nodes.entry(from).or_default().push(edge);
    }

    pub(super) fn add_each(&mut self, from: TaskId, edge: EachEdge) {
        self.each.entry(from).or_default().push(edge);
    }
}

impl LateEdge {
    /// Whether what waits may go on after such an end.
    pub(super) fn passes(self, verdict: Verdict) -> bool {
        verdict == Verdict::Succeeded || self.needs.passes(verdict == Verdict::Satisfies)
    }
}
