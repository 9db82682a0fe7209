//! Tasks with several instances, which run at once or not at all.

use crate::order::Plug;
use crate::watchdog::within_30s;
use batchyard::*;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Barrier, Mutex};

fn pool(threads: usize) -> Pool {
    Pool::new(ThreadExecutor::new(threads).expect("threads"))
}

fn gang(instances: u32) -> Resources {
    Resources::default().instances(instances).packed()
}

/// S143: four that meet at a barrier of four run on four threads, also behind a hundred others.
#[test]
fn s143_instances_that_meet_at_a_barrier_run_at_once() {
    within_30s(|| {
        for before in [0, 100] {
            let pool = pool(4);
            let mut job = Job::new("barrier");
            job.map("before", 0..before, |_: &u32| ());
            let barrier = Arc::new(Barrier::new(4));
            let seen: Arc<Mutex<Vec<_>>> = Arc::default();
            let log = seen.clone();
            let body = move |cx: &Context| {
                barrier.wait();
                log.lock()
                    .expect("no panic")
                    .push((cx.instance(), cx.instances()));
                cx.instance()
            };
            let meet = job.add(Task::new("meet", (), body).resources(gang(4)));
            let next = job.task("next", &meet, |first: &u32| *first);
            let run = pool.submit(job).expect("submitted");
            assert_eq!(*run.output(&next).wait().expect("success"), 0);
            let mut all = seen.lock().expect("no panic").clone();
            all.sort_unstable();
            assert_eq!(all, [(0, 4), (1, 4), (2, 4), (3, 4)]);
            assert_eq!(
                run.wait().expect("success").succeeded,
                u64::from(before) + 2
            );
        }
    });
}

#[test]
fn s143_a_gang_that_can_never_start_is_refused() {
    let refused = |asks: Resources, most: Option<u32>| {
        let mut job = Job::new("large");
        if let Some(most) = most {
            job.max_parallel_tasks(most);
        }
        job.add(Task::new("gang", (), || ()).resources(asks));
        let error = pool(2).submit(job).expect_err("too large");
        assert_eq!(
            (error.kind(), error.task()),
            (ErrorKind::Unsupported, Some("gang"))
        );
        error.to_string()
    };
    let words = refused(gang(4), None);
    assert!(
        words.contains("asks for 4 instances, each with 1 slot, at once; the pool can run 2"),
        "{words}"
    );
    let words = refused(Resources::default().instances(2), None);
    assert!(
        words.contains("at once on distinct nodes; the pool can run 1"),
        "{words}"
    );
    let words = refused(gang(2), Some(1));
    assert!(
        words.contains("2 instances at once; no more than 1"),
        "{words}"
    );
}

#[test]
fn when_one_instance_fails_the_others_are_stopped_and_all_are_tried_again() {
    within_30s(|| {
        let pool = pool(3);
        let (begun, all) = (Arc::new(AtomicU32::new(0)), Arc::new(Barrier::new(3)));
        let count = begun.clone();
        let body = fallible(move |cx: &Context| {
            count.fetch_add(1, Ordering::SeqCst);
            all.wait();
            match (cx.attempt(), cx.instance()) {
                (1, 1) => Err("once"),
                (1, _) => {
                    while !cx.is_cancelled() {
                        std::thread::yield_now();
                    }
                    Ok(0)
                }
                (attempt, _) => Ok(attempt),
            }
        });
        let mut job = Job::new("again");
        let settings = TaskSettings::new().max_retries(1).backoff(Backoff::none());
        let task = Task::new("gang", (), body)
            .resources(gang(3))
            .settings(settings);
        let task = job.add(task);
        let run = pool.submit(job).expect("submitted");
        assert_eq!(*run.output(&task).wait().expect("success"), 2);
        assert_eq!(begun.load(Ordering::SeqCst), 6);
        assert_eq!(run.attempts(task.id()).expect("known").len(), 2);
    });
}

#[test]
fn a_task_with_instances_succeeds_when_all_have() {
    within_30s(|| {
        let pool = pool(2);
        let (first, last) = (Arc::new(Barrier::new(2)), Arc::new(Barrier::new(2)));
        let (ended, go_on) = (first.clone(), last.clone());
        let mut job = Job::new("all");
        let body = move |cx: &Context| {
            if cx.instance() == 1 {
                first.wait();
                last.wait();
            }
        };
        let task = job.add(Task::new("gang", (), body).resources(gang(2)));
        let run = pool.submit(job).expect("submitted");
        ended.wait();
        assert_eq!(run.state(task.id()).expect("known"), TaskState::Running);
        go_on.wait();
        run.wait().expect("success");
    });
}

#[test]
fn a_cancelled_gang_gives_everything_back() {
    within_30s(|| {
        let pool = pool(4);
        let both = Arc::new(Barrier::new(5));
        let meet = both.clone();
        let mut job = Job::new("cancelled");
        let body = move |cx: &Context| {
            meet.wait();
            while !cx.is_cancelled() {
                std::thread::yield_now();
            }
        };
        let task = job.add(Task::new("gang", (), body).resources(gang(4)));
        let run = pool.submit(job).expect("submitted");
        both.wait();
        assert_eq!(run.cancel_task(task.id()).expect("known"), 1);
        assert!(run.wait().is_ok());
        drop(Plug::new(&pool, Resources::slots(4)));
    });
}

#[test]
fn a_gang_is_not_starved_by_a_stream_of_small_ones() {
    within_30s(|| {
        let pool = pool(2);
        let small = Arc::new(AtomicU32::new(0));
        let plug = Plug::new(&pool, Resources::default());
        let mut job = Job::new("sizes");
        let (count, seen) = (small.clone(), small);
        let both = Barrier::new(2);
        let body = move || {
            let before = seen.load(Ordering::SeqCst);
            both.wait();
            before
        };
        let large = job.add(Task::new("gang", (), body).resources(gang(2)));
        job.map("after", 0..10_000u32, move |_: &u32| {
            count.fetch_add(1, Ordering::SeqCst);
        });
        let run = pool.submit(job).expect("submitted");
        drop(plug);
        assert_eq!(*run.output(&large).wait().expect("success"), 0);
        run.cancel();
    });
}
