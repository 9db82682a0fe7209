//! Additions that are refused: all of what is wrong is told, and nothing is lost.

use crate::watchdog::within_30s;
use crate::{empty_run, pool};
use batchyard::{DefectKind, ErrorKind, Job, Resources, Task, TaskSettings};
use std::sync::Arc;

#[test]
fn a_run_that_was_sealed_ended_or_submitted_whole_takes_no_more() {
    within_30s(|| {
        let pool = pool(1);
        let whole = pool.submit(Job::new("whole")).unwrap();
        let cancelled = empty_run(&pool);
        cancelled.cancel();
        let sealed = empty_run(&pool);
        sealed.add(|more| more.task("held", (), || ())).unwrap();
        sealed.seal();
        for (run, what) in [(whole, "Job::open"), (cancelled, "ended"), (sealed, "seal")] {
            let error = run.add(|_| -> () { panic!("not described") }).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Sealed);
            let words = error.to_string();
            assert!(words.contains(what) || words.contains("ended"), "{words}");
        }
    });
}

#[test]
fn everything_that_is_wrong_is_listed_and_nothing_is_added() {
    within_30s(|| {
        let pool = pool(1);
        let mut other = Job::new("other");
        let foreign = other.task((), (), || 1);
        let mut job = Job::open("strict");
        let base = job.task("base", (), || 0);
        let run = pool.submit(job).unwrap();
        let error = run
            .add(|more| {
                more.task("base", (), || ());
                more.task("foreign", &foreign, |n: &i32| *n);
                more.add(Task::new("unknown", (), || ()).after_named("nobody"));
                let a = more.task("a", (), || ());
                more.order(a, base);
                more.keep(base);
                more.configure(base, TaskSettings::new().priority(1));
                more.priority(7);
            })
            .unwrap_err();
        let kinds: Vec<_> = error
            .defects()
            .iter()
            .map(|defect| defect.kind().clone())
            .collect();
        for kind in [
            DefectKind::DuplicateName,
            DefectKind::ForeignHandle,
            DefectKind::UnknownName("nobody".into()),
            DefectKind::AddedBefore,
            DefectKind::JobSettings,
        ] {
            assert!(kinds.contains(&kind), "{kind:?} in {error}");
        }
        assert_eq!(kinds.len(), 7, "{error}");
        // The name is free, and the run goes on.
        run.add(|more| more.task("a", (), || ())).unwrap();
        run.seal();
        assert_eq!(run.wait().unwrap().total, 2);
    });
}

#[test]
fn a_cycle_within_an_addition_is_refused() {
    within_30s(|| {
        let pool = pool(1);
        let run = empty_run(&pool);
        let error = run
            .add(|more| {
                let a = more.task("a", (), || ());
                let b = more.task("b", (), || ());
                more.order(a, b);
                more.order(b, a);
            })
            .unwrap_err();
        assert!(matches!(error.defects()[0].kind(), DefectKind::Cycle(_)));
    });
}

#[test]
fn a_request_that_no_node_can_meet_is_refused_and_leaves_no_name() {
    within_30s(|| {
        let pool = pool(1);
        let run = empty_run(&pool);
        let large = || Task::new("large", (), || ()).resources(Resources::slots(100));
        let error = run.add(|more| more.add(large())).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        run.add(|more| more.task("large", (), || ())).unwrap();
    });
}

#[test]
fn a_panic_while_describing_is_the_callers_and_adds_nothing() {
    within_30s(|| {
        let pool = pool(1);
        let run = empty_run(&pool);
        let witness = Arc::new(());
        let held = witness.clone();
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            run.add(|more| {
                more.task("lost", (), move || drop(held.clone()));
                panic!("while describing");
            })
        }));
        assert!(panicked.is_err());
        assert_eq!(Arc::strong_count(&witness), 1);
        run.add(|more| more.task("lost", (), || ())).unwrap();
        run.seal();
        assert_eq!(run.wait().unwrap().total, 1);
    });
}

#[test]
fn a_handle_of_an_addition_that_was_refused_is_no_task_of_the_run() {
    within_30s(|| {
        let pool = pool(1);
        let run = empty_run(&pool);
        let mut leaked = None;
        let refused = run.add(|more| {
            leaked = Some(more.task("a", (), || "text".to_owned()));
            more.task("a", (), || ());
        });
        assert!(refused.is_err());
        run.add(|more| more.task((), (), || 7_u64)).unwrap();
        let leaked = leaked.unwrap();
        assert_eq!(
            run.output(&leaked).wait().unwrap_err().kind(),
            ErrorKind::UnknownTask
        );
        assert_eq!(
            run.state(leaked).unwrap_err().kind(),
            ErrorKind::UnknownTask
        );
        assert!(
            run.add(|more| more.task((), &leaked, |s: &String| s.len()))
                .is_err()
        );
    });
}
