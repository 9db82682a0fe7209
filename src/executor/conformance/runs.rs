//! Runs of the same job and of others, and what they leave behind.

use super::functions::sum_of_doubles;
use super::tally::Tally;
use super::trial::Trial;
use crate::job::Job;
use crate::work::Context;

pub(super) fn run_again(t: &Trial) {
    let mut job = Job::new("again");
    let sum = sum_of_doubles(t, &mut job, 50);
    let job = t.ok(job.freeze());
    let pool = t.pool();

    t.rule("a frozen job can be run again and again");
    for _ in 0..20 {
        let run = t.succeed(&pool, &job);
        t.same(*t.ok(run.output(&sum).wait()), 50 * 49);
    }
}

pub(super) fn run_concurrently(t: &Trial) {
    let mut job = Job::new("at once");
    let sum = sum_of_doubles(t, &mut job, 50);
    let job = t.ok(job.freeze());
    let pool = t.pool();

    t.rule("runs of one job don't disturb each other");
    let runs: Vec<_> = (0..20).map(|_| t.submit(&pool, &job)).collect();
    for run in &runs {
        t.same(*t.ok(run.output(&sum).wait()), 50 * 49);
        t.same(t.ok(run.wait()).succeeded, 51);
    }
}

pub(super) fn several_jobs(t: &Trial) {
    let pool = t.pool();
    t.rule("jobs of one pool don't disturb each other, whoever submits them");
    let submit = |from: u64| {
        for len in from..from + 25 {
            let mut job = Job::new(format!("job {len}"));
            let sum = sum_of_doubles(t, &mut job, len);
            let run = t.submit(&pool, job);
            t.same(*t.ok(run.output(&sum).wait()), len * (len - 1));
        }
    };
    std::thread::scope(|threads| {
        (0..4).for_each(|thread| drop(threads.spawn(move || submit(1 + thread * 25))));
    });
}

pub(super) fn many_small_jobs(t: &Trial) {
    let pool = t.pool();
    t.rule("a job submitted to an idle pool is run, however often that happens");
    for len in 0..2_000 {
        let mut job = Job::new("small");
        let sum = sum_of_doubles(t, &mut job, 1 + len % 2);
        let run = t.submit(&pool, job);
        t.same(*t.ok(run.output(&sum).wait()), len % 2 * 2);
        t.ok(run.wait());
    }
}

pub(super) fn dropped_run_goes_on(t: &Trial) {
    let (gate, ran) = (Tally::new("gates opened"), Tally::new("bodies that ran"));
    let mut job = Job::new("detached");
    let (at_gate, after) = (gate.clone(), ran.clone());
    let first = job.task((), (), move || at_gate.reach(1));
    job.task_after((), [first.into()], move || after.add());
    let pool = t.pool();

    t.rule("a run whose handle is dropped goes on by itself");
    drop(t.submit(&pool, job));
    gate.add();
    ran.reach(1);
}

pub(super) fn cancel_on_drop(t: &Trial) {
    let (begun, gate, seen) = (
        Tally::new("bodies begun"),
        Tally::new("gates opened"),
        Tally::new("cancellations seen"),
    );
    let mut job = Job::new("cancelled by drop");
    let parts = (begun.clone(), gate.clone(), seen.clone());
    job.task((), (), move |cx: &Context| {
        parts.0.add();
        parts.1.reach(1);
        if cx.is_cancelled() {
            parts.2.add();
        }
    });
    let pool = t.pool();

    t.rule("a run that is to be cancelled when its handle is dropped is");
    let run = t.submit(&pool, job).cancel_on_drop();
    begun.reach(1);
    drop(run);
    gate.add();
    seen.reach(1);
    t.goes_on(&pool);
}

pub(super) fn ended_run_is_let_go(t: &Trial) {
    let dropped = Tally::new("bodies dropped");
    let mut job = Job::new("let go");
    let held = dropped.on_drop();
    job.map((), 0..100u8, move |_: &u8| {
        let _ = &held;
    });
    let pool = t.pool();

    t.rule("an idle executor holds on to no run: its grants are dropped when they are used up");
    drop(t.succeed(&pool, job));
    dropped.reach(1);
}

pub(super) fn worker_local_state(t: &Trial) {
    let (made, dropped) = (Tally::new("states made"), Tally::new("states dropped"));
    let mut job = Job::new("locals");
    let parts = (made.clone(), dropped.clone());
    let calls = job.map((), 0..1000u64, move |cx: &Context, _: &u64| {
        let init = || {
            parts.0.add();
            (0u64, parts.1.on_drop())
        };
        cx.worker_local(init, |state| {
            state.0 += 1;
            state.0
        })
    });
    let firsts = job.reduce((), &calls, |calls: &[u64]| {
        calls.iter().filter(|&&call| call == 1).count()
    });
    let pool = t.pool();

    t.rule("worker-local state is made once for each thread that runs bodies of a run, and dropped with the run's end");
    let run = t.succeed(&pool, job);
    t.same(*t.ok(run.output(&firsts).wait()), made.count());
    dropped.reach(made.count());
    t.same(dropped.count(), made.count());
}
