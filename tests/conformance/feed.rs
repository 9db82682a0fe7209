//! What the pool promises to executors: these tests are the executor, and take every step by hand.

#![allow(
    clippy::unwrap_used,
    reason = "a test may panic on what it did not expect"
)]

use async_trait::async_trait;
use batchyard::executor::{Executor, Feed, Grant, NodeSpec, Offer, Order, Outcome, Returned};
use batchyard::{Array, Close, Error, ErrorKind, Job, Pool, Run, TaskState};
use std::sync::mpsc;
use std::time::Duration;

/// Fails a test that would hang.
const PATIENCE: Duration = Duration::from_secs(30);

/// Hands its feed and its orders to the test.
struct Hands {
    feed: mpsc::Sender<Feed>,
    orders: mpsc::Sender<Order>,
}

#[async_trait]
impl Executor for Hands {
    fn offer(&self) -> Offer {
        Offer::in_process()
    }

    async fn serve(&self, feed: Feed) -> Result<(), Error> {
        drop(self.feed.send(feed.clone()));
        while let Some(order) = feed.order().await {
            drop(self.orders.send(order));
        }
        Ok(())
    }
}

/// A pool whose executor the test is.
pub(crate) struct Stage {
    pub(crate) pool: Pool,
    pub(crate) feed: Feed,
    orders: mpsc::Receiver<Order>,
}

impl Stage {
    pub(crate) fn new() -> Self {
        let ((send_feed, feed), (send_order, orders)) = (mpsc::channel(), mpsc::channel());
        let pool = Pool::new(Hands {
            feed: send_feed,
            orders: send_order,
        });
        let feed = feed.recv_timeout(PATIENCE).unwrap();
        Stage { pool, feed, orders }
    }

    /// A run of an array of so many tasks.
    pub(crate) fn array(&self, len: u64) -> (Run, Array<u64>) {
        let mut job = Job::new("job");
        let array = job.map("array", 0..len, |n: &u64| *n);
        (self.pool.submit(job).unwrap(), array)
    }
}

/// The indices of what is left in a grant, each run to its end.
pub(crate) fn finish(mut grant: Grant) -> Vec<u32> {
    let mut done = Vec::new();
    while let Some(lease) = grant.begin() {
        done.push(lease.task_id().number());
        let outcome = lease.run();
        lease.complete(outcome);
    }
    done
}

#[test]
fn a_lost_lease_comes_again_as_the_next_attempt_and_fails_after_five_losses() {
    let stage = Stage::new();
    let node = stage.feed.join(NodeSpec::new(1));
    let (run, array) = stage.array(1);
    assert!(finish(node.take_blocking(1).unwrap()).is_empty());
    for attempt in 1..=6 {
        let lease = node.take_blocking(1).unwrap().begin().unwrap();
        assert_eq!(lease.attempt(), attempt);
        assert_eq!(
            run.state(array.at(0).id().unwrap()).unwrap(),
            TaskState::Running
        );
        match attempt % 2 {
            0 => drop(lease),
            _ => lease.complete(Outcome::Returned(Returned::NodeLost)),
        }
    }
    assert_eq!(run.wait().unwrap_err().kind(), ErrorKind::TaskFailed);
    assert!(node.try_take(1).is_none());
}

#[test]
fn a_task_whose_node_was_taken_away_is_never_blamed() {
    let stage = Stage::new();
    let node = stage.feed.join(NodeSpec::new(1));
    let (run, array) = stage.array(1);
    assert!(finish(node.take_blocking(1).unwrap()).is_empty());
    for attempt in 1..=20 {
        let lease = node.take_blocking(1).unwrap().begin().unwrap();
        assert_eq!(lease.attempt(), attempt);
        lease.complete(Outcome::Returned(Returned::TakenAway));
    }
    assert_eq!(finish(node.take_blocking(1).unwrap()).len(), 1);
    assert_eq!(*run.output(array.at(0)).wait().unwrap(), 0);
}

#[test]
fn an_attempt_that_was_not_begun_is_not_counted() {
    let stage = Stage::new();
    let node = stage.feed.join(NodeSpec::new(1));
    let (run, _) = stage.array(1);
    assert!(finish(node.take_blocking(1).unwrap()).is_empty());
    for _ in 0..20 {
        let lease = node.take_blocking(1).unwrap().begin().unwrap();
        assert_eq!(lease.attempt(), 1);
        lease.complete(Outcome::Returned(Returned::NotBegun));
    }
    assert_eq!(finish(node.take_blocking(1).unwrap()).len(), 1);
    assert_eq!(run.wait().unwrap().succeeded, 1);
}

#[test]
fn an_outcome_for_an_attempt_that_is_not_current_is_ignored_whatever_it_is() {
    let stage = Stage::new();
    let node = stage.feed.join(NodeSpec::new(8));
    for late in 0..4 {
        let mut job = Job::new("job");
        let task = job.task("late", (), || 7);
        let next = job.task("next", &task, |seven: &i32| *seven);
        let run = stage.pool.submit(job).unwrap();
        let lease = node.take_blocking(1).unwrap().begin().unwrap();
        assert!(!lease.is_cancelled());
        assert_eq!(run.cancel_task(task.id()).unwrap(), 1);
        assert!(lease.is_cancelled());
        assert_eq!(
            stage.orders.recv_timeout(PATIENCE).unwrap(),
            Order::Stop(lease.id())
        );
        let counts = run.wait().unwrap();
        match late {
            0 => {
                let outcome = lease.run();
                assert!(matches!(outcome, Outcome::Cancelled), "{outcome:?}");
                lease.complete(outcome);
            }
            1 => lease.complete(Outcome::Succeeded),
            2 => lease.complete(Outcome::Failed("late".into())),
            _ => drop(lease),
        }
        assert_eq!(run.counts(), counts);
        assert_eq!(run.state(task.id()).unwrap(), TaskState::Cancelled);
        assert_eq!(run.state(next.id()).unwrap(), TaskState::Skipped);
        assert!(run.failures().is_empty());
        assert!(node.try_take(1).is_none());
    }
}

#[test]
fn a_run_that_is_cancelled_stops_its_leases_and_ends_its_grants() {
    let stage = Stage::new();
    let node = stage.feed.join(NodeSpec::new(1));
    let (run, _) = stage.array(10);
    assert!(finish(node.take_blocking(8).unwrap()).is_empty());
    let mut grant = node.take_blocking(8).unwrap();
    let lease = grant.begin().unwrap();
    run.cancel();
    assert_eq!(
        stage.orders.recv_timeout(PATIENCE).unwrap(),
        Order::Stop(lease.id())
    );
    assert!(grant.begin().is_none());
    assert!(grant.split().is_none());
    drop((grant, lease));
    assert!(node.try_take(8).is_none());
    assert_eq!(run.counts().cancelled, 10);
}

#[test]
fn a_grant_holds_no_more_than_was_asked_for_and_gives_back_what_was_not_begun() {
    let stage = Stage::new();
    let node = stage.feed.join(NodeSpec::new(1));
    let (run, _) = stage.array(10);
    assert!(finish(node.take_blocking(4).unwrap()).is_empty());
    let mut grant = node.take_blocking(4).unwrap();
    let lease = grant.begin().unwrap();
    let begun = lease.task_id().number();
    lease.complete(Outcome::Returned(Returned::TakenAway));
    drop(grant);
    let mut done = Vec::new();
    while done.len() < 10 {
        let some = finish(node.take_blocking(4).unwrap());
        assert!(some.len() <= 4, "{some:?}");
        done.extend(some);
    }
    assert!(done.contains(&begun));
    done.sort_unstable();
    assert_eq!(done, (0..10).collect::<Vec<_>>());
    assert_eq!(run.wait().unwrap().succeeded, 10);
}

#[test]
fn a_grant_is_charged_until_it_and_its_leases_are_dropped() {
    let stage = Stage::new();
    let node = stage.feed.join(NodeSpec::new(1));
    let (_run, _) = stage.array(10);
    assert!(finish(node.take_blocking(1).unwrap()).is_empty());
    let mut grant = node.take_blocking(1).unwrap();
    assert!(node.try_take(1).is_none());
    let lease = grant.begin().unwrap();
    drop(grant);
    assert!(node.try_take(1).is_none());
    lease.complete(Outcome::Succeeded);
    assert!(node.try_take(1).is_some());
}

#[test]
fn halves_of_a_grant_are_disjoint_and_each_is_charged() {
    let stage = Stage::new();
    let node = stage.feed.join(NodeSpec::new(2));
    let (run, _) = stage.array(9);
    assert!(finish(node.take_blocking(9).unwrap()).is_empty());
    let mut grant = node.take_blocking(9).unwrap();
    let half = grant.split().unwrap();
    assert!(grant.split().is_none(), "there are but two slots");
    let (mut left, right) = (finish(grant), finish(half));
    assert_eq!((left.len(), right.len()), (5, 4));
    left.extend(right);
    left.sort_unstable();
    assert_eq!(left, (0..9).collect::<Vec<_>>());
    assert_eq!(run.wait().unwrap().succeeded, 9);
}

#[test]
fn a_half_that_is_dropped_is_granted_again() {
    let stage = Stage::new();
    let node = stage.feed.join(NodeSpec::new(2));
    let (run, _) = stage.array(8);
    assert!(finish(node.take_blocking(8).unwrap()).is_empty());
    let mut grant = node.take_blocking(8).unwrap();
    drop(grant.split().unwrap());
    let mut done = finish(grant);
    while done.len() < 8 {
        done.extend(finish(node.take_blocking(8).unwrap()));
    }
    done.sort_unstable();
    assert_eq!(done, (0..8).collect::<Vec<_>>());
    assert_eq!(run.wait().unwrap().succeeded, 8);
}

#[test]
fn a_node_that_was_dropped_or_has_shrunk_is_granted_nothing() {
    let stage = Stage::new();
    let node = stage.feed.join(NodeSpec::new(2));
    let (_run, _) = stage.array(8);
    assert!(finish(node.take_blocking(8).unwrap()).is_empty());
    let first = node.take_blocking(1).unwrap();
    node.resize(1);
    assert!(node.try_take(1).is_none());
    node.resize(2);
    assert!(node.try_take(1).is_some());
    drop((first, node));
    let other = stage.feed.join(NodeSpec::new(1));
    assert!(other.try_take(1).is_some());
}

#[test]
fn a_waiter_of_a_full_node_does_not_keep_work_from_another() {
    let stage = Stage::new();
    let (full, free) = (
        stage.feed.join(NodeSpec::new(1)),
        stage.feed.join(NodeSpec::new(1)),
    );
    let (_first, _) = stage.array(1);
    assert!(finish(full.take_blocking(1).unwrap()).is_empty());
    let held = full.take_blocking(1).unwrap();
    let (send, taken) = mpsc::channel();
    std::thread::scope(|threads| {
        let _closes = Closes(&stage.pool);
        for node in [&full, &free] {
            let send = send.clone();
            threads.spawn(move || {
                while let Some(grant) = node.take_blocking(1) {
                    drop(send.send(finish(grant)));
                }
            });
        }
        for _ in 0..200 {
            let (run, _) = stage.array(1);
            while taken.recv_timeout(PATIENCE).unwrap().is_empty() {}
            assert_eq!(run.wait().unwrap().succeeded, 1);
        }
        drop(held);
    });
}

/// Closes a pool, also when a test fails, so that the threads that wait for work return.
struct Closes<'a>(&'a Pool);

impl Drop for Closes<'_> {
    fn drop(&mut self) {
        self.0.close(Close::Cancel, PATIENCE);
    }
}

#[test]
fn a_grant_ends_early_when_something_more_urgent_waits() {
    let stage = Stage::new();
    let node = stage.feed.join(NodeSpec::new(1));
    let (patient, _) = stage.array(100);
    assert!(finish(node.take_blocking(100).unwrap()).is_empty());
    let mut grant = node.take_blocking(100).unwrap();
    let lease = grant.begin().unwrap();
    let mut job = Job::new("urgent");
    job.priority(1);
    job.task("now", (), || ());
    let urgent = stage.pool.submit(job).unwrap();
    let outcome = lease.run();
    lease.complete(outcome);
    assert!(
        grant.begin().is_none(),
        "what was not begun is to be given back"
    );
    drop(grant);
    assert_eq!(finish(node.take_blocking(100).unwrap()).len(), 1);
    assert_eq!(urgent.wait().unwrap().succeeded, 1);
    while !patient.has_ended() {
        finish(node.take_blocking(100).unwrap());
    }
}

#[test]
fn everything_ends_when_the_pool_is_closed_and_its_runs_have_ended() {
    let stage = Stage::new();
    let node = stage.feed.join(NodeSpec::new(1));
    let (run, _) = stage.array(1);
    assert!(finish(node.take_blocking(1).unwrap()).is_empty());
    let grant = node.take_blocking(1).unwrap();
    std::thread::scope(|threads| {
        let closing = threads.spawn(|| stage.pool.close(Close::Drain, PATIENCE));
        assert_eq!(finish(grant).len(), 1);
        drop(closing.join().unwrap());
    });
    assert_eq!(run.wait().unwrap().succeeded, 1);
    assert!(node.take_blocking(1).is_none());
    assert!(futures::executor::block_on(node.take(1)).is_none());
    assert!(futures::executor::block_on(stage.feed.order()).is_none());
}

#[test]
fn orders_to_resize_arrive_in_order() {
    let stage = Stage::new();
    for slots in [3, 1, 2] {
        stage.pool.resize(slots).unwrap();
    }
    let orders = [3, 1, 2].map(|_| stage.orders.recv_timeout(PATIENCE).unwrap());
    assert_eq!(orders, [3, 1, 2].map(Order::Resize));
    assert_eq!(
        stage.pool.resize(0).unwrap_err().kind(),
        ErrorKind::InvalidSetting
    );
}

/// Gives up at the first task: with a panic, or as if it were done.
struct Breaks {
    panics: bool,
}

#[async_trait]
impl Executor for Breaks {
    fn offer(&self) -> Offer {
        Offer::in_process()
    }

    async fn serve(&self, feed: Feed) -> Result<(), Error> {
        let node = feed.join(NodeSpec::new(1));
        let _held = node.take(1).await;
        assert!(!self.panics, "the machine is on fire");
        Ok(())
    }
}

#[test]
fn runs_of_an_executor_that_goes_away_end_and_say_why() {
    for panics in [false, true] {
        let pool = Pool::new(Breaks { panics });
        let mut job = Job::new("job");
        let task = job.task("task", (), || ());
        let run = pool.submit(job).unwrap();
        let error = run.wait().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Executor);
        assert_eq!(panics, error.to_string().contains("on fire"), "{error}");
        assert_eq!(run.state(task.id()).unwrap(), TaskState::Cancelled);
        let late = pool.submit(Job::new("late")).unwrap_err();
        assert_eq!(late.kind(), ErrorKind::PoolClosed);
        assert!(pool.close(Close::Drain, PATIENCE).is_empty());
    }
}
