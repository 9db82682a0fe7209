//! Random jobs, as data, and as jobs.

use crate::asks::Asks;
use batchyard::*;
use fastrand::Rng;
use std::time::Duration;

#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) nodes: Vec<Node>,
    pub(crate) priority: i32,
    pub(crate) policy: FailurePolicy,
    pub(crate) time_limit: Option<Duration>,
    pub(crate) max_parallel: Option<u32>,
    order: TaskOrder,
}

/// A task, or an array.
#[derive(Clone, Default, Debug)]
pub(crate) struct Node {
    pub(crate) len: Option<u32>,
    /// Nodes that must have succeeded as a whole.
    pub(crate) after: Vec<usize>,
    /// The array whose element of the same index must have succeeded.
    pub(crate) each: Option<usize>,
    pub(crate) retries: u32,
    pub(crate) backoff: Duration,
    pub(crate) time_limit: Option<Duration>,
    pub(crate) start_after: Option<Duration>,
    pub(crate) deadline: Option<Duration>,
    pub(crate) priority: i32,
    /// One slot, if nothing is said.
    pub(crate) asks: Option<Asks>,
    pub(crate) max_parallel: Option<u32>,
}

impl Plan {
    pub(crate) fn random(dice: &mut Rng) -> Self {
        // A job of which most is plain takes another way through the engine.
        let is_plain = dice.u8(..3) == 0;
        let mut nodes: Vec<Node> = Vec::new();
        for _ in 0..dice.usize(1..=7) {
            let node = Node::random(dice, &nodes, is_plain);
            nodes.push(node);
        }
        let rarely = |dice: &mut Rng| !is_plain && dice.u8(..5) == 0;
        Plan {
            nodes,
            priority: dice.i32(-1..=1),
            policy: match dice.u8(..6) {
                0 => FailurePolicy::FailFast,
                1 => FailurePolicy::MaxFailures(dice.u64(..3)),
                _ => FailurePolicy::Continue,
            },
            time_limit: (dice.u8(..8) == 0).then(|| seconds(dice, 5..100)),
            max_parallel: rarely(dice).then(|| dice.u32(1..=3)),
            order: match rarely(dice) {
                true => dice
                    .choice([TaskOrder::Submission, TaskOrder::Interleaved])
                    .unwrap(),
                false => TaskOrder::Ready,
            },
        }
    }

    /// Whether it matters for every task when the others run.
    pub(crate) fn is_ordered(&self) -> bool {
        let is_ordered = |node: &Node| node.priority != 0 || node.asks.is_some();
        self.max_parallel.is_some()
            || self.order != TaskOrder::Ready
            || self.nodes.iter().any(is_ordered)
    }

    /// The job, and the ids of its tasks by node and index.
    pub(crate) fn job(&self, name: &str) -> (Job, Vec<Vec<TaskId>>) {
        let mut job = Job::new(name);
        job.priority(self.priority);
        job.failure_policy(self.policy);
        job.task_order(self.order);
        self.time_limit
            .into_iter()
            .for_each(|limit| job.time_limit(limit));
        self.max_parallel
            .into_iter()
            .for_each(|most| job.max_parallel_tasks(most));
        let mut added: Vec<Added> = Vec::new();
        for (number, node) in self.nodes.iter().enumerate() {
            let name = format!("n{number}");
            let new = match (node.len, node.each.map(|each| &added[each])) {
                (None, _) => Added::Single(job.task(name, (), || 0)),
                (Some(_), Some(Added::Array(each))) => {
                    Added::Array(job.each(name, each, |number: &u32| *number))
                }
                (Some(len), _) => Added::Array(job.array(name, len as usize, |_: &usize| 0)),
            };
            for &before in &node.after {
                job.order(added[before].task(), new.task());
            }
            job.configure(new.task(), node.settings());
            added.push(new);
        }
        let ids = added.iter().map(Added::ids).collect();
        (job, ids)
    }
}

enum Added {
    Single(Handle<u32>),
    Array(Array<u32>),
}

impl Added {
    fn task(&self) -> TaskRef {
        match self {
            Added::Single(handle) => handle.into(),
            Added::Array(array) => array.into(),
        }
    }

    fn ids(&self) -> Vec<TaskId> {
        match self {
            Added::Single(handle) => vec![handle.id()],
            Added::Array(array) => {
                let ids = (0..array.len()).map(|index| array.at(index).id());
                ids.map(|id| id.expect("in the array")).collect()
            }
        }
    }
}

impl Node {
    fn random(dice: &mut Rng, before: &[Node], is_plain: bool) -> Self {
        let mut node = Node {
            len: dice.bool().then(|| dice.u32(1..=4)),
            retries: dice.u32(..3),
            ..Node::default()
        };
        let arrays: Vec<_> = (0..before.len())
            .filter(|&at| before[at].len.is_some())
            .collect();
        if node.len.is_some() && dice.bool() && !arrays.is_empty() {
            let each = arrays[dice.usize(..arrays.len())];
            (node.each, node.len) = (Some(each), before[each].len);
        }
        let wanted = dice.usize(..3).min(before.len());
        let mut after: Vec<_> = (0..before.len()).collect();
        dice.shuffle(&mut after);
        after.truncate(wanted);
        node.after = after;
        let now_and_then = |dice: &mut Rng| dice.u8(..if is_plain { 12 } else { 5 }) == 0;
        if dice.bool() {
            node.backoff = seconds(dice, 0..10);
        }
        node.time_limit = now_and_then(dice).then(|| seconds(dice, 1..15));
        node.start_after = now_and_then(dice).then(|| seconds(dice, 0..30));
        node.deadline = now_and_then(dice).then(|| seconds(dice, 5..90));
        if node.len.is_some() {
            node.max_parallel = now_and_then(dice).then(|| dice.u32(1..=2));
        }
        if !is_plain {
            node.priority = dice.i32(-1..=1);
            node.asks = dice.bool().then(|| Asks::random(dice));
        }
        node
    }

    pub(crate) fn has_limits(&self) -> bool {
        let times = [self.time_limit, self.start_after, self.deadline];
        times.iter().any(Option::is_some) || self.max_parallel.is_some()
    }

    fn settings(&self) -> TaskSettings {
        let mut settings = TaskSettings::new()
            .max_retries(self.retries)
            .backoff(Backoff::constant(self.backoff));
        if self.priority != 0 {
            settings = settings.priority(self.priority);
        }
        if let Some(asks) = self.asks {
            settings = settings.resources(asks.resources());
        }
        if let Some(most) = self.max_parallel {
            settings = settings.max_parallel(most);
        }
        if let Some(limit) = self.time_limit {
            settings = settings.time_limit(limit);
        }
        if let Some(wait) = self.start_after {
            settings = settings.start_after(wait);
        }
        match self.deadline {
            Some(deadline) => settings.deadline(deadline),
            None => settings,
        }
    }
}

/// To the millisecond, so that few things happen at the same time.
fn seconds(dice: &mut Rng, range: std::ops::Range<u64>) -> Duration {
    Duration::from_millis(dice.u64(range.start * 1000..range.end * 1000))
}
