//! Timelines: what is recorded, and the files that are made of it, through the public interface alone.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "the helpers of tests may panic, too; clippy.toml allows it only in the tests themselves"
)]

mod graph;
mod page;
mod recording;
mod trace;
#[path = "../common/watchdog.rs"]
mod watchdog;

use batchyard::{
    Backoff, Context, Job, Pool, Run, TaskSettings, ThreadExecutor, Timeline, fallible,
};
use std::time::Duration;

/// Runs a job to its end, and returns its timeline.
fn recorded(threads: usize, job: Job) -> (Timeline, Run) {
    let pool = Pool::new(ThreadExecutor::new(threads).unwrap());
    let recording = pool.record_timelines();
    let run = pool.submit(job).unwrap();
    let _ = run.wait();
    (recording.timeline(&run).unwrap(), run)
}

/// Single tasks and arrays, edges of all kinds, a retry, a failure, and what is skipped for it.
fn mixed() -> Job {
    let mut job = Job::new("mixed");
    let list = job.task("list", (), || 20_u64);
    let shaky = |cx: &Context, n: &u64, _: &u64| match n {
        3 => Err("is torn"),
        5 if cx.attempt() == 1 => Err("is late"),
        n => Ok(*n),
    };
    let fetch = job.map_with("fetch", 0..20_u64, &list, fallible(shaky));
    let settings = TaskSettings::new().max_retries(1);
    let backoff = Backoff::constant(Duration::from_millis(1));
    job.configure(fetch, settings.backoff(backoff));
    let sort = job.each("sort", &fetch, |n: &u64| *n);
    let count = job.array("count", 30, |n: &usize| *n);
    job.reduce("sum", &count, |all: &[usize]| all.len());
    job.reduce("never", &sort, |all: &[u64]| all.len());
    job
}
