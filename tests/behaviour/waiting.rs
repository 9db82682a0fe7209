//! Waiting, from outside and from inside tasks.

use crate::pool;
use crate::watchdog::within_30s;
use batchyard::{ErrorKind, Job};
use std::sync::{Arc, OnceLock, mpsc};

#[test]
fn a_task_that_waits_for_its_own_run_or_itself_is_told() {
    within_30s(|| {
        let own: Arc<OnceLock<batchyard::Run>> = Arc::default();
        let (told, kinds) = mpsc::channel();
        let (send, receive) = mpsc::channel::<()>();
        let (inner, receive) = (own.clone(), std::sync::Mutex::new(receive));
        let mut job = Job::new("own");
        job.task((), (), move || {
            receive.lock().unwrap().recv().unwrap();
            told.send(inner.get().unwrap().wait().unwrap_err().kind())
                .unwrap();
        });
        let pool = pool(1);
        assert!(own.set(pool.submit(job).unwrap()).is_ok());
        send.send(()).unwrap();
        assert_eq!(kinds.recv().unwrap(), ErrorKind::WouldDeadlock);
        own.get().unwrap().wait().unwrap();
    });
}

#[test]
fn a_chain_of_tasks_that_submit_and_wait_gets_through_few_threads() {
    fn nest(pool: &Arc<batchyard::Pool>, depth: u32) -> u32 {
        if depth == 0 {
            return 0;
        }
        let mut job = Job::new("nested");
        let inner = Arc::downgrade(pool);
        let answer = job.task((), (), move || {
            nest(&inner.upgrade().expect("open"), depth - 1) + 1
        });
        *pool.submit(job).unwrap().output(&answer).wait().unwrap()
    }
    for threads in [1, 2] {
        within_30s(move || assert_eq!(nest(&Arc::new(pool(threads)), 20), 20));
    }
}

#[test]
fn outside_threads_submit_and_wait_at_once() {
    within_30s(|| {
        let pool = pool(2);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for n in 0..100_u64 {
                        let mut job = Job::new("outside");
                        let a = job.map((), 0..n, |n: &u64| *n);
                        let sum = job.reduce((), &a, |all: &[u64]| all.len() as u64);
                        let run = pool.submit(job).unwrap();
                        assert_eq!(run.output(&a).wait().map_or(n, |all| all.len() as u64), n);
                        assert_eq!(*run.output(&sum).wait().unwrap(), n);
                        run.wait().unwrap();
                    }
                });
            }
        });
    });
}

#[test]
fn an_element_is_told_while_the_next_still_runs() {
    within_30s(|| {
        let (go, gate) = mpsc::channel::<()>();
        let gate = std::sync::Mutex::new(gate);
        let mut job = Job::new("elements");
        let a = job.map((), 0..20_u32, move |n: &u32| {
            let _ = gate.lock().unwrap().recv();
            *n
        });
        let pool = pool(1);
        let run = pool.submit(job).unwrap();
        for n in 0..20 {
            go.send(()).unwrap();
            assert_eq!(*run.output(a.at(n)).wait().unwrap(), n as u32);
        }
    });
}
