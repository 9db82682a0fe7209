//! Which of several nodes a task goes to.

use crate::watchdog::within_30s;
use batchyard::executor::{Executor, Feed, Node, NodeSpec, Offer};
use batchyard::*;
use std::sync::{Arc, Barrier, Mutex};

/// Nodes with four threads each, which say which node a task ran on.
struct Cluster {
    nodes: usize,
    placement: Arc<Mutex<Vec<(TaskId, usize)>>>,
}

const SLOTS: u32 = 4;

#[async_trait::async_trait]
impl Executor for Cluster {
    fn offer(&self) -> Offer {
        Offer::in_process()
    }

    async fn serve(&self, feed: Feed) -> Result<()> {
        let mut threads = Vec::new();
        for number in 0..self.nodes {
            let node = Arc::new(feed.join(NodeSpec::new(SLOTS)));
            for _ in 0..SLOTS {
                let (node, placement) = (node.clone(), self.placement.clone());
                threads.push(std::thread::spawn(move || work(&node, number, &placement)));
            }
        }
        while feed.order().await.is_some() {}
        threads.into_iter().for_each(|thread| drop(thread.join()));
        Ok(())
    }
}

fn work(node: &Node, number: usize, placement: &Mutex<Vec<(TaskId, usize)>>) {
    while let Some(mut grant) = node.take_blocking(1) {
        while let Some(lease) = grant.begin() {
            placement
                .lock()
                .expect("no panic")
                .push((lease.task_id(), number));
            let outcome = lease.run();
            lease.complete(outcome);
        }
    }
}

/// Runs a task of one slot after the other, each of which stays, and says on which nodes they went.
fn nodes_of(placement: Placement, tasks: usize) -> Vec<usize> {
    let log: Arc<Mutex<Vec<_>>> = Arc::default();
    let cluster = Cluster {
        nodes: 2,
        placement: log.clone(),
    };
    let pool = Pool::new(cluster);
    pool.place(placement);
    let release = Arc::new(Barrier::new(tasks + 1));
    let runs: Vec<_> = (0..tasks)
        .map(|number| {
            let (go_on, begun) = (release.clone(), log.clone());
            let mut job = Job::new("one");
            let body = move || {
                go_on.wait();
            };
            job.add(Task::new((), (), body).resources(Resources::slots(1)));
            let run = pool.submit(job).expect("submitted");
            while begun.lock().expect("no panic").len() <= number {
                std::thread::yield_now();
            }
            run
        })
        .collect();
    release.wait();
    for run in runs {
        run.wait().expect("success");
    }
    let log = log.lock().expect("no panic");
    log.iter().map(|&(_, node)| node).collect()
}

#[test]
fn spread_fills_nodes_evenly() {
    within_30s(|| {
        let nodes = nodes_of(Placement::Spread, 8);
        for node in 0..2 {
            assert_eq!(
                nodes.iter().filter(|&&other| other == node).count(),
                4,
                "{nodes:?}"
            );
        }
    });
}

#[test]
fn everything_runs_however_it_is_placed() {
    within_30s(|| {
        for placement in [Placement::Spread, Placement::Pack] {
            let pool = Pool::new(Cluster {
                nodes: 3,
                placement: Arc::default(),
            });
            pool.place(placement);
            let mut job = Job::new("many");
            for number in 0..300u32 {
                let asks = Resources::slots(1 + number % 4);
                let task = Task::new((), (), || ()).resources(asks);
                job.add(task.priority(number as i32 % 3));
            }
            pool.submit(job)
                .expect("submitted")
                .wait()
                .expect("success");
        }
    });
}

#[test]
fn instances_of_a_gang_run_on_distinct_nodes_at_once() {
    within_30s(|| {
        let log: Arc<Mutex<Vec<_>>> = Arc::default();
        let pool = Pool::new(Cluster {
            nodes: 3,
            placement: log.clone(),
        });
        let all = Arc::new(Barrier::new(3));
        let mut job = Job::new("gang");
        job.map("before", 0..100u32, |_: &u32| ());
        let asks = Resources::slots(2).instances(3);
        let body = move || {
            all.wait();
        };
        let gang = job.add(Task::new("gang", (), body).resources(asks));
        pool.submit(job)
            .expect("submitted")
            .wait()
            .expect("success");
        let log = log.lock().expect("no panic");
        let nodes = log
            .iter()
            .filter(|(task, _)| *task == gang.id())
            .map(|&(_, node)| node);
        let mut nodes: Vec<_> = nodes.collect();
        nodes.sort_unstable();
        assert_eq!(nodes, [0, 1, 2]);
    });
}
