//! Children are killed at random, under load: every task ends exactly once, the counts add up, and nobody hangs.
//!
//! BATCHYARD_CHAOS says for how many seconds; a few unless it is set.

use crate::children;
use crate::functions::{PID, WORK};
use batchyard::{Job, Pool, TaskSettings};
use std::collections::HashSet;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

const CHILDREN: usize = 3;

fn seconds() -> u64 {
    let seconds = std::env::var("BATCHYARD_CHAOS").ok();
    seconds
        .and_then(|seconds| seconds.parse().ok())
        .unwrap_or(3)
}

/// The children of this test's pool: those of this process that nobody else has, known by what one of them says.
fn children_now(pool: &Pool) -> HashSet<u32> {
    let mut job = Job::new("who");
    let pids = job.map("pid", 0..CHILDREN as u64 * 4, &PID);
    job.configure(pids, TaskSettings::new().max_recoveries(1000));
    let run = pool.submit(job).unwrap();
    run.output(&pids).wait().unwrap().iter().copied().collect()
}

fn kill(pid: u32) {
    let _ = std::process::Command::new("kill")
        .args(["-9", &pid.to_string()])
        .status();
}

#[test]
fn killed_children_lose_no_task_and_double_none() {
    let pool = Pool::new(children(CHILDREN));
    let (over, kills) = (AtomicBool::new(false), AtomicU64::new(0));
    let end = Instant::now() + Duration::from_secs(seconds());
    let mut rounds = 0;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                for pid in children_now(&pool) {
                    if Path::new(&format!("/proc/{pid}")).exists() {
                        kill(pid);
                        kills.fetch_add(1, Ordering::Relaxed);
                    }
                }
            }
        });
        while Instant::now() < end || kills.load(Ordering::Relaxed) == 0 {
            round(&pool, rounds);
            rounds += 1;
        }
        over.store(true, Ordering::Relaxed);
    });
    println!("{rounds} rounds, {} children killed", kills.into_inner());
}

fn round(pool: &Pool, round: u64) {
    let mut job = Job::new("load");
    let first = round * 10_000..(round + 1) * 10_000;
    let work = job.map("work", first.clone(), &WORK);
    let again = job.each("again", &work, &WORK);
    job.keep(again);
    for array in [&work, &again] {
        job.configure(array, TaskSettings::new().max_recoveries(1000));
    }
    let run = pool.submit(job).unwrap();
    run.wait().unwrap_or_else(|error| panic!("{error}"));
    let counts = run.counts();
    assert_eq!(
        (counts.succeeded, counts.total, counts.unfinished()),
        (20_000, 20_000, 0)
    );
    let here = |n: u64| (0..1000 + n % 1000).fold(n, |sum, i| (sum ^ i).rotate_left(3));
    let outputs = run.output(&again).wait().unwrap();
    for (n, output) in first.zip(outputs.iter()).step_by(97) {
        assert_eq!(*output, here(here(n)));
    }
}
