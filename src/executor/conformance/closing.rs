//! How a pool ends, and what it does not accept.

use super::functions::{map_double, sum_of_doubles};
use super::tally::Tally;
use super::trial::Trial;
use super::{Executor, Offer};
use crate::executor::Feed;
use crate::job::Job;
use crate::model::{BoxError, ErrorKind, Result};
use crate::pool::{Close, Pool};
use crate::work::{Context, asynchronous};
use async_trait::async_trait;
use std::time::Duration;

/// The executor under test, seen from outside.
struct Seen {
    executor: Box<dyn Executor>,
    offer: Offer,
    served: Tally,
}

#[async_trait]
impl Executor for Seen {
    fn offer(&self) -> Offer {
        self.offer.clone()
    }

    async fn serve(&self, feed: Feed) -> Result<()> {
        let result = self.executor.serve(feed).await;
        if result.is_ok() {
            self.served.add();
        }
        result
    }
}

/// Longer than the suite's patience.
const LONG: Duration = Duration::from_secs(60);

pub(super) fn closed_pool_refuses(t: &Trial) {
    let mut job = Job::new("too late");
    sum_of_doubles(t, &mut job, 3);
    let pool = t.pool();

    t.rule("a closed pool accepts nothing");
    pool.close(Close::Drain, LONG);
    t.error(pool.submit(job), ErrorKind::PoolClosed);
}

pub(super) fn unsupported_bodies(t: &Trial) {
    t.rule("what an executor does not offer is refused at submit, naming the task, and nothing is started");
    let pool_with = |offer| {
        Pool::new(Seen {
            executor: t.executor(),
            offer,
            served: Tally::new("ends of `serve`"),
        })
    };
    let only_functions = Offer {
        closures: false,
        asynchronous: false,
        functions: true,
        commands: false,
        nodes: None,
        known: None,
    };
    let pool = pool_with(only_functions);
    let ran = Tally::new("bodies that ran");
    let mut job = Job::new("closure");
    let body = ran.clone();
    job.task("stays here", (), move || body.add());
    let error = t.error(pool.submit(job), ErrorKind::Unsupported);
    t.same(error.task(), Some("stays here"));

    let pool = pool_with(t.offer().blocking_only());
    let mut job = Job::new("waiting");
    job.task(
        "waits",
        (),
        asynchronous(|| async { Ok::<_, BoxError>(()) }),
    );
    let error = t.error(pool.submit(job), ErrorKind::Unsupported);
    t.same(error.task(), Some("waits"));
    t.goes_on(&pool);
    t.same(ran.count(), 0);
}

pub(super) fn close_drains(t: &Trial) {
    let mut job = Job::new("drained");
    let sum = sum_of_doubles(t, &mut job, 10_000);
    let pool = t.pool();
    let run = t.submit(&pool, job);

    t.rule("a pool that is closed to drain runs what was submitted to its end");
    t.same(pool.close(Close::Drain, LONG), Vec::new());
    t.holds(run.has_ended(), &run);
    t.same(*t.ok(run.output(&sum).wait()), 10_000 * 9_999);
    t.same(pool.close(Close::Drain, LONG), Vec::new());
}

pub(super) fn close_cancels(t: &Trial) {
    let (begun, ended) = (Tally::new("bodies begun"), Tally::new("bodies ended"));
    let mut job = Job::new("cancelled");
    let parts = (begun.clone(), ended.clone());
    job.map((), 0..t.slots() + 10, move |cx: &Context, _: &usize| {
        parts.0.add();
        while !cx.is_cancelled() {
            std::thread::yield_now();
        }
        parts.1.add();
    });
    let pool = t.pool();
    let run = t.submit(&pool, job);
    begun.reach(t.slots());

    t.rule(
        "a pool that is closed to cancel waits for running bodies to return, and begins no others",
    );
    t.same(pool.close(Close::Cancel, LONG), Vec::new());
    t.error(run.wait(), ErrorKind::PoolClosed);
    t.same((begun.count(), ended.count()), (t.slots(), t.slots()));
}

/// A pool with a body in it that ignores that it is cancelled.
struct Stuck {
    gate: Tally,
    ended: Tally,
    run: crate::run::Run,
    pool: Pool,
}

impl Stuck {
    fn new(t: &Trial) -> Self {
        let (begun, gate, ended) = (
            Tally::new("bodies begun"),
            Tally::new("gates opened"),
            Tally::new("bodies ended"),
        );
        let mut job = Job::new("job");
        let parts = (begun.clone(), gate.clone(), ended.clone());
        job.task("stuck", (), move || {
            parts.0.add();
            parts.1.reach(1);
            parts.2.add();
        });
        let pool = t.pool();
        let run = t.submit(&pool, job);
        begun.reach(1);
        Stuck {
            gate,
            ended,
            run,
            pool,
        }
    }
}

pub(super) fn close_names_stuck_bodies(t: &Trial) {
    let stuck = Stuck::new(t);
    t.rule("closing names the bodies that are still running at the deadline");
    t.same(
        stuck.pool.close(Close::Cancel, Duration::ZERO),
        vec!["job/stuck".to_owned()],
    );
    t.error(stuck.run.wait(), ErrorKind::PoolClosed);

    t.rule("closing again waits until these have returned");
    stuck.gate.add();
    t.same(stuck.pool.close(Close::Cancel, LONG), Vec::new());
    t.same(stuck.ended.count(), 1);
}

pub(super) fn drain_ends_at_its_deadline(t: &Trial) {
    let stuck = Stuck::new(t);
    t.rule("what has not been drained at the deadline is cancelled");
    t.same(
        stuck.pool.close(Close::Drain, Duration::ZERO),
        vec!["job/stuck".to_owned()],
    );
    t.error(stuck.run.wait(), ErrorKind::PoolClosed);
    stuck.gate.add();
    t.same(stuck.pool.close(Close::Cancel, LONG), Vec::new());
}

pub(super) fn drop_with_work_running(t: &Trial) {
    let stuck = Stuck::new(t);
    t.rule("dropping a pool cancels its runs and does not wait for ever for bodies that go on");
    drop(stuck.pool);
    t.error(stuck.run.wait(), ErrorKind::PoolClosed);
    t.same(stuck.ended.count(), 0);

    t.rule("a body that outlives its pool returns into nothing");
    stuck.gate.add();
    stuck.ended.reach(1);
    t.same(stuck.run.counts().cancelled, 1);
}

pub(super) fn serve_ends(t: &Trial) {
    for close in [Close::Drain, Close::Cancel] {
        let served = Tally::new("ends of `serve`");
        let pool = Pool::new(Seen {
            executor: t.executor(),
            offer: t.offer(),
            served: served.clone(),
        });
        let mut job = Job::new("before the end");
        map_double(t, &mut job, 0..100);
        t.succeed(&pool, job);

        t.rule("`serve` returns, without an error, once the pool is closed");
        t.same(pool.close(close, LONG), Vec::new());
        t.same(served.count(), 1);
    }
    t.rule("`serve` returns when a pool is dropped that was never used");
    let served = Tally::new("ends of `serve`");
    let (executor, offer) = (t.executor(), t.offer());
    drop(Pool::new(Seen {
        executor,
        offer,
        served: served.clone(),
    }));
    served.reach(1);
}
