//! Bodies that wait.

use super::tally::Tally;
use super::trial::Trial;
use crate::job::Job;
use crate::model::{BoxError, ErrorKind};
use crate::work::{Context, asynchronous};
use futures::channel::oneshot;
use std::sync::Mutex;

pub(super) fn asynchronous_bodies(t: &Trial) {
    let mut job = Job::new("asynchronous");
    let numbers = job.map(
        "numbers",
        0..50u64,
        asynchronous(|n: u64| async move { wait_once(n).await }),
    );
    let labels = job.each(
        "labels",
        &numbers,
        asynchronous(|cx: Context, n: u64| async move { Ok::<_, BoxError>((n, cx.attempt())) }),
    );
    let sum = job.reduce("sum", &labels, |all: &[(u64, u32)]| {
        all.iter().map(|one| one.0).sum::<u64>()
    });

    t.rule("bodies that wait are run to their end, and their values reach their dependents");
    let run = t.succeed(&t.pool(), job);
    t.same(*t.ok(run.output(&sum).wait()), 50 * 49 / 2);
    t.same(run.counts().succeeded, 101);
}

/// Is not ready when it is first polled.
async fn wait_once<T>(value: T) -> Result<T, BoxError> {
    let mut polled = false;
    std::future::poll_fn(|cx| {
        if std::mem::replace(&mut polled, true) {
            return std::task::Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        std::task::Poll::Pending
    })
    .await;
    Ok(value)
}

pub(super) fn asynchronous_failures(t: &Trial) {
    let mut job = Job::new("asynchronous failures");
    let fails = job.task(
        "fails",
        (),
        asynchronous(|| async {
            wait_once(()).await?;
            Err::<(), BoxError>("in vain".into())
        }),
    );
    let panics = job.task(
        "panics",
        (),
        asynchronous(|| async {
            wait_once(()).await?;
            assert!(std::hint::black_box(false), "late alarm");
            Ok::<_, BoxError>(())
        }),
    );
    let pool = t.pool();

    t.rule("an error or panic of a body that waits is its task's failure");
    let run = t.submit(&pool, job);
    let error = t.error(run.output(&fails).wait(), ErrorKind::TaskFailed);
    t.holds(error.to_string().contains("in vain"), &error);
    let error = t.error(run.output(&panics).wait(), ErrorKind::TaskFailed);
    t.holds(
        error
            .panic()
            .is_some_and(|panic| panic.message().contains("late alarm")),
        &error,
    );
    t.error(run.wait(), ErrorKind::TaskFailed);
    t.same(run.failures().len(), 2);
    t.goes_on(&pool);
}

pub(super) fn asynchronous_cancel(t: &Trial) {
    let begun = Tally::new("bodies begun");
    let (open, gate) = oneshot::channel::<()>();
    let gate = Mutex::new(Some(gate));
    let mut job = Job::new("asynchronous cancel");
    let body = begun.clone();
    let waits = job.task(
        "waits",
        (),
        asynchronous(move || {
            body.add();
            let gate = crate::sync::lock(&gate).take();
            async move {
                if let Some(gate) = gate {
                    let _ = gate.await;
                }
                Ok::<_, BoxError>(())
            }
        }),
    );
    let pool = t.pool();
    let run = t.submit(&pool, job);
    begun.reach(1);

    t.rule("a run is over at once when it is cancelled, though a body of it waits");
    run.cancel();
    t.error(run.wait(), ErrorKind::Cancelled);

    t.rule("what a body that waited returns after it was cancelled is ignored");
    // The future may have been dropped already.
    let _ = open.send(());
    t.goes_on(&pool);
    t.error(run.output(&waits).wait(), ErrorKind::Cancelled);
    t.same((run.counts().cancelled, run.counts().failed), (1, 0));
}
