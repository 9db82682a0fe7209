//! Elements, arrays and subtrees that run again; and what was cancelled.

use crate::reactivate::{Machine, pool, state};
use crate::watchdog::within_30s;
use batchyard::*;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};

/// Every third element is broken; an array reads it element by element, and a task all of that.
struct Arrays {
    machine: Machine,
    first: Array<usize>,
    second: Array<usize>,
    sum: Handle<usize>,
    run: Run,
    _pool: Pool,
}

fn arrays(len: usize) -> Arrays {
    let machine = Machine::default();
    let broken = machine.clone();
    let mut job = Job::new("arrays");
    let first = job.array(
        "first",
        len,
        fallible(move |i: &usize| match i % 3 {
            0 => broken.run(*i),
            _ => Ok(*i),
        }),
    );
    let second = job.each("second", &first, |i: &usize| i * 10);
    let sum = job.reduce("sum", &second, |all: &[usize]| all.iter().sum::<usize>());
    let pool = pool();
    let run = pool.submit(job).expect("submitted");
    run.wait().expect_err("broken");
    Arrays {
        machine,
        first,
        second,
        sum,
        run,
        _pool: pool,
    }
}

#[test]
fn one_element_runs_again_and_the_element_behind_it() {
    let Arrays {
        machine,
        first,
        second,
        sum,
        run,
        _pool,
    } = arrays(10);
    machine.mend();
    assert_eq!(run.reactivate(first.at(3)).expect("failed"), 2);
    run.wait().expect_err("others are broken");
    assert_eq!(*run.output(second.at(3)).wait().expect("ran"), 30);
    assert_eq!(state(&run, second.at(0)), TaskState::Skipped);
    assert_eq!(state(&run, first), TaskState::Failed);
    assert_eq!(state(&run, sum), TaskState::Skipped);
    let counts = run.counts();
    assert_eq!(
        (counts.succeeded, counts.failed, counts.skipped),
        (14, 3, 4)
    );
}

#[test]
fn all_failed_elements_of_an_array_run_again_and_it_succeeds_as_a_whole() {
    for len in [1, 10, 1_000] {
        let Arrays {
            machine,
            first,
            sum,
            run,
            _pool,
            ..
        } = arrays(len);
        machine.mend();
        let broken = len.div_ceil(3) as u64;
        assert_eq!(run.reactivate(first).expect("failed"), 2 * broken + 1);
        assert_eq!(run.wait().expect("all").succeeded, 2 * len as u64 + 1);
        let expected = (0..len).sum::<usize>() * 10;
        assert_eq!(*run.output(&sum).wait().expect("sum"), expected);
        assert_eq!(state(&run, first), TaskState::Succeeded);
        assert_eq!(machine.tried.load(SeqCst), 2 * broken as u32);
    }
}

#[test]
fn what_failed_again_can_be_run_again() {
    let Arrays {
        machine,
        first,
        run,
        _pool,
        ..
    } = arrays(100);
    for _ in 0..3 {
        run.reactivate_failed().expect("open");
        run.wait().expect_err("still broken");
        assert_eq!(run.failures().len(), 34);
        assert_eq!(run.counts().failed, 34);
    }
    machine.mend();
    run.reactivate(first).expect("failed");
    run.wait().expect("mended");
    assert!(run.failures().is_empty());
    assert_eq!(run.attempts(first.at(0)).expect("known").len(), 5);
}

#[test]
fn a_cancelled_run_goes_on_with_all_that_did_not_succeed() {
    within_30s(|| {
        let (started, starts) = channel();
        let (go_on, goes_on) = channel::<()>();
        let (started, goes_on) = (Mutex::new(started), Mutex::new(goes_on));
        let runs = Arc::new(AtomicU32::new(0));
        let counter = runs.clone();
        let mut job = Job::new("cancelled");
        let first = job.task("first", (), move |cx: &Context| {
            if cx.attempt() == 1 {
                started.lock().unwrap().send(()).unwrap();
                let _ = goes_on.lock().unwrap().recv();
            }
            cx.attempt()
        });
        let rest = job.array_with("rest", 500, &first, move |i: &usize, _: &u32| {
            counter.fetch_add(1, SeqCst);
            *i
        });
        let none = job.array_with("none", 0, &first, |i: &usize, _: &u32| *i);
        let sum = job.task("sum", (&rest, &none), |all: &[usize], none: &[usize]| {
            all.len() + none.len()
        });
        let pool = pool();
        let run = pool.submit(job).expect("submitted");
        starts.recv().expect("begun");
        run.cancel();
        assert_eq!(run.counts().cancelled, 502);

        // The first body is still at it: what it returns counts no more.
        assert_eq!(run.reactivate_all().expect("open"), 502);
        assert_eq!(*run.output(&first).wait().expect("second attempt"), 2);
        drop(go_on);
        assert_eq!(run.wait().expect("all").succeeded, 502);
        assert_eq!(*run.output(&sum).wait().expect("sum"), 500);
        assert_eq!(runs.load(SeqCst), 500);
    });
}

#[test]
fn a_subtree_runs_again_and_what_is_beside_it_stays() {
    let machine = Machine::default();
    let mut job = Job::new("subtree");
    let (left, right) = (machine.clone(), machine.clone());
    let root = job.task("root", (), || 1);
    let a = job.task("a", &root, fallible(move |n: &u32| left.run(*n)));
    let after_a = job.task("after a", &a, |n: &u32| n + 1);
    let b = job.task("b", (), fallible(move || right.run(1)));
    let pool = pool();
    let run = pool.submit(job).expect("submitted");
    run.wait().expect_err("broken");
    machine.mend();
    assert_eq!(run.reactivate_subtree(root).expect("known"), 2);
    run.wait().expect_err("b");
    assert_eq!(*run.output(&after_a).wait().expect("ran"), 2);
    assert_eq!(state(&run, b), TaskState::Failed);
    assert_eq!(run.reactivate_subtree(root).expect("known"), 0);
    assert!(run.has_ended());
}

#[test]
fn a_queued_task_that_was_cancelled_and_reactivated_runs_once() {
    within_30s(|| {
        let (go_on, goes_on) = channel::<()>();
        let goes_on = Mutex::new(goes_on);
        let ran = Arc::new(AtomicU32::new(0));
        let mut job = Job::new("queued");
        job.defaults(TaskSettings::new().priority(1));
        let gate = job.add(
            Task::new("gate", (), move || {
                let _ = goes_on.lock().unwrap().recv();
            })
            .priority(9),
        );
        let counter = ran.clone();
        let many = job.array("many", 64, move |_: &usize| {
            counter.fetch_add(1, SeqCst);
        });
        let pool = Pool::new(ThreadExecutor::new(1).expect("threads"));
        let run = pool.submit(job).expect("submitted");
        while state(&run, gate) != TaskState::Running {
            std::thread::yield_now();
        }
        // They are left in the queue each time.
        for _ in 0..5 {
            assert_eq!(run.cancel_task(many).expect("known"), 64);
            assert_eq!(run.reactivate(many).expect("cancelled"), 64);
        }
        drop(go_on);
        assert_eq!(run.wait().expect("all").succeeded, 65);
        assert_eq!(ran.load(SeqCst), 64);
    });
}

#[test]
fn tens_of_thousands_of_skipped_tasks_come_back() {
    within_30s(|| {
        let machine = Machine::default();
        let broken = machine.clone();
        let mut job = Job::new("many");
        let load = job.task("load", (), fallible(move || broken.run(())));
        let many: Vec<_> = (0..20_000)
            .map(|_| job.task((), &load, |_: &()| ()))
            .collect();
        let last = job.task_after("last", many.iter().map(TaskRef::from), || ());
        let pool = pool();
        let run = pool.submit(job).expect("submitted");
        run.wait().expect_err("broken");
        machine.mend();
        assert_eq!(run.reactivate(load).expect("failed"), 20_002);
        assert_eq!(run.wait().expect("all").succeeded, 20_002);
        assert_eq!(state(&run, last), TaskState::Succeeded);
    });
}

#[test]
fn an_empty_array_that_has_succeeded_is_not_cancelled_and_keeps_nothing_from_running_again() {
    within_30s(|| {
        let (begun, has_begun) = channel();
        let mut job = Job::new("empty");
        let first = job.task("first", (), || 1);
        let none = job.array("none", 0, |i: &usize| *i);
        job.order(first, none);
        let last = job.map_with("last", 0..3usize, &none, move |i: &usize, all: &[usize]| {
            let _ = begun.send(());
            i + all.len()
        });
        let pool = pool();
        let run = pool.submit(job).expect("submitted");
        has_begun.recv().expect("all before has ended");
        run.cancel_subtree(first).expect("known");
        let again = run.reactivate_subtree(first).expect("known");
        assert!(again <= 3, "only what was cancelled");
        run.wait().expect("nothing is in its way");
        assert_eq!(*run.output(last.at(2)).wait().expect("ran"), 2);
    });
}
