//! Dependencies: who waits for whom, and what becomes of those behind a failure.

use crate::pool;
use crate::watchdog::within_30s;
use batchyard::{Array, BoxError, FailurePolicy, Job, TaskState, all, fallible};
use std::sync::{Arc, Barrier, mpsc};

fn fails_at(index: u64) -> impl Fn(&u64) -> Result<u64, BoxError> {
    move |n| {
        if *n == index {
            Err("as told".into())
        } else {
            Ok(*n)
        }
    }
}

#[test]
fn behind_a_failed_element_its_each_dependent_and_the_barrier_are_skipped_and_the_others_run() {
    within_30s(|| {
        let mut job = Job::new("S035");
        let a = job.map("a", 0..3_u64, fallible(fails_at(1)));
        let b = job.reduce("b", &a, |all: &[u64]| all.len());
        let c = job.each("c", &a, |n: &u64| *n);
        let pool = pool(2);
        let run = pool.submit(job).unwrap();
        assert!(run.wait().is_err());
        assert_eq!(run.state(b).unwrap(), TaskState::Skipped);
        let states: Vec<_> = (0..3)
            .map(|i| run.state(c.at(i).id().unwrap()).unwrap())
            .collect();
        assert_eq!(
            states,
            [
                TaskState::Succeeded,
                TaskState::Skipped,
                TaskState::Succeeded
            ]
        );
    });
}

#[test]
fn a_task_stays_skipped_when_its_other_predecessor_succeeds_later() {
    within_30s(|| {
        let mut job = Job::new("late arrival");
        let (go, gate) = mpsc::channel::<()>();
        let gate = std::sync::Mutex::new(gate);
        let fails = job.task("fails", (), fallible(|| Err::<(), _>("as told")));
        let slow = job.task("slow", (), move || {
            let _ = gate.lock().unwrap().recv();
        });
        let both = job.task("both", (&fails, &slow), |(): &(), (): &()| ());
        let pool = pool(2);
        let run = pool.submit(job).unwrap();
        assert!(run.output(&both).wait().is_err());
        go.send(()).unwrap();
        assert!(run.wait().is_err());
        assert_eq!(run.state(both).unwrap(), TaskState::Skipped);
    });
}

#[test]
fn a_long_tail_behind_a_failure_is_skipped_under_every_policy_and_the_counts_add_up() {
    for policy in [
        FailurePolicy::Continue,
        FailurePolicy::FailFast,
        FailurePolicy::MaxFailures(1),
    ] {
        within_30s(move || {
            let mut job = Job::new("S037");
            job.failure_policy(policy);
            let a = job.task("a", (), || 1_u64);
            let b = job.task("b", &a, fallible(|_: &u64| Err::<u64, _>("as told")));
            let c = job.task("c", &a, |a: &u64| *a);
            let mut last = job.task("d", (&b, &c), |b: &u64, c: &u64| b + c);
            for _ in 0..10_000 {
                last = job.task((), &last, |n: &u64| *n);
            }
            let pool = pool(2);
            let run = pool.submit(job).unwrap();
            assert!(run.wait().is_err());
            let counts = run.counts();
            assert_eq!(
                (counts.total, counts.unfinished(), counts.failed),
                (10_004, 0, 1)
            );
            assert_eq!(run.state(last).unwrap(), TaskState::Skipped);
            let error = run.output(&last).wait().unwrap_err();
            assert!(error.to_string().contains("`b`"), "{error}");
        });
    }
}

#[test]
fn an_array_each_of_an_empty_one_is_done_at_once_and_its_reduce_gets_an_empty_slice() {
    within_30s(|| {
        let mut job = Job::new("empty each");
        let a: Array<u64> = job.map("a", Vec::<u64>::new(), |n: &u64| *n);
        let b = job.each("b", &a, |n: &u64| *n);
        let count = job.reduce("count", &b, |all: &[u64]| all.len());
        let pool = pool(1);
        let run = pool.submit(job).unwrap();
        assert_eq!(*run.output(&count).wait().unwrap(), 0);
        assert_eq!(run.state(b).unwrap(), TaskState::Succeeded);
    });
}

#[test]
fn a_skipped_element_does_not_keep_the_others_from_being_opened_later() {
    within_30s(|| {
        let mut job = Job::new("opened late");
        let (go, gate) = mpsc::channel::<()>();
        let gate = std::sync::Mutex::new(gate);
        let slow = job.task("slow", (), move || {
            let _ = gate.lock().unwrap().recv();
        });
        let a = job.map("a", 0..3_u64, fallible(fails_at(1)));
        let b = job.each("b", (&a, &slow), |n: &u64, (): &()| *n);
        let pool = pool(2);
        let run = pool.submit(job).unwrap();
        assert!(run.output(b.at(1)).wait().is_err());
        go.send(()).unwrap();
        assert!(run.wait().is_err());
        assert_eq!(*run.output(b.at(2)).wait().unwrap(), 2);
    });
}

#[test]
fn an_array_may_be_read_element_by_element_and_whole_at_once_and_twice() {
    within_30s(|| {
        let mut job = Job::new("twice");
        let a = job.map("a", 1..=3_u64, |n: &u64| vec![*n]);
        let b = job.each(
            "b",
            (&a, all(&a), &a),
            |x: &Vec<u64>, all: &[Vec<u64>], y: &Vec<u64>| x[0] + y[0] + all.len() as u64,
        );
        let pool = pool(2);
        let run = pool.submit(job).unwrap();
        assert_eq!(run.output(&b).wait().unwrap()[..], [5, 7, 9]);
    });
}

#[test]
fn as_many_ready_tasks_as_threads_run_at_once() {
    for threads in 2..=4 {
        for _ in 0..20 {
            within_30s(move || {
                let mut job = Job::new("S143");
                let meeting = Arc::new(Barrier::new(threads));
                let first = job.task((), (), || ());
                for _ in 0..threads {
                    let meeting = meeting.clone();
                    job.task((), &first, move |(): &()| {
                        meeting.wait();
                    });
                }
                let pool = pool(threads);
                pool.submit(job).unwrap().wait().unwrap();
            });
        }
    }
}

#[test]
fn tasks_that_an_asynchronous_one_makes_ready_run_at_once() {
    for _ in 0..20 {
        within_30s(|| {
            let mut job = Job::new("after async");
            let meeting = Arc::new(Barrier::new(2));
            let first = job.task(
                (),
                (),
                batchyard::asynchronous(|| async { Ok::<_, BoxError>(()) }),
            );
            for _ in 0..2 {
                let meeting = meeting.clone();
                job.task((), &first, move |(): &()| {
                    meeting.wait();
                });
            }
            let pool = pool(2);
            pool.submit(job).unwrap().wait().unwrap();
        });
    }
}

#[test]
fn two_slow_tasks_run_at_once_although_a_million_quick_ones_ran_before() {
    within_30s(|| {
        let pool = pool(2);
        let mut quick = Job::new("quick");
        quick.map((), 0..1_000_000_u32, |n: &u32| *n);
        pool.submit(quick).unwrap().wait().unwrap();
        let mut slow = Job::new("slow");
        let meeting = Arc::new(Barrier::new(2));
        slow.map((), 0..2, move |_: &i32| {
            meeting.wait();
        });
        pool.submit(slow).unwrap().wait().unwrap();
    });
}
