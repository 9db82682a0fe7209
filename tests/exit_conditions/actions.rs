//! Runs that are disabled, enabled and terminated: by a call, or by the end of a task.

use crate::watchdog::within_30s;
use crate::{exiting, exits, pool};
use batchyard::*;
use futures::executor::block_on;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};

/// A job with one task that says when it has begun, and waits to be let go or cancelled; and another behind it.
struct Held {
    job: Job,
    task: Handle<bool>,
    then: Handle<()>,
    begun: Receiver<u32>,
    /// Which attempt may end.
    release: Arc<AtomicU32>,
}

impl Held {
    fn take(&mut self) -> Job {
        std::mem::replace(&mut self.job, Job::new("taken"))
    }

    fn release(&self, attempt: u32) {
        self.release.store(attempt, Ordering::Relaxed);
    }
}

fn held(settings: TaskSettings) -> Held {
    let (begin, begun) = channel();
    let release = Arc::new(AtomicU32::new(0));
    let released = release.clone();
    let body = move |cx: &Context| {
        begin.send(cx.attempt()).unwrap();
        loop {
            let let_go = released.load(Ordering::Relaxed) == cx.attempt();
            if let_go || cx.is_cancelled() {
                return let_go;
            }
            std::thread::yield_now();
        }
    };
    let mut job = Job::new("held");
    let task = job.add(Task::new("task", (), body).settings(settings));
    let then = job.task_after("then", [task.into()], || ());
    Held {
        job,
        task,
        then,
        begun,
        release,
    }
}

/// Lanes run what has no settings; the policy starts what has.
fn plain_and_queued() -> [TaskSettings; 2] {
    [TaskSettings::new(), TaskSettings::new().priority(0)]
}

fn wait_until(reached: impl Fn() -> bool) {
    while !reached() {
        std::thread::yield_now();
    }
}

fn disabled(error: &Error) -> bool {
    error.kind() == ErrorKind::Disabled
}

#[test]
fn a_disabled_run_starts_nothing_and_whoever_waits_is_told() {
    within_30s(|| {
        for settings in plain_and_queued() {
            let pool = pool();
            let mut held = held(settings);
            let run = pool.submit(held.take()).expect("submitted");
            held.begun.recv().expect("begun");
            assert_eq!(run.run_state(), RunState::Active);
            run.disable(DisableTasks::Wait);
            assert_eq!(run.run_state(), RunState::Disabling);
            assert!(run.counts().disabled);
            let words = run.explain(held.then).expect("known").to_string();
            assert_eq!(
                words,
                "waits for `task`, which has not ended; its run is disabled, and starts nothing until it is enabled"
            );
            let words = run.explain(held.task).expect("known").to_string();
            assert!(words.starts_with("is running"), "{words}");

            held.release(1);
            assert!(disabled(&run.wait().expect_err("disabled")));
            assert_eq!(run.run_state(), RunState::Disabled);
            assert!(*run.output(&held.task).wait().expect("ran to its end"));
            assert!(disabled(
                &run.output(&held.then).wait().expect_err("not started")
            ));
            assert!(disabled(&block_on(run.ended()).expect_err("disabled")));
            assert!(disabled(
                &block_on(run.output(&held.then)).expect_err("disabled")
            ));
            assert!(!run.has_ended());
            let words = run.explain(held.then).expect("known").to_string();
            assert!(
                words.starts_with("is ready; its run is disabled"),
                "{words}"
            );

            run.enable();
            assert_eq!(run.wait().expect("success").succeeded, 2);
            assert_eq!(run.run_state(), RunState::Completed);
            assert!(!run.counts().disabled);
            assert_eq!(run.counters(held.task).expect("known").requeues, 0);
        }
    });
}

#[test]
fn requeued_tasks_count_as_over_at_once_and_run_again_when_enabled() {
    within_30s(|| {
        for settings in plain_and_queued() {
            let pool = pool();
            let mut held = held(settings);
            let run = pool.submit(held.take()).expect("submitted");
            assert_eq!(held.begun.recv().expect("begun"), 1);
            run.disable(DisableTasks::Requeue);
            assert_eq!(run.state(held.task).expect("known"), TaskState::Ready);
            assert!(disabled(&run.wait().expect_err("disabled")));
            assert_eq!(run.run_state(), RunState::Disabled);
            run.enable();
            assert_eq!(held.begun.recv().expect("begun again"), 2);
            held.release(2);
            assert!(*run.output(&held.task).wait().expect("second attempt"));
            let counters = run.counters(held.task).expect("known");
            assert_eq!(
                (counters.requeues, counters.retries, counters.recoveries),
                (1, 0, 0)
            );
            assert_eq!(run.wait().expect("success").succeeded, 2);
        }
    });
}

#[test]
fn terminated_tasks_of_a_run_that_is_disabled_are_cancelled() {
    within_30s(|| {
        for settings in plain_and_queued() {
            let pool = pool();
            let mut held = held(settings);
            let mut job = held.take();
            let other = job.add(Task::new("other", (), || ()).after_any_outcome(held.task));
            let run = pool.submit(job).expect("submitted");
            held.begun.recv().expect("begun");
            run.disable(DisableTasks::Terminate);
            assert_eq!(run.state(held.task).expect("known"), TaskState::Cancelled);
            assert_eq!(run.state(held.then).expect("known"), TaskState::Skipped);
            assert!(disabled(&run.wait().expect_err("disabled")));
            run.enable();
            let counts = run.wait().expect("nothing failed");
            assert_eq!(
                (counts.succeeded, counts.skipped, counts.cancelled),
                (1, 1, 1)
            );
            run.output(&other).wait().expect("ran");
        }
    });
}

#[test]
fn a_requeued_body_that_returns_late_changes_nothing() {
    within_30s(|| {
        for fails in [false, true] {
            let pool = pool();
            let (begin, begun) = channel();
            let (release, wait) = channel::<()>();
            let wait = Mutex::new(wait);
            let body = move |cx: &Context| {
                begin.send(cx.attempt()).unwrap();
                match cx.attempt() {
                    1 => {
                        wait.lock().unwrap().recv().unwrap();
                        if fails {
                            Err("late")
                        } else {
                            Ok(String::from("late"))
                        }
                    }
                    _ => Ok(String::from("in time")),
                }
            };
            let mut job = Job::new("late");
            let task = job.task("task", (), fallible(body));
            let run = pool.submit(job).expect("submitted");
            begun.recv().expect("begun");
            run.disable(DisableTasks::Requeue);
            assert_eq!(run.run_state(), RunState::Disabled);
            run.enable();
            assert_eq!(
                *run.output(&task).wait().expect("second attempt"),
                "in time"
            );
            release.send(()).expect("held");
            assert_eq!(run.wait().expect("success").succeeded, 1);
            drop(pool.close(Close::Drain, std::time::Duration::MAX));
            assert_eq!(run.counts().failed, 0);
        }
    });
}

#[test]
fn every_task_ends_once_however_often_its_run_is_disabled() {
    within_30s(|| {
        let pool = Pool::new(ThreadExecutor::new(3).expect("threads"));
        for tasks in [DisableTasks::Requeue, DisableTasks::Wait] {
            let runs = Arc::new(AtomicU32::new(0));
            let count = runs.clone();
            let mut job = Job::new("often");
            let array = job.array("array", 20_000, move |n: &usize| {
                count.fetch_add(1, Ordering::Relaxed);
                (0..200).for_each(|_| std::hint::spin_loop());
                n.to_string()
            });
            let lengths = job.each("lengths", &array, |text: &String| text.len());
            let sum = job.reduce("sum", &lengths, |all: &[usize]| all.iter().sum::<usize>());
            let singles: Vec<_> = (0..2_000).map(|n| job.task((), (), move || n)).collect();
            for pair in singles.windows(2) {
                job.order(pair[0], pair[1]);
            }
            let run = pool.submit(job).expect("submitted");
            for _ in 0..200 {
                run.disable(tasks);
                run.enable();
                std::thread::yield_now();
            }
            let counts = run.wait().expect("success");
            assert_eq!((counts.succeeded, counts.total), (42_001, 42_001));
            assert_eq!(*run.output(&sum).wait().expect("sum"), 88_890);
            assert!(runs.load(Ordering::Relaxed) >= 20_000);
        }
    });
}

#[test]
fn a_disabled_run_leaves_the_pool_to_others() {
    within_30s(|| {
        let pool = Pool::new(ThreadExecutor::new(1).expect("threads"));
        for priority in [None, Some(0)] {
            let mut job = Job::new("many");
            let array = job.array("array", 1_000, |n: &usize| *n);
            if let Some(priority) = priority {
                job.configure(array, TaskSettings::new().priority(priority));
            }
            job.priority(9);
            let run = pool.submit(job).expect("submitted");
            run.disable(DisableTasks::Wait);
            let mut job = Job::new("other");
            let other = job.task("other", (), || 1);
            let others = pool.submit(job).expect("submitted");
            assert_eq!(*others.output(&other).wait().expect("ran"), 1);
            run.enable();
            assert_eq!(run.wait().expect("success").succeeded, 1_000);
        }
    });
}

#[test]
fn a_retry_waits_for_its_run_to_be_enabled() {
    within_30s(|| {
        let pool = pool();
        let (begin, begun) = channel();
        let (release, wait) = channel::<()>();
        let wait = Mutex::new(wait);
        let body = move |cx: &Context| {
            begin.send(()).unwrap();
            if cx.attempt() > 1 {
                return Ok(cx.attempt());
            }
            wait.lock().unwrap().recv().unwrap();
            Err("the first one")
        };
        let mut job = Job::new("retry");
        let settings = TaskSettings::new().max_retries(1).backoff(Backoff::none());
        let task = job.add(Task::new("task", (), fallible(body)).settings(settings));
        let run = pool.submit(job).expect("submitted");
        begun.recv().expect("begun");
        run.disable(DisableTasks::Wait);
        release.send(()).expect("held");
        assert!(disabled(&run.wait().expect_err("disabled")));
        assert_eq!(run.counters(task).expect("known").retries, 1);
        run.enable();
        assert_eq!(*run.output(&task).wait().expect("second attempt"), 2);
    });
}

#[test]
fn a_disabled_run_can_be_terminated_and_a_run_that_has_ended_can_not_be_disabled() {
    within_30s(|| {
        let pool = pool();
        let mut job = Job::new("job");
        job.task("task", (), || ());
        let job = job.freeze().expect("sound");
        let run = pool.submit(&job).expect("submitted");
        run.wait().expect("success");
        run.disable(DisableTasks::Requeue);
        assert_eq!(run.run_state(), RunState::Completed);
        assert_eq!(run.wait().expect("it has ended").succeeded, 1);

        let mut held = held(TaskSettings::new());
        let run = pool.submit(held.take()).expect("submitted");
        held.begun.recv().expect("begun");
        run.disable(DisableTasks::Requeue);
        run.terminate("enough");
        let error = run.wait().expect_err("terminated");
        assert_eq!(error.kind(), ErrorKind::Cancelled);
    });
}

#[test]
fn the_reason_of_a_termination_is_told_by_the_run_and_its_tasks() {
    within_30s(|| {
        let pool = pool();
        let mut held = held(TaskSettings::new());
        let run = pool.submit(held.take()).expect("submitted");
        held.begun.recv().expect("begun");
        run.terminate("the budget is spent");
        let error = run.wait().expect_err("terminated");
        assert_eq!(error.kind(), ErrorKind::Cancelled);
        assert_eq!(
            error.to_string(),
            "job `held`: was terminated: the budget is spent"
        );
        for error in [
            run.output(&held.task).wait().expect_err("cancelled"),
            run.output(&held.then).wait().expect_err("cancelled"),
        ] {
            assert_eq!(error.kind(), ErrorKind::Cancelled);
            assert!(error.to_string().contains("the budget is spent"), "{error}");
        }
        assert_eq!(run.counts().cancelled, 2);
        wait_until(|| run.run_state() == RunState::Completed);
    });
}

#[test]
fn a_run_is_terminating_until_its_bodies_have_returned() {
    within_30s(|| {
        let pool = pool();
        let (begin, begun) = channel();
        let (release, wait) = channel::<()>();
        let wait = Mutex::new(wait);
        let mut job = Job::new("stubborn");
        job.task("task", (), move || {
            begin.send(()).unwrap();
            wait.lock().unwrap().recv().unwrap();
        });
        let run = pool.submit(job).expect("submitted");
        begun.recv().expect("begun");
        run.terminate("now");
        assert!(run.has_ended());
        assert_eq!(run.run_state(), RunState::Terminating);
        release.send(()).expect("held");
        wait_until(|| run.run_state() == RunState::Completed);
    });
}

#[test]
fn job_action_terminate_ends_the_job_and_says_task_failed() {
    within_30s(|| {
        let pool = pool();
        let mut held = held(TaskSettings::new());
        let mut job = held.take();
        let conditions = ExitConditions::new().code(9, JobAction::Terminate);
        job.add(exiting("culprit", 9, conditions.clone()));
        let run = pool.submit(job).expect("submitted");
        let error = run.wait().expect_err("terminated");
        assert_eq!(error.kind(), ErrorKind::TaskFailed);
        assert_eq!(error.cause::<ExitCode>(), Some(&ExitCode(9)));
        let words = error.to_string();
        assert!(
            words.contains("TaskFailed") && words.contains("`culprit`"),
            "{words}"
        );
        let error = run.output(&held.then).wait().expect_err("cancelled");
        assert!(error.to_string().contains("`culprit`"), "{error}");

        let mut job = Job::new("another code");
        job.add(exiting("culprit", 8, conditions));
        let other = job.task("other", (), || ());
        let run = pool.submit(job).expect("submitted");
        run.output(&other).wait().expect("runs");
    });
}

#[test]
fn job_action_disable_requeues_what_runs_and_tells_why() {
    within_30s(|| {
        let pool = pool();
        let mut held = held(TaskSettings::new());
        let mut job = held.take();
        let (go, wait) = channel::<()>();
        let wait = Mutex::new(wait);
        let fail = move || {
            wait.lock().unwrap().recv().unwrap();
            exits(1)()
        };
        let conditions = ExitConditions::new().otherwise(JobAction::Disable);
        job.add(Task::new("culprit", (), fallible(fail)).exit_conditions(conditions));
        let run = pool.submit(job).expect("submitted");
        held.begun.recv().expect("begun");
        go.send(()).expect("held");
        let error = run.wait().expect_err("disabled");
        assert!(disabled(&error));
        let words = error.to_string();
        assert!(words.contains("since `culprit` failed"), "{words}");
        assert_eq!(run.state(held.task).expect("known"), TaskState::Ready);
        run.enable();
        assert_eq!(held.begun.recv().expect("begun again"), 2);
        held.release(2);
        let error = run.wait().expect_err("the culprit has failed");
        assert_eq!(error.kind(), ErrorKind::TaskFailed);
        assert_eq!(run.counts().succeeded, 2);
    });
}

#[test]
fn a_listed_success_may_end_its_job() {
    within_30s(|| {
        let pool = pool();
        let mut held = held(TaskSettings::new());
        let mut job = held.take();
        let found = exiting(
            "found",
            0,
            ExitConditions::new().code(0, JobAction::Terminate),
        );
        let found = job.add(found);
        let run = pool.submit(job).expect("submitted");
        let error = run.wait().expect_err("terminated");
        assert_eq!(error.kind(), ErrorKind::Cancelled);
        assert!(
            error.to_string().contains("since `found` succeeded"),
            "{error}"
        );
        run.output(&found).wait().expect("it succeeded");
        assert_eq!(run.state(held.task).expect("known"), TaskState::Cancelled);
    });
}

#[test]
fn the_last_task_to_end_has_no_job_left_to_act_on() {
    within_30s(|| {
        let mut job = Job::new("last");
        job.add(exiting(
            "only",
            1,
            ExitConditions::new().otherwise(JobAction::Disable),
        ));
        let pool = pool();
        let run = pool.submit(job).expect("submitted");
        let error = run.wait().expect_err("failed");
        assert_eq!(error.kind(), ErrorKind::TaskFailed);
        assert_eq!(run.run_state(), RunState::Completed);
    });
}

/// An input that says when it is dropped.
struct Noticed(Arc<AtomicU32>);

impl Drop for Noticed {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn what_a_body_still_reads_whose_attempt_is_over_is_kept() {
    within_30s(|| {
        for settings in plain_and_queued() {
            let pool = pool();
            let drops = Arc::new(AtomicU32::new(0));
            let (begin, begun) = channel();
            let (release, wait) = channel::<()>();
            let wait = Mutex::new(wait);
            let body = move |cx: &Context, input: &Noticed| {
                begin.send(cx.attempt()).unwrap();
                if cx.attempt() == 1 {
                    wait.lock().unwrap().recv().unwrap();
                }
                input.0.load(Ordering::SeqCst)
            };
            let mut job = Job::new("inputs");
            let dropped = drops.clone();
            let input = job.task("input", (), move || Noticed(dropped.clone()));
            let task = job.add(Task::new("task", &input, body).settings(settings));
            let run = pool.submit(job).expect("submitted");
            begun.recv().expect("begun");
            run.disable(DisableTasks::Requeue);
            run.enable();
            run.wait().expect("second attempt");
            assert_eq!(*run.output(&task).wait().expect("second attempt"), 0);
            assert_eq!(drops.load(Ordering::SeqCst), 0, "the first body reads it");
            release.send(()).expect("held");
            drop(run);
            wait_until(|| drops.load(Ordering::SeqCst) == 1);
        }
    });
}
