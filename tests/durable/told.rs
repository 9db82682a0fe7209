//! What is told when: events wait for the journal, and checkpoints are in it.

use crate::yard::{Yard, pool};
use batchyard::journal::{self, Journal};
use batchyard::{
    AttemptEnd, BoxError, Context, EventKind, Function, Job, MaxRetries, Task, TaskSettings,
    TaskState, Update, durable, fallible,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

static NEXT: Function<u64, u64> = Function::new("next", |n| n + 1);

#[test]
fn an_event_of_a_success_comes_when_it_is_in_the_journal() {
    let (yard, pool) = (Yard::new(), pool());
    let events = pool.events();
    let mut job = Job::new("told");
    let first = job.map("first", 0..2000u64, &NEXT);
    job.each("second", &first, &NEXT);
    let journal = Journal::create(yard.path()).unwrap();
    let journal = journal.at_most_behind(std::time::Duration::from_millis(5));
    let run = pool.submit_durable(job, journal).unwrap();
    let (mut seen, mut looked) = (0u64, 0);
    for update in events.blocking() {
        let Update::Event(event) = update else {
            continue;
        };
        match event.kind {
            EventKind::AttemptEnded {
                end: AttemptEnd::Succeeded,
                ..
            } => seen += 1,
            EventKind::RunEnded { .. } => break,
            _ => (),
        }
        if seen.is_power_of_two() && seen > looked {
            looked = seen;
            let written = journal::inspect(yard.path()).unwrap().counts().succeeded;
            assert!(written >= seen, "{seen} are told, {written} are written");
        }
    }
    assert!(seen > 0);
    assert_eq!(run.wait().unwrap().succeeded, 4000);
}

#[test]
fn a_task_gets_back_what_its_last_attempt_has_saved_also_in_another_life() {
    let yard = Yard::new();
    let counted = Arc::new(AtomicU64::new(0));
    let job = |stop: u64| {
        let mut job = Job::new("checkpoints");
        let counted = counted.clone();
        let body = fallible(move |cx: &Context| {
            let begun = cx.last_checkpoint::<u64>()?.unwrap_or(0);
            for at in begun..100 {
                cx.checkpoint(&(at + 1))?;
                counted.fetch_add(1, Ordering::SeqCst);
                while at == stop && !cx.is_cancelled() {
                    std::thread::yield_now();
                }
                if at % 40 == 39 {
                    return Err(BoxError::from("it breaks now and then"));
                }
            }
            Ok(cx.attempt())
        });
        let task = Task::new("count", (), durable(1, body));
        let retries = TaskSettings::new().max_retries(MaxRetries::from(9));
        let count = job.add(task.settings(retries.backoff(batchyard::Backoff::none())));
        (job, count)
    };
    let (counting, count) = job(60);
    let (pool, run) = yard.submit(counting);
    // It stands at the sixty-first, in its second attempt; that is written when something else is asked for.
    while counted.load(Ordering::SeqCst) < 61 {
        std::thread::yield_now();
    }
    assert_eq!(run.state(count).unwrap(), TaskState::Running);
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
    loop {
        let task = journal::inspect(yard.path())
            .unwrap()
            .tasks()
            .next()
            .unwrap();
        if task.attempt == 2 {
            break;
        }
        assert!(
            std::time::Instant::now() < deadline,
            "its attempt is not written"
        );
        std::thread::yield_now();
    }
    drop((run, pool));
    let (counting, count) = job(1000);
    let (_pool, run) = yard.submit(counting);
    assert_eq!(*run.output(&count).wait().unwrap(), 4);
    run.wait().unwrap();
    let counted = counted.load(Ordering::SeqCst);
    assert!(
        (100..=101).contains(&counted),
        "each is counted about once, not {counted} times"
    );
}
