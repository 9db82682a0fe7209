//! Waiting, from outside and from inside tasks.

use crate::pool;
use crate::watchdog::within_30s;
use batchyard::{BoxError, ErrorKind, Handle, Job, asynchronous};
use futures::channel::oneshot;
use std::sync::{Arc, Mutex, OnceLock, mpsc};

#[test]
fn a_task_that_waits_for_its_own_run_or_itself_is_told() {
    within_30s(|| {
        let own: Arc<OnceLock<batchyard::Run>> = Arc::default();
        let (told, kinds) = mpsc::channel();
        let (send, receive) = mpsc::channel::<()>();
        let (inner, receive) = (own.clone(), Mutex::new(receive));
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
        let gate = Mutex::new(gate);
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

#[test]
fn waiting_for_oneself_or_a_dependent_is_refused_and_for_another_task_is_not() {
    within_30s(|| {
        let known: Arc<OnceLock<(batchyard::Run, [Handle<i32>; 4])>> = Arc::default();
        let ((tell, told), (go, gate)) = (mpsc::channel(), mpsc::channel::<()>());
        let (inner, gate) = (known.clone(), Mutex::new(gate));
        let mut job = Job::new("refused");
        let own = job.task("own", (), move || {
            let _ = gate.lock().unwrap().recv();
            let (run, tasks) = inner.get().unwrap();
            for task in tasks {
                let result = run.output(task).wait();
                tell.send(result.map(|value| *value).map_err(|error| error.kind()))
                    .unwrap();
            }
            1
        });
        let next = job.task("next", &own, |n: &i32| n + 1);
        let last = job.task("last", &next, |n: &i32| n + 1);
        let other = job.task("other", (), || 7);
        let pool = pool(1);
        let run = pool.submit(job).unwrap();
        assert!(known.set((run, [own, next, last, other])).is_ok());
        drop(go);
        let refused = Err(ErrorKind::WouldDeadlock);
        let results: Vec<_> = told.iter().take(4).collect();
        assert_eq!(results, [refused, refused, refused, Ok(7)]);
        let (run, _) = known.get().unwrap();
        assert_eq!(run.wait().unwrap().succeeded, 4);
        assert_eq!(*run.output(&last).wait().unwrap(), 3);
    });
}

/// S053: each waiter is released by a task that is queued after the next waiter.
#[test]
fn chained_waiters_are_released_by_what_is_queued_after_them() {
    for round in 0..20 {
        within_30s(move || {
            let pool = pool(2);
            let (mut waiters, mut releases) = (Vec::new(), Vec::new());
            for n in 0..=4 {
                let (send, receive) = mpsc::channel::<(batchyard::Run, Handle<u32>)>();
                let receive = Mutex::new(receive);
                let mut waiter = Job::new("waiter");
                let waits = waiter.task((), (), move || {
                    let (run, release) = receive.lock().unwrap().recv().unwrap();
                    *run.output(&release).wait().unwrap()
                });
                if n < 4 {
                    waiters.push((pool.submit(waiter).unwrap(), waits));
                    releases.push(send);
                }
                if n > 0 {
                    let mut job = Job::new("release");
                    let release = job.task((), (), move || n + round);
                    let run = pool.submit(job).unwrap();
                    releases[n as usize - 1].send((run, release)).unwrap();
                }
            }
            for ((run, waits), n) in waiters.iter().zip(1..) {
                assert_eq!(*run.output(waits).wait().unwrap(), n + round);
            }
        });
    }
}

/// S141: a task that another thread submits while the only one of the pool waits.
#[test]
fn what_is_submitted_while_the_only_thread_waits_is_run() {
    within_30s(|| {
        let (send, receive) = oneshot::channel::<u32>();
        let receive = Mutex::new(Some(receive));
        let mut event = Job::new("event");
        let event_set = event.task(
            (),
            (),
            asynchronous(move || {
                let receive = receive.lock().unwrap().take().unwrap();
                async move { Ok::<u32, BoxError>(receive.await?) }
            }),
        );
        let pool = pool(1);
        let event = pool.submit(event).unwrap();
        let (begin, begun) = mpsc::channel();
        let mut a = Job::new("A");
        let answer = a.task((), (), move || {
            begin.send(()).unwrap();
            *event.output(&event_set).wait().unwrap()
        });
        let a = pool.submit(a).unwrap();
        begun.recv().unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let send = Mutex::new(Some(send));
                let mut b = Job::new("B");
                b.task((), (), move || send.lock().unwrap().take().unwrap().send(9));
                pool.submit(b).unwrap().wait().unwrap();
            });
        });
        assert_eq!(*a.output(&answer).wait().unwrap(), 9);
    });
}

#[test]
fn as_many_bodies_wait_at_once_as_it_takes() {
    within_30s(|| {
        let pool = Arc::new(pool(2));
        let (send, receive) = mpsc::channel::<()>();
        let receive = Mutex::new(receive);
        let mut last = Job::new("last");
        let last_task = last.task((), (), move || receive.lock().unwrap().recv().is_err());
        let last = Arc::new(pool.submit(last).unwrap());
        let (begin, begun) = mpsc::channel();
        let mut job = Job::new("all wait");
        let waits = job.map((), 0..100, move |_: &u32| {
            begin.send(()).unwrap();
            *last.output(&last_task).wait().unwrap()
        });
        let run = pool.submit(job).unwrap();
        (0..100).for_each(|_| begun.recv().unwrap());
        drop(send);
        assert!(run.output(&waits).wait().unwrap().iter().all(|&done| done));
    });
}
