//! What tasks ask for, and what nodes have.

use crate::order::{Gauge, Plug};
use crate::watchdog::within_30s;
use batchyard::*;
use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex};

fn threads(number: usize) -> ThreadExecutor {
    ThreadExecutor::new(number).expect("threads")
}

#[test]
fn no_resource_is_over_committed() {
    within_30s(|| {
        let pool = Pool::new(threads(4).cpus(3).memory(100).custom("licence", 2));
        let gauges: [Gauge; 4] = Default::default();
        let mut job = Job::new("books");
        for task in 0..400u32 {
            let (slots, cpus) = (1 + task % 3, task % 4);
            let (memory, licences) = (u64::from(task % 5) * 20, task % 3);
            let asks = Resources::slots(slots)
                .cpus(cpus)
                .memory(memory)
                .custom("licence", licences);
            let [of_slots, of_cpus, of_memory, of_licences] = gauges.clone();
            let body = move || {
                of_slots.during(slots as usize, || {
                    of_cpus.during(cpus as usize, || {
                        of_memory.during(memory as usize, || {
                            of_licences.during(licences as usize, std::thread::yield_now);
                        });
                    });
                });
            };
            job.add(Task::new((), (), body).resources(asks));
        }
        pool.submit(job)
            .expect("submitted")
            .wait()
            .expect("success");
        let most = gauges.map(|gauge| gauge.most());
        assert!(
            most.iter()
                .zip([4, 3, 100, 2])
                .all(|(&most, has)| most <= has),
            "{most:?}"
        );
    });
}

#[test]
fn gpus_are_exclusive_and_the_task_is_told_which() {
    within_30s(|| {
        let pool = Pool::new(threads(4).gpus([3, 5, 8]));
        let held: Arc<Mutex<HashSet<u32>>> = Arc::default();
        let mut job = Job::new("gpus");
        let body = move |cx: &Context, count: &u32| {
            let gpus = cx.gpus();
            assert_eq!(gpus.len(), *count as usize);
            let mut all = held.lock().expect("no panic");
            assert!(
                gpus.iter()
                    .all(|gpu| [3, 5, 8].contains(gpu) && all.insert(*gpu))
            );
            drop(all);
            std::thread::yield_now();
            let mut all = held.lock().expect("no panic");
            gpus.iter().for_each(|gpu| assert!(all.remove(gpu)));
        };
        for count in 1..=3 {
            let array = job.map((), vec![count; 100], body.clone());
            job.configure(
                array,
                TaskSettings::new().resources(Resources::default().gpus(count)),
            );
        }
        let none = job.task("none", (), |cx: &Context| cx.gpus());
        let run = pool.submit(job).expect("submitted");
        run.wait().expect("success");
        assert!(run.output(&none).wait().expect("success").is_empty());
    });
}

#[test]
fn parts_of_a_gpu_are_shared() {
    within_30s(|| {
        let pool = Pool::new(threads(2).gpus([7]));
        let both = Arc::new(Barrier::new(2));
        let mut job = Job::new("parts");
        let halves = job.map("halves", 0..2u32, move |cx: &Context, _: &u32| {
            both.wait();
            cx.gpus()
        });
        let half = Resources::default().gpu_fraction(0.5);
        job.configure(halves, TaskSettings::new().resources(half));
        let run = pool.submit(job).expect("submitted");
        let gpus = run.output(&halves).wait().expect("at once");
        assert_eq!(gpus.concat(), [7, 7]);
    });
}

/// A job whose tasks each start another until told to stop: a stream that never dries up by itself.
#[test]
fn a_large_request_is_not_starved_by_a_stream_of_small_ones() {
    within_30s(|| {
        let pool = Pool::new(threads(4));
        let small = Arc::new(AtomicUsize::new(0));
        let plug = Plug::new(&pool, Resources::default());
        let mut job = Job::new("sizes");
        let count = small.clone();
        let seen = small.clone();
        job.map("before", 0..50u32, |_: &u32| ());
        let large = Task::new("large", (), move || seen.load(Ordering::SeqCst));
        let large = job.add(large.resources(Resources::slots(4)));
        job.map("after", 0..100_000u32, move |_: &u32| {
            count.fetch_add(1, Ordering::SeqCst);
        });
        let run = pool.submit(job).expect("submitted");
        drop(plug);
        let before = *run.output(&large).wait().expect("success");
        assert_eq!(before, 0, "what is less urgent kept it waiting");
        run.cancel();
    });
}

#[test]
fn a_large_request_overtakes_a_plain_job_within_a_task_of_each_worker() {
    within_30s(|| {
        let pool = Pool::new(threads(2));
        let (going, gone) = (Arc::new(Barrier::new(3)), Arc::new(AtomicUsize::new(0)));
        let mut plain = Job::new("plain");
        let (meet, count, workers) = (going.clone(), gone.clone(), Mutex::default());
        plain.map("small", 0..1_000_000u32, move |_: &u32| {
            let mut known: std::sync::MutexGuard<'_, HashSet<_>> = workers.lock().expect("workers");
            if known.len() < 2 && known.insert(std::thread::current().id()) {
                drop(known);
                meet.wait();
                meet.wait();
            }
            count.fetch_add(1, Ordering::SeqCst);
        });
        let plain = pool.submit(plain).expect("submitted");
        going.wait();
        // Both workers are at it, and go on when the large one is there.
        let before = gone.load(Ordering::SeqCst);
        let mut urgent = Job::new("urgent");
        urgent.priority(1);
        let seen = gone.clone();
        let large = Task::new("large", (), move || seen.load(Ordering::SeqCst));
        let large = urgent.add(large.resources(Resources::slots(2)));
        let urgent = pool.submit(urgent).expect("submitted");
        going.wait();
        let at = *urgent.output(&large).wait().expect("success");
        assert!(at - before <= 4, "{} tasks later", at - before);
        plain.wait().expect("success");
    });
}

#[test]
fn the_less_urgent_runs_where_it_delays_nobody() {
    within_30s(|| {
        let pool = Pool::new(threads(3).gpus([0]));
        let one_gpu = Resources::default().gpus(1);
        let plug = Plug::new(&pool, one_gpu.clone());
        let mut job = Job::new("two");
        let urgent = job.add(
            Task::new("urgent", (), || ())
                .priority(9)
                .resources(one_gpu),
        );
        let other = job.add(Task::new("other", (), || ()));
        let run = pool.submit(job).expect("submitted");
        run.output(&other)
            .wait()
            .expect("does not wait for the GPU");
        assert_eq!(run.state(urgent.id()).expect("known"), TaskState::Ready);
        drop(plug);
        run.wait().expect("success");
    });
}

#[test]
fn a_cancelled_large_request_keeps_nobody_waiting() {
    within_30s(|| {
        let pool = Pool::new(threads(2));
        let plug = Plug::new(&pool, Resources::default());
        let mut job = Job::new("two");
        let large = Task::new("large", (), || ()).resources(Resources::slots(2));
        let large = job.add(large.priority(1));
        let small = job.task("small", (), || ());
        let run = pool.submit(job).expect("submitted");
        assert_eq!(run.cancel_task(large.id()).expect("known"), 1);
        run.output(&small).wait().expect("nothing is kept for it");
        drop(plug);
    });
}

#[test]
fn a_body_that_waits_for_another_job_is_not_kept_from_it_by_a_reservation() {
    within_30s(|| {
        let pool = Arc::new(Pool::new(threads(2)));
        let both = Arc::new(Barrier::new(2));
        let (inner, meet) = (Arc::downgrade(&pool), both.clone());
        let mut outer = Job::new("outer");
        let outer_task = outer.task("outer", (), move || {
            meet.wait();
            meet.wait();
            let mut job = Job::new("inner");
            let answer = job.add(Task::new("answer", (), || 42).resources(Resources::slots(1)));
            let pool = inner.upgrade().expect("the test holds it");
            let run = pool.submit(job).expect("submitted");
            *run.output(&answer).wait().expect("not kept waiting")
        });
        let outer = pool.submit(outer).expect("submitted");
        both.wait();
        let mut large = Job::new("large");
        large.add(Task::new("large", (), || ()).resources(Resources::slots(2)));
        let large = pool.submit(large).expect("submitted");
        both.wait();
        assert_eq!(*outer.output(&outer_task).wait().expect("success"), 42);
        large.wait().expect("success");
    });
}

/// S039: a request that no node can ever meet is refused at submit, in every dimension, naming task, request and node.
#[test]
fn s039_requests_no_node_can_meet_are_refused_naming_the_dimension() {
    let pool = Pool::new(
        threads(2)
            .async_slots(3)
            .cpus(2)
            .memory(1000)
            .gpus([0])
            .custom("licence", 1),
    );
    let one = Resources::default;
    let cases = [
        (
            Resources::slots(3),
            "asks for 3 slots; the largest node has 2",
        ),
        (one().cpus(2.5), "asks for 2.5 cpus; the largest node has 2"),
        (
            one().memory(1001),
            "asks for 1001 bytes of memory; the largest node has 1000",
        ),
        (one().gpus(2), "asks for 2 gpus; the largest node has 1"),
        (
            one().custom("licence", 2),
            "asks for 2 licence; the largest node has 1",
        ),
        (
            one().custom("fpga", 1),
            "asks for 1 fpga; the largest node has 0",
        ),
        (one().cpus(-1.0), "asks for 1 slot, an invalid amount cpus"),
    ];
    for (asks, words) in cases {
        let mut job = Job::new("large");
        job.task("small", (), || ());
        job.add(Task::new("giant", (), || ()).resources(asks));
        let error = pool.submit(job).expect_err("too large");
        assert_eq!(
            (error.kind(), error.task()),
            (ErrorKind::Unsupported, Some("giant"))
        );
        assert!(error.to_string().contains(words), "{error}");
    }
    let mut job = Job::new("waits");
    let body = asynchronous(|| async { Ok::<_, BoxError>(()) });
    job.add(Task::new("waits", (), body).resources(Resources::slots(4)));
    let error = pool.submit(job).expect_err("too large").to_string();
    assert!(
        error.contains("asks for 4 slots for bodies that wait; the largest node has 3"),
        "{error}"
    );
}

#[test]
fn what_fits_the_whole_node_runs() {
    within_30s(|| {
        let pool = Pool::new(threads(2).memory(10).gpus([0]));
        let mut job = Job::new("all of it");
        let all = Resources::slots(2).memory(10).gpus(1);
        job.add(Task::new("all", (), || ()).resources(all));
        pool.submit(job).expect("fits").wait().expect("success");
    });
}

/// S041: a storm of everything at once; afterwards everything is free again.
#[test]
fn s041_nothing_leaks_in_a_storm() {
    within_30s(|| {
        let pool = Pool::new(threads(4).cpus(4).gpus([0, 1]).custom("tag", 2));
        for round in 0..20u32 {
            let submit = |number| {
                let (job, first) = storm(round * 4 + number);
                (pool.submit(job).expect("fits"), first)
            };
            let runs: Vec<_> = (0..4).map(submit).collect();
            for (at, (run, first)) in runs.iter().enumerate() {
                match (at + round as usize) % 4 {
                    0 => run.cancel(),
                    1 => drop(run.cancel_subtree(*first)),
                    _ => {}
                }
            }
            runs.iter().for_each(|(run, _)| drop(run.wait()));
        }
        let mut job = Job::new("all of it");
        let all = Resources::slots(4).cpus(4).gpus(2).custom("tag", 2);
        job.add(Task::new("all", (), || ()).resources(all));
        pool.submit(job)
            .expect("fits")
            .wait()
            .expect("everything is free");
    });
}

/// A job of arrays with all kinds of requests, priorities, failures and limits; and the id of a task of it.
fn storm(seed: u32) -> (Job, TaskId) {
    let mut job = Job::new("storm");
    job.priority(seed as i32 % 3);
    if seed.is_multiple_of(5) {
        job.max_parallel_tasks(1 + seed % 3);
    }
    let first = job.task("first", (), || ()).id();
    for array in 0..4 {
        let number = seed.wrapping_mul(7919).wrapping_add(array * 31);
        let body = move |cx: &Context, n: &u32| match (n + number) % 17 {
            0 if cx.attempt() == 1 => Err("once"),
            1 => Err("always"),
            2 => panic!("as arranged"),
            _ => Ok(cx.gpus().len()),
        };
        let name = format!("array {array}");
        let numbers = job.map(name, 0..30u32, fallible(body));
        let asks = Resources::slots(1 + number % 3).cpus(f64::from(number % 5) / 2.0);
        let asks = match number % 4 {
            0 => asks.gpus(1 + number % 2),
            1 => asks.gpu_fraction(0.4),
            2 => asks.custom("tag", 1),
            _ => asks,
        };
        let settings = TaskSettings::new()
            .resources(asks)
            .priority(number as i32 % 3)
            .max_retries(1)
            .backoff(Backoff::none());
        job.configure(numbers, settings);
        job.each((), &numbers, |_: &usize| ());
    }
    (job, first)
}
