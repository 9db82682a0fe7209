//! Lists of tasks, and counts.

use crate::reactivate::pool;
use crate::watchdog::within_30s;
use batchyard::*;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};

/// A body that says when it has begun, and waits to be told to go on.
fn held() -> (impl Fn() + Send + Sync + 'static, Receiver<()>, Sender<()>) {
    let (started, starts) = channel();
    let (go_on, goes_on) = channel::<()>();
    let (started, goes_on) = (Mutex::new(started), Mutex::new(goes_on));
    let body = move || {
        started.lock().unwrap().send(()).unwrap();
        let _ = goes_on.lock().unwrap().recv();
    };
    (body, starts, go_on)
}

fn labels(page: &TaskPage) -> Vec<&str> {
    page.tasks.iter().map(|task| task.label.as_str()).collect()
}

#[test]
fn pages_of_failed_tasks_follow_one_another_and_say_why() {
    let mut job = Job::new("failed");
    let body = |i: &usize| match i % 4 {
        1 => Err(std::io::Error::other(format!("bad {i}"))),
        _ => Ok(*i),
    };
    let all = job.array("all", 1_000, fallible(body));
    job.each("next", &all, |i: &usize| *i);
    let pool = pool();
    let run = pool.submit(job).expect("submitted");
    run.wait().expect_err("some fail");

    for (state, name) in [(TaskState::Failed, "all"), (TaskState::Skipped, "next")] {
        let (mut found, mut after) = (Vec::new(), None);
        loop {
            let tasks = run.tasks().in_state(state).limit(60);
            let tasks = after.map_or(tasks, |after| tasks.after(after));
            let page = tasks.page().expect("known");
            assert!(page.tasks.len() <= 60);
            assert!(page.tasks.iter().all(|task| task.state == state));
            found.extend(page.tasks);
            match page.next {
                Some(next) => after = Some(next),
                None => break,
            }
        }
        let expected: Vec<_> = (0..1_000)
            .filter(|i| i % 4 == 1)
            .map(|i| format!("{name}[{i}]"))
            .collect();
        assert_eq!(
            found.iter().map(|task| &task.label).collect::<Vec<_>>(),
            expected.iter().collect::<Vec<_>>()
        );
        let error = found[1].error.as_deref().expect("an error");
        assert!(error.contains("bad 5"), "{error}");
        let attempts = if state == TaskState::Failed { 1 } else { 0 };
        assert!(found.iter().all(|task| task.attempt == attempts));
    }
    let succeeded = run
        .tasks()
        .in_state(TaskState::Succeeded)
        .of(all)
        .limit(5_000);
    assert_eq!(succeeded.page().expect("known").tasks.len(), 750);
}

#[test]
fn tasks_are_listed_as_they_stand() {
    within_30s(|| {
        let (body, starts, go_on) = held();
        let mut job = Job::new("standing");
        let first = job.task("first", (), body);
        let second = job.task("second", &first, |_: &()| ());
        job.array_with("rest", 3, &second, |i: &usize, _: &()| *i);
        let pool = pool();
        let run = pool.submit(job).expect("submitted");
        starts.recv().expect("begun");

        let list = |state| run.tasks().in_state(state).page().expect("known");
        let running = list(TaskState::Running);
        assert_eq!(labels(&running), ["first"]);
        assert_eq!(
            (running.tasks[0].attempt, running.tasks[0].id),
            (1, first.id())
        );
        let waiting = ["second", "rest[0]", "rest[1]", "rest[2]"];
        assert_eq!(labels(&list(TaskState::Waiting)), waiting);
        let all = run.tasks().page().expect("known");
        assert_eq!(labels(&all)[0], "first");
        assert_eq!(labels(&all)[1..], waiting);
        let named = run.tasks().named("rest").in_state(TaskState::Waiting);
        assert_eq!(labels(&named.page().expect("known")), waiting[1..]);
        drop(go_on);
        run.wait().expect("all");
        assert_eq!(list(TaskState::Succeeded).tasks.len(), 5);
        assert!(list(TaskState::Running).tasks.is_empty());
    });
}

#[test]
fn unknown_names_foreign_tasks_and_empty_pages_are_refused() {
    let other = Job::new("other").task("other", (), || ());
    let mut job = Job::new("known");
    job.task("known", (), || ());
    let pool = pool();
    let run = pool.submit(job).expect("submitted");
    let kind = |tasks: Tasks<'_>| tasks.page().expect_err("refused").kind();
    assert_eq!(kind(run.tasks().named("unknown")), ErrorKind::UnknownTask);
    assert_eq!(kind(run.tasks().of(other)), ErrorKind::UnknownTask);
    assert_eq!(kind(run.tasks().limit(0)), ErrorKind::InvalidSetting);
}

#[test]
fn a_page_survives_being_written_and_read() {
    let mut job = Job::new("serde");
    job.task("task", (), || ());
    let pool = pool();
    let run = pool.submit(job).expect("submitted");
    run.wait().expect("success");
    let page = run.tasks().page().expect("known");
    let text = serde_json::to_string(&page).expect("written");
    assert_eq!(serde_json::from_str::<TaskPage>(&text).expect("read"), page);
}

#[test]
fn counts_by_state_add_up_to_the_total() {
    within_30s(|| {
        let (body, starts, go_on) = held();
        let mut job = Job::new("counts");
        job.defaults(TaskSettings::new().priority(1));
        let first = job.add(Task::new("first", (), body).priority(5));
        job.array("ready", 130, |i: &usize| *i);
        let later = job.array_with("later", 70, &first, |i: &usize, _: &()| *i);
        let each = job.each("each", &later, |i: &usize| *i);
        job.reduce("sum", &each, |all: &[usize]| all.len());
        let pool = Pool::new(ThreadExecutor::new(1).expect("threads"));
        let run = pool.submit(job).expect("submitted");
        starts.recv().expect("begun");
        let counts = run.counts();
        assert_eq!(
            (counts.running, counts.ready, counts.waiting),
            (1, 130, 141)
        );
        assert_eq!(counts.total, 272);
        assert_eq!(counts.unfinished(), 272);
        drop(go_on);
        let sum = |counts: Counts| counts.waiting + counts.ready + counts.running + counts.ended();
        while !run.has_ended() {
            assert_eq!(sum(run.counts()), 272);
        }
        assert_eq!(run.counts().succeeded, 272);
    });
}
