//! Which condition applies.

use crate::watchdog::within_30s;
use crate::{exiting, exits, pool};
use DependencyAction::{Block, Satisfy};
use batchyard::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// How a task ends that depends, without a value, on one that fails like this.
fn dependent_of(
    conditions: ExitConditions,
    fail: impl Fn() -> std::result::Result<(), BoxError> + Send + Sync + 'static,
) -> TaskState {
    within_30s(move || {
        let mut job = Job::new("one to one");
        let first = job.add(Task::new("first", (), fallible(fail)).exit_conditions(conditions));
        let then = job.task_after("then", [first.into()], || ());
        let pool = pool();
        let run = pool.submit(job).expect("submitted");
        let _ = run.wait();
        run.state(then).expect("known")
    })
}

fn with_code(conditions: ExitConditions, code: i32) -> TaskState {
    dependent_of(conditions, move || Ok(exits(code)()?))
}

const RUNS: TaskState = TaskState::Succeeded;
const SKIPPED: TaskState = TaskState::Skipped;

#[test]
fn a_listed_exit_code_applies_and_another_does_not() {
    let conditions = ExitConditions::new().code(3, Satisfy);
    assert_eq!(with_code(conditions.clone(), 3), RUNS);
    assert_eq!(with_code(conditions, 4), SKIPPED);
}

#[test]
fn a_range_of_exit_codes_holds_both_its_ends() {
    let conditions = ExitConditions::new().range(3..=5, Satisfy);
    let ends = [2, 3, 4, 5, 6].map(|code| with_code(conditions.clone(), code));
    assert_eq!(ends, [SKIPPED, RUNS, RUNS, RUNS, SKIPPED]);
}

#[test]
fn a_code_listed_by_itself_goes_before_a_range_and_the_first_range_before_the_next() {
    let conditions = ExitConditions::new()
        .range(1..=9, Satisfy)
        .range(5..=20, Block)
        .code(4, Block);
    let ends = [3, 4, 5, 10].map(|code| with_code(conditions.clone(), code));
    assert_eq!(ends, [RUNS, SKIPPED, RUNS, SKIPPED]);
}

#[test]
fn an_unlisted_code_and_a_failure_without_a_code_are_otherwise() {
    let conditions = ExitConditions::new().code(3, Block).otherwise(Satisfy);
    assert_eq!(with_code(conditions.clone(), 4), RUNS);
    assert_eq!(
        dependent_of(conditions.clone(), || Err("no code".into())),
        RUNS
    );
    assert_eq!(
        dependent_of(conditions.clone(), || panic!("no code either")),
        RUNS
    );
    assert_eq!(with_code(conditions, 3), SKIPPED);
}

#[test]
fn without_conditions_a_failure_blocks_and_a_success_satisfies() {
    assert_eq!(with_code(ExitConditions::new(), 1), SKIPPED);
    assert_eq!(with_code(ExitConditions::new(), 0), RUNS);
}

#[test]
fn exit_0_never_uses_otherwise_and_is_changed_by_listing_it() {
    assert_eq!(with_code(ExitConditions::new().otherwise(Block), 0), RUNS);
    assert_eq!(with_code(ExitConditions::new().code(0, Block), 0), SKIPPED);
    assert_eq!(
        with_code(ExitConditions::new().range(-1..=1, Block), 0),
        SKIPPED
    );
}

#[test]
fn an_exit_code_is_found_among_the_sources_of_an_error() {
    #[derive(Debug, thiserror::Error)]
    #[error("the simulation diverged")]
    struct Diverged(#[source] ExitCode);
    let conditions = ExitConditions::new().code(7, Satisfy);
    let fail = || Err(BoxError::from(Diverged(ExitCode(7))));
    assert_eq!(dependent_of(conditions.clone(), fail), RUNS);
    let permanent = || Err(BoxError::from(Permanent::new(ExitCode(7))));
    assert_eq!(dependent_of(conditions, permanent), RUNS);
}

#[test]
fn a_pre_processing_error_has_a_condition_of_its_own_or_is_otherwise() {
    let fail = || Err(PreProcessingError::new("no such image").into());
    let own = ExitConditions::new()
        .pre_processing_error(Satisfy)
        .otherwise(Block);
    assert_eq!(dependent_of(own, fail), RUNS);
    let other = ExitConditions::new()
        .file_upload_error(Block)
        .otherwise(Satisfy);
    assert_eq!(dependent_of(other, fail), RUNS);
    let none = ExitConditions::new().file_upload_error(Satisfy);
    assert_eq!(dependent_of(none, fail), SKIPPED);
}

#[test]
fn an_upload_error_has_a_condition_of_its_own_or_is_otherwise() {
    let fail = || {
        Err(FileUploadError::new("the disk is full")
            .after(ExitCode(0))
            .into())
    };
    let own = ExitConditions::new()
        .file_upload_error(Satisfy)
        .otherwise(Block);
    assert_eq!(dependent_of(own, fail), RUNS);
    let other = ExitConditions::new()
        .pre_processing_error(Block)
        .otherwise(Satisfy);
    assert_eq!(dependent_of(other, fail), RUNS);
}

#[test]
fn a_listed_exit_code_outranks_a_later_upload_error() {
    let conditions = ExitConditions::new()
        .code(3, Satisfy)
        .code(0, Satisfy)
        .file_upload_error(Block);
    for (code, end) in [(0, RUNS), (3, RUNS), (4, SKIPPED)] {
        let fail = move || {
            Err(FileUploadError::new("the disk is full")
                .after(ExitCode(code))
                .into())
        };
        assert_eq!(dependent_of(conditions.clone(), fail), end);
    }
}

#[test]
fn conditions_apply_to_the_last_attempt_of_a_task_that_is_retried() {
    for (last, end) in [(2, RUNS), (1, SKIPPED)] {
        let attempts = Arc::new(AtomicU32::new(0));
        let count = attempts.clone();
        let body = move |cx: &Context| -> std::result::Result<(), ExitCode> {
            count.fetch_add(1, Ordering::Relaxed);
            Err(ExitCode(if cx.attempt() == 3 { last } else { 2 }))
        };
        let mut job = Job::new("last attempt");
        let first = Task::new("first", (), fallible(body)).max_retries(2);
        let conditions = ExitConditions::new()
            .code(2, Satisfy)
            .code(1, JobAction::Terminate);
        let first = job.add(first.backoff(Backoff::none()).exit_conditions(conditions));
        let then = job.task_after("then", [first.into()], || ());
        let pool = pool();
        let run = pool.submit(job).expect("submitted");
        run.wait().expect_err("a task failed");
        assert_eq!(attempts.load(Ordering::Relaxed), 3);
        assert_eq!(run.state(then).expect("known"), end);
    }
}

#[test]
fn errors_before_and_after_the_body_use_no_retry() {
    let fails: [fn() -> BoxError; 2] = [
        || PreProcessingError::new("no such file").into(),
        || FileUploadError::new("no such bucket").into(),
    ];
    for fail in fails {
        let mut job = Job::new("no retry");
        let task = Task::new("task", (), fallible(move || Err::<(), _>(fail()))).max_retries(9);
        let task = job.add(task.backoff(Backoff::none()));
        let pool = pool();
        let run = pool.submit(job).expect("submitted");
        let error = run.output(&task).wait().expect_err("fails");
        assert_eq!(error.attempt(), Some(1));
    }
}

#[test]
fn a_time_limit_that_is_over_is_otherwise() {
    within_30s(|| {
        let mut job = Job::new("time");
        let body = |cx: &Context| while !cx.is_cancelled() {};
        let first = Task::new("first", (), body).time_limit(Duration::from_millis(1));
        let first = job.add(first.exit_conditions(ExitConditions::new().otherwise(Satisfy)));
        let then = job.task_after("then", [first.into()], || ());
        let pool = pool();
        let run = pool.submit(job).expect("submitted");
        run.output(&then).wait().expect("satisfied");
    });
}

#[test]
fn the_conditions_of_a_job_are_those_of_tasks_that_set_none() {
    within_30s(|| {
        let mut job = Job::new("defaults");
        job.defaults(TaskSettings::new().exit_conditions(ExitConditions::new().otherwise(Satisfy)));
        let first = job.task("first", (), fallible(exits(1)));
        let then = job.task_after("then", [first.into()], || ());
        let own = job.add(exiting("own", 1, ExitConditions::new().code(2, Satisfy)));
        let not = job.task_after("not", [own.into()], || ());
        let pool = pool();
        let run = pool.submit(job).expect("submitted");
        run.wait().expect_err("tasks failed");
        assert_eq!(run.state(then).expect("known"), RUNS);
        assert_eq!(run.state(not).expect("known"), SKIPPED);
    });
}

#[test]
fn a_range_without_codes_is_refused() {
    let mut job = Job::new("empty range");
    #[expect(clippy::reversed_empty_ranges, reason = "that is what is refused")]
    job.add(exiting(
        "task",
        0,
        ExitConditions::new().range(9..=1, Block),
    ));
    let error = pool().submit(job).expect_err("refused");
    assert_eq!(error.defects()[0].kind(), &DefectKind::EmptyExitCodes(9, 1));
    assert_eq!(error.defects()[0].task(), Some("task"));
}

#[test]
fn settings_with_conditions_survive_serialisation() {
    let conditions = ExitConditions::new()
        .code(1, JobAction::Disable)
        .range(2..=5, ExitOptions::new().dependency_action(Satisfy))
        .pre_processing_error(Block)
        .otherwise(JobAction::Terminate);
    let settings = TaskSettings::new()
        .max_recoveries(2)
        .exit_conditions(conditions);
    let text = serde_json::to_string(&settings).expect("serialised");
    let back: TaskSettings = serde_json::from_str(&text).expect("read");
    assert_eq!(back, settings);
}
