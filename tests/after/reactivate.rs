//! Tasks that run again after they ended without success.

use crate::watchdog::within_30s;
use batchyard::*;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Something that doesn't work until it is mended, and counts how often it was tried.
#[derive(Clone, Default)]
pub(crate) struct Machine {
    mended: Arc<AtomicBool>,
    pub(crate) tried: Arc<AtomicU32>,
}

impl Machine {
    pub(crate) fn mend(&self) {
        self.mended.store(true, SeqCst);
    }

    pub(crate) fn run<T>(&self, value: T) -> std::result::Result<T, std::io::Error> {
        self.tried.fetch_add(1, SeqCst);
        match self.mended.load(SeqCst) {
            true => Ok(value),
            false => Err(std::io::Error::other("broken")),
        }
    }
}

pub(crate) fn pool() -> Pool {
    Pool::new(ThreadExecutor::new(2).expect("threads"))
}

pub(crate) fn state(run: &Run, task: impl Into<Selector>) -> TaskState {
    run.state(task).expect("known")
}

/// `load`, which is broken, then `double`, then `say`; and `other`, which is independent.
struct Chain {
    machine: Machine,
    load: Handle<u32>,
    say: Handle<String>,
    other: Handle<u32>,
    run: Run,
    pool: Pool,
}

fn chain() -> Chain {
    let machine = Machine::default();
    let mut job = Job::new("chain");
    let broken = machine.clone();
    let load = job.task("load", (), fallible(move || broken.run(20)));
    let double = job.task("double", &load, |n: &u32| n * 2);
    let say = job.task("say", &double, |n: &u32| format!("it is {n}"));
    let other = job.task("other", (), || 7);
    let pool = pool();
    let run = pool.submit(job).expect("submitted");
    run.wait().expect_err("broken");
    Chain {
        machine,
        load,
        say,
        other,
        run,
        pool,
    }
}

#[test]
fn a_failed_task_runs_again_and_what_was_skipped_because_of_it_waits_again() {
    let Chain {
        machine,
        load,
        say,
        run,
        pool: _pool,
        ..
    } = chain();
    machine.mend();
    assert_eq!(run.reactivate(load).expect("failed before"), 3);
    let counts = run.wait().expect("all succeed");
    assert_eq!((counts.succeeded, counts.ended()), (4, 4));
    assert_eq!(*run.output(&say).wait().expect("said"), "it is 40");
}

#[test]
fn an_ended_run_has_not_ended_any_more_once_a_task_is_reactivated() {
    within_30s(|| {
        let (started, starts) = channel();
        let (go_on, goes_on) = channel();
        let (started, goes_on) = (Mutex::new(started), Mutex::new(goes_on));
        let mut job = Job::new("again");
        let task = job.task(
            "task",
            (),
            fallible(move |cx: &Context| {
                if cx.attempt() == 1 {
                    return Err(std::io::Error::other("first"));
                }
                started.lock().unwrap().send(()).unwrap();
                goes_on.lock().unwrap().recv().unwrap();
                Ok(cx.attempt())
            }),
        );
        let pool = pool();
        let run = pool.submit(job).expect("submitted");
        run.wait().expect_err("first attempt");
        assert!(run.has_ended());

        run.reactivate(task).expect("failed");
        starts.recv().expect("it runs");
        assert!(!run.has_ended());
        assert_eq!(state(&run, task), TaskState::Running);
        assert!(run.failures().is_empty());
        go_on.send(()).unwrap();
        run.wait().expect("second attempt");
        assert_eq!(*run.output(&task).wait().expect("second attempt"), 2);
        assert!(run.has_ended());
    });
}

#[test]
fn attempts_go_on_rising_and_stay_on_record() {
    let mut job = Job::new("attempts");
    let settings = TaskSettings::new().max_retries(1).backoff(Backoff::none());
    let seen = Arc::new(Mutex::new(Vec::new()));
    let sees = seen.clone();
    let body = move |cx: &Context| {
        sees.lock().unwrap().push(cx.attempt());
        match cx.attempt() {
            5.. => Ok(()),
            _ => Err(std::io::Error::other("too early")),
        }
    };
    let task = job.add(Task::new("task", (), fallible(body)).settings(settings));
    let pool = pool();
    let run = pool.submit(job).expect("submitted");
    for _ in 0..2 {
        run.wait().expect_err("two attempts each time");
        run.reactivate(task).expect("failed");
    }
    run.wait().expect("fifth attempt");
    assert_eq!(*seen.lock().unwrap(), [1, 2, 3, 4, 5]);
    let attempts = run.attempts(task).expect("known");
    let numbers: Vec<_> = attempts.iter().map(|attempt| attempt.number).collect();
    assert_eq!(numbers, [1, 2, 3, 4, 5]);
    assert!(matches!(attempts[4].end, AttemptEnd::Succeeded));
}

#[test]
fn a_task_that_succeeded_is_not_run_again() {
    let Chain {
        other,
        run,
        pool: _pool,
        ..
    } = chain();
    let error = run.reactivate(other).expect_err("has succeeded");
    assert_eq!(error.kind(), ErrorKind::InvalidState);
    assert_eq!(error.task(), Some("other"));
    assert!(run.has_ended());
}

#[test]
fn a_skipped_task_is_refused_and_the_task_to_reactivate_is_named() {
    let Chain {
        say,
        run,
        pool: _pool,
        ..
    } = chain();
    let error = run.reactivate(say).expect_err("can't run");
    assert_eq!(error.kind(), ErrorKind::InvalidState);
    assert!(error.to_string().contains("`load`"), "{error}");
}

#[test]
fn a_task_that_goes_on_is_refused() {
    within_30s(|| {
        let (go_on, goes_on) = channel::<()>();
        let goes_on = Mutex::new(goes_on);
        let mut job = Job::new("going on");
        let task = job.task("task", (), move || {
            let _ = goes_on.lock().unwrap().recv();
        });
        let pool = pool();
        let run = pool.submit(job).expect("submitted");
        let error = run.reactivate(task).expect_err("has not ended");
        assert_eq!(error.kind(), ErrorKind::InvalidState);
        drop(go_on);
        run.wait().expect("undisturbed");
    });
}

#[test]
fn a_closed_pool_runs_nothing_again() {
    let Chain {
        load, run, pool, ..
    } = chain();
    drop(pool);
    let error = run.reactivate(load).expect_err("closed");
    assert_eq!(error.kind(), ErrorKind::PoolClosed);
    assert!(run.has_ended());
    assert_eq!(state(&run, load), TaskState::Failed);
    assert_eq!(run.failures().len(), 1);
}

#[test]
fn a_run_that_is_going_on_takes_back_what_failed() {
    within_30s(|| {
        let machine = Machine::default();
        let (go_on, goes_on) = channel::<()>();
        let goes_on = Mutex::new(goes_on);
        let mut job = Job::new("going on");
        let broken = machine.clone();
        let load = job.task("load", (), fallible(move || broken.run(1)));
        let slow = job.task("slow", (), move || {
            let _ = goes_on.lock().unwrap().recv();
        });
        let both = job.task("both", (&load, &slow), |n: &u32, _: &()| *n);
        let pool = pool();
        let run = pool.submit(job).expect("submitted");
        run.output(&load).wait().expect_err("broken");
        assert_eq!(state(&run, both), TaskState::Skipped);

        machine.mend();
        assert_eq!(run.reactivate_failed().expect("open"), 2);
        assert_eq!(*run.output(&load).wait().expect("mended"), 1);
        assert_eq!(state(&run, both), TaskState::Waiting);
        drop(go_on);
        assert_eq!(*run.output(&both).wait().expect("both"), 1);
        assert_eq!(run.wait().expect("all").succeeded, 3);
    });
}

#[test]
fn what_also_depends_on_another_failure_stays_skipped_until_that_is_mended() {
    let (left, right) = (Machine::default(), Machine::default());
    let mut job = Job::new("two");
    let (l, r) = (left.clone(), right.clone());
    let a = job.task("a", (), fallible(move || l.run(1)));
    let b = job.task("b", (), fallible(move || r.run(2)));
    let sum = job.task("sum", (&a, &b), |a: &u32, b: &u32| a + b);
    let pool = pool();
    let run = pool.submit(job).expect("submitted");
    run.wait().expect_err("both broken");

    left.mend();
    assert_eq!(run.reactivate(a).expect("failed"), 1);
    let error = run.wait().expect_err("b is broken");
    assert!(error.to_string().contains("task `b`"), "{error}");
    assert_eq!(state(&run, sum), TaskState::Skipped);
    let failures = run.failures();
    assert_eq!(failures.len(), 1);
    assert_eq!(failures[0].task(), Some("b"));

    right.mend();
    assert_eq!(run.reactivate_failed().expect("open"), 2);
    run.wait().expect("all");
    assert_eq!(*run.output(&sum).wait().expect("sum"), 3);
    assert_eq!(left.tried.load(SeqCst), 2);
}

#[test]
fn inputs_of_a_failed_task_are_there_when_it_runs_again() {
    let machine = Machine::default();
    let mut job = Job::new("inputs");
    let broken = machine.clone();
    let big = job.task("big", (), || vec![7u8; 1 << 16]);
    let parts = job.array("parts", 3, |i: &usize| vec![*i]);
    let length = job.task("length", &big, Vec::len);
    let read = job.task(
        "read",
        (&big, &parts),
        fallible(move |big: &Vec<u8>, parts: &[Vec<usize>]| {
            broken.run(big.len() + parts.concat().iter().sum::<usize>())
        }),
    );
    let pool = pool();
    let run = pool.submit(job).expect("submitted");
    run.wait().expect_err("broken");
    machine.mend();
    run.reactivate(read).expect("failed");
    assert_eq!(*run.output(&read).wait().expect("read"), (1 << 16) + 3);
    assert_eq!(*run.output(&length).wait().expect("length"), 1 << 16);
    let freed = run.output(&big).wait().expect_err("both are through");
    assert_eq!(freed.kind(), ErrorKind::OutputFreed);
}

#[test]
fn a_run_that_was_ended_by_its_failure_policy_goes_on_where_it_was() {
    let machine = Machine::default();
    let mut job = Job::new("fail fast");
    job.failure_policy(FailurePolicy::FailFast);
    let broken = machine.clone();
    let first = job.task("first", (), fallible(move || broken.run(1)));
    let rest = job.array_with("rest", 100, (), |i: &usize| *i);
    job.order(first, rest);
    let sum = job.reduce("sum", &rest, |all: &[usize]| all.iter().sum::<usize>());
    let pool = pool();
    let run = pool.submit(job).expect("submitted");
    run.wait().expect_err("broken");
    machine.mend();
    assert_eq!(run.reactivate_failed().expect("open"), 102);
    assert_eq!(run.wait().expect("all").succeeded, 102);
    assert_eq!(*run.output(&sum).wait().expect("sum"), 4950);
}

#[test]
fn retries_count_anew() {
    let machine = Machine::default();
    let mut job = Job::new("retries");
    let broken = machine.clone();
    let settings = TaskSettings::new().max_retries(2).backoff(Backoff::none());
    let task = job.add(Task::new("task", (), fallible(move || broken.run(()))).settings(settings));
    let pool = pool();
    let run = pool.submit(job).expect("submitted");
    run.wait().expect_err("three attempts");
    run.reactivate(task).expect("failed");
    run.wait().expect_err("three more");
    assert_eq!(machine.tried.load(SeqCst), 6);
}

#[test]
fn a_deadline_counts_anew() {
    let clock = std::time::Instant::now();
    let (go_on, goes_on) = channel::<()>();
    let goes_on = Mutex::new(goes_on);
    let mut job = Job::new("deadline");
    let limit = Duration::from_millis(20);
    let settings = TaskSettings::new().deadline(limit);
    let body = move |cx: &Context| {
        // The first attempt is late, and learns it by being told to go on.
        if cx.attempt() == 1 {
            let _ = goes_on.lock().unwrap().recv();
        }
        cx.attempt()
    };
    let task = job.add(Task::new("task", (), body).settings(settings));
    let pool = pool();
    let run = pool.submit(job).expect("submitted");
    let error = run.output(&task).wait().expect_err("late");
    assert_eq!(error.kind(), ErrorKind::TimedOut);
    assert!(clock.elapsed() >= limit);
    run.wait().expect_err("late");
    drop(go_on);
    // It may be late again on a busy machine; but not since its first deadline is over.
    let ended = (0..50).find_map(|_| {
        run.reactivate(task).expect("failed");
        run.output(&task).wait().ok()
    });
    assert!(*ended.expect("in time") > 1);
}
