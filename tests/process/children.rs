//! Children: how they are started, used again and replaced, and what they have of their parent's.

use crate::children;
use crate::functions::*;
use batchyard::{Close, Command, Job, Pool, Run, Task};
use std::collections::HashSet;
use std::time::Duration;

fn pids(pool: &Pool, tasks: u64) -> Vec<u32> {
    let mut job = Job::new("pids");
    let pids = job.map("pid", 0..tasks, &PID);
    job.keep(pids);
    pool.submit(job)
        .unwrap()
        .output(&pids)
        .wait()
        .unwrap()
        .to_vec()
}

#[test]
fn a_child_is_started_once_and_used_again() {
    let pool = Pool::new(children(1));
    let first = pids(&pool, 20);
    let all: HashSet<u32> = first.into_iter().chain(pids(&pool, 20)).collect();
    assert_eq!(all.len(), 1);
    assert!(!all.contains(&std::process::id()));
}

#[test]
fn a_child_is_replaced_after_as_many_tasks_as_it_may_run() {
    let pool = Pool::new(children(1).recycle_after(5));
    let pids = pids(&pool, 20);
    let distinct: HashSet<&u32> = pids.iter().collect();
    assert_eq!(distinct.len(), 4);
    distinct.into_iter().for_each(|pid| {
        assert_eq!(pids.iter().filter(|other| *other == pid).count(), 5);
    });
}

#[test]
fn a_child_that_has_grown_too_large_is_replaced() {
    let pool = Pool::new(children(1).recycle_above(200 << 20));
    let mut job = Job::new("grow");
    let first = job.map("first", [300usize << 20], &GROW);
    let second = job.map("second", [1usize], &GROW);
    job.order(first, second);
    let run = pool.submit(job).unwrap();
    let pid = |at| *run.output(at).wait().unwrap();
    let (first, second) = (pid(first.at(0)), pid(second.at(0)));
    assert_ne!(first, second);
}

#[test]
fn each_child_is_initialised_before_its_first_task() {
    let pool = Pool::new(children(2).recycle_after(3).initialise(&LOAD, &7).unwrap());
    let mut job = Job::new("loaded");
    let loaded = job.map("loaded", 0..12u64, &LOADED);
    job.keep(loaded);
    let run = pool.submit(job).unwrap();
    assert_eq!(run.output(&loaded).wait().unwrap()[..], [7; 12]);
}

#[test]
fn a_task_whose_child_can_not_be_initialised_fails_saying_why() {
    let pool = Pool::new(children(1).initialise(&LOAD, &0).unwrap());
    let mut job = Job::new("unloaded");
    job.map("loaded", [1u64], &LOADED);
    let error = pool.submit(job).unwrap().wait().unwrap_err();
    assert!(error.to_string().contains("nothing to load"), "{error}");
}

#[test]
fn a_program_that_is_no_worker_is_an_error_that_says_so() {
    let executor = batchyard::ProcessExecutor::with_worker(1, "/bin/true").unwrap();
    let pool = Pool::new(executor);
    let mut job = Job::new("no worker");
    job.map("pid", [1u64], &PID);
    let error = pool.submit(job).unwrap().wait().unwrap_err();
    assert!(error.to_string().contains("batchyard::init"), "{error}");
}

#[test]
fn nothing_of_the_parent_leaks_into_a_child() {
    let leak = std::fs::File::open("/proc/self/maps").unwrap();
    let pool = Pool::new(children(1));
    let mut job = Job::new("surroundings");
    let seen = job.map("surroundings", [1u64], &SURROUNDINGS);
    job.keep(seen);
    let run = pool.submit(job).unwrap();
    let seen = run.output(seen.at(0)).wait().unwrap().clone();
    assert!(
        !seen
            .descriptors
            .iter()
            .any(|target| target.ends_with("/maps")),
        "{seen:?}"
    );
    assert!(
        seen.blocked_signals.bytes().all(|digit| digit == b'0'),
        "{seen:?}"
    );
    assert_eq!(seen.stdin, b"");
    drop(leak);
}

#[test]
fn commands_run_beside_functions() {
    let pool = Pool::new(children(1));
    let mut job = Job::new("both");
    let pid = job.map("pid", 0..5u64, &PID);
    job.add(Task::command("true", "true").after(pid));
    job.commands(
        "echo",
        ["a", "b"].map(|word| Command::new("echo").arg(word)),
    );
    let run: Run = pool.submit(job).unwrap();
    run.wait().unwrap();
    assert_eq!(run.counts().succeeded, 8);
}

#[test]
fn no_child_is_left_when_the_pool_is_closed() {
    let pool = Pool::new(children(2));
    let pids = pids(&pool, 10);
    assert!(pool.close(Close::Drain, Duration::from_secs(30)).is_empty());
    drop(pool);
    for pid in pids {
        assert!(!std::path::Path::new(&format!("/proc/{pid}")).exists());
    }
}

#[test]
fn a_worker_local_state_is_the_childs_own_for_a_run() {
    let pool = Pool::new(children(1));
    for _ in 0..2 {
        let mut job = Job::new("local");
        let local = job.map("local", 0..5u64, &LOCAL);
        job.keep(local);
        let run = pool.submit(job).unwrap();
        assert_eq!(run.output(&local).wait().unwrap()[..], [1, 2, 3, 4, 5]);
    }
}
