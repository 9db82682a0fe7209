//! What can be seen of a run that grows: counts, lists, and what holds it back.

use crate::watchdog::within_30s;
use crate::{Door, empty_run, pool};
use batchyard::{Job, Run, Task, TaskState, fallible};

fn labels(run: &Run, state: TaskState) -> Vec<String> {
    let (mut found, mut after) = (Vec::new(), None);
    loop {
        let tasks = run.tasks().in_state(state).limit(2);
        let tasks = after.map_or(tasks, |after| {
            run.tasks().in_state(state).limit(2).after(after)
        });
        let page = tasks.page().unwrap();
        found.extend(page.tasks.into_iter().map(|task| task.label));
        match page.next {
            Some(next) => after = Some(next),
            None => return found,
        }
    }
}

/// A run whose first task is held at a door, with additions behind it and beside it.
fn held() -> (batchyard::Pool, Run, Door) {
    let (pool, door) = (pool(1), Door::default());
    let mut job = Job::open("looked at");
    let held = door.clone();
    let first = job.task("first", (), move || {
        held.wait();
        1_u32
    });
    let run = pool.submit(job).unwrap();
    while run.state(first).unwrap() != TaskState::Running {
        std::thread::yield_now();
    }
    let array = run.add(|more| more.map_with("array", 0..3_u32, &first, |n: &u32, _: &u32| *n));
    let array = array.unwrap();
    run.add(|more| more.each("each", &array, |n: &u32| *n))
        .unwrap();
    run.add(|more| more.add(Task::new("beside", (), || ())))
        .unwrap();
    (pool, run, door)
}

#[test]
fn counts_and_lists_reach_over_all_additions() {
    within_30s(|| {
        let (_pool, run, door) = held();
        let counts = run.counts();
        assert_eq!((counts.running, counts.ready, counts.waiting), (1, 1, 6));
        assert_eq!(counts.total, 8);
        assert_eq!(labels(&run, TaskState::Running), ["first"]);
        assert_eq!(labels(&run, TaskState::Ready), ["beside"]);
        let waiting = [
            "array[0]", "array[1]", "array[2]", "each[0]", "each[1]", "each[2]",
        ];
        assert_eq!(labels(&run, TaskState::Waiting), waiting);
        let named = run.tasks().named("each").page().unwrap();
        assert_eq!(named.tasks.len(), 3);
        door.open();
        run.seal();
        run.wait().unwrap();
        assert_eq!(labels(&run, TaskState::Succeeded).len(), 8);
    });
}

#[test]
fn what_additions_wait_for_is_named_with_how_many_do() {
    within_30s(|| {
        let (_pool, run, door) = held();
        let words = run.explain_all().to_string();
        assert!(
            words.starts_with("6 tasks wait for `first`; `first` is running"),
            "{words}"
        );
        assert!(words.contains("1 task is ready"), "{words}");
        let task = run.tasks().named("array").page().unwrap().tasks[0].id;
        let why = run.explain(task).unwrap().to_string();
        assert!(why.contains("`first`"), "{why}");
        door.open();
        run.seal();
        run.wait().unwrap();
        assert!(run.explain_all().to_string().starts_with("has ended"));
    });
}

#[test]
fn an_open_run_that_waits_for_more_is_neither_ended_nor_at_rest() {
    within_30s(|| {
        let pool = pool(1);
        let run = empty_run(&pool);
        let task = run.add(|more| more.task((), (), || 1_u32)).unwrap();
        run.output(&task).wait().unwrap();
        assert!(!run.has_ended());
        assert_eq!(run.counts().unfinished(), 0);
        let words = run.explain_all().to_string();
        assert!(words.contains("seal"), "{words}");
        run.seal();
        assert_eq!(run.wait().unwrap().succeeded, 1);
    });
}

#[test]
fn failed_tasks_are_listed_with_the_cause_of_what_was_added_and_skipped() {
    within_30s(|| {
        let pool = pool(1);
        let run = empty_run(&pool);
        let bad = run.add(|more| more.task("bad", (), fallible(|| Err::<u32, _>("no"))));
        let bad = bad.unwrap();
        let next = run
            .add(|more| more.task("next", &bad, |n: &u32| *n))
            .unwrap();
        run.output(&next).wait().unwrap_err();
        assert_eq!(labels(&run, TaskState::Failed), ["bad"]);
        let skipped = run.tasks().in_state(TaskState::Skipped).page().unwrap();
        let error = skipped.tasks[0].error.as_deref().unwrap();
        assert!(error.contains("`bad`"), "{error}");
    });
}
