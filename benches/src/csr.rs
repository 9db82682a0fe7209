//! A job's graph as flat arrays: all that a scheduler written by hand needs.

use crate::shape::Graph;
use std::sync::atomic::{AtomicU32, Ordering::*, fence};

/// Successors by task, and how many predecessors each task still waits for.
#[derive(Debug)]
pub struct Csr {
    offsets: Vec<u32>,
    successors: Vec<u32>,
    waiting: Vec<AtomicU32>,
    /// The tasks that wait for nothing.
    pub sources: Vec<u32>,
}

/// Predecessors by task.
#[derive(Debug)]
pub struct Preds {
    /// Where each task's predecessors begin, and where the last one's end.
    pub offsets: Vec<u32>,
    /// The predecessors of all tasks, one task's after another's.
    pub tasks: Vec<u32>,
}

impl Preds {
    /// Those of `graph`.
    pub fn of(graph: &Graph) -> Self {
        let mut offsets = Vec::with_capacity(graph.len() as usize + 1);
        offsets.push(0);
        let mut preds = Self {
            offsets,
            tasks: Vec::new(),
        };
        for task in 0..graph.len() {
            preds.tasks.extend_from_slice(&graph.preds(task));
            preds.offsets.push(preds.tasks.len() as u32);
        }
        preds
    }

    fn get(&self, task: u32) -> &[u32] {
        &self.tasks[self.offsets[task as usize] as usize..self.offsets[task as usize + 1] as usize]
    }
}

impl Csr {
    /// Turns predecessors into successors by a counting sort.
    pub fn of(graph: &Graph) -> Self {
        let preds = Preds::of(graph);
        let tasks = graph.len();
        let mut offsets = vec![0u32; tasks as usize + 1];
        preds
            .tasks
            .iter()
            .for_each(|&pred| offsets[pred as usize + 1] += 1);
        (1..offsets.len()).for_each(|at| offsets[at] += offsets[at - 1]);
        let mut successors = vec![0; preds.tasks.len()];
        for task in 0..tasks {
            for &pred in preds.get(task) {
                let end = &mut offsets[pred as usize];
                successors[*end as usize] = task;
                *end += 1;
            }
        }
        offsets.copy_within(..tasks as usize, 1); // every offset had moved to the next one's place
        offsets[0] = 0;
        let waiting = (0..tasks)
            .map(|task| AtomicU32::new(preds.get(task).len() as u32))
            .collect();
        let sources = (0..tasks)
            .filter(|&task| preds.get(task).is_empty())
            .collect();
        Self {
            offsets,
            successors,
            waiting,
            sources,
        }
    }

    /// How many tasks there are.
    #[expect(clippy::len_without_is_empty, reason = "none is empty")]
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Counts `task` as done and hands over the successors that this makes ready. The last predecessor needs no
    /// read-modify-write.
    #[inline]
    pub fn complete(&self, task: u32, mut ready: impl FnMut(u32)) {
        let range = self.offsets[task as usize] as usize..self.offsets[task as usize + 1] as usize;
        for &successor in &self.successors[range] {
            let waiting = &self.waiting[successor as usize];
            if waiting.load(Relaxed) == 1 {
                fence(Acquire);
                ready(successor);
            } else if waiting.fetch_sub(1, AcqRel) == 1 {
                ready(successor);
            }
        }
    }

    /// The same, but the first that becomes ready is returned, to be run at once, and only the others are handed over.
    #[inline]
    pub fn complete_and_follow(&self, task: u32, mut other: impl FnMut(u32)) -> Option<u32> {
        let mut first = None;
        self.complete(task, |ready| match first {
            None => first = Some(ready),
            Some(_) => other(ready),
        });
        first
    }
}
