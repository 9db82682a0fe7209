//! How many of a run's tasks stand where, and which wait.
//!
//! What has ended is counted as it ends. Which of the others wait is looked up when somebody asks, so that tasks pay
//! nothing for it: one pass over the nodes that have not succeeded and their edges, and over elements sixty-four at a
//! time. It takes no lock, and is as of some time during the pass.

use super::Run;
use super::policy::passes;
use crate::graph::node_of;
use crate::job::ArrayPart;
use crate::model::{Counts, TaskState};

/// The nodes that wait for others, one bit each.
pub(super) struct Waiting<'a> {
    run: &'a Run,
    marks: Vec<u64>,
}

impl<'a> Waiting<'a> {
    pub(super) fn of(run: &'a Run) -> Self {
        let job = run.job();
        let nodes = job.units.len() as u32;
        let mut marks = vec![0; (nodes as usize).div_ceil(64)];
        for node in (0..nodes).filter(|&node| !has_succeeded(run, node)) {
            let successors = job.csr.successors(node).iter().map(|&entry| node_of(entry));
            for next in successors.filter(|&next| !passes(run, node, next)) {
                marks[next as usize / 64] |= 1 << (next % 64);
            }
        }
        Waiting { run, marks }
    }

    pub(super) fn has(&self, node: u32) -> bool {
        self.marks[node as usize / 64] >> (node % 64) & 1 == 1
    }

    /// How many tasks of a node have not ended, and how many of these wait.
    pub(super) fn count(&self, node: u32) -> (u64, u64) {
        match self.run.job().array_of_node(node) {
            Some(array) => self.count_elements(array),
            None => {
                let unfinished = self.run.flow().word(node).ended().is_none();
                (
                    u64::from(unfinished),
                    u64::from(unfinished && self.has(node)),
                )
            }
        }
    }

    fn count_elements(&self, array: usize) -> (u64, u64) {
        let part = &self.run.job().arrays[array];
        let (mut unfinished, mut waiting) = (0, 0);
        for at in 0..part.len.div_ceil(64) as usize {
            let left = self.run.flow().array(array).unfinished_word(at) & in_array(part, at);
            let waits = if self.has(part.node) {
                u64::MAX
            } else {
                self.without_upstream(part, at)
            };
            unfinished += u64::from(left.count_ones());
            waiting += u64::from((left & waits).count_ones());
        }
        (unfinished, waiting)
    }

    /// The elements whose like in another array, which they read, has not succeeded.
    fn without_upstream(&self, part: &ArrayPart, at: usize) -> u64 {
        let from = part.each_from.iter();
        let missing = from.map(|&from| !self.run.flow().array(from as usize).succeeded_word(at));
        missing.fold(0, |all, some| all | some)
    }
}

/// Whether nothing waits for a node any more, since it has succeeded.
fn has_succeeded(run: &Run, node: u32) -> bool {
    run.flow().word(node).ended() == Some(TaskState::Succeeded) && !run.job().acts_on_success
}

/// Of 64 bits, those that stand for an element.
fn in_array(part: &ArrayPart, at: usize) -> u64 {
    match part.len - at as u32 * 64 {
        64.. => u64::MAX,
        rest => (1 << rest) - 1,
    }
}

impl Run {
    /// How many tasks stand where.
    pub(crate) fn counts(&self) -> Counts {
        let mut counts = self.counts_of_ended();
        let unfinished = counts.unfinished();
        if unfinished > 0 {
            let waiting = Waiting::of(self);
            let nodes = 0..self.job().units.len() as u32;
            let waiting = nodes.map(|node| waiting.count(node).1).sum::<u64>();
            let running = self.ask(|policy, _| policy.running(self)).len() as u64;
            counts.running = running.min(unfinished);
            counts.waiting = waiting.min(unfinished - counts.running);
            counts.ready = unfinished - counts.running - counts.waiting;
        }
        counts
    }
}
