//! A small pool to test with.

use super::*;
use std::collections::VecDeque;

pub(super) struct Yard {
    pub(super) placing: Placing,
    pub(super) nodes: Vec<NodeKey>,
    running: VecDeque<(NodeKey, Allocation)>,
}

impl Yard {
    pub(super) fn new(nodes: &[Capacity]) -> Self {
        let mut placing = Placing::default();
        let nodes = nodes
            .iter()
            .map(|capacity| placing.add_node(capacity))
            .collect();
        Yard {
            placing,
            nodes,
            running: VecDeque::new(),
        }
    }

    pub(super) fn push(&mut self, resources: Resources, priority: i32, tasks: Range<u32>) {
        self.push_at(resources, rank(priority), RunKey(0), tasks);
    }

    pub(super) fn push_at(
        &mut self,
        resources: Resources,
        rank: Rank,
        run: RunKey,
        tasks: Range<u32>,
    ) {
        let class = self.placing.intern(&Request::blocking(resources));
        self.placing.push(class, rank, run, tasks);
    }

    pub(super) fn push_gang(
        &mut self,
        resources: Resources,
        instances: u32,
        priority: i32,
        task: u32,
        packed: bool,
    ) {
        let gang = resources.instances(instances);
        let gang = if packed { gang.packed() } else { gang };
        self.push(gang, priority, task..task + 1);
    }

    pub(super) fn take(&mut self, node: usize, tasks: u32) -> Option<Placed> {
        let room = Room {
            tasks,
            sequential: false,
        };
        self.placing
            .take(self.nodes[node], room, None, &mut |_| Limit::UNLIMITED)
    }

    /// The first task that the node is given, which then runs there.
    pub(super) fn start(&mut self, node: usize) -> Option<u32> {
        let placed = self.take(node, 1)?;
        let task = placed.tasks().next();
        self.hold(node, placed);
        task
    }

    pub(super) fn hold(&mut self, node: usize, placed: Placed) {
        self.running
            .push_back((self.nodes[node], placed.allocation));
    }

    /// The task that has run longest ends.
    pub(super) fn end_oldest(&mut self) {
        if let Some((node, allocation)) = self.running.pop_front() {
            self.placing.release(node, allocation);
        }
    }

    pub(super) fn release_all(&mut self) {
        while !self.running.is_empty() {
            self.end_oldest();
        }
    }

    /// All nodes ask until none gets anything.
    pub(super) fn settle(&mut self, tasks: u32) {
        self.nodes.iter().for_each(|&node| {
            self.placing.set_hungry(node, true);
        });
        while (0..self.nodes.len()).any(|node| {
            let placed = self.take(node, tasks);
            let _ = self.placing.set_hungry(self.nodes[node], true);
            let some = placed.is_some();
            placed
                .into_iter()
                .for_each(|placed| self.hold(node, placed));
            some
        }) {}
    }

    /// Runs everything on the first node, one after another; the tasks in the order of their starts.
    pub(super) fn drain(&mut self) -> Vec<u32> {
        std::iter::from_fn(|| {
            let task = self.start(0);
            self.release_all();
            task
        })
        .collect()
    }
}

pub(super) fn rank(priority: i32) -> Rank {
    Rank {
        job_priority: 0,
        task_priority: priority,
        tie: Tie::Ready { job: 0 },
    }
}

/// A small generator, so that a failing seed is printed and reproduces.
pub(super) fn random(seed: &mut u64) -> u64 {
    *seed = seed
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407);
    *seed >> 33
}
