//! Processes that end, or have to be ended.

use crate::place::Place;
use crate::watchdog::within_30s;
use crate::{cause, on_two, run, script};
use batchyard::scoring::{Category, MiniBatch, Report, ScoringError, Warning};
use std::path::Path;
use std::time::Duration;

/// Ten files one by one, of which number 3 ends its process in some way; always, or once.
fn ending(how: &str, once: bool) -> (Place, Report) {
    let place = Place::new(10);
    let mut scorer = script("ends_badly.py")
        .args([how])
        .env("PIDS", place.path("pids"));
    if once {
        scorer = scorer.args([place.path("once").display().to_string()]);
    }
    let run = run(&place, scorer)
        .mini_batch_size(MiniBatch::files(1))
        .call_timeout(Duration::from_secs(1));
    let report = on_two(if how == "hang" { run.tries(2) } else { run }).unwrap();
    (place, report)
}

fn fails(how: &'static str, category: Category, picked: u32, told: &'static str) {
    within_30s(move || {
        let (place, report) = ending(how, false);
        assert_eq!((report.items.succeeded, report.items.failed), (9, 1));
        assert_eq!(place.lines("out.csv").len(), 10);
        let batch = &report.table[3];
        let failure = batch.failure.as_ref().unwrap();
        assert_eq!(
            (failure.category, batch.picked),
            (category, picked),
            "{}",
            failure.message
        );
        assert!(failure.message.contains(told), "{}", failure.message);
        assert!(failure.origin.ends_with("0003"), "{}", failure.origin);
    });
}

#[test]
fn an_exception_fails_with_its_traceback() {
    fails(
        "name",
        Category::RunException,
        3,
        "name 'undefined_name' is not defined",
    );
}

#[test]
fn a_script_that_exits_fails_its_mini_batch_alone() {
    fails("sys.exit", Category::Exited, 3, "SystemExit: 42");
    fails("os._exit", Category::Exited, 3, "exit code 0 in `run`");
}

#[test]
fn a_poison_mini_batch_fails_after_it_has_killed_five_workers() {
    fails("kill", Category::Crashed, 5, "signal 9");
}

#[test]
fn a_lack_of_memory_has_its_own_name() {
    fails("memory", Category::OutOfMemory, 3, "MemoryError");
}

#[test]
fn a_death_that_was_no_fault_of_the_mini_batch_is_not_counted() {
    within_30s(|| {
        for how in ["kill", "sys.exit", "os._exit", "name"] {
            let (place, report) = ending(how, true);
            assert_eq!((report.items.failed, report.reruns), (0, 1), "{how}");
            assert_eq!(place.lines("out.csv").len(), 11);
        }
    });
}

#[test]
fn binary_output_and_forks_do_not_disturb_the_rows() {
    within_30s(|| {
        for how in ["binary", "fork"] {
            let (place, report) = ending(how, false);
            assert_eq!((report.items.succeeded, report.rows), (10, 10), "{how}");
            assert_eq!(place.lines("out.csv").len(), 11);
        }
    });
}

#[test]
fn a_call_that_takes_too_long_is_killed_with_its_children() {
    within_30s(|| {
        let (place, report) = ending("hang", false);
        assert_eq!((report.items.succeeded, report.items.failed), (9, 1));
        let failure = report.table[3].failure.as_ref().unwrap();
        assert_eq!(failure.category, Category::RunTimeout);
        assert!(
            failure.message.contains("longer than 1s"),
            "{}",
            failure.message
        );
        let pids = place.lines("pids");
        assert_eq!(pids.len(), 4);
        for pid in pids {
            let state = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            assert!(
                state.is_empty() || state.contains(") Z "),
                "{pid} lives: {state}"
            );
        }
    });
}

#[test]
fn a_leaking_script_is_replaced_in_good_order() {
    within_30s(|| {
        let place = Place::new(12);
        let scorer = || script("leaks.py").env("MARKER", place.path("marker"));
        let one_by_one = |scorer| {
            run(&place, scorer)
                .mini_batch_size(MiniBatch::files(1))
                .workers_per_node(1)
        };
        let report = on_two(one_by_one(scorer().recycle_after(5))).unwrap();
        assert_eq!((report.items.failed, report.reruns), (0, 0));
        assert_eq!(place.lines("marker"), ["5", "5", "2"]);
        std::fs::remove_file(place.path("marker")).unwrap();
        on_two(one_by_one(scorer().recycle_above(60 << 20))).unwrap();
        let calls: Vec<u32> = place
            .lines("marker")
            .iter()
            .map(|calls| calls.parse().unwrap())
            .collect();
        assert!(
            calls.len() > 1 && calls.iter().sum::<u32>() == 12,
            "{calls:?}"
        );
    });
}

#[test]
fn a_shutdown_that_fails_or_hangs_is_a_warning() {
    within_30s(|| {
        for (how, told) in [("raise", "could not flush"), ("hang", "longer than")] {
            let place = Place::new(2);
            let run = run(&place, script("slow_shutdown.py").args([how]))
                .shutdown_timeout(Duration::from_millis(300));
            let report = on_two(run).unwrap();
            let found = report
                .warnings
                .iter()
                .any(|warning| matches!(warning, Warning::Shutdown(error) if error.contains(told)));
            assert!(found, "{:?}", report.warnings);
            assert_eq!(place.lines("out.csv").len(), 3);
        }
    });
}

#[test]
fn a_run_that_ends_early_kills_what_runs_and_shuts_down_the_rest() {
    within_30s(|| {
        let place = Place::new(10);
        let scorer = script("ends_badly.py").args(["name"]);
        let run = run(&place, scorer)
            .mini_batch_size(MiniBatch::files(1))
            .error_threshold(0);
        assert!(matches!(
            cause(on_two(run)),
            ScoringError::TooManyItems { failed: 1, .. }
        ));
        assert!(Path::new(&place.path("out.csv.partial")).exists());
    });
}

#[test]
fn a_cancelled_run_leaves_no_process() {
    within_30s(|| {
        let place = Place::new(10);
        let scorer = script("ends_badly.py")
            .args(["hang"])
            .env("PIDS", place.path("pids"));
        let mut job = batchyard::Job::new("cancelled");
        run(&place, scorer)
            .mini_batch_size(MiniBatch::files(1))
            .add_to(&mut job)
            .unwrap();
        let pool = batchyard::Pool::new(batchyard::ThreadExecutor::new(2).unwrap());
        let run = pool.submit(job).unwrap();
        while !place.path("pids").exists() || place.lines("pids").len() < 2 {
            std::thread::yield_now();
        }
        run.cancel();
        drop(run);
        pool.close(batchyard::Close::Cancel, Duration::from_secs(10));
        drop(pool);
        for pid in place.lines("pids") {
            while std::fs::read_to_string(format!("/proc/{pid}/stat"))
                .is_ok_and(|stat| !stat.contains(") Z "))
            {
                std::thread::yield_now();
            }
        }
    });
}
