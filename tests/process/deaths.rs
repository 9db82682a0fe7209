//! Bodies that take their process with them.

use crate::children;
use crate::functions::{CODE, END, End, FINAL, SECOND_ATTEMPT};
use batchyard::{
    BodyError, ChildDied, Ending, Error, ErrorKind, ExitCode, Job, Permanent, Pool, TaskSettings,
    TaskState,
};

/// Runs an element that ends so among thirty that end well.
fn among_others(how: End) -> Error {
    let pool = Pool::new(children(2));
    let mut job = Job::new("deaths");
    let ends = job.map(
        "end",
        (0..31).map(|n| if n == 13 { how } else { End::Well }),
        &END,
    );
    let run = pool.submit(job).unwrap();
    let error = run.output(ends.at(13)).wait().unwrap_err();
    run.wait().unwrap_err();
    let counts = run.counts();
    assert_eq!(
        (counts.succeeded, counts.failed),
        (30, 1),
        "{how:?}: {error}"
    );
    assert_eq!(run.attempts(ends.at(12)).unwrap().len(), 0);
    error
}

fn death(how: End) -> ChildDied {
    let error = among_others(how);
    assert_eq!(error.kind(), ErrorKind::TaskFailed);
    let died = error.cause::<ChildDied>();
    died.unwrap_or_else(|| panic!("{error}")).clone()
}

#[test]
fn an_error_stays_its_own() {
    let error = among_others(End::Error);
    assert!(error.to_string().contains("on purpose"), "{error}");
    assert!(error.cause::<BodyError>().is_some(), "{error}");
}

#[test]
fn a_panic_is_a_failure_with_its_message_and_place() {
    let error = among_others(End::Panic);
    let panic = error.panic().unwrap();
    assert_eq!(panic.message(), "on purpose");
    assert!(panic.place().unwrap().contains("functions.rs"));
}

#[test]
fn an_abort_ends_one_attempt() {
    assert_eq!(death(End::Abort).ending(), Ending::Signal(6));
}

#[test]
fn a_segmentation_fault_ends_one_attempt() {
    assert_eq!(death(End::Segfault).ending(), Ending::Signal(11));
}

#[test]
fn an_overflow_of_the_stack_ends_one_attempt_and_is_named() {
    let died = death(End::StackOverflow);
    assert!(died.last_words().contains("overflowed its stack"), "{died}");
}

#[test]
fn an_exit_ends_one_attempt_whatever_its_code() {
    assert_eq!(death(End::Exit(0)).ending(), Ending::Code(0));
    let error = among_others(End::Exit(3));
    assert_eq!(error.cause::<ExitCode>(), Some(&ExitCode(3)));
}

#[test]
fn a_body_that_has_its_child_killed_again_and_again_counts_as_the_cause() {
    let error = among_others(End::Signal(9));
    assert!(error.to_string().contains("lost its node"), "{error}");
}

#[test]
fn a_signal_of_somebodys_is_named() {
    assert_eq!(death(End::Signal(15)).ending(), Ending::Signal(15));
}

#[test]
fn a_poison_task_is_retried_as_often_as_its_settings_say() {
    let pool = Pool::new(children(2));
    let mut job = Job::new("poison");
    let poison = job.map("poison", [End::Abort], &END);
    let settings = TaskSettings::new()
        .max_retries(2)
        .backoff(batchyard::Backoff::none());
    job.configure(poison, settings);
    let others = job.map("others", [End::Well; 200], &END);
    let run = pool.submit(job).unwrap();
    run.wait().unwrap_err();
    assert_eq!(run.attempts(poison.at(0)).unwrap().len(), 3);
    assert_eq!(run.counters(poison.at(0)).unwrap().retries, 2);
    assert_eq!(run.counts().succeeded, 200);
    assert_eq!(run.state(others.at(0)).unwrap(), TaskState::Succeeded);
}

#[test]
fn another_attempt_knows_its_number() {
    let pool = Pool::new(children(1));
    let mut job = Job::new("attempts");
    let second = job.map("second", [0u64], &SECOND_ATTEMPT);
    job.configure(
        second,
        TaskSettings::new()
            .max_retries(1)
            .backoff(batchyard::Backoff::none()),
    );
    let run = pool.submit(job).unwrap();
    assert_eq!(*run.output(second.at(0)).wait().unwrap(), 2);
}

#[test]
fn exit_codes_and_final_errors_mean_what_they_mean_on_threads() {
    let pool = Pool::new(children(1));
    let mut job = Job::new("codes");
    let code = job.map("code", [7], &CODE);
    let settings = || {
        TaskSettings::new()
            .max_retries(3)
            .backoff(batchyard::Backoff::none())
    };
    let last = job.map("final", [7u64], &FINAL);
    job.configure(last, settings());
    let run = pool.submit(job).unwrap();
    let error = run.output(code.at(0)).wait().unwrap_err();
    assert_eq!(error.cause::<ExitCode>(), Some(&ExitCode(7)));
    let error = run.output(last.at(0)).wait().unwrap_err();
    assert!(error.cause::<Permanent>().is_some(), "{error}");
    assert_eq!(run.counters(last.at(0)).unwrap().retries, 0);
}
