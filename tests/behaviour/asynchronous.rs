//! Bodies that wait, and runtimes around the pool.

use crate::pool;
use crate::watchdog::within_30s;
use batchyard::{BoxError, Close, ErrorKind, Job, Pool, Run, ThreadExecutor, asynchronous};
use futures::channel::oneshot;
use futures::executor::block_on;
use std::future::{pending, poll_fn};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, OnceLock, mpsc};
use std::task::Poll;
use std::time::Duration;

/// Lets go of the thread once, however the future is polled.
async fn give_way() {
    let mut polled = false;
    poll_fn(|cx| {
        if std::mem::replace(&mut polled, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// Bodies that wait before and after one that doesn't.
fn mixed(pool: &Pool) -> (Run, batchyard::Handle<u64>) {
    let mut job = Job::new("mixed");
    let numbers = job.map(
        (),
        0..100_u64,
        asynchronous(|n: u64| async move {
            give_way().await;
            Ok::<_, BoxError>(n)
        }),
    );
    let sum = job.reduce((), &numbers, |all: &[u64]| all.iter().sum::<u64>());
    let more = job.task(
        (),
        &sum,
        asynchronous(|sum: u64| async move {
            give_way().await;
            Ok::<_, BoxError>(sum + 1)
        }),
    );
    (pool.submit(job).unwrap(), more)
}

#[test]
fn outputs_are_futures_that_need_no_runtime() {
    within_30s(|| {
        let pool = pool(2);
        let (run, more) = mixed(&pool);
        assert_eq!(*block_on(run.output(&more)).unwrap(), 4951);
        assert_eq!(block_on(run.ended()).unwrap().succeeded, 102);
    });
}

#[tokio::test]
async fn a_pool_is_awaited_in_a_current_thread_runtime() {
    let pool = pool(1);
    let (run, more) = mixed(&pool);
    assert_eq!(*run.output(&more).await.unwrap(), 4951);
    assert_eq!(run.ended().await.unwrap().succeeded, 102);
    let still_running = pool.close_async(Close::Drain, Duration::from_secs(20));
    assert!(still_running.await.is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pool_is_awaited_in_a_multi_thread_runtime() {
    let pool = pool(1);
    let (run, more) = mixed(&pool);
    assert_eq!(*run.output(&more).await.unwrap(), 4951);
    assert_eq!(run.ended().await.unwrap().succeeded, 102);
}

#[test]
fn blocking_the_thread_of_a_current_thread_runtime_hinders_no_body() {
    within_30s(|| {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        runtime.block_on(async {
            let pool = pool(1);
            let (run, more) = mixed(&pool);
            assert_eq!(*run.output(&more).wait().unwrap(), 4951);
            assert_eq!(run.wait().unwrap().succeeded, 102);
        });
    });
}

#[test]
fn bodies_that_wait_run_on_the_multi_thread_runtime_where_the_executor_was_made() {
    within_30s(|| {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("the application's")
            .build()
            .unwrap();
        let pool = runtime.block_on(async { pool(1) });
        let mut job = Job::new("where");
        let name = job.task(
            (),
            (),
            asynchronous(|| async {
                give_way().await;
                Ok::<_, BoxError>(std::thread::current().name().map(str::to_owned))
            }),
        );
        let run = pool.submit(job).unwrap();
        let name = run.output(&name).wait().unwrap();
        assert_eq!(name.as_deref(), Some("the application's"));
    });
}

#[test]
fn a_runtime_that_has_gone_fails_the_bodies_that_need_it() {
    within_30s(|| {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .build()
            .unwrap();
        let pool = runtime.block_on(async { pool(1) });
        drop(runtime);
        let mut job = Job::new("gone");
        job.task((), (), asynchronous(|| async { Ok::<_, BoxError>(()) }));
        let sync = job.task((), (), || 1);
        let run = pool.submit(job).unwrap();
        assert_eq!(*run.output(&sync).wait().unwrap(), 1);
        assert_eq!(run.wait().unwrap_err().kind(), ErrorKind::TaskFailed);
        pool.close(Close::Drain, Duration::from_secs(20));
    });
}

#[test]
fn a_body_that_waits_occupies_no_worker() {
    within_30s(|| {
        let (send, receive) = oneshot::channel();
        let (send, receive) = (Mutex::new(Some(send)), Mutex::new(Some(receive)));
        let mut job = Job::new("occupies none");
        let waits = job.task(
            (),
            (),
            asynchronous(move || {
                let receive = receive.lock().unwrap().take().unwrap();
                async move { Ok::<u32, BoxError>(receive.await?) }
            }),
        );
        job.task((), (), move || {
            send.lock().unwrap().take().unwrap().send(7).unwrap()
        });
        let pool = pool(1);
        let run = pool.submit(job).unwrap();
        assert_eq!(*run.output(&waits).wait().unwrap(), 7);
        run.wait().unwrap();
    });
}

#[test]
fn a_body_may_await_the_output_of_another_run_of_its_pool() {
    within_30s(|| {
        let pool = Arc::new(pool(1));
        let inner = Arc::downgrade(&pool);
        let mut job = Job::new("outer");
        let outer = job.task(
            (),
            (),
            asynchronous(move || {
                let pool = inner.upgrade().expect("open");
                async move {
                    let mut job = Job::new("inner");
                    let answer = job.task((), (), || 42);
                    let run = pool.submit(job)?;
                    drop(pool);
                    Ok::<u32, BoxError>(*run.output(&answer).await?)
                }
            }),
        );
        let run = pool.submit(job).unwrap();
        assert_eq!(*run.output(&outer).wait().unwrap(), 42);
    });
}

#[test]
fn a_body_may_await_an_earlier_task_of_its_own_run() {
    within_30s(|| {
        let own: Arc<OnceLock<Run>> = Arc::default();
        let (send, receive) = oneshot::channel();
        let (inner, receive) = (own.clone(), Mutex::new(Some(receive)));
        let mut job = Job::new("own");
        let first = job.task((), (), || 20);
        let second = job.task(
            (),
            (),
            asynchronous(move || {
                let (own, receive) = (inner.clone(), receive.lock().unwrap().take().unwrap());
                async move {
                    receive.await?;
                    let first = *own.get().expect("submitted").output(&first).await?;
                    Ok::<u32, BoxError>(first + 1)
                }
            }),
        );
        let pool = pool(1);
        assert!(own.set(pool.submit(job).unwrap()).is_ok());
        send.send(()).unwrap();
        assert_eq!(*own.get().unwrap().output(&second).wait().unwrap(), 21);
    });
}

#[test]
fn the_future_of_a_cancelled_body_is_dropped() {
    struct Told(mpsc::Sender<&'static str>);
    impl Drop for Told {
        fn drop(&mut self) {
            let _ = self.0.send("dropped");
        }
    }
    within_30s(|| {
        let pool = pool(1);
        for way in ["task", "run", "pool"] {
            let (tell, told) = mpsc::channel();
            let mut job = Job::new("cancelled");
            let waits = job.task(
                (),
                (),
                asynchronous(move || {
                    let told = Told(tell.clone());
                    async move {
                        let _ = told.0.send("begun");
                        pending::<()>().await;
                        drop(told);
                        Ok::<_, BoxError>(())
                    }
                }),
            );
            let run = pool.submit(job).unwrap();
            assert_eq!(told.recv().unwrap(), "begun");
            match way {
                "task" => assert_eq!(run.cancel_task(waits).unwrap(), 1),
                "run" => run.cancel(),
                _ => assert!(
                    pool.close(Close::Cancel, Duration::from_secs(20))
                        .is_empty()
                ),
            }
            assert_eq!(told.recv().unwrap(), "dropped");
            assert_eq!(
                run.output(&waits).wait().unwrap_err().kind(),
                ErrorKind::Cancelled
            );
        }
    });
}

#[test]
fn no_more_bodies_wait_at_once_than_there_are_slots_for_them() {
    within_30s(|| {
        let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let (in_body, peak) = (now.clone(), most.clone());
        let mut job = Job::new("slots");
        job.map(
            (),
            0..200,
            asynchronous(move |_: i32| {
                let (now, most) = (in_body.clone(), peak.clone());
                async move {
                    most.fetch_max(now.fetch_add(1, SeqCst) + 1, SeqCst);
                    for _ in 0..5 {
                        give_way().await;
                    }
                    now.fetch_sub(1, SeqCst);
                    Ok::<_, BoxError>(())
                }
            }),
        );
        let pool = Pool::new(ThreadExecutor::new(2).unwrap().async_slots(3));
        pool.submit(job).unwrap().wait().unwrap();
        assert!((1..=3).contains(&most.load(SeqCst)), "{most:?}");
        assert_eq!(now.load(SeqCst), 0);
    });
}

#[test]
fn as_many_bodies_wait_at_once_as_there_are_slots_for_them() {
    within_30s(|| {
        let begun = Arc::new(AtomicUsize::new(0));
        let here = begun.clone();
        let mut job = Job::new("meet");
        job.map(
            (),
            0..50,
            asynchronous(move |_: i32| {
                let begun = here.clone();
                async move {
                    begun.fetch_add(1, SeqCst);
                    while begun.load(SeqCst) < 50 {
                        give_way().await;
                    }
                    Ok::<_, BoxError>(())
                }
            }),
        );
        let pool = Pool::new(ThreadExecutor::new(1).unwrap().async_slots(50));
        pool.submit(job).unwrap().wait().unwrap();
    });
}

#[test]
fn bodies_that_wait_are_refused_where_there_is_no_slot_for_them() {
    let mut job = Job::new("refused");
    job.task(
        "waits",
        (),
        asynchronous(|| async { Ok::<_, BoxError>(()) }),
    );
    let pool = Pool::new(ThreadExecutor::new(1).unwrap().async_slots(0));
    let error = pool.submit(job).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert_eq!(error.task(), Some("waits"));
}

#[test]
fn a_future_that_is_dropped_while_it_waits_leaves_the_run_alone() {
    within_30s(|| {
        let (go, gate) = mpsc::channel::<()>();
        let gate = Mutex::new(gate);
        let mut job = Job::new("dropped");
        let slow = job.task((), (), move || gate.lock().unwrap().recv().is_err());
        let pool = pool(1);
        let run = pool.submit(job).unwrap();
        block_on(async {
            let (mut output, mut ended) = (run.output(&slow), run.ended());
            assert!(futures::poll!(&mut output).is_pending());
            assert!(futures::poll!(&mut ended).is_pending());
        });
        drop(go);
        assert!(*run.output(&slow).wait().unwrap());
    });
}
