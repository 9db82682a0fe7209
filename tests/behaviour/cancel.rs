//! Cancelling tasks, elements, subtrees and runs.

use crate::pool;
use crate::watchdog::within_30s;
use batchyard::{Job, TaskState};
use std::sync::{Mutex, mpsc};

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
