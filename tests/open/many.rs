//! Many additions, and several threads that add.

use crate::watchdog::within_30s;
use crate::{Door, empty_run, pool};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// How long `additions` of one task each take that all wait for one more.
fn held_additions(additions: u32) -> std::time::Duration {
    let started = Instant::now();
    let pool = pool(2);
    let (run, door) = (empty_run(&pool), Door::default());
    let held = door.clone();
    let first = run
        .add(|more| more.task((), (), move || held.wait()))
        .unwrap();
    for _ in 0..additions {
        run.add(|more| more.task_after((), [first.into()], || ()))
            .unwrap();
    }
    door.open();
    run.seal();
    assert_eq!(run.wait().unwrap().succeeded, u64::from(additions) + 1);
    started.elapsed()
}

#[test]
fn ten_thousand_additions_that_wait_for_one_task_take_time_in_proportion() {
    within_30s(|| {
        let few = held_additions(1_000);
        let many = held_additions(10_000);
        assert!(many < few * 40, "{few:?} for a tenth of {many:?}");
    });
}

#[test]
fn two_threads_add_at_once() {
    within_30s(|| {
        let pool = pool(2);
        let run = empty_run(&pool);
        let ran = Arc::new(AtomicU64::new(0));
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    let mut before = None;
                    for n in 0..2000_u64 {
                        let (ran, last) = (ran.clone(), before);
                        before = Some(
                            run.add(|more| match last {
                                None => more.task((), (), move || n),
                                Some(last) => more.task((), &last, move |before: &u64| {
                                    assert_eq!(before + 1, n);
                                    ran.fetch_add(1, Ordering::Relaxed);
                                    n
                                }),
                            })
                            .unwrap(),
                        );
                    }
                    assert_eq!(*run.output(&before.unwrap()).wait().unwrap(), 1999);
                });
            }
        });
        run.seal();
        assert_eq!(run.wait().unwrap().succeeded, 4000);
        assert_eq!(ran.load(Ordering::Relaxed), 2 * 1999);
    });
}

#[test]
fn an_addition_may_be_made_while_another_is_described() {
    within_30s(|| {
        let pool = pool(2);
        let run = empty_run(&pool);
        let (outer, inner) = run
            .add(|more| {
                let before = more.task((), (), || 1_u32);
                let inner = run
                    .add(|more| more.map((), 0..3_u32, |n: &u32| *n))
                    .unwrap();
                (
                    more.task((), (&before, &inner), |n: &u32, all: &[u32]| {
                        n + all.len() as u32
                    }),
                    inner,
                )
            })
            .unwrap();
        assert_eq!(*run.output(&outer).wait().unwrap(), 4);
        assert_eq!(run.output(&inner).wait().unwrap()[2], 2);
        run.seal();
        assert_eq!(run.wait().unwrap().succeeded, 5);
    });
}
