//! For whom the waiting tasks of a run wait.

use super::Run;
use super::census::Waiting;
use crate::graph::node_of;
use crate::model::{TaskId, TaskState};
use std::collections::{HashSet, VecDeque};

/// A task, or an array, that could run or does, and those that wait for it.
pub(super) struct Blame {
    pub(super) node: u32,
    /// Tasks that wait for it, directly or not. Each is counted once, for the first of those it waits for.
    pub(super) waiting: u64,
    /// It has ended, and they wait for ever: by Azure Batch's rules they are not skipped.
    pub(super) for_good: bool,
    /// How many others, that could run or do, some of these tasks wait for too.
    pub(super) others: usize,
}

impl Run {
    /// What holds the run back, in words.
    pub(crate) fn explain_all(&self) -> String {
        let first = self.ask(|policy, _| policy.nodes_at_work(self));
        let (blames, free) = blame(self, &first);
        self.ask(|policy, effects| policy.explain_all(self, &blames, free, effects))
    }
}

/// Everybody that others wait for, most of them first; and how many tasks wait for nothing. Those in `first` get the blame
/// before others.
fn blame(run: &Run, first: &[u32]) -> (Vec<Blame>, u64) {
    let waiting = Waiting::of(run);
    let nodes = 0..run.job().units.len() as u32;
    let counts: Vec<_> = nodes.clone().map(|node| waiting.count(node)).collect();
    let free = |node: u32| counts[node as usize].0 - counts[node as usize].1;
    let preferred: HashSet<_> = first.iter().copied().collect();
    let rest = nodes.filter(|node| !preferred.contains(node));
    let mut walk = Walk {
        run,
        counts: &counts,
        owners: vec![NOBODY; counts.len()],
        seen_by: Vec::new(),
        blames: Vec::new(),
    };
    for node in first
        .iter()
        .copied()
        .chain(rest)
        .filter(|&node| free(node) > 0)
    {
        walk.from(node, false);
    }
    if run.job().rules.keep_blocked() {
        let nodes = 0..counts.len() as u32;
        nodes
            .filter(|&node| free(node) == 0 && has_been_lost(run, node))
            .for_each(|node| walk.from(node, true));
    }
    let mut blames = walk.blames;
    blames.retain(|blame| blame.waiting > 0);
    blames.sort_by_key(|blame| std::cmp::Reverse(blame.waiting));
    let free = counts
        .iter()
        .map(|(unfinished, waiting)| unfinished - waiting)
        .sum();
    (blames, free)
}

fn has_been_lost(run: &Run, node: u32) -> bool {
    let end = run.ended_state(TaskId(node));
    end.is_some_and(|end| end != TaskState::Succeeded)
}

const NOBODY: usize = usize::MAX;

struct Walk<'a> {
    run: &'a Run,
    /// Of each node, how many tasks have not ended, and how many of these wait.
    counts: &'a [(u64, u64)],
    /// Who has the blame for each node that waits.
    owners: Vec<usize>,
    /// Of each that has blame, who came by last.
    seen_by: Vec<usize>,
    blames: Vec<Blame>,
}

impl Walk<'_> {
    fn from(&mut self, node: u32, for_good: bool) {
        let own = self.blames.len();
        self.seen_by.push(own);
        self.blames.push(Blame {
            node,
            waiting: 0,
            for_good,
            others: 0,
        });
        let mut next = VecDeque::from([node]);
        while let Some(at) = next.pop_front() {
            for behind in self.behind(at) {
                let waiting = self.counts[behind as usize].1;
                match self.owners[behind as usize] {
                    // An array that waits for nothing but its own turn, or is empty: on to what is behind it.
                    _ if waiting == 0 && self.counts[behind as usize].0 > 0 => (),
                    NOBODY => {
                        self.owners[behind as usize] = own;
                        self.blames[own].waiting += waiting;
                        next.push_back(behind);
                    }
                    owner if owner != own && self.seen_by[owner] != own => {
                        self.seen_by[owner] = own;
                        self.blames[owner].others += 1;
                    }
                    _ => (),
                }
            }
        }
    }

    fn behind(&self, node: u32) -> Vec<u32> {
        let job = self.run.job();
        let successors = job.csr.successors(node).iter().map(|&entry| node_of(entry));
        let array = job.array_of_node(node).map(|array| &job.arrays[array]);
        let each_to = array.into_iter().flat_map(|part| &part.each_to);
        let arrays = each_to.map(|&to| job.arrays[to as usize].node);
        let ended = |&node: &u32| self.run.ended_state(TaskId(node)).is_some();
        let has_tasks = |&node: &u32| self.counts[node as usize].0 > 0;
        successors
            .chain(arrays)
            .filter(|node| has_tasks(node) || !ended(node))
            .collect()
    }
}
