//! Azure Batch's rules, where ours differ: each in both.

use crate::watchdog::within_30s;
use crate::{exiting, exits, pool};
use DependencyAction::Satisfy;
use batchyard::*;
use std::sync::mpsc::channel;
use std::time::Duration;

fn azure(name: &str) -> Job {
    let mut job = Job::new(name);
    job.azure_defaults();
    job
}

fn wait_until(reached: impl Fn() -> bool) {
    while !reached() {
        std::thread::yield_now();
    }
}

#[test]
fn what_depends_on_a_blocking_failure_waits_for_ever_and_so_does_the_run() {
    within_30s(|| {
        let mut job = azure("blocked");
        let first = job.task("first", (), fallible(exits(1)));
        let then = job.task_after("then", [first.into()], || ());
        let array = job.map(
            "array",
            0..4u32,
            fallible(|n: &u32| if *n == 1 { Err("no") } else { Ok(()) }),
        );
        let each = job.each("each", &array, |_: &()| ());
        let all = job.task_after("all", [array.into()], || ());
        let satisfied = job.add(exiting(
            "satisfied",
            1,
            ExitConditions::new().otherwise(Satisfy),
        ));
        let runs = job.task_after("runs", [satisfied.into()], || ());
        let pool = pool();
        let run = pool.submit(job).expect("submitted");
        run.output(&runs).wait().expect("satisfied");
        wait_until(|| run.counts().ended() == 10);
        let state = |task: TaskId| run.state(task).expect("known");
        let blocked = each.at(1).id().expect("in the array");
        assert_eq!(
            [then.id(), blocked, all.id()].map(state),
            [TaskState::Waiting; 3]
        );
        assert_eq!(
            state(each.at(2).id().expect("in the array")),
            TaskState::Succeeded
        );
        assert!(!run.has_ended());
        assert_eq!(run.run_state(), RunState::Active);
        let words = run.explain(then).expect("known").to_string();
        assert!(
            words.contains("is blocked for good by `first`, which has failed"),
            "{words}"
        );

        run.terminate("nobody is left");
        assert_eq!(
            run.wait().expect_err("terminated").kind(),
            ErrorKind::Cancelled
        );
        assert_eq!(run.counts().cancelled, 3);
    });
}

#[test]
fn a_time_limit_ends_a_run_whose_tasks_are_blocked() {
    within_30s(|| {
        let mut job = azure("limit");
        let first = job.task("first", (), fallible(exits(1)));
        job.task_after("then", [first.into()], || ());
        job.time_limit(Duration::from_millis(50));
        let pool = pool();
        let error = pool
            .submit(job)
            .expect("submitted")
            .wait()
            .expect_err("timed out");
        assert_eq!(error.kind(), ErrorKind::TimedOut);
    });
}

#[test]
fn what_depends_on_a_cancelled_task_waits_too() {
    within_30s(|| {
        let mut job = azure("cancelled");
        let first = job.task("first", (), |cx: &Context| while !cx.is_cancelled() {});
        let then = job.task_after("then", [first.into()], || ());
        let anyway = job.add(Task::new("anyway", (), || ()).after_any_outcome(first));
        let pool = pool();
        let run = pool.submit(job).expect("submitted");
        assert_eq!(run.cancel_task(first).expect("known"), 1);
        run.output(&anyway)
            .wait()
            .expect("runs whatever became of it");
        assert_eq!(run.state(then).expect("known"), TaskState::Waiting);
    });
}

#[test]
fn job_actions_need_to_be_asked_for() {
    let conditions = || ExitConditions::new().code(1, JobAction::Terminate);
    let mut job = azure("not asked");
    job.add(exiting("task", 1, conditions()));
    let error = pool().submit(job).expect_err("refused");
    assert_eq!(
        error.defects()[0].kind(),
        &DefectKind::JobActionNotPerformed
    );

    let mut job = Job::new("not wanted");
    job.on_task_failure(OnTaskFailure::NoAction);
    job.add(exiting("task", 1, conditions()));
    assert!(job.check().is_err());

    let mut job = azure("asked");
    job.on_task_failure(OnTaskFailure::PerformExitOptionsJobAction);
    job.add(exiting("task", 1, conditions()));
    job.check().expect("sound");

    let mut job = Job::new("ours");
    job.add(exiting("task", 1, conditions()));
    job.check()
        .expect("ours carries them out without being asked");
}

#[test]
fn a_failure_without_a_job_action_terminates_once_actions_are_asked_for() {
    within_30s(|| {
        let forever = |cx: &Context| while !cx.is_cancelled() {};
        let mut job = azure("unset");
        job.on_task_failure(OnTaskFailure::PerformExitOptionsJobAction);
        job.task("task", (), fallible(exits(1)));
        job.task("forever", (), forever);
        let pool = pool();
        let error = pool
            .submit(job)
            .expect("submitted")
            .wait()
            .expect_err("terminated");
        assert!(error.to_string().contains("TaskFailed"), "{error}");

        let mut job = azure("none");
        job.on_task_failure(OnTaskFailure::PerformExitOptionsJobAction);
        job.add(exiting(
            "task",
            1,
            ExitConditions::new().otherwise(JobAction::None),
        ));
        let other = job.task("other", (), || ());
        let run = pool.submit(job).expect("submitted");
        run.output(&other).wait().expect("goes on");

        let mut job = Job::new("ours");
        job.task("task", (), fallible(exits(1)));
        let other = job.task("other", (), || ());
        let run = pool.submit(job).expect("submitted");
        run.output(&other).wait().expect("goes on");
    });
}

#[test]
fn a_retry_follows_at_once_unless_a_backoff_is_set() {
    within_30s(|| {
        let fails_once = |cx: &Context| {
            if cx.attempt() == 1 {
                Err("once")
            } else {
                Ok(())
            }
        };
        let mut job = azure("at once");
        job.defaults(TaskSettings::new().max_retries(300));
        let body = |cx: &Context| {
            if cx.attempt() < 300 {
                Err("again")
            } else {
                Ok(())
            }
        };
        job.task("task", (), fallible(body));
        let pool = pool();
        pool.submit(job)
            .expect("submitted")
            .wait()
            .expect("in time");

        let mut job = Job::new("set before");
        let hour = Backoff::constant(Duration::from_secs(3600));
        job.defaults(TaskSettings::new().max_retries(1).backoff(hour));
        job.azure_defaults();
        let task = job.task("task", (), fallible(fails_once));
        let run = pool.submit(job).expect("submitted");
        wait_until(|| run.counters(task).expect("known").retries == 1);
        let words = run.explain(task).expect("known").to_string();
        assert!(words.starts_with("waits for its retry 1"), "{words}");
    });
}

#[test]
fn equally_urgent_jobs_take_turns() {
    let azures = order_of(azure);
    assert_eq!(azures, ["a of 1", "a of 2", "b of 1", "b of 2"]);
    let ours = order_of(|name| {
        let mut job = Job::new(name);
        job.task_order(TaskOrder::Submission);
        job
    });
    assert_eq!(ours, ["a of 1", "b of 1", "a of 2", "b of 2"]);
}

/// The order in which two jobs of two tasks, one behind the other, run on one thread.
fn order_of(new: impl Fn(&str) -> Job + Send + 'static) -> Vec<String> {
    within_30s(move || {
        let pool = Pool::new(ThreadExecutor::new(1).expect("threads"));
        let (release, wait) = channel::<()>();
        let wait = std::sync::Mutex::new(wait);
        let mut plug = Job::new("plug");
        plug.task("plug", (), move || wait.lock().unwrap().recv().unwrap());
        let plug = pool.submit(plug).expect("submitted");
        let (send, began) = channel();
        let runs = ["1", "2"].map(|name| {
            let mut job = new(name);
            let says = |task: &str| {
                let (send, text) = (send.clone(), format!("{task} of {name}"));
                move || send.send(text.clone()).unwrap()
            };
            let first = job.task("a", (), says("a"));
            job.task_after("b", [first.into()], says("b"));
            pool.submit(job).expect("submitted")
        });
        release.send(()).expect("held");
        plug.wait().expect("success");
        for run in runs {
            run.wait().expect("success");
        }
        began.try_iter().collect()
    })
}
