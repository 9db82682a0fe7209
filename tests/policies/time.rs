//! Limits in time. The waits are real and short; no assertion depends on how short.

use batchyard::*;
use std::sync::mpsc;
use std::time::{Duration, Instant};

const SHORT: Duration = Duration::from_millis(20);
const LONG: Duration = Duration::from_secs(3600);

fn pool() -> Pool {
    Pool::new(ThreadExecutor::new(1).expect("threads"))
}

#[test]
fn a_body_past_its_limit_counts_as_over_while_it_still_runs() {
    let (release, wait) = mpsc::channel::<()>();
    let wait = std::sync::Mutex::new(wait);
    let mut job = Job::new("limits");
    let stuck = move |_: &Context| drop(wait.lock().map(|wait| wait.recv()));
    let task = job.add(Task::new("stuck", (), stuck).time_limit(SHORT));
    let pool = pool();
    let run = pool.submit(job).expect("submitted");

    let error = run.output(&task).wait().expect_err("past its limit");
    assert_eq!(error.kind(), ErrorKind::TimedOut);
    assert!(run.has_ended() && run.wait().is_err());
    // Its thread is still busy: the pool says with what.
    assert_eq!(pool.close(Close::Drain, SHORT), ["limits/stuck"]);
    release.send(()).expect("still waiting");
    assert!(pool.close(Close::Drain, LONG).is_empty());
}

#[test]
fn a_time_limit_uses_a_retry_and_a_late_output_is_dropped() {
    let (release, wait) = mpsc::channel::<()>();
    let wait = std::sync::Mutex::new(wait);
    let mut job = Job::new("late");
    let body = move |cx: &Context| {
        if cx.attempt() == 1 {
            drop(wait.lock().map(|wait| wait.recv()));
            assert!(cx.is_cancelled(), "the attempt is over");
        }
        cx.attempt()
    };
    let settings = TaskSettings::new()
        .max_retries(1)
        .backoff(Backoff::none())
        .time_limit(SHORT);
    let task = job.add(Task::new("task", (), body).settings(settings));
    let pool = Pool::new(ThreadExecutor::new(2).expect("threads"));
    let run = pool.submit(job).expect("submitted");

    assert_eq!(*run.output(&task).wait().expect("second attempt"), 2);
    release.send(()).expect("first attempt still runs");
    assert!(pool.close(Close::Drain, LONG).is_empty());
    assert_eq!(*run.output(&task).wait().expect("unchanged"), 2);
}

#[test]
fn a_task_within_its_limit_leaves_nothing_behind() {
    let mut job = Job::new("in time");
    let tasks = job.map("tasks", 0..100u32, |n: &u32| *n);
    job.configure(tasks, TaskSettings::new().time_limit(LONG));
    let pool = pool();
    let run = pool.submit(job).expect("submitted");
    assert_eq!(run.output(&tasks).wait().expect("all").len(), 100);
}

#[test]
fn a_job_past_its_limit_ends_with_what_has_ended() {
    let mut job = Job::new("job limit");
    job.time_limit(SHORT);
    let quick = job.task("quick", (), || 1);
    let patient = job.add(
        Task::new("patient", &quick, |n: &i32| *n).settings(TaskSettings::new().start_after(LONG)),
    );
    let pool = pool();
    let run = pool.submit(job).expect("submitted");

    assert_eq!(run.wait().expect_err("limit").kind(), ErrorKind::TimedOut);
    let error = run.output(&patient).wait().expect_err("never started");
    assert_eq!(error.kind(), ErrorKind::Cancelled);
    assert_eq!(run.counts().succeeded, 1);
}

#[test]
fn a_task_does_not_start_before_its_time() {
    let mut job = Job::new("later");
    let task = job
        .add(Task::new("task", (), Instant::now).settings(TaskSettings::new().start_after(SHORT)));
    let before = Instant::now();
    let pool = pool();
    let run = pool.submit(job).expect("submitted");
    let started = *run.output(&task).wait().expect("started");
    assert!(started.duration_since(before) >= SHORT);
}

#[test]
fn a_task_that_misses_its_deadline_fails_and_its_dependents_are_skipped() {
    let mut job = Job::new("deadline");
    let late = TaskSettings::new()
        .start_after(LONG)
        .deadline(SHORT)
        .max_retries(3);
    let task = job.add(Task::new("late", (), || 1).settings(late));
    let next = job.task("next", &task, |n: &i32| *n);
    let pool = pool();
    let run = pool.submit(job).expect("submitted");

    assert_eq!(
        run.output(&task).wait().expect_err("late").kind(),
        ErrorKind::TimedOut
    );
    assert_eq!(
        run.output(&next).wait().expect_err("late").kind(),
        ErrorKind::TaskSkipped
    );
}

#[test]
fn no_retry_begins_after_the_time_for_all_attempts() {
    let mut job = Job::new("total");
    let settings = TaskSettings::new()
        .max_retries(MaxRetries::Unlimited)
        .backoff(Backoff::constant(SHORT))
        .total_time_limit(SHORT * 5);
    let body = fallible(|_: &Context| Err::<(), _>("no"));
    let task = job.add(Task::new("task", (), body).settings(settings));
    let pool = pool();
    let run = pool.submit(job).expect("submitted");

    let error = run.output(&task).wait().expect_err("time is spent");
    assert!(error.attempt().is_some_and(|attempt| attempt <= 5));
}

#[test]
fn each_element_of_an_array_has_the_deadline() {
    let mut job = Job::new("deadlines");
    let late = job.array("late", 5, |at: &usize| *at);
    let settings = TaskSettings::new().start_after(LONG).deadline(SHORT);
    job.configure(late, settings);
    let pool = pool();
    let run = pool.submit(job).expect("submitted");

    let error = run.wait().expect_err("late");
    assert_eq!(
        error.cause::<Error>().map(Error::kind),
        Some(ErrorKind::TimedOut)
    );
    let counts = run.counts();
    assert_eq!((counts.failed, counts.succeeded), (5, 0));
    assert_eq!(run.failures().len(), 5);
}
