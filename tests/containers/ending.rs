//! How commands in containers are ended, and that their containers go whatever happens.

use crate::image::containers_of;
use crate::yard::{Yard, await_that, script};
use batchyard::{CommandFailure, Ending, ErrorKind, Job, Task, TaskState};
use std::path::Path;
use std::process::Command as Process;
use std::time::Duration;

#[test]
fn at_its_time_limit_a_container_is_asked_then_killed_and_removed() {
    let yard = Yard::new();
    let scripts = [
        "trap 'echo bye; exit 0' TERM; while true; do sleep 0.05; done",
        "trap '' TERM; sleep 600",
        "sleep 600",
    ];
    for (text, said) in scripts.iter().zip(["bye\n", "", ""]) {
        let limit = Duration::from_secs(3);
        let command = script(text).kill_grace(Duration::from_secs(2));
        let task = Task::command("task", command).time_limit(limit);
        let error = yard.run_task(task).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut, "{error}");
        let failure = error.cause::<CommandFailure>().unwrap();
        assert_eq!(failure.ending(), Ending::TimeLimit(limit));
        assert_eq!(failure.output().stdout().text().unwrap(), said, "{text}");
        assert_eq!(yard.containers(), [""; 0], "{text}");
    }
}

#[test]
fn a_task_that_is_cancelled_takes_its_container_with_it() {
    let yard = Yard::new();
    let mut job = Job::new("job");
    let command = script("touch $BATCHYARD_SHARED_DIR/began; sleep 600").kill_grace(Duration::ZERO);
    let task = job.add(Task::command("task", command));
    let run = yard.pool.submit(job).unwrap();
    await_that("it began", || has_begun(yard.directory()));
    run.cancel_task(task).unwrap();
    assert_eq!(run.state(task).unwrap(), TaskState::Cancelled);
    await_that("its container is gone", || yard.containers().is_empty());
}

/// Whether a command has left its sign in the directory that a pool's commands share.
fn has_begun(directory: &Path) -> bool {
    let pools = std::fs::read_dir(directory).into_iter().flatten().flatten();
    pools
        .map(|pool| pool.path().join("shared/began"))
        .any(|began| began.exists())
}

/// Runs a command without end; does nothing but when [`an_application_that_is_killed_leaves_no_container`] starts it.
#[test]
fn an_application_to_be_killed() {
    if std::env::var_os("BATCHYARD_TO_BE_KILLED").is_none() {
        return;
    }
    let yard = Yard::new();
    println!("in {}", yard.directory().display());
    let command = script("touch $BATCHYARD_SHARED_DIR/began; trap '' TERM; sleep 600");
    let _ = yard.run(command);
}

#[test]
fn an_application_that_is_killed_leaves_no_container() {
    let directory = tempfile::tempdir().unwrap();
    let mut application = Process::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "ending::an_application_to_be_killed",
            "--nocapture",
        ])
        .env("BATCHYARD_TO_BE_KILLED", "yes")
        .env("TMPDIR", directory.path())
        .spawn()
        .unwrap();
    let yards = || std::fs::read_dir(directory.path()).unwrap().flatten();
    let began = || yards().any(|yard| has_begun(&yard.path()));
    await_that("it began", began);
    let yard = yards().find(|yard| has_begun(&yard.path())).unwrap().path();
    let label = format!("batchyard.test={}", yard.display());
    assert_eq!(containers_of(&label).len(), 1);
    application.kill().unwrap();
    application.wait().unwrap();
    await_that("the container is gone", || containers_of(&label).is_empty());
}
