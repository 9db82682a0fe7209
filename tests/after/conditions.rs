//! Reactivated tasks among exit conditions, edges after any outcome, and runs that are disabled or terminated.

use crate::reactivate::{Machine, pool, state};
use crate::watchdog::within_30s;
use batchyard::*;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, Ordering::SeqCst};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};

/// A body that counts how often it is run.
fn counting(count: &Arc<AtomicU32>) -> impl Fn() + Send + Sync + 'static {
    let count = count.clone();
    move || {
        count.fetch_add(1, SeqCst);
    }
}

/// A body that goes on when it is told to.
fn held() -> (Sender<()>, impl Fn() + Send + Sync + 'static) {
    let (go_on, goes_on) = channel();
    let goes_on = Mutex::new(goes_on);
    (go_on, move || goes_on.lock().unwrap().recv().unwrap())
}

/// A body that exits with the code that is set.
fn exits(code: &Arc<AtomicI32>) -> impl Fn() -> std::result::Result<(), ExitCode> + use<> {
    let code = code.clone();
    move || match code.load(SeqCst) {
        0 => Ok(()),
        code => Err(ExitCode(code)),
    }
}

fn satisfied_by(code: i32) -> ExitConditions {
    ExitConditions::new().code(code, DependencyAction::Satisfy)
}

#[test]
fn what_ran_after_any_outcome_does_not_run_again_when_the_outcome_changes() {
    within_30s(|| {
        let (machine, cleaned) = (Machine::default(), Arc::default());
        let mut job = Job::new("clean up");
        let broken = machine.clone();
        let work = job.task("work", (), fallible(move || broken.run(1)));
        let clean = job.task("clean", (), counting(&cleaned));
        job.order_any_outcome(work, clean);
        let read = job.task("read", &work, |n: &i32| *n);
        let pool = pool();
        let run = pool.submit(job).expect("submitted");
        run.wait().expect_err("broken");
        assert_eq!(state(&run, clean), TaskState::Succeeded);

        machine.mend();
        assert_eq!(run.reactivate_failed().expect("open"), 2);
        assert_eq!(run.wait().expect("mended").succeeded, 3);
        assert_eq!(*run.output(&read).wait().expect("read"), 1);
        assert_eq!(cleaned.load(SeqCst), 1);
    });
}

#[test]
fn what_was_let_go_and_waits_for_others_runs_once_whatever_is_reactivated_meanwhile() {
    within_30s(|| {
        for again in [0, 1, 3] {
            let (machine, cleaned) = (Machine::default(), Arc::default());
            let (go_on, wait) = held();
            let mut job = Job::new("clean up");
            let broken = machine.clone();
            let work = job.task("work", (), fallible(move || broken.run(())));
            let other = job.task("other", (), wait);
            let clean = job.task("clean", (), counting(&cleaned));
            job.order_any_outcome(work, clean);
            job.order(other, clean);
            let pool = pool();
            let run = pool.submit(job).expect("submitted");
            run.output(&work).wait().expect_err("broken");
            for _ in 0..again {
                run.reactivate(work).expect("failed");
                let _ = run.output(&work).wait();
            }
            machine.mend();
            run.reactivate(work).expect("failed");
            run.output(&work).wait().expect("mended");
            assert_eq!(
                (state(&run, clean), cleaned.load(SeqCst)),
                (TaskState::Waiting, 0)
            );
            go_on.send(()).unwrap();
            assert_eq!(run.wait().expect("mended").succeeded, 3);
            assert_eq!(cleaned.load(SeqCst), 1);
        }
    });
}

#[test]
fn what_comes_back_too_waits_again_for_what_it_follows_after_any_outcome() {
    within_30s(|| {
        let (machine, work_done) = (Machine::default(), Arc::new(AtomicBool::new(false)));
        let mut job = Job::new("clean up");
        let (broken, done) = (machine.clone(), work_done.clone());
        let works = move || broken.run(()).inspect(|()| done.store(true, SeqCst));
        let work = job.task("work", (), fallible(works));
        let other = job.task("other", (), || ());
        let (broken, done) = (machine.clone(), work_done);
        let cleans = move || broken.run(()).map(|()| done.load(SeqCst));
        let clean = job.task("clean", (), fallible(cleans));
        job.order_any_outcome(work, clean);
        let broken = machine.clone();
        let both = job.task("both", (), fallible(move || broken.run(())));
        job.order_any_outcome(work, both);
        job.order(other, both);
        let pool = pool();
        let run = pool.submit(job).expect("submitted");
        run.wait().expect_err("broken");
        let before = machine.tried.load(SeqCst);
        machine.mend();
        assert_eq!(run.reactivate_failed().expect("open"), 3);
        assert_eq!(run.wait().expect("mended").succeeded, 4);
        assert!(
            *run.output(&clean).wait().expect("cleaned"),
            "after the work"
        );
        assert_eq!(machine.tried.load(SeqCst), before + 3);
    });
}

#[test]
fn what_a_failure_satisfied_does_not_run_again_and_what_needs_the_value_does_then() {
    within_30s(|| {
        let (code, ran) = (Arc::new(AtomicI32::new(1)), Arc::default());
        let mut job = Job::new("satisfy");
        let work = Task::new("work", (), fallible(exits(&code)));
        let work = job.add(work.exit_conditions(satisfied_by(1)));
        job.task_after("after", [work.into()], counting(&ran));
        let reads = job.task("reads", &work, |(): &()| 7);
        let pool = pool();
        let run = pool.submit(job).expect("submitted");
        run.wait().expect_err("exits with 1");
        assert_eq!(
            (ran.load(SeqCst), state(&run, reads)),
            (1, TaskState::Skipped)
        );

        code.store(0, SeqCst);
        assert_eq!(run.reactivate(work).expect("failed"), 2);
        assert_eq!(run.wait().expect("exits with 0").succeeded, 3);
        assert_eq!(ran.load(SeqCst), 1);
    });
}

#[test]
fn what_was_let_go_stays_so_when_the_next_end_would_block_it() {
    within_30s(|| {
        let (code, ran) = (Arc::new(AtomicI32::new(1)), Arc::default());
        let (go_on, wait) = held();
        let mut job = Job::new("satisfy");
        let work = Task::new("work", (), fallible(exits(&code)));
        let work = job.add(work.exit_conditions(satisfied_by(1)));
        let other = job.task("other", (), wait);
        let after = job.task_after("after", [work.into(), other.into()], counting(&ran));
        let pool = pool();
        let run = pool.submit(job).expect("submitted");
        run.output(&work).wait().expect_err("exits with 1");
        code.store(2, SeqCst);
        run.reactivate(work).expect("failed");
        run.output(&work).wait().expect_err("exits with 2");
        go_on.send(()).unwrap();
        run.wait().expect_err("work failed");
        assert_eq!(
            (state(&run, after), ran.load(SeqCst)),
            (TaskState::Succeeded, 1)
        );
    });
}

#[test]
fn what_an_element_blocks_comes_back_with_it_although_another_has_failed() {
    within_30s(|| {
        let (code, ran) = (Arc::new(AtomicI32::new(2)), Arc::<AtomicU32>::default());
        let mut job = Job::new("elements");
        let exit = code.clone();
        let body = move |n: &i32| match (n, exit.load(SeqCst)) {
            (0, _) => Err(ExitCode(1)),
            (1, code) if code != 0 => Err(ExitCode(code)),
            _ => Ok(*n),
        };
        let work = job.map("work", 0..4, fallible(body));
        job.configure(work, TaskSettings::new().exit_conditions(satisfied_by(1)));
        let after = job.task_after("after", [work.into()], counting(&ran));
        let clean = job.task("clean", (), counting(&ran));
        job.order_any_outcome(work, clean);
        let pool = pool();
        let run = pool.submit(job).expect("submitted");
        run.wait().expect_err("two elements fail");
        assert_eq!(
            (state(&run, after), ran.load(SeqCst)),
            (TaskState::Skipped, 1)
        );

        code.store(0, SeqCst);
        assert_eq!(run.reactivate(work.at(1)).expect("failed"), 2);
        run.wait().expect_err("the first element has failed");
        assert_eq!(
            (state(&run, after), ran.load(SeqCst)),
            (TaskState::Succeeded, 2)
        );
        assert_eq!((run.counts().failed, run.counts().skipped), (1, 0));
    });
}

#[test]
fn what_waits_by_azures_rules_runs_once_what_failed_has_been_reactivated() {
    within_30s(|| {
        let machine = Machine::default();
        let mut job = Job::new("azure");
        job.azure_defaults();
        let broken = machine.clone();
        let work = job.task("work", (), fallible(move || broken.run(3)));
        let read = job.task("read", &work, |n: &i32| n * 2);
        let pool = pool();
        let run = pool.submit(job).expect("submitted");
        run.output(&work).wait().expect_err("broken");
        assert_eq!(
            (state(&run, read), run.has_ended()),
            (TaskState::Waiting, false)
        );
        let words = run.explain_all().to_string();
        assert!(words.contains("blocked for good by `work`"), "{words}");
        machine.mend();
        assert_eq!(run.reactivate(work).expect("failed"), 1);
        assert_eq!(*run.output(&read).wait().expect("read"), 6);
        assert_eq!(run.wait().expect("mended").succeeded, 2);
    });
}

#[test]
fn a_skipped_task_whose_predecessor_succeeded_and_blocks_says_so() {
    let mut job = Job::new("block");
    let blocks = ExitConditions::new().code(0, DependencyAction::Block);
    let work = job.add(Task::new("work", (), || 1).exit_conditions(blocks));
    let read = job.task("read", &work, |n: &i32| *n);
    let pool = pool();
    let run = pool.submit(job).expect("submitted");
    run.wait().expect("nothing failed");
    assert_eq!(state(&run, read), TaskState::Skipped);
    let error = run.reactivate(read).expect_err("blocked").to_string();
    assert!(
        error.contains("`work` succeeded, and its exit conditions block"),
        "{error}"
    );
}

#[test]
fn of_a_terminated_run_only_what_failed_is_reactivated_with_the_failed() {
    within_30s(|| {
        let machine = Machine::default();
        let (go_on, wait) = held();
        let mut job = Job::new("terminated");
        let broken = machine.clone();
        let work = job.task("work", (), fallible(move || broken.run(())));
        let other = job.task("other", (), wait);
        let pool = pool();
        let run = pool.submit(job).expect("submitted");
        run.output(&work).wait().expect_err("broken");
        run.terminate("enough");
        run.wait().expect_err("terminated");
        machine.mend();
        assert_eq!(run.reactivate_failed().expect("open"), 1);
        run.wait().expect("the reason to end it is gone");
        assert_eq!(state(&run, other), TaskState::Cancelled);
        go_on.send(()).unwrap();
        go_on.send(()).unwrap();
        assert_eq!(run.reactivate_all().expect("open"), 1);
        assert_eq!(run.wait().expect("all run").succeeded, 2);
    });
}

#[test]
fn a_run_that_a_failure_terminated_goes_on_with_all_that_was_cancelled() {
    within_30s(|| {
        let machine = Machine::default();
        let mut job = Job::new("job action");
        let broken = machine.clone();
        let ends = ExitConditions::new().otherwise(JobAction::Terminate);
        let work = Task::new("work", (), fallible(move || broken.run(())));
        let work = job.add(work.exit_conditions(ends));
        let late = job.task("late", (), || ());
        job.order_any_outcome(work, late);
        let pool = pool();
        let run = pool.submit(job).expect("submitted");
        run.wait().expect_err("terminated");
        assert_eq!(state(&run, late), TaskState::Cancelled);
        machine.mend();
        assert_eq!(run.reactivate_failed().expect("open"), 2);
        assert_eq!(run.wait().expect("mended").succeeded, 2);
    });
}

#[test]
fn what_is_reactivated_in_a_disabled_run_starts_when_that_is_enabled() {
    within_30s(|| {
        let machine = Machine::default();
        let (go_on, wait) = held();
        let mut job = Job::new("disabled");
        let broken = machine.clone();
        let work = job.task("work", (), fallible(move || broken.run(())));
        let other = job.task("other", (), wait);
        job.task_after("last", [other.into()], || ());
        let pool = pool();
        let run = pool.submit(job).expect("submitted");
        run.output(&work).wait().expect_err("broken");
        run.disable(DisableTasks::Wait);
        go_on.send(()).unwrap();
        let error = run.wait().expect_err("disabled");
        assert_eq!(error.kind(), ErrorKind::Disabled);
        machine.mend();
        assert_eq!(run.reactivate(work).expect("failed"), 1);
        assert_eq!(
            run.wait().expect_err("disabled").kind(),
            ErrorKind::Disabled
        );
        assert_eq!((machine.tried.load(SeqCst), run.counts().ready), (1, 2));
        let words = run.explain_all().to_string();
        let first = "the run is disabled, and starts nothing until it is enabled\n";
        assert!(words.starts_with(first), "{words}");
        assert!(words.ends_with("nothing is running"), "{words}");
        run.enable();
        assert_eq!(run.wait().expect("mended").succeeded, 3);
    });
}

#[test]
fn a_run_that_ended_disabled_goes_on_when_a_task_is_reactivated() {
    within_30s(|| {
        let machine = Machine::default();
        let mut job = Job::new("disabled");
        let broken = machine.clone();
        let work = job.task("work", (), fallible(move || broken.run(())));
        job.task_after("last", [work.into()], || ());
        let pool = pool();
        let run = pool.submit(job).expect("submitted");
        run.wait().expect_err("broken");
        let ended = run.run_state();
        run.reactivate(work).expect("failed");
        run.disable(DisableTasks::Wait);
        run.terminate("enough");
        machine.mend();
        let _ = run.wait();
        run.reactivate_all().expect("open");
        assert_eq!(run.wait().expect("mended").succeeded, 2);
        assert_eq!(
            (ended, run.run_state()),
            (RunState::Completed, RunState::Completed)
        );
    });
}

#[test]
fn a_reactivated_task_may_be_retried_as_often_as_any() {
    within_30s(|| {
        let machine = Machine::default();
        let mut job = Job::new("retries");
        let broken = machine.clone();
        let settings = TaskSettings::new().max_retries(2).backoff(Backoff::none());
        let work =
            job.add(Task::new("work", (), fallible(move || broken.run(()))).settings(settings));
        let pool = pool();
        let run = pool.submit(job).expect("submitted");
        run.wait().expect_err("broken");
        assert_eq!(run.counters(work).expect("known").retries, 2);
        run.reactivate(work).expect("failed");
        run.wait().expect_err("broken");
        assert_eq!(run.counters(work).expect("known").retries, 2);
        assert_eq!(
            (
                machine.tried.load(SeqCst),
                run.attempts(work).expect("known").len()
            ),
            (6, 6)
        );
    });
}
