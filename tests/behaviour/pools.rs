//! Several jobs in one pool, and its end.

use crate::pool;
use crate::watchdog::within_30s;
use batchyard::{Close, Job};
use std::panic::panic_any;
use std::sync::{Mutex, mpsc};
use std::time::Duration;

#[test]
fn a_more_urgent_job_overtakes_within_one_task_of_each_worker() {
    within_30s(|| {
        let (begun, order) = mpsc::channel();
        let job = |name: &'static str, priority, go: mpsc::Receiver<()>| {
            let (begun, go) = (begun.clone(), Mutex::new(go));
            let mut job = Job::new(name);
            job.priority(priority);
            job.map((), 0..20, move |_: &i32| {
                begun.send(name).unwrap();
                let _ = go.lock().unwrap().recv();
            });
            job
        };
        let ((low_go, low), (high_go, high)) = (mpsc::channel(), mpsc::channel());
        let pool = pool(2);
        let first = pool.submit(job("low", 0, low)).unwrap();
        assert_eq!([order.recv().unwrap(), order.recv().unwrap()], ["low"; 2]);
        let second = pool.submit(job("high", 1, high)).unwrap();
        low_go.send(()).unwrap();
        assert_eq!(order.recv().unwrap(), "high");
        low_go.send(()).unwrap();
        assert_eq!(
            order.recv().unwrap(),
            "high",
            "the second worker overtakes, too"
        );
        drop((low_go, high_go));
        second.wait().unwrap();
        first.wait().unwrap();
    });
}

#[test]
fn closing_names_the_bodies_that_still_run() {
    within_30s(|| {
        let ((go, gate), (begin, begun)) = (mpsc::channel::<()>(), mpsc::channel());
        let gate = Mutex::new(gate);
        let mut job = Job::new("stuck");
        job.task("body", (), move || {
            begin.send(()).unwrap();
            let _ = gate.lock().unwrap().recv();
        });
        let pool = pool(1);
        let run = pool.submit(job).unwrap();
        begun.recv().unwrap();
        assert_eq!(pool.close(Close::Drain, Duration::ZERO), ["stuck/body"]);
        assert!(run.wait().is_err());
        drop(go);
        assert_eq!(pool.close(Close::Drain, Duration::from_secs(20)), [""; 0]);
    });
}

#[test]
fn closing_while_bodies_return_does_not_lock_up() {
    for _ in 0..200 {
        within_30s(|| {
            let mut job = Job::new("returning");
            job.map((), 0..2000_u32, |n: &u32| *n);
            let pool = pool(2);
            let _run = pool.submit(job).unwrap();
            pool.close(Close::Cancel, Duration::ZERO);
        });
    }
}

#[test]
fn a_panic_whose_payload_panics_when_dropped_costs_no_worker() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("again");
        }
    }
    within_30s(|| {
        let mut job = Job::new("bombs");
        job.map((), 0..4, |_: &i32| -> () { panic_any(Bomb) });
        let pool = pool(1);
        let run = pool.submit(job).unwrap();
        assert!(run.wait().is_err());
        assert_eq!(run.counts().failed, 4);
        let mut next = Job::new("next");
        next.task((), (), || ());
        pool.submit(next).unwrap().wait().unwrap();
    });
}
