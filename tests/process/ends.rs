//! Attempts that are ended: cancelled, past their limit, or with the pool.

use crate::children;
use crate::functions::{DEAF, LISTENS, PROGRESS};
use batchyard::{Close, ErrorKind, EventKind, Function, Job, Pool, TaskSettings, Update};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Longer than anything here takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// Waits until a condition holds.
fn until(what: &str, holds: impl Fn() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < end, "never: {what}");
        std::thread::yield_now();
    }
}

/// The process that has written its id to a file.
fn pid_in(file: &Path) -> u32 {
    let read = || std::fs::read_to_string(file).ok()?.parse::<u32>().ok();
    until("the body has begun", || read().is_some());
    read().unwrap()
}

fn is_alive(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
    stat.is_ok_and(|stat| !stat.contains(") Z"))
}

fn job_of(function: &'static Function<PathBuf, ()>, file: PathBuf, settings: TaskSettings) -> Job {
    let mut job = Job::new("ends");
    let array = job.map("body", [file], function);
    job.configure(array, settings);
    job
}

#[test]
fn a_body_that_listens_is_told_and_its_child_lives_on() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("begun");
    let pool = Pool::new(children(1).kill_grace(PATIENCE));
    let run = pool
        .submit(job_of(&LISTENS, file.clone(), TaskSettings::new()))
        .unwrap();
    let pid = pid_in(&file);
    run.cancel();
    until("the body has heard", || {
        file.with_extension("heard").exists()
    });
    assert_eq!(run.wait().unwrap_err().kind(), ErrorKind::Cancelled);
    let run = pool
        .submit(job_of(
            &LISTENS,
            place.path().join("again"),
            TaskSettings::new(),
        ))
        .unwrap();
    assert_eq!(pid_in(&place.path().join("again")), pid);
    run.cancel();
}

#[test]
fn a_body_that_does_not_listen_loses_its_child() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("begun");
    let pool = Pool::new(children(1).kill_grace(Duration::ZERO));
    let run = pool
        .submit(job_of(&DEAF, file.clone(), TaskSettings::new()))
        .unwrap();
    let pid = pid_in(&file);
    run.cancel();
    until("the child is gone", || !is_alive(pid));
    let again = place.path().join("again");
    let run = pool
        .submit(job_of(&LISTENS, again.clone(), TaskSettings::new()))
        .unwrap();
    assert_ne!(pid_in(&again), pid);
    run.cancel();
}

#[test]
fn a_time_limit_ends_the_child_too() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("begun");
    let pool = Pool::new(children(1).kill_grace(Duration::ZERO));
    let settings = TaskSettings::new().time_limit(Duration::from_millis(200));
    let run = pool.submit(job_of(&DEAF, file.clone(), settings)).unwrap();
    let pid = pid_in(&file);
    run.wait().unwrap_err();
    assert_eq!(run.failures()[0].kind(), ErrorKind::TimedOut);
    until("the child is gone", || !is_alive(pid));
}

#[test]
fn what_waits_behind_a_long_item_is_run_by_others() {
    let place = tempfile::tempdir().unwrap();
    let pool = Pool::new(children(2).kill_grace(Duration::ZERO));
    let mut job = Job::new("long");
    let files: Vec<PathBuf> = (0..40).map(|n| place.path().join(n.to_string())).collect();
    job.map("deaf", files.clone(), &DEAF);
    let run = pool.submit(job).unwrap();
    // Two children are in two bodies, whatever was with them.
    until("two bodies have begun", || {
        files.iter().filter(|file| file.exists()).count() == 2
    });
    run.cancel();
}

#[test]
fn a_closed_pool_ends_bodies_that_do_not_listen() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("begun");
    let pool = Pool::new(children(1).kill_grace(Duration::ZERO));
    let _run = pool
        .submit(job_of(&DEAF, file.clone(), TaskSettings::new()))
        .unwrap();
    let pid = pid_in(&file);
    assert_eq!(pool.close(Close::Cancel, PATIENCE), Vec::<String>::new());
    until("the child is gone", || !is_alive(pid));
}

#[test]
fn progress_of_a_body_in_a_child_is_heard() {
    let pool = Pool::new(children(1));
    let events = pool.events();
    let mut job = Job::new("progress");
    job.map("progress", [0u64], &PROGRESS);
    pool.submit(job).unwrap().wait().unwrap();
    drop(pool);
    let reported = events.blocking().any(|update| {
        let Update::Event(event) = update else {
            return false;
        };
        matches!(event.kind, EventKind::ProgressReported { .. })
    });
    assert!(reported);
}

#[test]
fn no_child_outlives_an_application_that_is_killed() {
    const NAME: &str = "ends::no_child_outlives_an_application_that_is_killed";
    if let Some(file) = std::env::var_os("BATCHYARD_DOOMED") {
        let job = job_of(&DEAF, file.into(), TaskSettings::new());
        return Pool::new(children(1)).submit(job).unwrap().wait().unwrap();
    }
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("begun");
    let mut application = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", NAME, "--nocapture"])
        .env("BATCHYARD_DOOMED", &file)
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let pid = pid_in(&file);
    application.kill().unwrap();
    application.wait().unwrap();
    until("the child is gone", || !is_alive(pid));
}
