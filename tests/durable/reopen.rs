//! A run that goes on in another pool, as in another process.

use crate::yard::{Calls, Yard, pool};
use batchyard::journal::{Journal, JournalError};
use batchyard::{
    Array, BoxError, Context, ErrorKind, Function, Handle, Job, TaskSettings, TaskState,
};
use std::sync::atomic::{AtomicBool, Ordering};

static SQUARES: Calls = Calls::new();
static SQUARE: Function<u64, u64> = Function::new("square", |n| {
    SQUARES.note(*n);
    n * n
});
static SUMS: Calls = Calls::new();
static SUM: Function<[u64], u64> = Function::new("sum", |all: &[u64]| {
    SUMS.note(all.len() as u64);
    all.iter().sum()
});

fn squares(items: impl IntoIterator<Item = u64>) -> (Job, Array<u64>, Handle<u64>) {
    let mut job = Job::new("squares");
    let squares = job.map("square", items, &SQUARE);
    let sum = job.reduce("sum", &squares, &SUM);
    (job, squares, sum)
}

/// One test, since they share the counters of the functions.
#[test]
fn what_has_ended_is_not_run_again_and_what_has_changed_is() {
    let yard = Yard::new();
    let (job, _, sum) = squares(0..5);
    let (pool, run) = yard.submit(job);
    assert_eq!(*run.output(&sum).wait().unwrap(), 30);
    run.wait().unwrap();
    assert_eq!((SQUARES.take().len(), SUMS.take().len()), (5, 1));
    drop((run, pool));

    // The same again: its results are there at once.
    let (job, all, sum) = squares(0..5);
    let (pool, run) = yard.submit(job);
    assert!(run.has_ended());
    assert_eq!(run.wait().unwrap().succeeded, 6);
    assert_eq!(*run.output(&sum).wait().unwrap(), 30);
    assert_eq!(*run.output(all.at(3)).wait().unwrap(), 9);
    assert_eq!(run.reuse().unwrap().reused, 6);
    assert!(run.reuse().unwrap().rerun.is_empty());
    assert_eq!((SQUARES.take().len(), SUMS.take().len()), (0, 0));
    drop((run, pool));

    // The array has grown, and lost one: only what is new is squared.
    let (job, _, sum) = squares([0, 1, 3, 4, 7, 8]);
    let (pool, run) = yard.submit(job);
    assert_eq!(*run.output(&sum).wait().unwrap(), 1 + 9 + 16 + 49 + 64);
    assert_eq!(SQUARES.take(), [7, 8]);
    assert_eq!(SUMS.take(), [6]);
    let reuse = run.reuse().unwrap().clone();
    assert_eq!(reuse.reused, 4);
    let why = |task: &str| {
        let found = reuse.rerun.iter().find(|rerun| rerun.task == task);
        found.map(|rerun| rerun.why.clone())
    };
    assert_eq!(why("sum").as_deref(), Some("changed: what it waits for"));
    run.wait().unwrap();
    drop((run, pool));

    // Another version of the last function: what it reads is not run again. Names and order don't matter.
    static SUM_2: Function<[u64], u64> =
        Function::new("sum", |all: &[u64]| all.iter().sum::<u64>() * 2).version(2);
    let mut job = Job::new("another name");
    let squares = job.map("others", [0, 1, 3, 4, 7, 8], &SQUARE);
    let sum = job.reduce("sum", &squares, &SUM_2);
    let (_pool, run) = yard.submit(job);
    assert_eq!(*run.output(&sum).wait().unwrap(), 278);
    assert!(SQUARES.take().is_empty());
    let rerun = run.reuse().unwrap().rerun.clone();
    assert_eq!(rerun.len(), 1, "{rerun:?}");
    assert_eq!(rerun[0].why, "changed: version of the function");
}

static MENDED: AtomicBool = AtomicBool::new(false);
static TRIES: Calls = Calls::new();
static BREAK: Function<u64, u64> = Function::fallible("break", |n| {
    TRIES.note(*n);
    match *n == 2 && !MENDED.load(Ordering::SeqCst) {
        true => Err(BoxError::from("broken")),
        false => Ok(*n),
    }
});
static AFTER: Function<[u64], u64> = Function::new("after", |all: &[u64]| all.iter().sum());

#[test]
fn a_failure_stays_one_with_its_attempts_until_it_is_reactivated() {
    let yard = Yard::new();
    let job = || {
        let mut job = Job::new("failing");
        let settings = TaskSettings::new()
            .max_retries(1)
            .backoff(batchyard::Backoff::none());
        job.defaults(settings);
        let parts = job.map("part", 0..4u64, &BREAK);
        let sum = job.reduce("sum", &parts, &AFTER);
        (job, parts, sum)
    };
    let (failing, ..) = job();
    let (pool, run) = yard.submit(failing);
    assert!(run.wait().is_err());
    assert_eq!(TRIES.take(), [0, 1, 2, 2, 3]);
    drop((run, pool));

    let (failing, parts, sum) = job();
    let (pool, run) = yard.submit(failing);
    let error = run.wait().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TaskFailed);
    assert!(error.to_string().contains("broken"), "{error}");
    assert!(TRIES.take().is_empty());
    let broken = parts.at(2);
    assert_eq!(run.state(broken).unwrap(), TaskState::Failed);
    assert_eq!(run.attempts(broken).unwrap().len(), 2);
    assert_eq!(run.counters(broken).unwrap().retries, 1);
    assert_eq!(run.state(sum).unwrap(), TaskState::Skipped);
    let counts = run.counts();
    assert_eq!((counts.succeeded, counts.failed, counts.skipped), (3, 1, 1));

    MENDED.store(true, Ordering::SeqCst);
    assert_eq!(run.reactivate(broken).unwrap(), 2);
    assert_eq!(*run.output(&sum).wait().unwrap(), 6);
    run.wait().unwrap();
    assert_eq!(TRIES.take(), [2]);
    drop((run, pool));

    let (failing, parts, sum) = job();
    let (_pool, run) = yard.submit(failing);
    assert_eq!(run.wait().unwrap().succeeded, 5);
    assert_eq!(*run.output(&sum).wait().unwrap(), 6);
    assert_eq!(run.attempts(parts.at(2)).unwrap().len(), 3);
    assert!(TRIES.take().is_empty());
}

static GATE: AtomicBool = AtomicBool::new(false);
static HELD: Calls = Calls::new();
static HOLD: Function<u64, u32> = Function::with_context("hold", |cx: &Context, n| {
    HELD.note(u64::from(cx.attempt()));
    while *n == 1 && !GATE.load(Ordering::SeqCst) && !cx.is_cancelled() {
        std::thread::yield_now();
    }
    Ok(cx.attempt())
});

#[test]
fn what_was_running_when_the_program_ended_runs_again_with_the_next_attempt() {
    let yard = Yard::new();
    let job = || {
        let mut job = Job::new("held");
        let held = job.map("held", 0..2u64, &HOLD);
        (job, held)
    };
    let (holding, held) = job();
    let (pool, run) = yard.submit(holding);
    assert_eq!(*run.output(held.at(0)).wait().unwrap(), 1);
    // The journal is known to say that the other one runs when something after it is written.
    while run.state(held.at(1)).unwrap() != TaskState::Running {
        std::thread::yield_now();
    }
    run.cancel_task(held.at(0)).unwrap();
    drop((run, pool));
    GATE.store(true, Ordering::SeqCst);

    let (holding, held) = job();
    let (_pool, run) = yard.submit(holding);
    assert_eq!(run.reuse().unwrap().resumed, 1);
    assert_eq!(run.output(&held).wait().unwrap()[..], [1, 2]);
    run.wait().unwrap();
}

#[test]
fn a_cancelled_run_stays_cancelled_and_one_whose_pool_was_dropped_goes_on() {
    static DONE: Function<u64, u64> = Function::new("done", |n| *n);
    let job = || {
        let mut job = Job::new("cancelled");
        job.map("wait", 0..3u64, &DONE);
        job.defaults(TaskSettings::new().start_after(std::time::Duration::from_secs(1000)));
        job
    };
    let cancelled = Yard::new();
    let (pool, run) = cancelled.submit(job());
    run.cancel();
    drop((run, pool));
    let (_pool, run) = cancelled.submit(job());
    assert_eq!(run.wait().unwrap_err().kind(), ErrorKind::Cancelled);
    assert_eq!(run.counts().cancelled, 3);

    let dropped = Yard::new();
    let (pool, run) = dropped.submit(job());
    drop(pool);
    assert!(run.wait().is_err());
    drop(run);
    let (_pool, run) = dropped.submit(job());
    assert!(!run.has_ended());
    assert_eq!(run.counts().unfinished(), 3);
}

#[test]
fn a_missing_journal_is_no_fresh_start_and_an_existing_one_is_not_overwritten() {
    let yard = Yard::new();
    let cause = |error: batchyard::Error| {
        assert_eq!(error.kind(), ErrorKind::Journal);
        assert!(error.to_string().contains("run.journal"), "{error}");
        error
    };
    let missing = cause(Journal::open(yard.path()).unwrap_err());
    assert!(matches!(missing.cause(), Some(JournalError::Missing)));
    let journal = Journal::create(yard.path()).unwrap();
    let held = cause(Journal::open(yard.path()).unwrap_err());
    let Some(JournalError::Held { holder }) = held.cause() else {
        panic!("{held}");
    };
    assert!(holder.contains(&std::process::id().to_string()), "{holder}");
    drop(journal);
    let exists = cause(Journal::create(yard.path()).unwrap_err());
    assert!(matches!(exists.cause(), Some(JournalError::Exists)));
    // With a header alone, it is a run that has not begun.
    static ONE: Function<u64, u64> = Function::new("one", |n| *n);
    let mut job = Job::new("one");
    let one = job.map("one", [1u64], &ONE);
    let pool = pool();
    let run = pool.submit_durable(job, Journal::open(yard.path()).unwrap());
    assert_eq!(*run.unwrap().output(one.at(0)).wait().unwrap(), 1);
}

#[test]
fn what_can_not_be_known_again_is_refused_by_name() {
    let yard = Yard::new();
    let mut job = Job::new("closures");
    job.task("closure", (), || 1);
    let (_pool, run) = yard.try_submit(job);
    let error = run.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert_eq!(error.task(), Some("closure"));
}

#[test]
fn the_journal_of_another_job_is_refused() {
    static ONE: Function<u64, u64> = Function::new("one", |n| *n);
    static OTHER: Function<u64, u64> = Function::new("other", |n| *n);
    let yard = Yard::new();
    let mut job = Job::new("one");
    job.map("one", [1u64], &ONE);
    let (pool, run) = yard.submit(job);
    run.wait().unwrap();
    drop((run, pool));
    let mut job = Job::new("another");
    job.map("other", [1u64], &OTHER);
    let (_pool, run) = yard.try_submit(job);
    let error = run.unwrap_err();
    assert!(matches!(error.cause(), Some(JournalError::OtherJob { job }) if job == "one"));
}
