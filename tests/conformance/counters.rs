//! How often tasks are run again, and why: the test is the executor, and loses or takes away nodes as it likes.

#![allow(
    clippy::unwrap_used,
    reason = "a test may panic on what it did not expect"
)]

use crate::feed::{Stage, finish};
use batchyard::executor::{Lease, Node, NodeSpec, Outcome, Returned};
use batchyard::*;
use std::collections::HashMap;

/// What one worker is given next, begun.
fn begin(node: &Node) -> Option<Lease> {
    node.try_take(1)?.begin()
}

/// All that a node is given, begun.
fn fill(node: &Node) -> Vec<Lease> {
    std::iter::from_fn(|| begin(node)).collect()
}

fn label(lease: &Lease) -> String {
    lease.task_label()
}

fn succeed(lease: Lease) {
    let outcome = lease.run();
    lease.complete(outcome);
}

fn lose(lease: Lease) {
    lease.complete(Outcome::Returned(Returned::NodeLost));
}

/// Loses so often what the node is given first.
fn lose_first(node: &Node, times: u32) {
    (0..times).for_each(|_| lose(begin(node).unwrap()));
}

#[test]
fn retries_requeues_and_recoveries_are_counted_apart() {
    let stage = Stage::new();
    let node = stage.feed.join(NodeSpec::new(1));
    let mut job = Job::new("counters");
    let settings = TaskSettings::new()
        .max_retries(2)
        .backoff(Backoff::none())
        .max_recoveries(2);
    let task = job.add(Task::new("task", (), || ()).settings(settings));
    let run = stage.pool.submit(job).unwrap();
    let fates = [
        Outcome::Returned(Returned::TakenAway),
        Outcome::Failed("once".into()),
        Outcome::Returned(Returned::NodeLost),
        Outcome::Returned(Returned::TakenAway),
        Outcome::Failed("twice".into()),
        Outcome::Returned(Returned::NodeLost),
        Outcome::Returned(Returned::TakenAway),
    ];
    for (attempt, fate) in (1..).zip(fates) {
        let lease = begin(&node).unwrap();
        assert_eq!(lease.attempt(), attempt);
        lease.complete(fate);
    }
    let TaskCounters {
        retries,
        requeues,
        recoveries,
        ..
    } = run.counters(task).unwrap();
    assert_eq!((retries, requeues, recoveries), (2, 3, 2));
    succeed(begin(&node).unwrap());
    assert_eq!(run.wait().unwrap().succeeded, 1);
    assert_eq!(run.attempts(task).unwrap().len(), 8);
    assert_eq!(
        run.counters(task).unwrap().requeues,
        3,
        "also after the end"
    );
}

#[test]
fn a_task_may_lose_its_node_as_often_as_it_says() {
    for most in [0, 1, 7] {
        let stage = Stage::new();
        let node = stage.feed.join(NodeSpec::new(1));
        let mut job = Job::new("limit");
        let settings = TaskSettings::new().max_recoveries(most);
        job.add(Task::new("task", (), || ()).settings(settings));
        let run = stage.pool.submit(job).unwrap();
        lose_first(&node, most);
        assert!(!run.has_ended());
        lose_first(&node, 1);
        assert_eq!(run.wait().unwrap_err().kind(), ErrorKind::TaskFailed);
    }
}

#[test]
fn a_suspect_waits_for_an_empty_node_and_runs_there_alone() {
    let stage = Stage::new();
    let node = stage.feed.join(NodeSpec::new(4));
    let mut job = Job::new("suspect");
    let suspect = job.add(Task::new("suspect", (), || ()).priority(1));
    let suspect = suspect.id();
    let mut other = |n| job.add(Task::new(format!("other {n}"), (), || ()).priority(0));
    (0..9).for_each(|n| _ = other(n));
    let last = other(9);
    let run = stage.pool.submit(job).unwrap();
    lose_first(&node, 1);
    let first = begin(&node).unwrap();
    assert_eq!((label(&first), first.attempt()), ("suspect".into(), 2));
    let others = [begin(&node).unwrap(), begin(&node).unwrap()];
    lose(first);
    assert!(
        begin(&node).is_none(),
        "the node is emptied for the suspect"
    );
    let words = run.explain(suspect).unwrap().to_string();
    assert_eq!(
        words,
        "is ready; asks for 1 slot, alone on its node\nnode 0: in use, it has free 0 of 1 whole nodes"
    );
    let [one, two] = others;
    succeed(one);
    assert!(begin(&node).is_none());
    succeed(two);

    let alone = begin(&node).unwrap();
    assert_eq!((label(&alone), alone.attempt()), ("suspect".into(), 3));
    assert!(begin(&node).is_none(), "nothing else is placed there");
    let words = run.explain(last).unwrap().to_string();
    assert!(
        words.contains("it has free 0 of 1 places beside a task that is to run alone"),
        "{words}"
    );
    succeed(alone);
    assert_eq!(fill(&node).len(), 4);
}

#[test]
fn a_suspect_leaves_other_nodes_to_others() {
    let stage = Stage::new();
    let nodes = [2, 2].map(|slots| stage.feed.join(NodeSpec::new(slots)));
    let mut job = Job::new("two nodes");
    job.add(Task::new("suspect", (), || ()).priority(1));
    (0..20).for_each(|n| _ = job.add(Task::new(format!("other {n}"), (), || ()).priority(0)));
    let run = stage.pool.submit(job).unwrap();
    lose_first(&nodes[0], 1);
    let suspect = begin(&nodes[0]).unwrap();
    let mut held: HashMap<usize, Vec<Lease>> = HashMap::new();
    for (at, node) in nodes.iter().enumerate() {
        held.insert(at, fill(node));
    }
    lose(suspect);
    let mut ran_alone = false;
    while !run.has_ended() {
        let before = run.counts().succeeded;
        for (at, node) in nodes.iter().enumerate() {
            held.entry(at).or_default().drain(..).for_each(succeed);
            let begun = fill(node);
            let alone = begun.iter().any(|lease| label(lease) == "suspect");
            assert!(!alone || begun.len() == 1);
            ran_alone |= alone;
            held.insert(at, begun);
        }
        assert!(run.counts().succeeded > before, "some node always goes on");
    }
    assert!(ran_alone);
    assert_eq!(run.wait().unwrap().succeeded, 21);
}

#[test]
fn what_kills_its_nodes_is_found_and_its_neighbours_are_not_charged() {
    let stage = Stage::new();
    let mut job = Job::new("poison");
    job.defaults(TaskSettings::new().max_recoveries(3));
    let poison = job.task("poison", (), || ());
    let good = job.array("good", 100, |n: &usize| *n);
    let run = stage.pool.submit(job).unwrap();
    let mut deaths = 0;
    let mut node = stage.feed.join(NodeSpec::new(4));
    while !run.has_ended() {
        let begun = fill(&node);
        let kills = begun.iter().any(|lease| label(lease) == "poison");
        if !kills {
            begun.into_iter().for_each(succeed);
            continue;
        }
        deaths += 1;
        assert!(deaths <= 2 || begun.len() == 1, "a suspect is alone");
        drop(node);
        begun.into_iter().for_each(lose);
        node = stage.feed.join(NodeSpec::new(4));
    }
    assert_eq!(deaths, 4, "three recoveries, and one loss too many");
    let counts = run.counts();
    assert_eq!((counts.succeeded, counts.failed), (100, 1));
    assert_eq!(run.counters(poison).unwrap().recoveries, 4);
    for at in 0..100 {
        assert!(run.counters(good.at(at)).unwrap().recoveries <= 2);
    }
}

#[test]
fn plain_work_keeps_away_from_a_suspect() {
    let stage = Stage::new();
    let node = stage.feed.join(NodeSpec::new(2));
    let (run, array) = stage.array(50);
    let grant = node.take_blocking(1).unwrap();
    assert!(finish(grant).is_empty());
    lose_first(&node, 1);
    let suspect = begin(&node).unwrap();
    let id = suspect.task_id();
    let plain = node.take_blocking(3).unwrap();
    lose(suspect);
    assert!(
        begin(&node).is_none(),
        "the node is emptied for the suspect"
    );
    assert_eq!(finish(plain).len(), 3);
    let alone = begin(&node).unwrap();
    assert_eq!(alone.task_id(), id);
    assert!(node.try_take(50).is_none());
    succeed(alone);
    while !run.has_ended() {
        finish(node.take_blocking(50).unwrap());
    }
    assert_eq!(run.output(&array).wait().unwrap().len(), 50);
}
