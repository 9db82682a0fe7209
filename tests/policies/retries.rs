//! Tasks that fail and are tried again.

use batchyard::*;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

fn pool() -> Pool {
    Pool::new(ThreadExecutor::new(2).expect("threads"))
}

/// A body that fails until its attempt of this number.
fn succeeds_on(attempt: u32) -> impl Fn(&Context) -> std::result::Result<u32, std::io::Error> {
    move |cx: &Context| match cx.attempt() {
        now if now >= attempt => Ok(now),
        now => Err(std::io::Error::other(format!("attempt {now}"))),
    }
}

fn now_and_often(retries: u32) -> TaskSettings {
    TaskSettings::new()
        .max_retries(retries)
        .backoff(Backoff::none())
}

#[test]
fn n_retries_allow_n_and_one_runs() {
    let mut job = Job::new("retries");
    let saved =
        job.add(Task::new("saved", (), fallible(succeeds_on(4))).settings(now_and_often(3)));
    let lost = job.add(Task::new("lost", (), fallible(succeeds_on(5))).settings(now_and_often(3)));
    let pool = pool();
    let run = pool.submit(job).expect("submitted");

    assert_eq!(*run.output(&saved).wait().expect("fourth attempt"), 4);
    let error = run
        .output(&lost)
        .wait()
        .expect_err("four attempts are not enough");
    assert_eq!(
        (error.kind(), error.attempt()),
        (ErrorKind::TaskFailed, Some(4))
    );
    assert_eq!(
        error.cause::<std::io::Error>().expect("cause").to_string(),
        "attempt 4"
    );
}

#[test]
fn every_attempt_of_a_retried_task_is_on_record() {
    let mut job = Job::new("history");
    let task = job.add(Task::new("task", (), fallible(succeeds_on(3))).settings(now_and_often(5)));
    let pool = pool();
    let run = pool.submit(job).expect("submitted");
    run.wait().expect("success");

    let attempts = run.attempts(task.id()).expect("known");
    assert_eq!(
        attempts
            .iter()
            .map(|attempt| attempt.number)
            .collect::<Vec<_>>(),
        [1, 2, 3]
    );
    assert!(matches!(attempts[0].end, AttemptEnd::Failed(_)));
    assert!(matches!(attempts[2].end, AttemptEnd::Succeeded));
    assert!(attempts[1].ended <= attempts[2].ended);
}

#[test]
fn a_panic_uses_a_retry_too() {
    let mut job = Job::new("panics");
    let body = |cx: &Context| assert!(cx.attempt() > 1, "the first one panics");
    let task = job.add(Task::new("task", (), body).settings(now_and_often(1)));
    let pool = pool();
    let run = pool.submit(job).expect("submitted");
    run.output(&task).wait().expect("second attempt");
}

#[test]
fn a_permanent_error_is_final_and_still_the_cause() {
    let mut job = Job::new("permanent");
    let body = |_: &Context| "x".parse::<u64>().map_err(Permanent::new);
    let task = job.add(Task::new("task", (), fallible(body)).settings(now_and_often(9)));
    let pool = pool();
    let run = pool.submit(job).expect("submitted");

    let error = run.output(&task).wait().expect_err("permanent");
    assert_eq!(error.attempt(), Some(1));
    assert!(error.cause::<std::num::ParseIntError>().is_some());
}

#[test]
fn only_errors_worth_it_are_retried() {
    let worth = |error: &(dyn std::error::Error + 'static)| error.to_string() == "attempt 1";
    let mut job = Job::new("retry if");
    let task = job.add(
        Task::new("task", (), fallible(succeeds_on(9))).settings(now_and_often(9).retry_if(worth)),
    );
    let pool = pool();
    let run = pool.submit(job).expect("submitted");
    assert_eq!(
        run.output(&task)
            .wait()
            .expect_err("second attempt is not worth it")
            .attempt(),
        Some(2)
    );
}

#[test]
fn unlimited_retries_go_on() {
    let mut job = Job::new("unlimited");
    let settings = now_and_often(0).max_retries(MaxRetries::Unlimited);
    let task = job.add(Task::new("task", (), fallible(succeeds_on(500))).settings(settings));
    let pool = pool();
    let run = pool.submit(job).expect("submitted");
    assert_eq!(*run.output(&task).wait().expect("at last"), 500);
}

#[test]
fn elements_are_retried_one_by_one_with_the_jobs_defaults() {
    static RUNS: AtomicU32 = AtomicU32::new(0);
    let mut job = Job::new("elements");
    job.defaults(now_and_often(2));
    let odd_fail_twice = |cx: &Context, n: &u32| {
        RUNS.fetch_add(1, Ordering::Relaxed);
        if n % 2 == 1 && cx.attempt() < 3 {
            Err("odd")
        } else {
            Ok(*n)
        }
    };
    let numbers = job.map("numbers", 0..1000u32, fallible(odd_fail_twice));
    let sum = job.reduce("sum", &numbers, |all: &[u32]| all.iter().sum::<u32>());
    let pool = pool();
    let run = pool.submit(job).expect("submitted");

    assert_eq!(*run.output(&sum).wait().expect("sum"), 499_500);
    assert_eq!(RUNS.load(Ordering::Relaxed), 2000);
    assert_eq!(run.counts().failed, 0);
}

#[test]
fn a_task_that_waits_for_its_retry_can_be_cancelled() {
    let mut job = Job::new("cancel");
    let settings = now_and_often(9).backoff(Backoff::constant(Duration::from_secs(3600)));
    let (failed, heard) = std::sync::mpsc::channel();
    let body = move |_: &Context| -> std::result::Result<(), &str> {
        failed.send(()).expect("test listens");
        Err("no")
    };
    let task = job.add(Task::new("task", (), fallible(body)).settings(settings));
    let pool = pool();
    let run = pool.submit(job).expect("submitted");
    heard.recv().expect("first attempt");
    while run.attempts(task.id()).expect("known").is_empty() {
        std::thread::yield_now();
    }
    assert_eq!(run.cancel_task(task.id()).expect("known"), 1);
    assert_eq!(
        run.wait()
            .map(|counts| counts.cancelled)
            .expect("no failure"),
        1
    );
}

#[test]
fn failures_that_are_retried_do_not_count_against_the_failure_policy() {
    let mut job = Job::new("fail fast");
    job.failure_policy(FailurePolicy::FailFast);
    job.add(Task::new("task", (), fallible(succeeds_on(3))).settings(now_and_often(2)));
    pool()
        .submit(job)
        .expect("submitted")
        .wait()
        .expect("recovered");
}
