//! Failures: what they mean for the others, and what is told of them.

use crate::pool;
use crate::watchdog::within_30s;
use batchyard::{BoxError, Counts, ErrorKind, FailurePolicy, Job, TaskState, fallible};
use std::error::Error as _;
use std::io;
use std::sync::{Arc, Mutex, mpsc};

/// A hundred tasks in a row, of which every tenth fails, on one thread.
fn every_tenth_fails(policy: FailurePolicy) -> (Counts, batchyard::Error) {
    let mut job = Job::new("every tenth");
    job.failure_policy(policy);
    for n in 1..=100 {
        job.task(
            (),
            (),
            fallible(move || if n % 10 == 0 { Err("tenth") } else { Ok(n) }),
        );
    }
    let pool = pool(1);
    let run = pool.submit(job).unwrap();
    let error = run.wait().unwrap_err();
    (run.counts(), error)
}

fn counts(succeeded: u64, failed: u64, cancelled: u64) -> Counts {
    let mut counts = Counts::default();
    (counts.total, counts.succeeded) = (100, succeeded);
    (counts.failed, counts.cancelled) = (failed, cancelled);
    counts
}

#[test]
fn a_job_goes_on_as_long_as_its_policy_bears_its_failures() {
    within_30s(|| {
        let counted = |policy| every_tenth_fails(policy).0;
        assert_eq!(counted(FailurePolicy::Continue), counts(90, 10, 0));
        assert_eq!(counted(FailurePolicy::FailFast), counts(9, 1, 90));
        assert_eq!(counted(FailurePolicy::MaxFailures(0)), counts(9, 1, 90));
        assert_eq!(counted(FailurePolicy::MaxFailures(3)), counts(36, 4, 60));
        assert_eq!(counted(FailurePolicy::MaxFailures(9)), counts(90, 10, 0));
        assert_eq!(counted(FailurePolicy::MaxFailures(10)), counts(90, 10, 0));
    });
}

#[test]
fn a_job_that_its_policy_ended_says_so() {
    within_30s(|| {
        let (_, error) = every_tenth_fails(FailurePolicy::MaxFailures(1));
        assert_eq!(error.kind(), ErrorKind::TaskFailed);
        assert_eq!(
            error.to_string(),
            "job `every tenth`: was ended after 2 failed tasks, as its failure policy says: job `every tenth`, task `task 19`: failed on attempt 1: tenth"
        );
    });
}

#[test]
fn what_a_failure_keeps_from_running_is_skipped_with_its_name() {
    within_30s(|| {
        let mut job = Job::new("skipped");
        let a = job.task("a", (), fallible(|| Err::<u32, _>("no")));
        let b = job.task("b", &a, |a: &u32| *a);
        let c = job.map_with("c", 0..10, &b, |n: &u32, b: &u32| n + b);
        let d = job.reduce("d", &c, |all: &[u32]| all.len());
        let e = job.task("e", (), || 5);
        let pool = pool(2);
        let run = pool.submit(job).unwrap();
        assert!(run.wait().is_err());
        assert_eq!(run.counts().skipped, 12);
        assert_eq!(*run.output(&e).wait().unwrap(), 5);
        let error = run.output(&d).wait().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TaskSkipped);
        assert!(
            error.to_string().contains("since `a` did not succeed"),
            "{error}"
        );
        assert_eq!(
            run.state(c.at(7).id().unwrap()).unwrap(),
            TaskState::Skipped
        );
    });
}

#[test]
fn the_error_of_a_body_is_found_as_it_was() {
    #[derive(Debug, PartialEq, thiserror::Error)]
    #[error("code {0}")]
    struct Own(u32);
    within_30s(|| {
        let mut job = Job::new("as it was");
        let own = job.task("own", (), fallible(|| Err::<(), _>(Own(7))));
        let system = job.task(
            "io",
            (),
            fallible(|| Err::<(), _>(io::Error::from(io::ErrorKind::StorageFull))),
        );
        let boxed = job.task(
            "boxed",
            (),
            fallible(|| -> Result<u32, BoxError> { Ok("x".parse::<u32>()?) }),
        );
        let next = job.task("next", &own, |(): &()| ());
        let pool = pool(1);
        let run = pool.submit(job).unwrap();
        let error = |of| run.output(of).wait().map(drop).unwrap_err();
        assert_eq!(error(&own).cause::<Own>(), Some(&Own(7)));
        assert_eq!(
            error(&next).cause::<Own>(),
            Some(&Own(7)),
            "also of those behind it"
        );
        let io = error(&system).cause::<io::Error>().unwrap().kind();
        assert_eq!(io, io::ErrorKind::StorageFull);
        let boxed = run.output(&boxed).wait().map(drop).unwrap_err();
        assert!(boxed.cause::<std::num::ParseIntError>().is_some());
        assert_eq!(boxed.attempt(), Some(1));
        assert!(boxed.source().is_some() && boxed.panic().is_none());
    });
}

#[test]
fn a_panic_is_told_with_its_message_and_place() {
    within_30s(|| {
        let mut job = Job::new("panics");
        let single = job.task("single", (), || -> u32 { panic!("at {}", 7) });
        let array = job.map("array", 0..5, |n: &i32| {
            assert!(*n != 3, "three");
            *n
        });
        let pool = pool(2);
        let run = pool.submit(job).unwrap();
        let error = run.output(&single).wait().map(drop).unwrap_err();
        let panic = error.panic().unwrap();
        assert_eq!(panic.message(), "at 7");
        let place = panic.place().unwrap();
        assert!(place.starts_with(file!()), "{place}");
        let error = run.output(array.at(3)).wait().map(drop).unwrap_err();
        assert_eq!(error.task(), Some("array[3]"));
        assert_eq!(error.panic().unwrap().message(), "three");
        assert!(run.wait().is_err());
        assert_eq!((run.counts().failed, run.counts().succeeded), (2, 4));
    });
}

#[test]
fn a_hundred_thousand_failures_are_all_told() {
    within_30s(|| {
        let mut job = Job::new("all fail");
        job.map((), 0..50_000, fallible(|_: &u32| Err::<(), _>("no")));
        for _ in 0..50_000 {
            job.task((), (), fallible(|| Err::<(), _>("no")));
        }
        let pool = pool(2);
        let run = pool.submit(job).unwrap();
        assert!(run.wait().is_err());
        assert_eq!(run.failures().len(), 100_000);
        assert_eq!(run.counts().failed, 100_000);
    });
}

/// Ours may be the last hold of what is the user's: destructors run on workers then.
#[test]
fn destructors_that_panic_cost_no_worker() {
    #[derive(Debug)]
    struct Bomb(mpsc::Sender<()>);
    impl Drop for Bomb {
        fn drop(&mut self) {
            let _ = self.0.send(());
            panic!("in a destructor");
        }
    }
    impl std::fmt::Display for Bomb {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("bomb")
        }
    }
    impl std::error::Error for Bomb {}

    within_30s(|| {
        let pool = pool(1);
        let (tell, told) = mpsc::channel();
        for _ in 0..3 {
            let (go, gate) = mpsc::channel::<()>();
            let (gate, tell) = (Mutex::new(gate), tell.clone());
            let mut job = Job::new("bombs");
            let first = job.task((), (), move || {
                let _ = gate.lock().unwrap().recv();
            });
            // Items, what a body holds, outputs, states of the worker, errors.
            job.map((), [Bomb(tell.clone()), Bomb(tell.clone())], |_: &Bomb| ());
            let held = Bomb(tell.clone());
            job.task_after((), [first.into()], move || held.0.send(()).is_ok());
            let output = tell.clone();
            job.map((), 0..2, move |_: &i32| Bomb(output.clone()));
            let state = tell.clone();
            job.map((), 0..2, move |cx: &batchyard::Context, _: &i32| {
                cx.worker_local(|| Bomb(state.clone()), |_| ());
            });
            job.task((), (), fallible(move || Err::<(), _>(Bomb(tell.clone()))));
            drop(pool.submit(job).unwrap());
            drop(go);
        }
        // Seven destructors, and the message of the body, of each run.
        (0..3 * 8).for_each(|_| told.recv().unwrap());
        let mut next = Job::new("next");
        let alive = next.map((), 0..10, |n: &i32| *n);
        let run = pool.submit(next).unwrap();
        assert_eq!(run.output(&alive).wait().unwrap().len(), 10);
    });
}

/// An error that comes too late is dropped, and may hold what needs the pool for that.
#[test]
fn errors_that_no_longer_count_are_dropped_outside_the_engine() {
    #[derive(Debug)]
    struct Holds(Option<batchyard::Run>);
    impl Drop for Holds {
        fn drop(&mut self) {
            if let Some(run) = self.0.take() {
                run.cancel();
            }
        }
    }
    impl std::fmt::Display for Holds {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("holds a run")
        }
    }
    impl std::error::Error for Holds {}

    within_30s(|| {
        let pool = Arc::new(pool(1));
        let (begin, begun) = mpsc::channel();
        let (go, gate) = mpsc::channel::<()>();
        let (inner, gate) = (Arc::downgrade(&pool), Mutex::new(gate));
        let mut job = Job::new("late");
        job.task(
            (),
            (),
            fallible(move || {
                begin.send(()).unwrap();
                let _ = gate.lock().unwrap().recv();
                let mut other = Job::new("other");
                other.task((), (), || ());
                let run = inner.upgrade().expect("open").submit(other);
                Err::<(), _>(Holds(run.ok()))
            }),
        );
        let run = pool.submit(job).unwrap();
        begun.recv().unwrap();
        run.cancel();
        drop(go);
        let mut next = Job::new("next");
        next.task((), (), || ());
        pool.submit(next).unwrap().wait().unwrap();
    });
}
