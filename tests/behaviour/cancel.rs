//! Cancelling tasks, elements, subtrees and runs.

use crate::pool;
use crate::watchdog::within_30s;
use batchyard::{ErrorKind, Handle, Job, TaskId, TaskRef, TaskState};
use std::sync::{Arc, Mutex, mpsc};

#[test]
fn cancelling_one_element_before_its_array_is_opened_leaves_the_others_alone() {
    within_30s(|| {
        let mut job = Job::new("one element");
        let (go, gate) = mpsc::channel::<()>();
        let gate = Mutex::new(gate);
        let slow = job.task((), (), move || {
            let _ = gate.lock().unwrap().recv();
        });
        let array = job.map_with((), 0..5_u32, &slow, |n: &u32, (): &()| *n);
        let pool = pool(1);
        let run = pool.submit(job).unwrap();
        assert_eq!(run.cancel_task(array.at(2).id().unwrap()).unwrap(), 1);
        go.send(()).unwrap();
        assert_eq!(run.wait().unwrap().succeeded, 5);
        assert_eq!(
            run.state(array.at(2).id().unwrap()).unwrap(),
            TaskState::Cancelled
        );
    });
}

#[test]
fn the_subtree_of_an_element_is_what_depends_on_that_element() {
    within_30s(|| {
        let mut job = Job::new("subtree");
        let (go, gate) = mpsc::channel::<()>();
        let gate = Mutex::new(gate);
        let slow = job.task((), (), move || {
            let _ = gate.lock().unwrap().recv();
        });
        let a = job.map_with((), 0..5_u32, &slow, |n: &u32, (): &()| *n);
        let b = job.each((), &a, |n: &u32| *n);
        let sum = job.reduce((), &b, |all: &[u32]| all.len());
        let pool = pool(2);
        let run = pool.submit(job).unwrap();
        assert_eq!(run.cancel_subtree(a.at(3).id().unwrap()).unwrap(), 3);
        go.send(()).unwrap();
        let counts = run.wait().unwrap();
        assert_eq!(
            (counts.succeeded, counts.cancelled, counts.skipped),
            (9, 3, 0)
        );
        assert_eq!(run.state(sum).unwrap(), TaskState::Cancelled);
    });
}

#[test]
fn cancelling_what_has_ended_cancels_nothing() {
    within_30s(|| {
        let mut job = Job::new("ended");
        let a = job.task((), (), || 1);
        let pool = pool(1);
        let run = pool.submit(job).unwrap();
        run.wait().unwrap();
        assert_eq!(run.cancel_task(a).unwrap(), 0);
        run.cancel();
        assert!(run.wait().is_ok());
    });
}

#[test]
fn a_run_whose_last_task_is_cancelled_as_it_succeeds_ends() {
    for _ in 0..300 {
        within_30s(|| {
            let mut job = Job::new("last");
            let a = job.map((), 0..3_u32, |n: &u32| *n);
            let pool = pool(2);
            let run = pool.submit(job).unwrap();
            let _ = run.cancel_task(a.at(2).id().unwrap()).unwrap();
            run.wait().unwrap();
        });
    }
}

/// S057: one branch of three is stopped while some of its tasks run.
#[test]
fn one_branch_is_cancelled_and_the_others_go_on() {
    within_30s(|| {
        let ((begin, begun), (go, gate)) = (mpsc::channel(), mpsc::channel::<()>());
        let gate = Arc::new(Mutex::new(gate));
        let mut job = Job::new("branches");
        let branches: Vec<(Handle<()>, Vec<Handle<bool>>)> = (1..=3)
            .map(|branch| {
                let root = job.task(format!("root {branch}"), (), || ());
                let tasks = (0..1000).map(|_| {
                    let (begin, gate) = (begin.clone(), gate.clone());
                    job.task((), &root, move |(): &()| {
                        if branch == 2 {
                            begin.send(()).unwrap();
                            let _ = gate.lock().unwrap().recv();
                        }
                        branch == 2
                    })
                });
                (root, tasks.collect())
            })
            .collect();
        let [one, two, three] = &branches[..] else {
            unreachable!("three branches")
        };
        let beside = job.task((), (&one.1[0], &three.1[0]), |a: &bool, b: &bool| !(a | b));
        let across = job.task((), (&two.1[0], &three.1[0]), |_: &bool, _: &bool| ());
        let behind = job.task((), &across, |(): &()| ());
        drop(begin);
        let pool = pool(5);
        let run = pool.submit(job).unwrap();
        (0..5).for_each(|_| begun.recv().unwrap());
        assert_eq!(run.cancel_subtree(two.0).unwrap(), 1002);
        drop(go);
        let counts = run.wait().unwrap();
        assert_eq!(
            (counts.succeeded, counts.cancelled, counts.skipped),
            (3 + 2000 + 1, 1002, 0)
        );
        assert_eq!(begun.try_iter().count(), 0, "no more of its bodies began");
        assert!(*run.output(&beside).wait().unwrap());
        let error = run.output(&behind).wait().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Cancelled);
        assert_eq!(run.cancel_subtree(two.0).unwrap(), 0);
        assert_eq!(run.cancel_task(two.0).unwrap(), 0, "it had succeeded");
    });
}

#[test]
fn a_running_a_queued_and_a_finished_task_are_cancelled() {
    within_30s(|| {
        let ((begin, begun), (go, gate)) = (mpsc::channel(), mpsc::channel::<()>());
        let gate = Mutex::new(gate);
        let mut job = Job::new("three");
        let finished = job.task((), (), || 1);
        let running = job.task((), &finished, move |n: &i32| {
            begin.send(()).unwrap();
            let _ = gate.lock().unwrap().recv();
            *n
        });
        let queued = job.task((), &finished, |n: &i32| *n);
        let after_running = job.task((), &running, |n: &i32| *n);
        let after_queued = job.map_with((), 0..3, &queued, |n: &i32, m: &i32| n + m);
        let untouched = job.task((), &finished, |n: &i32| n + 1);
        let pool = pool(1);
        let run = pool.submit(job).unwrap();
        begun.recv().unwrap();
        assert_eq!(run.cancel_task(running).unwrap(), 1);
        assert_eq!(run.cancel_task(queued).unwrap(), 1);
        assert_eq!(run.cancel_task(finished).unwrap(), 0);
        drop(go);
        let counts = run.wait().unwrap();
        assert_eq!(
            (counts.succeeded, counts.cancelled, counts.skipped),
            (2, 2, 4)
        );
        assert_eq!(*run.output(&untouched).wait().unwrap(), 2);
        let state = |task: TaskId| run.state(task).unwrap();
        assert_eq!(state(finished.id()), TaskState::Succeeded);
        assert_eq!(state(running.id()), TaskState::Cancelled);
        assert_eq!(state(after_running.id()), TaskState::Skipped);
        assert_eq!(state(after_queued.at(2).id().unwrap()), TaskState::Skipped);
    });
}

#[test]
fn whatever_many_threads_cancel_at_once_ends_once() {
    for _ in 0..50 {
        within_30s(|| {
            let mut job = Job::new("storm");
            let a = job.map((), 0..3000_u32, |n: &u32| *n);
            let b = job.each((), &a, |n: &u32| *n);
            let pool = pool(2);
            let run = pool.submit(job).unwrap();
            std::thread::scope(|scope| {
                for n in 0..4 {
                    let run = &run;
                    scope.spawn(move || {
                        for index in (n..3000).step_by(97) {
                            let _ = run.cancel_task(a.at(index).id().unwrap()).unwrap();
                            let _ = run.cancel_subtree(a.at(3000 - 1 - index).id().unwrap());
                            let _ = run.cancel_task(b.at(index).id().unwrap()).unwrap();
                            let counts = run.counts();
                            assert!(counts.ended() <= counts.total, "{counts:?}");
                        }
                    });
                }
            });
            let counts = run.wait().unwrap();
            assert_eq!((counts.total, counts.unfinished()), (6000, 0));
        });
    }
}

#[test]
fn what_hangs_on_a_long_chain_is_skipped_or_cancelled_without_deep_recursion() {
    const LENGTH: u32 = if cfg!(debug_assertions) {
        100_000
    } else {
        1_000_000
    };
    within_30s(|| {
        let ((go, gate), pool) = (mpsc::channel::<()>(), pool(2));
        let gate = Mutex::new(gate);
        let mut job = Job::new("chain");
        let head = job.task((), (), move || {
            let _ = gate.lock().unwrap().recv();
        });
        let mut last: TaskRef = head.into();
        for _ in 1..LENGTH {
            last = job.task_after((), [last], || ()).into();
        }
        let job = job.freeze().unwrap();
        let (skips, cancels) = (pool.submit(&job).unwrap(), pool.submit(&job).unwrap());
        assert_eq!(skips.cancel_task(head).unwrap(), 1);
        assert_eq!(skips.counts().skipped, u64::from(LENGTH) - 1);
        assert_eq!(cancels.cancel_subtree(head).unwrap(), u64::from(LENGTH));
        drop(go);
        skips.wait().unwrap();
        cancels.wait().unwrap();
    });
}
