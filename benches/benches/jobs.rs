//! What a small job costs: many of them through one pool, each begun when the one before it is done.
//!
//! A `task` is one job: four bodies in a diamond. The memory is what the process has grown by, per job, since the
//! first thousand. `batchyard` builds every job anew, `batchyard-again` submits one frozen job again and again. The
//! limit hands the four bodies to a bare thread, and waits for it; both look for a while before they sleep.

use batchyard::Job;
use batchyard_benches::body;
use batchyard_benches::case::{Case, Missing, Outcome, Sample};
use batchyard_benches::contenders;
use batchyard_benches::contenders::batchyard::{finished, freeze, pool};
use batchyard_benches::harness::Bench;
use batchyard_benches::memory::Mark;
use batchyard_benches::options::Options;
use batchyard_benches::report::Report;
use std::hint::spin_loop;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::thread::{current, park, spawn};
use std::time::{Duration, Instant};

/// Jobs before the clock starts.
const WARM_UP: usize = 1_000;

/// How often the limit looks before it sleeps.
const LOOKS: usize = 2_000;

const CONTENDERS: [&str; 5] = ["batchyard", "batchyard-again", "limit", "rayon", "tokio"];

fn main() -> ExitCode {
    Bench {
        name: "jobs",
        cases,
        measure,
        report: Report::times,
    }
    .main()
}

fn cases(options: &Options) -> Vec<Case> {
    CONTENDERS
        .map(|contender| Case::new("diamond", contender, options.tasks(100_000)))
        .into()
}

fn measure(case: &Case) -> Outcome {
    match case.contender.as_str() {
        "batchyard" => Ok(anew(case.tasks)),
        "batchyard-again" => Ok(again(case.tasks)),
        "limit" => Ok(hand_over(case.tasks)),
        "rayon" => rayon(case.tasks),
        "tokio" => tokio(case.tasks),
        other => Err(Missing(format!("nobody is called {other}"))),
    }
}

/// Every job is built, submitted and dropped.
fn anew(jobs: usize) -> Sample {
    let pool = pool();
    many(jobs, || drop(finished(pool.submit(diamond()))))
}

/// One frozen job is submitted again and again.
fn again(jobs: usize) -> Sample {
    let pool = pool();
    let job = freeze(diamond());
    many(jobs, || drop(finished(pool.submit(&job))))
}

fn diamond() -> Job {
    let mut job = Job::new("diamond");
    let a = job.task((), (), || 1);
    let b = job.task((), &a, |a: &u64| a + 1);
    let c = job.task((), &a, |a: &u64| a + 2);
    job.task((), (&b, &c), |b: &u64, c: &u64| body::element(b + c));
    job
}

/// A bare thread gets a turn, and gives it back.
fn hand_over(jobs: usize) -> Sample {
    let (turns, caller) = (Arc::new(AtomicUsize::new(0)), current());
    let theirs = turns.clone();
    let helper = spawn(move || {
        loop {
            wait_for(|| theirs.load(Acquire) % 2 == 1);
            (0..4).for_each(body::element);
            theirs.fetch_add(1, Release);
            caller.unpark();
        }
    });
    many(jobs, || {
        turns.fetch_add(1, Release);
        helper.thread().unpark();
        wait_for(|| turns.load(Acquire) % 2 == 0);
    })
}

/// Looks for a while, then sleeps until it is woken.
fn wait_for(condition: impl Fn() -> bool) {
    let found = (0..LOOKS).any(|_| {
        spin_loop();
        condition()
    });
    while !found && !condition() {
        park();
    }
}

fn rayon(jobs: usize) -> Outcome {
    let pool = contenders::rayon::pool()?;
    let diamond = || {
        body::element(1);
        rayon::join(|| body::element(2), || body::element(3));
        body::element(4);
    };
    Ok(many(jobs, || pool.install(diamond)))
}

fn tokio(jobs: usize) -> Outcome {
    let runtime = contenders::tokio::runtime()?;
    Ok(many(jobs, || {
        let job = runtime.spawn(tokio_diamond());
        assert!(runtime.block_on(job).is_ok(), "a task failed");
    }))
}

async fn tokio_diamond() {
    let task = async |item| body::element(item);
    task(1).await;
    let (b, c) = (tokio::spawn(task(2)), tokio::spawn(task(3)));
    assert!(b.await.is_ok() && c.await.is_ok(), "a task failed");
    task(4).await;
}

/// Runs `job` that many times; memory is what the process has grown by meanwhile.
fn many(jobs: usize, mut job: impl FnMut()) -> Sample {
    (0..WARM_UP).for_each(|_| job());
    let mark = Mark::now();
    let start = Instant::now();
    (0..jobs).for_each(|_| job());
    Sample {
        build: Duration::ZERO,
        run: start.elapsed(),
        bytes: mark.growth(),
    }
}
