//! How much may fail, and how often a mini-batch is tried.

use crate::{Place, cause, made, names, pool};
use batchyard::scoring::{
    Category, MiniBatch, ParallelRun, Report, Scorer, ScoringError, Worker, scorer,
};
use batchyard::{BoxError, Error, ErrorKind, Permanent};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// 100 items in mini-batches of 10, of which number 3 fails, `times` times.
fn failing(times: u32) -> (Place, ParallelRun) {
    let place = Place::new(100);
    let failing = scorer(move |batch: &MiniBatch| {
        if batch.index() == 3 && batch.attempt() <= times {
            return Err(BoxError::from("number 3"));
        }
        names(batch)
    });
    let run = ParallelRun::new(failing)
        .input(place.files())
        .append_rows_to(place.path("out.txt"));
    (place, run)
}

fn with(times: u32, threshold: impl FnOnce(ParallelRun) -> ParallelRun) -> Result<Report, Error> {
    let (_place, run) = failing(times);
    threshold(run).run(&pool(2))
}

#[test]
fn the_error_threshold_counts_items_and_itself_is_borne() {
    for allowed in [0, 9] {
        let error = cause(with(9, |run| run.error_threshold(allowed)));
        let exceeded = matches!(&error, ScoringError::TooManyItems { failed: 10, allowed: a, last } if *a == allowed && last.contains("number 3"));
        assert!(exceeded, "{error}");
    }
    for allowed in [10, 11] {
        assert_eq!(
            with(9, |run| run.error_threshold(allowed))
                .unwrap()
                .items
                .failed,
            10
        );
    }
    assert_eq!(with(9, |run| run).unwrap().items.failed, 10);
}

#[test]
fn failed_mini_batches_are_limited_in_number_and_in_percent() {
    let error = cause(with(9, |run| run.allowed_failed_count(0)));
    assert!(
        matches!(
            error,
            ScoringError::TooManyMiniBatches {
                failed: 1,
                allowed: 0,
                ..
            }
        ),
        "{error}"
    );
    assert_eq!(
        with(9, |run| run.allowed_failed_count(1))
            .unwrap()
            .mini_batches
            .failed,
        1
    );
    let error = cause(with(9, |run| run.allowed_failed_percent(9.9)));
    assert!(
        matches!(
            error,
            ScoringError::TooGreatAShare {
                failed: 1,
                total: 10,
                ..
            }
        ),
        "{error}"
    );
    assert_eq!(
        with(9, |run| run.allowed_failed_percent(10.0))
            .unwrap()
            .mini_batches
            .failed,
        1
    );
}

#[test]
fn of_several_thresholds_the_one_that_is_exceeded_is_named() {
    let both = |run: ParallelRun| run.error_threshold(50).allowed_failed_count(0);
    assert!(matches!(
        cause(with(9, both)),
        ScoringError::TooManyMiniBatches { .. }
    ));
    let both = |run: ParallelRun| run.error_threshold(0).allowed_failed_count(5);
    assert!(matches!(
        cause(with(9, both)),
        ScoringError::TooManyItems { .. }
    ));
}

#[test]
fn a_mini_batch_that_succeeds_at_last_leaves_the_counts() {
    let report = with(2, |run| run.error_threshold(0).allowed_failed_count(0)).unwrap();
    assert_eq!(
        (
            report.items.failed,
            report.mini_batches.failed,
            report.reruns
        ),
        (0, 0, 2)
    );
    assert_eq!((report.rows, report.table[3].picked), (100, 3));
}

#[test]
fn tries_are_all_runs_and_a_permanent_error_has_one() {
    let picked = |tries: u32| with(9, |run| run.tries(tries)).unwrap().table[3].picked;
    assert_eq!([picked(1), picked(2), picked(5)], [1, 2, 5]);
    let place = Place::new(1);
    let permanent = scorer(|_: &MiniBatch| Err::<Vec<u8>, _>(Permanent::new("for good")));
    let report = ParallelRun::new(permanent)
        .input(place.files())
        .run(&pool(1))
        .unwrap();
    assert_eq!(report.table[0].picked, 1);
    assert_eq!(
        report.table[0].failure.as_ref().unwrap().category,
        Category::RunException
    );
}

#[test]
fn missing_rows_are_failed_items_of_a_mini_batch_that_is_not_tried_again() {
    let place = Place::new(20);
    let fewer = scorer(|batch: &MiniBatch| Ok::<_, BoxError>(names(batch)?.split_off(3)));
    let run = || {
        ParallelRun::new(fewer.clone())
            .input(place.files())
            .append_rows_to(place.path("out.txt"))
    };
    let report = run().run(&pool(1)).unwrap();
    assert_eq!(
        (report.items.failed, report.rows, report.reruns),
        (6, 14, 0)
    );
    assert_eq!(report.mini_batches.failed, 2);
    assert_eq!(place.lines("out.txt").len(), 14);
    assert!(run().error_threshold(6).run(&pool(1)).is_ok());
    assert!(matches!(
        cause(run().error_threshold(5).run(&pool(1))),
        ScoringError::TooManyItems { failed: 6, .. }
    ));
}

#[test]
fn a_run_that_ends_early_keeps_its_rows_apart() {
    let (place, run) = failing(9);
    let run = run.error_threshold(0).logs(place.path("logs"));
    cause(run.run(&pool(1)));
    assert_eq!(made(&place), ["logs", "out.txt.partial"]);
    assert!(place.lines("out.txt.partial").len() >= 30);
    assert!(
        place
            .read("logs/job_result.txt")
            .contains("error threshold is 0")
    );
    assert!(place.read("logs/user/error.txt").contains("number 3"));
}

/// Counts what is called.
#[derive(Clone, Default)]
struct Counting(Arc<[AtomicU32; 3]>);

impl Counting {
    fn counts(&self) -> [u32; 3] {
        [0, 1, 2].map(|n| self.0[n].load(Ordering::Relaxed))
    }
}

impl Scorer for Counting {
    type State = u32;
    type Row = u32;

    fn init(&self, worker: &Worker) -> Result<u32, BoxError> {
        self.0[0].fetch_add(1, Ordering::Relaxed);
        Ok(worker.number)
    }

    fn run(&self, number: &mut u32, batch: &MiniBatch) -> Result<Vec<u32>, BoxError> {
        self.0[1].fetch_add(1, Ordering::Relaxed);
        assert!(batch.index() != 5 || batch.attempt() > 1, "a panic");
        Ok(vec![*number; batch.len()])
    }

    fn shutdown(&self, _: u32) -> Result<(), BoxError> {
        self.0[2].fetch_add(1, Ordering::Relaxed);
        Err("shutdown failed".into())
    }
}

#[test]
fn init_is_once_a_worker_and_again_after_a_panic_and_shutdown_once_each() {
    let place = Place::new(100);
    let counting = Counting::default();
    let run = ParallelRun::new(counting.clone())
        .input(place.files())
        .workers_per_node(2);
    let report = run
        .append_rows_to(place.path("out.txt"))
        .run(&pool(4))
        .unwrap();
    let [made, calls, ended] = counting.counts();
    // The one that panicked is only replaced if it is needed.
    assert!(
        (2..=3).contains(&made) && ended == made - 1,
        "{made} made, {ended} ended"
    );
    assert_eq!(calls, 11);
    assert!(
        place
            .lines("out.txt")
            .iter()
            .all(|number| number == "0" || number == "1")
    );
    assert!(report.warnings[0].to_string().contains("shutdown failed"));
    assert_eq!(report.workers, 2);
}

struct NoModel;

impl Scorer for NoModel {
    type State = ();
    type Row = u32;

    fn init(&self, _: &Worker) -> Result<(), BoxError> {
        Err("no model".into())
    }

    fn run(&self, _: &mut (), _: &MiniBatch) -> Result<Vec<u32>, BoxError> {
        unreachable!("there is no worker")
    }
}

#[test]
fn an_init_that_fails_ends_the_run_with_its_error() {
    let place = Place::new(1000);
    let error = cause(
        ParallelRun::new(NoModel)
            .input(place.files())
            .workers_per_node(2)
            .run(&pool(2)),
    );
    let ScoringError::InitFailed { times, most_common } = &error else {
        panic!("{error}");
    };
    assert!(
        (3..=6).contains(times) && most_common == "no model",
        "{error}"
    );
}

#[test]
fn settings_that_can_not_be_meant_are_refused() {
    let place = Place::new(1);
    let refused = |set: fn(ParallelRun) -> ParallelRun| {
        let run = set(ParallelRun::new(scorer(names)).input(place.files()));
        assert_eq!(
            run.run(&pool(1)).unwrap_err().kind(),
            ErrorKind::InvalidSetting
        );
    };
    refused(|run| run.tries(0));
    refused(|run| run.nodes(0));
    refused(|run| run.workers_per_node(0));
    refused(|run| run.allowed_failed_percent(101.0));
    refused(|run| run.allowed_failed_percent(f64::NAN));
    refused(|run| run.mini_batch_size(MiniBatch::files(0)));
    refused(|run| run.mini_batch_size(MiniBatch::bytes(9)));
    refused(|run| {
        run.mini_batch_size(MiniBatch::files(9))
            .partition_keys(["key"])
    });
    refused(|run| run.call_timeout(std::time::Duration::ZERO));
    let nothing = ParallelRun::new(scorer(names)).run(&pool(1)).unwrap_err();
    assert_eq!(nothing.kind(), ErrorKind::InvalidSetting);
}
