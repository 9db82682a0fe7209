//! Cancelling, and outcomes that come too late.

use super::functions::sum_of_doubles;
use super::tally::Tally;
use super::trial::Trial;
use crate::job::Job;
use crate::model::{BoxError, ErrorKind, TaskState};
use crate::pool::Pool;
use crate::run::Run;
use crate::work::{Array, Context, fallible};

/// A run whose bodies are held back, as many as there are slots, and a hundred more that never get one.
struct Held {
    run: Run,
    array: Array<()>,
    begun: Tally,
    gate: Tally,
    returned: Tally,
}

impl Held {
    fn new(t: &Trial, pool: &Pool) -> Self {
        let (begun, gate, returned) = (
            Tally::new("bodies begun"),
            Tally::new("gates opened"),
            Tally::new("bodies about to return"),
        );
        let mut job = Job::new("held");
        let parts = (begun.clone(), gate.clone(), returned.clone());
        let array = job.map("held", 0..t.slots() + 100, move |_: &usize| {
            parts.0.add();
            parts.1.reach(1);
            parts.2.add();
        });
        let run = t.submit(pool, job);
        begun.reach(t.slots());
        Held {
            run,
            array,
            begun,
            gate,
            returned,
        }
    }

    /// Lets the bodies return, and makes sure that the executor has dealt with that.
    fn let_go(&self, t: &Trial, pool: &Pool) {
        self.gate.add();
        self.returned.reach(t.slots());
        t.goes_on(pool);
    }
}

pub(super) fn cancel_while_running(t: &Trial) {
    let pool = t.pool();
    let held = Held::new(t, &pool);

    t.rule("a cancelled run is over at once, while its bodies are still running");
    held.run.cancel();
    t.error(held.run.wait(), ErrorKind::Cancelled);
    t.same(held.returned.count(), 0);
    t.same(held.run.counts().cancelled, held.array.len() as u64);

    t.rule("tasks that were not begun when their run was cancelled never are");
    held.let_go(t, &pool);
    t.same(held.begun.count(), t.slots());

    t.rule("what a body returns after its run was cancelled is ignored");
    t.same(held.run.counts().cancelled, held.array.len() as u64);
    t.error(
        held.run.output(held.array.at(0)).wait(),
        ErrorKind::Cancelled,
    );
}

pub(super) fn cancel_is_seen(t: &Trial) {
    let (begun, seen) = (Tally::new("bodies begun"), Tally::new("cancellations seen"));
    let mut job = Job::new("asks");
    let parts = (begun.clone(), seen.clone());
    job.map((), 0..t.slots(), move |cx: &Context, _: &usize| {
        parts.0.add();
        while !cx.is_cancelled() {
            std::thread::yield_now();
        }
        parts.1.add();
    });
    let pool = t.pool();
    t.rule("a running body that asks sees that it has been cancelled");
    let run = t.submit(&pool, job);
    begun.reach(t.slots());
    run.cancel();
    seen.reach(t.slots());
    t.goes_on(&pool);
}

pub(super) fn cancel_races_success(t: &Trial) {
    let pool = t.pool();
    t.rule("each task of a run that is cancelled while it runs ends exactly once");
    for round in 0..300 {
        let ran = Tally::new("bodies that ran");
        let mut job = Job::new("race");
        let body = ran.clone();
        job.map((), 0..200u64, move |_: &u64| body.add());
        let run = t.submit(&pool, job);
        (0..round).for_each(|_| std::hint::spin_loop());
        run.cancel();
        let counts = run.wait().unwrap_or_else(|_| run.counts());
        t.same(counts.ended(), 200);
        t.holds(counts.succeeded <= ran.count() as u64, (counts, &ran));
        t.goes_on(&pool);
        t.same(run.counts(), counts);
    }
}

pub(super) fn late_outcome(t: &Trial) {
    let pool = t.pool();
    for end in [Ok(()), Err("too late")] {
        let (begun, gate, returned) = (
            Tally::new("bodies begun"),
            Tally::new("gates opened"),
            Tally::new("bodies about to return"),
        );
        let mut job = Job::new("late");
        let parts = (begun.clone(), gate.clone(), returned.clone());
        let late = job.task(
            "late",
            (),
            fallible(move || {
                parts.0.add();
                parts.1.reach(1);
                parts.2.add();
                end.map_err(BoxError::from)
            }),
        );
        let dependent = job.task("dependent", &late, |_: &()| ());
        let other = job.task("other", (), || 1);
        let run = t.submit(&pool, job);
        begun.reach(1);

        t.rule("a task that is cancelled while its body runs is over at once");
        t.same(t.ok(run.cancel_task(late.id())), 1);
        t.error(run.output(&late).wait(), ErrorKind::Cancelled);
        t.error(run.output(&dependent).wait(), ErrorKind::TaskSkipped);

        t.rule("an outcome for an attempt that is no longer current is ignored");
        gate.add();
        returned.reach(1);
        t.same(*t.ok(run.output(&other).wait()), 1);
        let counts = t.ok(run.wait());
        t.goes_on(&pool);
        t.same(t.ok(run.state(late.id())), TaskState::Cancelled);
        t.same(run.failures().len(), 0);
        t.same(run.counts(), counts);
        t.same(
            (counts.cancelled, counts.skipped, counts.succeeded),
            (1, 1, 1),
        );
    }
}

pub(super) fn cancel_task(t: &Trial) {
    let pool = t.pool();
    let held = Held::new(t, &pool);
    let last = held.array.at(held.array.len() - 1);

    t.rule("a task that is cancelled before it has begun never begins; all others of its run do");
    let cancelled = last.id().map(|id| t.ok(held.run.cancel_task(id)));
    t.same(cancelled, Some(1));
    t.error(held.run.output(last).wait(), ErrorKind::Cancelled);
    held.gate.add();
    let counts = t.ok(held.run.wait());
    t.same(
        (counts.cancelled, counts.succeeded),
        (1, held.array.len() as u64 - 1),
    );
    t.same(held.begun.count(), held.array.len() - 1);

    t.rule("cancelling a task that has ended changes nothing");
    let again = held
        .array
        .at(0)
        .id()
        .map(|id| t.ok(held.run.cancel_task(id)));
    t.same(again, Some(0));
    t.same(held.run.counts(), counts);
}

pub(super) fn cancel_subtree(t: &Trial) {
    let (begun, gate, ran) = (
        Tally::new("bodies begun"),
        Tally::new("gates opened"),
        Tally::new("bodies that ran"),
    );
    let mut job = Job::new("subtree");
    let parts = (begun.clone(), gate.clone());
    let root = job.task("root", (), move || {
        parts.0.add();
        parts.1.reach(1);
    });
    let below = ran.clone();
    let branch = job.task("branch", &root, move |_: &()| below.add());
    let leaf = job.task("leaf", &branch, |branch: &usize| *branch);
    let other = job.task("other", &root, |_: &()| 7);
    let pool = t.pool();
    let run = t.submit(&pool, job);
    begun.reach(1);

    t.rule("a subtree is cancelled as a whole, and what does not belong to it goes on");
    t.same(t.ok(run.cancel_subtree(branch.id())), 2);
    gate.add();
    t.same(*t.ok(run.output(&other).wait()), 7);
    t.error(run.output(&leaf).wait(), ErrorKind::Cancelled);
    let counts = t.ok(run.wait());
    t.same((counts.succeeded, counts.cancelled, ran.count()), (2, 2, 0));
}

pub(super) fn cancel_after_end(t: &Trial) {
    let mut job = Job::new("ended");
    let sum = sum_of_doubles(t, &mut job, 10);
    let pool = t.pool();
    let run = t.succeed(&pool, job);

    t.rule("cancelling a run that has ended changes nothing");
    let counts = run.counts();
    run.cancel();
    t.same(t.ok(run.cancel_task(sum.id())), 0);
    t.same(t.ok(run.cancel_subtree(sum.id())), 0);
    t.same(t.ok(run.wait()), counts);
    t.same(*t.ok(run.output(&sum).wait()), 90);
    t.goes_on(&pool);
}
