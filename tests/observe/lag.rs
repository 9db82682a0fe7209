//! A reader that is too slow is told so, and never slows a run.

use crate::watchdog::within_30s;
use crate::{number, pool};
use batchyard::{EventKind, Job, Update};

#[test]
fn a_reader_that_lags_is_told_how_much_it_missed_and_how_everything_stands() {
    within_30s(|| {
        let pool = pool(2);
        let listener = pool.events().capacity(10);
        let mut job = Job::new("many");
        job.array("many", 1_000, |_: &usize| ());
        pool.submit(job).unwrap().wait().unwrap();
        drop(pool);

        let updates: Vec<_> = listener.blocking().collect();
        let Update::Lagged(lost) = updates[0] else {
            panic!("{}", updates[0]);
        };
        let Update::Snapshot(snapshot) = &updates[1] else {
            panic!("{}", updates[1]);
        };
        let run = &snapshot.runs[0];
        assert!(run.ended && run.counts.succeeded == 1_000);
        // What is in the snapshot and what is told after it is everything.
        let told = updates.len() as u64 - 2;
        assert!(lost >= 2_000, "{lost}");
        let last = match &updates[updates.len() - 1] {
            Update::Event(event) => number(event),
            _ => lost,
        };
        assert_eq!(lost + told, last);
    });
}

#[test]
fn a_reader_that_is_never_read_holds_nobody_up() {
    within_30s(|| {
        let pool = pool(2);
        let listener = pool.events().capacity(1);
        let mut job = Job::new("unread");
        job.array((), 200_000, |_: &usize| ());
        let counts = pool.submit(job).unwrap().wait().unwrap();
        assert_eq!(counts.succeeded, 200_000);
        drop(listener);
    });
}

#[test]
fn whoever_has_lagged_hears_of_what_comes_after() {
    within_30s(|| {
        let pool = pool(1);
        let mut updates = pool.events().capacity(50).blocking();
        let mut others = pool.events().blocking();
        let mut job = Job::new("first");
        job.array((), 500, |_: &usize| ());
        pool.submit(job).unwrap();
        // When one has been told of the end, the other's is lost.
        assert!(others.any(|update| ended(&update, "first")));
        assert!(updates.any(|update| matches!(update, Update::Lagged(_))));
        let mut job = Job::new("second");
        job.task("last", (), || ());
        pool.submit(job).unwrap().wait().unwrap();
        assert!(updates.any(|update| ended(&update, "second")));
    });
}

fn ended(update: &Update, job: &str) -> bool {
    let Update::Event(event) = update else {
        return false;
    };
    let run = event.run.as_ref();
    run.is_some_and(|run| run.job() == job) && matches!(event.kind, EventKind::RunEnded { .. })
}
