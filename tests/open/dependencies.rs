//! What is added depends on what was there: before it runs, while it does, and after it has ended.

use crate::watchdog::within_30s;
use crate::{Door, empty_run, pool};
use batchyard::{ErrorKind, Job, Task, TaskState, all, fallible};
use std::sync::mpsc::channel;

#[test]
fn what_has_not_ended_is_waited_for() {
    within_30s(|| {
        let pool = pool(2);
        let (run, door) = (empty_run(&pool), Door::default());
        let (held, (send, ran)) = (door.clone(), channel());
        let first = run
            .add(|more| {
                more.task((), (), move || {
                    held.wait();
                    20
                })
            })
            .unwrap();
        let sum = run
            .add(|more| {
                more.task((), &first, move |n: &i32| {
                    send.send(()).unwrap();
                    n + 1
                })
            })
            .unwrap();
        assert!(ran.try_recv().is_err());
        door.open();
        assert_eq!(*run.output(&sum).wait().unwrap(), 21);
    });
}

#[test]
fn what_has_succeeded_is_satisfied() {
    within_30s(|| {
        let pool = pool(2);
        let run = empty_run(&pool);
        let array = run
            .add(|more| more.map("a", 0..1000_u64, |n: &u64| n * 2))
            .unwrap();
        run.output(&array).wait().unwrap();
        let (sum, each) = run
            .add(|more| {
                let sum = more.reduce((), &array, |all: &[u64]| all.iter().sum::<u64>());
                (
                    sum,
                    more.each((), (&array, &sum), |n: &u64, sum: &u64| sum - n),
                )
            })
            .unwrap();
        assert_eq!(*run.output(&sum).wait().unwrap(), 999_000);
        assert_eq!(run.output(&each).wait().unwrap()[1], 998_998);
    });
}

#[test]
fn what_failed_was_skipped_or_cancelled_skips_what_is_added_and_is_named() {
    within_30s(|| {
        let pool = pool(1);
        let mut job = Job::open("lost");
        let bad = job.task("bad", (), fallible(|| Err::<u32, _>("no")));
        let skipped = job.task("skipped", &bad, |n: &u32| *n);
        let door = Door::default();
        let held = door.clone();
        let cancelled = job.task("cancelled", (), move || {
            held.wait();
            1_u32
        });
        let run = pool.submit(job).unwrap();
        run.output(&skipped).wait().unwrap_err();
        run.cancel_task(cancelled).unwrap();
        for (before, root) in [(bad, "bad"), (skipped, "bad"), (cancelled, "cancelled")] {
            let (next, last) = run
                .add(|more| {
                    let next = more.task((), &before, |n: &u32| *n);
                    (next, more.task((), &next, |n: &u32| *n))
                })
                .unwrap();
            for task in [next, last] {
                let error = run.output(&task).wait().unwrap_err();
                assert_eq!(error.kind(), ErrorKind::TaskSkipped);
                assert!(error.to_string().contains(&format!("`{root}`")), "{error}");
            }
        }
        door.open();
        run.seal();
        assert_eq!(run.wait().unwrap_err().kind(), ErrorKind::TaskFailed);
        assert_eq!(run.counts().skipped, 7);
    });
}

#[test]
fn what_fails_later_skips_what_was_added() {
    within_30s(|| {
        let pool = pool(1);
        let (run, door) = (empty_run(&pool), Door::default());
        let held = door.clone();
        let bad = run
            .add(|more| {
                more.task(
                    "bad",
                    (),
                    fallible(move || {
                        held.wait();
                        Err::<u32, _>("no")
                    }),
                )
            })
            .unwrap();
        let other = run.add(|more| more.task("other", (), || 1_u32)).unwrap();
        let next = run
            .add(|more| more.task("next", (&other, &bad), |a: &u32, b: &u32| a + b))
            .unwrap();
        door.open();
        assert_eq!(
            run.output(&next).wait().unwrap_err().kind(),
            ErrorKind::TaskSkipped
        );
    });
}

#[test]
fn elements_wait_each_for_their_own() {
    within_30s(|| {
        let pool = pool(8);
        let mut job = Job::open("each");
        let doors: Vec<_> = (0..4).map(|_| Door::default()).collect();
        let held = doors.clone();
        let array = job.map(
            "array",
            0..4_usize,
            fallible(move |n: &usize| {
                held[*n].wait();
                if *n == 2 { Err("two") } else { Ok(*n) }
            }),
        );
        let run = pool.submit(job).unwrap();
        doors[0].open();
        run.output(array.at(0)).wait().unwrap();
        let next = run
            .add(|more| more.each("next", &array, |n: &usize| n + 10))
            .unwrap();
        assert_eq!(*run.output(next.at(0)).wait().unwrap(), 10);
        doors[1].open();
        assert_eq!(*run.output(next.at(1)).wait().unwrap(), 11);
        doors[2].open();
        assert_eq!(
            run.output(next.at(2)).wait().unwrap_err().kind(),
            ErrorKind::TaskSkipped
        );
        doors[3].open();
        assert_eq!(*run.output(next.at(3)).wait().unwrap(), 13);
        let late = run
            .add(|more| more.each("late", &next, |n: &usize| n + 10))
            .unwrap();
        assert_eq!(*run.output(late.at(3)).wait().unwrap(), 23);
        assert_eq!(run.state(late.at(2)).unwrap(), TaskState::Skipped);
        let whole =
            run.add(|more| more.each("whole", (&next, all(&next)), |n: &usize, _: &[usize]| *n));
        assert_eq!(run.state(whole.unwrap()).unwrap(), TaskState::Skipped);
    });
}

#[test]
fn names_lead_to_what_the_run_has() {
    within_30s(|| {
        let pool = pool(2);
        let mut job = Job::open("names");
        job.task("base", (), || ());
        let run = pool.submit(job).unwrap();
        run.add(|more| more.add(Task::new("one", (), || ()).after_named("base")))
            .unwrap();
        let two = run.add(|more| {
            let two = more.add(
                Task::new("two", (), || 2)
                    .after_named("one")
                    .after_named("three"),
            );
            more.task("three", (), || ());
            two
        });
        assert_eq!(*run.output(&two.unwrap()).wait().unwrap(), 2);
    });
}

#[test]
fn a_long_chain_of_additions_passes_its_value_on() {
    within_30s(|| {
        let pool = pool(2);
        let (run, door) = (empty_run(&pool), Door::default());
        let held = door.clone();
        let mut last = run
            .add(|more| {
                more.task((), (), move || {
                    held.wait();
                    vec![0_u32]
                })
            })
            .unwrap();
        for n in 1..2000 {
            if n == 1000 {
                door.open();
            }
            last = run
                .add(|more| more.task((), &last, move |list: &Vec<u32>| vec![list[0] + 1]))
                .unwrap();
        }
        assert_eq!(run.output(&last).wait().unwrap()[0], 1999);
        run.seal();
        run.wait().unwrap();
    });
}
