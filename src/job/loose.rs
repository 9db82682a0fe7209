//! Edges that can be passed although what they lead from did not succeed.
//!
//! There are few of them, in a table of their own that is looked at only when something ended without success: the path
//! of a success knows no difference between edges.

use super::frozen::array_of_node;
use super::{Frozen, Job, Needs};
use crate::graph::{Csr, node_of};
use crate::model::{TaskId, TaskSettings};
use crate::work::TaskRef;

/// Such an edge, between nodes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct LooseEdge {
    pub(crate) from: u32,
    pub(crate) to: u32,
    /// Passed in any case. Others carry no value, and are passed if exit conditions satisfy dependents.
    pub(crate) any_outcome: bool,
}

impl LooseEdge {
    /// Whether what waits may go on, once what it waits for has ended without success.
    pub(crate) fn passes(self, satisfied: bool) -> bool {
        self.any_outcome || satisfied
    }
}

impl Job {
    /// Makes `after` wait for the end of `before`, whatever became of it: also when it failed, was skipped or was
    /// cancelled, `after` may run. Of an array, that is the end of its last element. No value is passed.
    ///
    /// If `after` also depends on the success of `before`, that counts. When the whole run is cancelled or terminated,
    /// nothing of it runs any more.
    ///
    /// ```
    /// use batchyard::*;
    ///
    /// let mut job = Job::new("clean up");
    /// let work = job.map("work", 0..3u32, fallible(|n: &u32| if *n == 1 { Err("odd") } else { Ok(()) }));
    /// let clean = job.task("clean", (), || "clean");
    /// job.order_any_outcome(&work, &clean);
    /// let pool = Pool::new(ThreadExecutor::new(1)?);
    /// assert_eq!(*pool.submit(job)?.output(&clean).wait()?, "clean");
    /// # Ok::<(), Error>(())
    /// ```
    pub fn order_any_outcome(&mut self, before: impl Into<TaskRef>, after: impl Into<TaskRef>) {
        let before = before.into();
        let Some(after) = self.own(after.into()) else {
            return;
        };
        if before.job == self.tag {
            let before = self.local(before);
            self.edges.add_edge(before, after);
            self.any_outcome.push((before, after));
        } else {
            self.follow_earlier(after, before, Needs::End);
        }
    }

    /// The table. Edges that were added to a task with inputs, beside these, are listed in `order_only`; all that leads
    /// to a task without inputs carries no value anyway.
    pub(super) fn loose_edges(&mut self, csr: &Csr) -> Box<[LooseEdge]> {
        self.order_only.sort_unstable();
        let is_order = |from, to| self.order_only.binary_search(&(from, to)).is_ok();
        let any_outcome = self.any_outcome.iter();
        let any_outcome = any_outcome
            .filter(|&&(from, to)| !is_order(from, to) && !self.edges.had(from, to))
            .map(|&(from, to)| LooseEdge {
                from,
                to,
                any_outcome: true,
            });
        let mut loose: Vec<_> = any_outcome.collect();
        let carries_no_value =
            |from, to: u32| is_order(from, to) || !self.units[to as usize].kind().reads;
        for from in self.satisfying_nodes() {
            let next = csr.successors(from).iter().map(|&entry| node_of(entry));
            let next = next.filter(|&to| carries_no_value(from, to));
            loose.extend(next.map(|to| LooseEdge {
                from,
                to,
                any_outcome: false,
            }));
        }
        loose.sort_unstable_by_key(|edge| (edge.from, edge.to, !edge.any_outcome));
        loose.dedup_by_key(|edge| (edge.from, edge.to));
        loose.into_boxed_slice()
    }

    /// The nodes some of whose failures let dependents run.
    fn satisfying_nodes(&self) -> Vec<u32> {
        let may = |settings: &TaskSettings| {
            let conditions = settings.exit_conditions.as_ref();
            conditions.is_some_and(|conditions| conditions.may_satisfy())
        };
        if !may(&self.defaults) && !self.settings.values().any(may) {
            return Vec::new();
        }
        let nodes = 0..self.units.len() as u32;
        nodes.filter(|&node| may(self.settings_of(node))).collect()
    }
}

impl Frozen {
    /// The loose edges that lead from a node, by where they lead.
    pub(crate) fn loose_from(&self, node: u32) -> &[LooseEdge] {
        let start = self.loose.partition_point(|edge| edge.from < node);
        let len = self.loose[start..].partition_point(|edge| edge.from == node);
        &self.loose[start..start + len]
    }

    /// The loose edge between two nodes, if it is one.
    pub(crate) fn loose_edge(&self, from: u32, to: u32) -> Option<LooseEdge> {
        if self.loose.is_empty() {
            return None;
        }
        let edges = self.loose_from(from);
        let found = edges.binary_search_by_key(&to, |edge| edge.to).ok()?;
        edges.get(found).copied()
    }

    /// What one node needs of the end of another that it waits for.
    pub(crate) fn needs(&self, from: u32, to: u32) -> Needs {
        match self.loose_edge(from, to) {
            None => Needs::Value,
            Some(edge) if edge.any_outcome => Needs::End,
            Some(_) => Needs::Success,
        }
    }

    /// The loose edge between two tasks, if that is what makes the one wait for the other.
    pub(crate) fn loose_between(&self, before: TaskId, after: TaskId) -> Option<LooseEdge> {
        if self.loose.is_empty() || self.are_each(before, after) {
            return None;
        }
        self.loose_edge(self.locate(before)?.0, self.locate(after)?.0)
    }

    /// Whether an element waits for the one of the same index.
    fn are_each(&self, before: TaskId, after: TaskId) -> bool {
        let Some(((from, index), (to, same))) = self.locate(before).zip(self.locate(after)) else {
            return false;
        };
        let arrays = array_of_node(&self.arrays, from).zip(array_of_node(&self.arrays, to));
        before.is_element()
            && after.is_element()
            && index == same
            && arrays.is_some_and(|(from, to)| self.arrays[to].each_from.contains(&(from as u32)))
    }
}
