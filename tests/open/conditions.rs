//! Exit conditions of what the run has, and of what is added to it.

use crate::watchdog::within_30s;
use crate::{empty_run, pool};
use batchyard::{
    Context, DependencyAction, ErrorKind, ExitConditions, Handle, Job, JobAction, Run, Task,
    TaskState, fallible,
};

fn failing() -> impl Fn() -> Result<u32, &'static str> + Send + Sync + 'static {
    || Err("no")
}

/// How three tasks end that are added behind one which has ended: one that reads its output, one that follows it, and one
/// that follows it whatever became of it.
fn added_behind(run: &Run, first: Handle<u32>) -> [TaskState; 3] {
    let _ = run.output(&first).wait();
    let added = run.add(|more| {
        let reads = more.task("reads", &first, |n: &u32| *n);
        let follows = more.add(Task::new("follows", (), || 1_u32).after(first));
        let cleans = more.add(Task::new("cleans", (), || 1_u32).after_any_outcome(first));
        [reads, follows, cleans]
    });
    added.unwrap().map(|task| {
        let _ = run.output(&task).wait();
        run.state(task).unwrap()
    })
}

fn run_of(task: Task<u32>, job: impl FnOnce(&mut Job)) -> [TaskState; 3] {
    let pool = pool(2);
    let mut open = Job::open("conditions");
    job(&mut open);
    let first = open.add(task);
    let run = pool.submit(open).unwrap();
    added_behind(&run, first)
}

#[test]
fn a_task_that_has_ended_means_to_what_is_added_what_it_would_have_meant_from_the_start() {
    use TaskState::{Skipped, Succeeded};
    within_30s(|| {
        let first = |body| Task::new("first", (), fallible(body));
        let plain = |_: &mut Job| ();
        assert_eq!(
            run_of(Task::new("first", (), || 1), plain),
            [Succeeded, Succeeded, Succeeded]
        );
        assert_eq!(
            run_of(first(failing()), plain),
            [Skipped, Skipped, Succeeded]
        );
        let satisfies = ExitConditions::new().otherwise(DependencyAction::Satisfy);
        assert_eq!(
            run_of(first(failing()).exit_conditions(satisfies), plain),
            [Skipped, Succeeded, Succeeded]
        );
        let blocks = ExitConditions::new().code(0, DependencyAction::Block);
        assert_eq!(
            run_of(Task::new("first", (), || 1).exit_conditions(blocks), plain),
            [Skipped, Skipped, Succeeded]
        );
    });
}

#[test]
fn by_azures_rules_what_is_added_behind_a_failure_is_left_waiting() {
    within_30s(|| {
        let pool = pool(2);
        let mut job = Job::open("azure");
        job.azure_defaults();
        let bad = job.task("bad", (), fallible(failing()));
        let run = pool.submit(job).unwrap();
        run.output(&bad).wait().unwrap_err();
        let next = run.add(|more| more.task("next", &bad, |n: &u32| *n));
        let next = next.unwrap();
        run.seal();
        assert_eq!(run.state(next).unwrap(), TaskState::Waiting);
        assert!(run.explain(next).unwrap().to_string().contains("`bad`"));
        assert!(run.explain_all().to_string().contains("`bad`"));
        assert_eq!(run.counts().waiting, 1);
        run.terminate("enough");
        assert_eq!(run.state(next).unwrap(), TaskState::Cancelled);
    });
}

#[test]
fn a_job_action_of_what_was_added_ends_the_run_and_nothing_more_is_added() {
    within_30s(|| {
        let pool = pool(2);
        let run = empty_run(&pool);
        let ends = ExitConditions::new().otherwise(JobAction::Terminate);
        let bad = Task::new("bad", (), fallible(failing())).exit_conditions(ends);
        run.add(|more| more.add(bad)).unwrap();
        assert_eq!(run.wait().unwrap_err().kind(), ErrorKind::TaskFailed);
        let refused = run.add(|more| more.task((), (), || ())).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Sealed);
    });
}

#[test]
fn a_disabled_run_takes_tasks_and_starts_them_once_it_is_enabled() {
    within_30s(|| {
        let pool = pool(2);
        let run = empty_run(&pool);
        run.disable(batchyard::DisableTasks::Wait);
        let task = run.add(|more| more.task("task", (), |cx: &Context| cx.attempt()));
        let task = task.unwrap();
        assert_eq!(
            run.output(&task).wait().unwrap_err().kind(),
            ErrorKind::Disabled
        );
        assert_eq!(run.counts().ready, 1);
        run.enable();
        assert_eq!(*run.output(&task).wait().unwrap(), 1);
        run.seal();
        run.wait().unwrap();
    });
}
