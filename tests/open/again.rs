//! What failed in an open run runs again, with what was added behind it.

use crate::watchdog::within_30s;
use crate::{Door, empty_run, pool};
use batchyard::{
    Context, DependencyAction, ErrorKind, ExitConditions, Handle, Job, Run, Task, TaskState,
    fallible,
};
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};

/// A body that fails in its first attempts, and then returns the number of the attempt.
fn fails(
    times: u32,
) -> impl Fn(&Context) -> Result<u32, std::io::Error> + Send + Sync + Clone + 'static {
    move |cx: &Context| match cx.attempt() > times {
        true => Ok(cx.attempt()),
        false => Err(std::io::Error::other("broken")),
    }
}

fn state(run: &Run, task: Handle<u32>) -> TaskState {
    run.state(task).unwrap()
}

#[test]
fn what_was_added_behind_a_failure_and_skipped_comes_back_with_it() {
    within_30s(|| {
        let pool = pool(2);
        let mut job = Job::open("again");
        let bad = job.task("bad", (), fallible(fails(1)));
        let run = pool.submit(job).unwrap();
        run.output(&bad).wait().unwrap_err();
        let next = run.add(|more| more.task("next", &bad, |n: &u32| n * 10));
        let next = next.unwrap();
        let last = run.add(|more| more.task("last", &next, |n: &u32| n + 1));
        let last = last.unwrap();
        assert_eq!(state(&run, last), TaskState::Skipped);

        assert_eq!(run.reactivate(bad).unwrap(), 3);
        assert_eq!(*run.output(&last).wait().unwrap(), 21);
        run.seal();
        assert_eq!(run.wait().unwrap().succeeded, 3);
    });
}

#[test]
fn what_was_added_runs_again_in_a_run_that_has_ended_and_stays_sealed() {
    within_30s(|| {
        let pool = pool(2);
        let run = empty_run(&pool);
        let array = run.add(|more| {
            let even = |n: &u32, cx: &Context| match n % 2 == 1 && cx.attempt() == 1 {
                true => Err("odd"),
                false => Ok(*n),
            };
            more.map(
                "array",
                0..100_u32,
                fallible(move |cx: &Context, n: &u32| even(n, cx)),
            )
        });
        let array = array.unwrap();
        let each = run.add(|more| more.each("each", &array, |n: &u32| n + 1));
        let sum = run
            .add(|more| more.reduce("sum", &each.unwrap(), |all: &[u32]| all.iter().sum::<u32>()));
        let sum = sum.unwrap();
        run.seal();
        run.wait().unwrap_err();
        let counts = run.counts();
        assert_eq!((counts.failed, counts.skipped), (50, 51));

        assert_eq!(run.reactivate_failed().unwrap(), 101);
        assert_eq!(*run.output(&sum).wait().unwrap(), 5050);
        assert_eq!(run.wait().unwrap().succeeded, 201);
        let refused = run.add(|more| more.task((), (), || ())).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Sealed);
    });
}

#[test]
fn a_run_that_was_cancelled_before_it_was_sealed_goes_on_open() {
    within_30s(|| {
        let pool = pool(1);
        let (run, door) = (empty_run(&pool), Door::default());
        let held = door.clone();
        let first = run.add(|more| {
            more.task("first", (), move || {
                held.wait();
                1_u32
            })
        });
        let first = first.unwrap();
        run.cancel();
        assert!(run.has_ended());
        let refused = run.add(|more| more.task((), (), || ())).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Sealed);

        door.open();
        assert_eq!(run.reactivate_all().unwrap(), 1);
        let next = run.add(|more| more.task("next", &first, |n: &u32| n + 1));
        assert_eq!(*run.output(&next.unwrap()).wait().unwrap(), 2);
        assert!(!run.has_ended());
        run.seal();
        assert_eq!(run.wait().unwrap().succeeded, 2);
    });
}

#[test]
fn tasks_are_added_behind_one_that_runs_again() {
    within_30s(|| {
        let pool = pool(2);
        let mut job = Job::open("behind");
        let (door, body) = (Door::default(), fails(1));
        let held = door.clone();
        let bad = job.task(
            "bad",
            (),
            fallible(move |cx: &Context| {
                if cx.attempt() > 1 {
                    held.wait();
                }
                body(cx)
            }),
        );
        let run = pool.submit(job).unwrap();
        run.output(&bad).wait().unwrap_err();
        run.reactivate(bad).unwrap();
        let next = run.add(|more| more.task("next", &bad, |n: &u32| n * 10));
        let next = next.unwrap();
        assert_eq!(state(&run, next), TaskState::Waiting);
        door.open();
        assert_eq!(*run.output(&next).wait().unwrap(), 20);
    });
}

#[test]
fn what_passed_a_failure_once_does_not_run_again() {
    within_30s(|| {
        let pool = pool(2);
        let mut job = Job::open("passed");
        let satisfy = ExitConditions::new().otherwise(DependencyAction::Satisfy);
        let bad = Task::new("bad", (), fallible(fails(2))).exit_conditions(satisfy);
        let bad = job.add(bad);
        let run = pool.submit(job).unwrap();
        run.output(&bad).wait().unwrap_err();
        let ran = Arc::new(AtomicU32::new(0));
        let count = |ran: &Arc<AtomicU32>| {
            let ran = ran.clone();
            move || ran.fetch_add(1, SeqCst)
        };
        let (satisfied, cleaned, reads) = run
            .add(|more| {
                let satisfied = more.add(Task::new((), (), count(&ran)).after(bad));
                let cleaned = more.add(Task::new((), (), count(&ran)).after_any_outcome(bad));
                (satisfied, cleaned, more.task("reads", &bad, |n: &u32| *n))
            })
            .unwrap();
        run.output(&satisfied).wait().unwrap();
        run.output(&cleaned).wait().unwrap();
        assert_eq!(state(&run, reads), TaskState::Skipped);

        for after in [TaskState::Skipped, TaskState::Succeeded] {
            assert_eq!(run.reactivate(bad).unwrap(), 2);
            let _ = run.output(&reads).wait();
            assert_eq!(state(&run, reads), after);
        }
        run.seal();
        run.wait().unwrap();
        assert_eq!(ran.load(SeqCst), 2);
    });
}

#[test]
fn what_was_added_behind_two_failures_comes_back_with_the_second() {
    within_30s(|| {
        let pool = pool(2);
        let mut job = Job::open("two");
        let one = job.task("one", (), fallible(fails(1)));
        let run = pool.submit(job).unwrap();
        let other = run.add(|more| more.task("other", (), fallible(fails(1))));
        let other = other.unwrap();
        let both = run.add(|more| more.task("both", (&one, &other), |a: &u32, b: &u32| a + b));
        let both = both.unwrap();
        run.output(&both).wait().unwrap_err();
        run.output(&other).wait().unwrap_err();
        run.output(&one).wait().unwrap_err();

        let refused = run.reactivate(both).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::InvalidState);
        assert_eq!(run.reactivate(one).unwrap(), 1);
        run.output(&one).wait().unwrap();
        assert_eq!(state(&run, both), TaskState::Skipped);
        assert_eq!(run.reactivate_subtree(other).unwrap(), 2);
        assert_eq!(*run.output(&both).wait().unwrap(), 4);
    });
}

#[test]
fn what_an_element_added_behind_itself_comes_back_with_it() {
    within_30s(|| {
        let pool = pool(2);
        let mut job = Job::open("element");
        let (send, followers) = channel();
        let send = Mutex::new(send);
        let array = job.map(
            "array",
            0..4_u32,
            fallible(move |cx: &Context, n: &u32| {
                if cx.attempt() > 1 {
                    return Ok(*n);
                }
                let (this, n) = (cx.this(), *n);
                let after = cx
                    .add(|more| more.task_after((), [this], move || n))
                    .unwrap();
                send.lock().unwrap().send((n, after)).unwrap();
                if n % 2 == 1 { Err("odd") } else { Ok(n) }
            }),
        );
        let run = pool.submit(job).unwrap();
        let mut added: Vec<_> = followers.iter().take(4).collect();
        added.sort_by_key(|(n, _)| *n);
        let [none, after, other, beside] = [0, 1, 2, 3].map(|n| added[n].1);
        for task in [none, other] {
            run.output(&task).wait().unwrap();
        }
        for task in [after, beside] {
            run.output(&task).wait().unwrap_err();
        }
        assert_eq!(run.reactivate(array.at(1)).unwrap(), 2);
        assert_eq!(*run.output(&after).wait().unwrap(), 1);
        assert_eq!(state(&run, beside), TaskState::Skipped);
    });
}
