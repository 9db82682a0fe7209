//! Ours.

use super::{CLASSES, NODES, SLOTS, class, priority, slots};
use crate::body;
use crate::case::Sample;
use crate::contenders::batchyard::{finished, freeze, pool};
use crate::memory::Mark;
use async_trait::async_trait;
use batchyard::executor::{Executor, Feed, Lease, Node, NodeSpec, Offer};
use batchyard::{Capacity, Job, Pool, Resources, Result, Task};
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// A job on two threads, from its submission to its end. A task asks for one slot and some of what there is plenty of.
pub fn queued(tasks: usize) -> Sample {
    let pool = pool();
    let few = |class: u32| Resources::slots(1).cpus(f64::from(class % 10) / 10.0);
    Sample::take(
        || freeze(job(tasks, few)),
        |job| finished(pool.submit(&*job)),
    )
}

/// All decisions about a job's tasks, on nodes that are full as soon as they can be.
pub fn decisions(tasks: usize) -> Sample {
    let job = freeze(job(tasks, many));
    let pool = Pool::new(Cluster);
    let (start, mark) = (Instant::now(), Mark::now());
    let run = finished(pool.submit(&job));
    let sample = Sample {
        build: Duration::ZERO,
        run: start.elapsed(),
        bytes: mark.peak_growth(),
    };
    std::mem::forget(run);
    sample
}

/// What the process grows by when all tasks of a job become ready and none starts.
pub fn memory(tasks: usize) -> Sample {
    let job = freeze(job(tasks, many));
    let pool = Pool::new(Idle);
    let (start, mark) = (Instant::now(), Mark::now());
    let run = pool.submit(&job).unwrap_or_else(|error| panic!("{error}"));
    let sample = Sample {
        build: Duration::ZERO,
        run: start.elapsed(),
        bytes: mark.growth(),
    };
    std::mem::forget((run, pool));
    sample
}

fn job(tasks: usize, request: impl Fn(u32) -> Resources) -> Job {
    let requests: Vec<_> = (0..CLASSES).map(request).collect();
    let mut job = Job::new("policy");
    for number in 0..tasks as u32 {
        let asks = requests[class(number) as usize].clone();
        let task = Task::new((), (), body::empty(number));
        job.add(task.priority(priority(number) as i32).resources(asks));
    }
    job
}

/// What a task of a class asks a large node for.
fn many(class: u32) -> Resources {
    let asks = Resources::slots(slots(class));
    match class / 10 {
        0 => asks,
        1 => asks.gpus(1),
        kind => asks
            .cpus(f64::from(kind) / 4.0)
            .memory(u64::from(kind) << 30),
    }
}

/// Nodes that run nothing: each task ends when its turn has come and its room is needed.
struct Cluster;

/// A node that never asks for work.
struct Idle;

fn spec() -> NodeSpec {
    NodeSpec::new(SLOTS)
        .cpus(SLOTS)
        .memory(256 << 30)
        .gpus(0..8)
}

fn offer() -> Offer {
    let node = Capacity::slots(SLOTS)
        .cpus(SLOTS)
        .memory(256 << 30)
        .gpus(0..8);
    Offer::in_process().nodes([node])
}

#[async_trait]
impl Executor for Cluster {
    fn offer(&self) -> Offer {
        offer()
    }

    async fn serve(&self, feed: Feed) -> Result<()> {
        let nodes: Vec<_> = (0..NODES).map(|_| feed.join(spec())).collect();
        // The first to hear of work has it begin; from then on there always is some, until there is none.
        while let Some(grant) = nodes[0].take(1).await {
            drop(grant);
            keep_full(&nodes);
        }
        Ok(())
    }
}

/// Fills all nodes; then has the oldest task end, and its node filled again, until there is nothing more.
fn keep_full(nodes: &[Node]) {
    let mut running = VecDeque::new();
    (0..nodes.len()).for_each(|node| fill(nodes, node, &mut running));
    while let Some((node, lease)) = running.pop_front() {
        let outcome = lease.run();
        lease.complete(outcome);
        fill(nodes, node, &mut running);
    }
}

fn fill(nodes: &[Node], node: usize, running: &mut VecDeque<(usize, Lease)>) {
    let grants = std::iter::from_fn(|| nodes[node].try_take(1));
    running.extend(grants.filter_map(|mut grant| Some((node, grant.begin()?))));
}

#[async_trait]
impl Executor for Idle {
    fn offer(&self) -> Offer {
        offer()
    }

    async fn serve(&self, feed: Feed) -> Result<()> {
        let _nodes: Vec<_> = (0..NODES).map(|_| feed.join(spec())).collect();
        while feed.order().await.is_some() {}
        Ok(())
    }
}
