//! Parallel runs as parts of larger jobs.

use crate::{Place, names, pool};
use batchyard::scoring::{Files, Input, MiniBatch, ParallelRun, Report, ScoringError, scorer};
use batchyard::{BoxError, Job, TaskState, fallible};
use std::fs;

#[test]
fn a_run_scores_what_an_earlier_task_made_and_hands_its_rows_on() -> Result<(), BoxError> {
    let place = Place::new(0);
    let (made, output) = (place.path("in"), place.path("out.txt"));
    let mut job = Job::new("pipeline");
    let prepared = job.task(
        "prepare",
        (),
        fallible(move || {
            (0..25).try_for_each(|n| fs::write(made.join(n.to_string()), ""))?;
            Ok::<Input, BoxError>(Files::directory(&made)?.into())
        }),
    );
    let report = ParallelRun::new(scorer(names))
        .input_from(&prepared)
        .append_rows_to(&output)
        .add_to(&mut job)?;
    let lines = job.task(
        "evaluate",
        &report,
        fallible(|report: &Report| {
            let rows = fs::read_to_string(report.output.as_ref().ok_or("no output")?)?;
            Ok::<_, BoxError>(rows.lines().count())
        }),
    );
    let pool = pool(2);
    assert_eq!(*pool.submit(job)?.output(&lines).wait()?, 25);
    Ok(())
}

#[test]
fn a_frozen_job_scores_anew_each_time() -> Result<(), BoxError> {
    let place = Place::new(25);
    let mut job = Job::new("again");
    let run = ParallelRun::new(scorer(names))
        .input(place.files())
        .append_rows_to(place.path("out.txt"));
    let report = run.add_to(&mut job)?;
    let (job, pool) = (job.freeze()?, pool(2));
    for _ in 0..3 {
        let run = pool.submit(&job)?;
        let report = run.output(&report).wait()?;
        assert_eq!((report.rows, report.mini_batches.total), (25, 3));
        assert_eq!(place.lines("out.txt").len(), 25);
    }
    Ok(())
}

#[test]
fn it_waits_for_what_it_comes_after_and_two_in_a_job_need_two_names() -> Result<(), BoxError> {
    let place = Place::new(1);
    let out = place.path("in/late");
    let mut job = Job::new("after");
    let late = job.task("late", (), fallible(move || fs::write(&out, "")));
    let files = Files::list([place.path("in/late")]);
    let run = || {
        let there = scorer(|batch: &MiniBatch| {
            assert!(batch.paths()[0].exists());
            names(batch)
        });
        ParallelRun::new(there)
            .input(files.clone())
            .tries(1)
            .error_threshold(0)
    };
    let first = run().after(late).add_to(&mut job)?;
    let second = run().name("second").after(late).add_to(&mut job)?;
    let pool = pool(2);
    let run = pool.submit(job)?;
    run.wait()?;
    assert_eq!(
        run.output(&first).wait()?.rows + run.output(&second).wait()?.rows,
        2
    );
    Ok(())
}

#[test]
fn what_depends_on_a_run_that_ended_early_is_skipped() -> Result<(), BoxError> {
    let place = Place::new(10);
    let mut job = Job::new("early");
    let fails = scorer(|_: &MiniBatch| Err::<Vec<u8>, _>("fails"));
    let report = ParallelRun::new(fails)
        .input(place.files())
        .error_threshold(1)
        .add_to(&mut job)?;
    let next = job.task("next", &report, |_: &Report| ());
    let pool = pool(2);
    let run = pool.submit(job)?;
    let error = run.wait().unwrap_err();
    assert!(error.cause::<ScoringError>().is_some(), "{error}");
    assert_eq!(run.state(next)?, TaskState::Skipped);
    Ok(())
}

#[test]
fn more_mini_batches_than_were_said_are_an_error_and_not_left_out() -> Result<(), BoxError> {
    let place = Place::new(30);
    let input: Input = place.files().into();
    let mut job = Job::new("many");
    let made = job.task("make", (), move || input.clone());
    let run = ParallelRun::new(scorer(names))
        .input_from(&made)
        .at_most(2)
        .append_rows_to(place.path("out.txt"));
    let report = run.add_to(&mut job)?;
    let pool = pool(1);
    let error = pool.submit(job)?.output(&report).wait().unwrap_err();
    assert!(error.to_string().contains("at_most"), "{error}");
    assert_eq!(place.lines("out.txt.partial").len(), 20);
    Ok(())
}
