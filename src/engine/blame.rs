//! For whom the waiting tasks of a run wait.

use super::Run;
use super::census::Waiting;
use super::standing::is_lost;
use crate::model::TaskId;
use std::collections::{HashSet, VecDeque};

/// A task, or an array, that could run or does, and those that wait for it.
pub(super) struct Blame {
    pub(super) node: TaskId,
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
fn blame(run: &Run, first: &[TaskId]) -> (Vec<Blame>, u64) {
    let standings = Nodes::of(run);
    let preferred: HashSet<_> = first.iter().copied().collect();
    let rest = run.nodes().filter(|node| !preferred.contains(node));
    let mut walk = Walk {
        run,
        owners: vec![NOBODY; standings.counts.len()],
        nodes: &standings,
        seen_by: Vec::new(),
        blames: Vec::new(),
    };
    for node in first
        .iter()
        .copied()
        .chain(rest)
        .filter(|&node| standings.free(node) > 0)
    {
        walk.from(node, false);
    }
    if run.job().rules.keep_blocked() {
        run.nodes()
            .filter(|&node| standings.free(node) == 0 && is_lost(run.ended_state(node)))
            .for_each(|node| walk.from(node, true));
    }
    let mut blames = walk.blames;
    blames.retain(|blame| blame.waiting > 0);
    blames.sort_by_key(|blame| std::cmp::Reverse(blame.waiting));
    let counts = standings.counts.iter();
    let free = counts
        .map(|(unfinished, waiting)| unfinished - waiting)
        .sum();
    (blames, free)
}

/// How many tasks of each node have not ended, and how many of these wait.
struct Nodes {
    counts: Vec<(u64, u64)>,
    /// Where the counts of a segment begin, and the number of its first node, ascending.
    segments: Vec<(u32, usize)>,
}

impl Nodes {
    fn of(run: &Run) -> Self {
        let (mut counts, mut segments) = (Vec::new(), Vec::new());
        for segment in run.flow().segments() {
            segments.push((segment.job.base, counts.len()));
            let waiting = Waiting::of(run, &segment);
            let nodes = 0..segment.job.units.len() as u32;
            counts.extend(nodes.map(|node| waiting.count(node)));
        }
        Nodes { counts, segments }
    }

    /// The place of a node of the run among the counts.
    fn at(&self, node: TaskId) -> usize {
        let after = self.segments.partition_point(|&(base, _)| base <= node.0);
        let (base, start) = self.segments[after - 1];
        start + (node.0 - base) as usize
    }

    fn count(&self, node: TaskId) -> (u64, u64) {
        self.counts[self.at(node)]
    }

    /// How many of its tasks wait for nothing.
    fn free(&self, node: TaskId) -> u64 {
        let (unfinished, waiting) = self.count(node);
        unfinished - waiting
    }
}

const NOBODY: usize = usize::MAX;

struct Walk<'a> {
    run: &'a Run,
    nodes: &'a Nodes,
    /// Who has the blame for each node that waits.
    owners: Vec<usize>,
    /// Of each that has blame, who came by last.
    seen_by: Vec<usize>,
    blames: Vec<Blame>,
}

impl Walk<'_> {
    fn from(&mut self, node: TaskId, for_good: bool) {
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
                let (unfinished, waiting) = self.nodes.count(behind);
                let owner = &mut self.owners[self.nodes.at(behind)];
                match *owner {
                    // An array that waits for nothing but its own turn, or is empty: on to what is behind it.
                    _ if waiting == 0 && unfinished > 0 => (),
                    NOBODY => {
                        *owner = own;
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

    /// The nodes that depend on this one, or on elements of it.
    fn behind(&self, node: TaskId) -> Vec<TaskId> {
        let ended = |&node: &TaskId| self.run.ended_state(node).is_some();
        let has_tasks = |&node: &TaskId| self.nodes.count(node).0 > 0;
        let mut behind = self.run.dependents(node);
        behind.extend(self.run.late_dependents_of_elements(node));
        behind.retain(|node| has_tasks(node) || !ended(node));
        behind
    }
}
