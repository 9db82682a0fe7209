//! Adding from inside tasks.

use crate::watchdog::within_30s;
use crate::{Door, empty_run, pool};
use batchyard::{Context, ErrorKind, Job, TaskState, asynchronous};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};

fn grow(cx: &Context, depth: u32) {
    for _ in 0..2 {
        let deeper = move |cx: &Context| {
            if depth > 1 {
                grow(cx, depth - 1)
            }
        };
        cx.add(|more| more.task((), (), deeper)).unwrap();
    }
}

#[test]
fn a_task_that_adds_two_of_its_kind_to_depth_thirteen() {
    within_30s(|| {
        let pool = pool(2);
        let mut job = Job::open("tree");
        job.task("root", (), |cx: &Context| grow(cx, 13));
        let run = pool.submit(job).unwrap();
        let ended = run.ended();
        drop(run);
        assert_eq!(ended.wait().unwrap().succeeded, (1 << 14) - 1);
    });
}

#[test]
fn what_depends_on_the_adding_task_starts_after_it() {
    within_30s(|| {
        let pool = pool(2);
        let mut job = Job::open("this");
        let ended = Arc::new(AtomicU64::new(0));
        let (seen, (send, order)) = (ended.clone(), mpsc::channel());
        job.task("parent", (), move |cx: &Context| {
            let (seen, send) = (seen.clone(), send.clone());
            let this = cx.this();
            cx.add(move |more| {
                more.task_after("child", [this], move |cx: &Context| {
                    send.send((seen.load(Ordering::SeqCst), cx.task_label()))
                        .unwrap();
                })
            })
            .unwrap();
            ended.store(1, Ordering::SeqCst);
        });
        let run = pool.submit(job).unwrap();
        assert_eq!(order.recv().unwrap(), (1, "child".to_owned()));
        run.seal();
        assert_eq!(run.wait().unwrap().succeeded, 2);
    });
}

#[test]
fn an_element_adds_what_follows_itself_and_not_the_array() {
    within_30s(|| {
        let pool = pool(2);
        let mut job = Job::open("element");
        let door = Door::default();
        let held = door.clone();
        let array = job.map("array", 0..2_usize, move |cx: &Context, n: &usize| {
            if *n == 1 {
                return held.wait();
            }
            let (this, held) = (cx.this(), held.clone());
            cx.add(|more| more.task_after("after 0", [this], move || held.open()))
                .unwrap();
        });
        let run = pool.submit(job).unwrap();
        run.output(&array).wait().unwrap();
        run.seal();
        assert_eq!(run.wait().unwrap().succeeded, 3);
    });
}

#[test]
fn a_task_whose_attempt_fails_skips_what_depends_on_it_and_leaves_the_rest() {
    within_30s(|| {
        let pool = pool(1);
        let mut job = Job::open("fails");
        let (send, ids) = mpsc::channel();
        job.task("parent", (), move |cx: &Context| {
            let this = cx.this();
            let added =
                cx.add(|more| (more.task_after((), [this], || ()), more.task((), (), || ())));
            send.send(added.unwrap()).unwrap();
            panic!("after adding");
        });
        let run = pool.submit(job).unwrap();
        let (after, free) = ids.recv().unwrap();
        assert_eq!(
            run.output(&after).wait().unwrap_err().kind(),
            ErrorKind::TaskSkipped
        );
        run.output(&free).wait().unwrap();
        assert_eq!(run.state(after).unwrap(), TaskState::Skipped);
    });
}

#[test]
fn a_task_waits_for_what_it_added_but_not_for_what_comes_after_it() {
    within_30s(|| {
        let pool = pool(1);
        let mut job = Job::open("waits");
        let sum = job.task("sum", (), |cx: &Context| {
            let part = cx.add(|more| more.task((), (), || 41)).unwrap();
            let this = cx.this();
            let after = cx.add(|more| more.task_after((), [this], || ())).unwrap();
            let error = cx.output(&after).unwrap().wait().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::WouldDeadlock);
            *cx.output(&part).unwrap().wait().unwrap() + 1
        });
        let run = pool.submit(job).unwrap();
        assert_eq!(*run.output(&sum).wait().unwrap(), 42);
    });
}

#[test]
fn a_body_that_waits_adds_and_seals() {
    within_30s(|| {
        let pool = pool(1);
        let run = empty_run(&pool);
        run.add(|more| {
            more.task(
                (),
                (),
                asynchronous(|cx: Context| async move {
                    let added = cx.add(|more| more.task((), (), || 5))?;
                    let five = cx.output(&added)?.await?;
                    cx.seal();
                    assert!(cx.add(|more| more.task((), (), || ())).is_err());
                    Ok::<_, batchyard::Error>(*five)
                }),
            )
        })
        .unwrap();
        assert_eq!(run.wait().unwrap().succeeded, 2);
    });
}

#[test]
fn a_context_kept_beyond_its_task_adds_no_more_once_the_handle_is_gone() {
    within_30s(|| {
        let pool = pool(1);
        let mut job = Job::open("kept");
        let (send, contexts) = mpsc::channel();
        job.task((), (), move |cx: &Context| send.send(cx.clone()).unwrap());
        let run = pool.submit(job).unwrap();
        let ended = run.ended();
        let context = contexts.recv().unwrap();
        drop(run);
        ended.wait().unwrap();
        let error = context.add(|more| more.task((), (), || ())).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Sealed);
    });
}
