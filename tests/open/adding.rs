//! Adding from outside, and when a run ends.

use crate::watchdog::within_30s;
use crate::{Door, empty_run, pool};
use batchyard::{
    Close, ErrorKind, FailurePolicy, Function, Handle, Job, Pool, Run, Task, TaskState, all,
    asynchronous, fallible,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

#[test]
fn a_run_ends_only_when_it_is_sealed_and_its_tasks_have_ended() {
    within_30s(|| {
        let pool = pool(2);
        let run = empty_run(&pool);
        for n in 0..10_u32 {
            let task = run.add(|more| more.task((), (), move || n)).unwrap();
            assert_eq!(*run.output(&task).wait().unwrap(), n);
            assert!(!run.has_ended());
            assert_eq!(run.counts().total, u64::from(n) + 1);
        }
        run.seal();
        let counts = run.wait().unwrap();
        assert_eq!(
            (counts.total, counts.succeeded, counts.unfinished()),
            (10, 10, 0)
        );
    });
}

#[test]
fn an_open_job_without_tasks_waits_for_some_and_ends_when_sealed() {
    within_30s(|| {
        let pool = pool(1);
        let run = empty_run(&pool);
        assert!(!run.has_ended());
        run.seal();
        run.seal();
        assert_eq!(run.wait().unwrap().total, 0);
    });
}

#[test]
fn sealing_lets_what_runs_go_on_to_its_end() {
    within_30s(|| {
        let pool = pool(1);
        let (run, door) = (empty_run(&pool), Door::default());
        let held = door.clone();
        run.add(|more| {
            let first = more.task((), (), move || held.wait());
            more.task_after((), [first.into()], || ());
        })
        .unwrap();
        run.seal();
        assert!(!run.has_ended());
        door.open();
        assert_eq!(run.wait().unwrap().succeeded, 2);
    });
}

static DOUBLE: Function<u32, u32> = Function::new("double", |n| n * 2);

#[test]
fn everything_a_job_can_hold_can_be_added() {
    within_30s(|| {
        let pool = pool(2);
        let mut job = Job::open("kinds");
        let base = job.map("base", 0..100_u32, |n: &u32| *n);
        let run = pool.submit(job).unwrap();
        let (doubled, shares, total, waited, listed) = run
            .add(|more| {
                let doubled = more.map("doubled", 0..100_u32, &DOUBLE);
                let shares = more.each(
                    "shares",
                    (&base, &doubled, all(&base)),
                    |a: &u32, b: &u32, all: &[u32]| a + b + all.len() as u32,
                );
                let total = more.reduce("total", &shares, |all: &[u32]| all.iter().sum::<u32>());
                let waited = more.task(
                    "waited",
                    &total,
                    asynchronous(|total: u32| async move { Ok::<_, std::io::Error>(total + 1) }),
                );
                let listed = more
                    .add_all((0..3).map(|n| Task::new((), &total, move |total: &u32| total + n)))
                    .unwrap();
                let with = more.map_with((), [1_u32, 2], &base, |n: &u32, base: &[u32]| {
                    base[*n as usize]
                });
                more.array_with(
                    (),
                    3,
                    (&with, &total),
                    |n: &usize, with: &[u32], _: &u32| with.len() + n,
                );
                (doubled, shares, total, waited, listed)
            })
            .unwrap();
        let sum = (0..100).map(|n| n + 2 * n + 100).sum::<u32>();
        assert_eq!(*run.output(&waited).wait().unwrap(), sum + 1);
        assert_eq!(*run.output(&total).wait().unwrap(), sum);
        assert_eq!(*run.output(&listed[2]).wait().unwrap(), sum + 2);
        assert_eq!(*run.output(shares.at(7)).wait().unwrap(), 121);
        assert_eq!(run.output(&doubled).wait().unwrap()[5], 10);
        run.seal();
        assert_eq!(run.wait().unwrap().failed, 0);
    });
}

#[test]
fn numbers_and_handles_of_all_parts_differ() {
    within_30s(|| {
        let pool = pool(2);
        let mut job = Job::open("ids");
        let first = job.task("first", (), || 0_u32);
        let array = job.map("array", 0..3_u32, |n: &u32| *n);
        let run = pool.submit(job).unwrap();
        let mut ids = vec![first.id(), array.id(), array.at(2).id().unwrap()];
        for n in 0..5_u32 {
            let (task, array) = run
                .add(|more| {
                    (
                        more.task((), (), move || n),
                        more.map((), 0..4_u32, |n: &u32| *n),
                    )
                })
                .unwrap();
            ids.extend([
                task.id(),
                array.id(),
                array.at(0).id().unwrap(),
                array.at(3).id().unwrap(),
            ]);
            assert_eq!(*run.output(&task).wait().unwrap(), n);
        }
        run.seal();
        run.wait().unwrap();
        for (at, id) in ids.iter().enumerate() {
            assert!(!ids[..at].contains(id), "{id} twice");
            assert_eq!(run.state(*id).unwrap(), TaskState::Succeeded);
        }
    });
}

#[test]
fn outputs_are_kept_for_what_may_be_added_and_dropped_with_the_run() {
    within_30s(|| {
        let pool = pool(2);
        let mut job = Job::open("kept");
        let (witness, inner) = (Arc::new(()), Arc::new(()));
        let (out, out_inner) = (witness.clone(), inner.clone());
        let text = job.task((), (), move || ("text".to_owned(), out.clone()));
        let read = job.task((), &text, |text: &(String, Arc<()>)| text.0.len());
        let run = pool.submit(job).unwrap();
        assert_eq!(*run.output(&read).wait().unwrap(), 4);
        let again = run
            .add(|more| {
                let words = more.map((), 0..5_usize, move |n: &usize| {
                    (vec![*n; *n], out_inner.clone())
                });
                more.task(
                    (),
                    (&text, &words),
                    |text: &(String, Arc<()>), words: &[(Vec<usize>, Arc<()>)]| {
                        text.0.len() + words.iter().map(|word| word.0.len()).sum::<usize>()
                    },
                )
            })
            .unwrap();
        assert_eq!(*run.output(&again).wait().unwrap(), 14);
        let last = run.output(&text).wait().unwrap();
        run.seal();
        run.wait().unwrap();
        drop((run, pool));
        assert_eq!(last.0, "text");
        drop(last);
        assert_eq!(
            (Arc::strong_count(&witness), Arc::strong_count(&inner)),
            (1, 1)
        );
    });
}

#[test]
fn an_output_of_an_addition_outlives_the_run() {
    within_30s(|| {
        let pool = pool(1);
        let run = empty_run(&pool);
        let text = run
            .add(|more| more.task((), (), || "held".to_owned()))
            .unwrap();
        let output = run.output(&text).wait().unwrap();
        run.seal();
        drop((run, pool));
        assert_eq!(*output, "held");
    });
}

#[test]
fn a_frozen_open_job_runs_again_and_each_run_has_its_own_additions() {
    within_30s(|| {
        let pool = pool(2);
        let mut job = Job::open("again");
        let base = job.task("base", (), || 1_u32);
        let job = job.freeze().unwrap();
        let (one, two) = (pool.submit(&job).unwrap(), pool.submit(&job).unwrap());
        let of_one = one
            .add(|more| more.task("more", &base, |n: &u32| n + 1))
            .unwrap();
        let of_two = two
            .add(|more| more.task("more", &base, |n: &u32| format!("{n}")))
            .unwrap();
        assert_eq!(*one.output(&of_one).wait().unwrap(), 2);
        assert_eq!(*two.output(&of_two).wait().unwrap(), "1");
        assert_eq!(
            one.output(&of_two).wait().unwrap_err().kind(),
            ErrorKind::UnknownTask
        );
        let error = one
            .add(|more| more.task((), &of_two, |_: &String| ()))
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidJob);
        one.seal();
        two.seal();
        assert_eq!(
            (one.wait().unwrap().total, two.wait().unwrap().total),
            (2, 2)
        );
    });
}

#[test]
fn limits_and_the_failure_policy_cover_what_is_added() {
    within_30s(|| {
        let pool = pool(2);
        let mut job = Job::open("limits");
        job.max_parallel_tasks(1);
        job.failure_policy(FailurePolicy::MaxFailures(2));
        let run = pool.submit(job).unwrap();
        let (now, most) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
        for _ in 0..10 {
            let (now, most) = (now.clone(), most.clone());
            run.add(|more| {
                more.task((), (), move || {
                    most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    now.fetch_sub(1, Ordering::SeqCst);
                })
            })
            .unwrap();
        }
        while run.counts().succeeded < 10 {
            std::thread::yield_now();
        }
        assert_eq!(most.load(Ordering::SeqCst), 1);
        let door = Door::default();
        for part in 0..4 {
            let held = door.clone();
            let added = run.add(|more| {
                more.task(
                    (),
                    (),
                    fallible(move || {
                        held.wait();
                        Err::<(), _>(format!("{part}"))
                    }),
                )
            });
            added.unwrap();
        }
        door.open();
        assert_eq!(run.wait().unwrap_err().kind(), ErrorKind::TaskFailed);
        assert_eq!((run.counts().failed, run.counts().cancelled), (3, 1));
    });
}

/// A run with a task that is held at a door, and one that was added behind it.
fn held_run(pool: &Pool) -> (Run, Door, [Handle<()>; 2]) {
    let (run, door) = (empty_run(pool), Door::default());
    let held = door.clone();
    let first = run
        .add(|more| more.task("first", (), move || held.wait()))
        .unwrap();
    let next = run
        .add(|more| more.task_after("next", [first.into()], || ()))
        .unwrap();
    (run, door, [first, next])
}

#[test]
fn cancelling_covers_what_was_added() {
    within_30s(|| {
        let pool = pool(1);
        let (run, door, [first, next]) = held_run(&pool);
        let other = run.add(|more| more.task("other", (), || ())).unwrap();
        let after = run
            .add(|more| more.task_after("after", [next.into()], || ()))
            .unwrap();
        assert_eq!(run.cancel_subtree(next).unwrap(), 2);
        assert_eq!(run.state(after).unwrap(), TaskState::Cancelled);
        assert_eq!(run.cancel_task(first).unwrap(), 1);
        door.open();
        run.output(&other).wait().unwrap();
        run.cancel();
        assert_eq!(run.wait().unwrap_err().kind(), ErrorKind::Cancelled);
        assert_eq!(run.counts().cancelled, 3);
    });
}

#[test]
fn explain_names_what_an_added_task_waits_for() {
    within_30s(|| {
        let pool = pool(1);
        let (run, door, [_, next]) = held_run(&pool);
        let words = run.explain(next).unwrap().to_string();
        assert!(words.contains("waits for `first`"), "{words}");
        assert_eq!(run.state(next).unwrap(), TaskState::Waiting);
        door.open();
    });
}

#[test]
fn closing_the_pool_ends_a_run_that_nobody_seals() {
    within_30s(|| {
        let pool = pool(1);
        let run = empty_run(&pool);
        let task = run.add(|more| more.task((), (), || 3)).unwrap();
        assert!(pool.close(Close::Drain, Duration::MAX).is_empty());
        assert_eq!(*run.output(&task).wait().unwrap(), 3);
        let error = run.add(|more| more.task((), (), || ())).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Sealed);
        assert_eq!(run.wait().unwrap().succeeded, 1);
    });
}

#[test]
fn dropping_the_handle_lets_the_run_end_by_itself() {
    within_30s(|| {
        let pool = pool(1);
        let run = empty_run(&pool);
        run.add(|more| more.task((), (), || ())).unwrap();
        let ended = run.ended();
        drop(run);
        assert_eq!(ended.wait().unwrap().succeeded, 1);
    });
}
