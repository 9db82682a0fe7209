//! Calls that take too long.

use crate::watchdog::within_30s;
use crate::{Place, names, pool};
use batchyard::scoring::{Category, MiniBatch, ParallelRun, scorer};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

/// A scorer that never comes back from number 1, as long as `stuck` says so, until the sender is dropped.
fn hanging(
    tries: u32,
) -> (
    Sender<()>,
    impl Fn(&MiniBatch) -> Result<Vec<String>, batchyard::BoxError>,
) {
    let (release, held): (Sender<()>, Receiver<()>) = channel();
    let held = Mutex::new(held);
    let run = move |batch: &MiniBatch| {
        if batch.index() == 1 && batch.attempt() <= tries {
            let _ = held.lock().unwrap().recv();
        }
        names(batch)
    };
    (release, run)
}

#[test]
fn a_call_that_takes_too_long_is_tried_again_and_its_late_rows_are_thrown_away() {
    within_30s(|| {
        let place = Place::new(40);
        let (release, run) = hanging(1);
        let run = ParallelRun::new(scorer(run))
            .input(place.files())
            .call_timeout(Duration::from_millis(100));
        let pool = pool(2);
        let report = run
            .append_rows_to(place.path("out.txt"))
            .run(&pool)
            .unwrap();
        drop(release);
        assert_eq!(
            (report.rows, report.items.failed, report.table[1].picked),
            (40, 0, 2)
        );
        assert_eq!(place.lines("out.txt").len(), 40);
    });
}

#[test]
fn a_call_that_always_takes_too_long_has_failed_after_its_tries() {
    within_30s(|| {
        let place = Place::new(40);
        let (release, run) = hanging(9);
        let run = ParallelRun::new(scorer(run))
            .input(place.files())
            .call_timeout(Duration::from_millis(100));
        let report = run
            .tries(2)
            .append_rows_to(place.path("out.txt"))
            .run(&pool(4))
            .unwrap();
        drop(release);
        assert_eq!(
            (report.rows, report.items.failed, report.mini_batches.failed),
            (30, 10, 1)
        );
        let failure = report.table[1].failure.as_ref().unwrap();
        assert_eq!(failure.category, Category::RunTimeout);
        assert!(failure.origin.contains("0010"), "{}", failure.origin);
    });
}
