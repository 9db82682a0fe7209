//! What happens is told, each with its cause.

use crate::watchdog::within_30s;
use crate::{
    assert_in_order, events, first, is_end, is_ready, is_run_end, is_start, is_submission, pool,
};
use batchyard::{
    AttemptEnd, Backoff, Close, Error, EventKind, FailurePolicy, Job, TaskSettings, fallible,
};
use std::collections::HashSet;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// Runs a job, and returns what was told of it.
fn told(threads: usize, job: Job) -> Vec<batchyard::Event> {
    within_30s(move || {
        let pool = pool(threads);
        let listener = pool.events();
        let _ = pool.submit(job).unwrap().wait();
        drop(pool);
        let events = events(listener.blocking());
        assert_in_order(&events);
        events
    })
}

#[test]
fn a_task_is_told_of_from_submission_to_the_end_of_its_run() {
    let mut job = Job::new("chain");
    let a = job.task("a", (), || 1);
    let b = job.task("b", &a, |a: &i32| a + 1);
    let events = told(2, job);

    let submitted = first(&events, None, is_submission);
    let mut cause = submitted.id;
    for task in [a.id(), b.id()] {
        for kind in [is_ready, is_start, is_end] {
            let event = first(&events, task, kind);
            assert_eq!(event.cause, Some(cause), "{event}");
            cause = event.id;
        }
    }
    let end = first(&events, None, is_run_end);
    assert_eq!(end.cause, Some(cause));
    assert!(matches!(end.kind, EventKind::RunEnded { error: None }));
    assert_eq!(submitted.run.as_ref().unwrap().job(), "chain");
    let b = first(&events, b.id(), is_start);
    assert_eq!(b.task_label().as_deref(), Some("b"));
}

#[test]
fn a_join_is_ready_because_of_what_ended_last() {
    let mut job = Job::new("join");
    let (hold, held) = std::sync::mpsc::channel::<()>();
    let held = std::sync::Mutex::new(held);
    let slow = job.task("slow", (), move || held.lock().unwrap().recv().unwrap());
    let fast = job.task("fast", (), move || hold.send(()).unwrap());
    let join = job.task("join", (&slow, &fast), |_: &(), _: &()| ());
    let events = told(2, job);

    let ends = [&slow, &fast].map(|task| first(&events, task.id(), is_end).id);
    let ready = first(&events, join.id(), is_ready);
    assert_eq!(ready.cause, ends.into_iter().max());
}

#[test]
fn each_element_starts_and_ends_and_what_needs_all_of_them_is_ready_after_the_last() {
    let mut job = Job::new("array");
    let squares = job.array("squares", 500, |n: &usize| n * n);
    let halves = job.each("halves", &squares, |n: &usize| n / 2);
    let sum = job.reduce("sum", &halves, |all: &[usize]| all.iter().sum::<usize>());
    let events = told(2, job);

    for kind in [is_start, is_end] {
        let of_kind = events.iter().filter(|event| kind(&event.kind));
        let tasks: Vec<_> = of_kind.filter_map(|event| event.task()).collect();
        assert_eq!(tasks.len(), 1001);
        assert_eq!(tasks.iter().collect::<HashSet<_>>().len(), 1001);
    }
    let (half, square) = (halves.at(7).id().unwrap(), squares.at(7).id().unwrap());
    assert!(first(&events, half, is_ready).id > first(&events, square, is_end).id);
    let last = events.iter().filter(|event| is_end(&event.kind)).rev();
    let last_half = last.map(|event| event.id).nth(1);
    assert_eq!(first(&events, sum.id(), is_ready).cause, last_half);
}

#[test]
fn a_node_runs_at_most_one_attempt_at_a_place_at_a_time() {
    let mut job = Job::new("places");
    let first = job.array("first", 300, |n: &usize| *n);
    job.each("second", &first, |n: &usize| *n);
    for _ in 0..100 {
        job.task((), (), || ());
    }
    let mut busy = HashSet::new();
    let mut places = std::collections::HashMap::new();
    for event in told(3, job) {
        match event.kind {
            EventKind::AttemptStarted {
                task, node, slot, ..
            } => {
                assert!(slot < 3 && busy.insert((node, slot)), "{event}");
                places.insert(task, (node, slot));
            }
            EventKind::AttemptEnded { task, .. } => {
                assert!(busy.remove(&places[&task]), "{event}");
            }
            _ => (),
        }
    }
    assert_eq!(places.len(), 700);
}

#[test]
fn a_failure_leads_to_a_retry_and_the_last_one_to_skips() {
    let mut job = Job::new("failing");
    let settings = TaskSettings::new()
        .max_retries(1)
        .backoff(Backoff::constant(Duration::from_millis(1)));
    let bad = job.task("bad", (), fallible(|| Err::<(), _>("no luck")));
    job.configure(bad, settings);
    let next = job.task("next", &bad, |_: &()| ());
    let after = job.task("after", &next, |_: &()| ());
    let events = told(1, job);

    let kinds: Vec<_> = events
        .iter()
        .filter(|event| event.task() == Some(bad.id()))
        .collect();
    for pair in kinds.windows(2) {
        assert_eq!(pair[1].cause, Some(pair[0].id), "{}", pair[1]);
    }
    let names = kinds.iter().map(|event| {
        let value = serde_json::to_value(event).unwrap();
        value["event"].as_str().unwrap().to_owned()
    });
    assert_eq!(
        names.collect::<Vec<_>>(),
        [
            "tasks_ready",
            "attempt_started",
            "attempt_ended",
            "retry_planned",
            "tasks_ready",
            "attempt_started",
            "attempt_ended",
            "task_failed"
        ]
    );
    let failed = kinds.last().unwrap();
    let is_skip = |kind: &EventKind| matches!(kind, EventKind::TasksSkipped { .. });
    let skipped = first(&events, next.id(), is_skip);
    assert_eq!(skipped.cause, Some(failed.id));
    assert_eq!(first(&events, after.id(), is_skip).cause, Some(skipped.id));
    let end = first(&events, None, is_run_end);
    let EventKind::RunEnded { error: Some(error) } = &end.kind else {
        panic!("{end}");
    };
    assert!(error.to_string().contains("no luck"), "{error}");
}

#[test]
fn a_run_that_is_stopped_says_why_and_its_tasks_are_cancelled_for_it() {
    let mut job = Job::new("fast-fail");
    job.failure_policy(FailurePolicy::FailFast);
    let bad = job.task("bad", (), fallible(|| Err::<(), _>("broken")));
    let others = job.array("others", 10, |_: &usize| ());
    job.configure(
        others,
        TaskSettings::new().start_after(Duration::from_secs(3600)),
    );
    let events = told(1, job);

    let is_failure = |kind: &EventKind| matches!(kind, EventKind::TaskFailed { .. });
    let is_stop = |kind: &EventKind| matches!(kind, EventKind::RunStopped { .. });
    let is_cancel = |kind: &EventKind| matches!(kind, EventKind::TasksCancelled { .. });
    let stop = first(&events, None, is_stop);
    assert_eq!(stop.cause, Some(first(&events, bad.id(), is_failure).id));
    let cancelled = first(&events, others.at(3).id().unwrap(), is_cancel);
    assert_eq!(cancelled.cause, Some(stop.id));
    assert_eq!(cancelled.kind.tasks().count(), 10);
}

#[test]
fn an_attempt_that_is_cancelled_while_it_runs_ends_as_cancelled() {
    within_30s(|| {
        let pool = pool(1);
        let listener = pool.events();
        let mut job = Job::new("cancelled");
        let (started, has_started) = std::sync::mpsc::channel();
        let body = move |cx: &batchyard::Context| {
            started.send(()).unwrap();
            while !cx.is_cancelled() {
                std::thread::yield_now();
            }
        };
        let task = job.task("stuck", (), body);
        job.configure(task, TaskSettings::new().priority(1));
        let run = pool.submit(job).unwrap();
        has_started.recv().unwrap();
        run.cancel_task(task).unwrap();
        drop(pool);
        let events = events(listener.blocking());
        let EventKind::AttemptEnded { end, .. } = &first(&events, task.id(), is_end).kind else {
            panic!("not an end");
        };
        assert!(matches!(end, AttemptEnd::Cancelled));
    });
}

#[test]
fn nodes_join_are_resized_and_leave() {
    within_30s(|| {
        let pool = pool(2);
        let listener = pool.events();
        let mut job = Job::new("one");
        job.task((), (), || ());
        pool.submit(job).unwrap().wait().unwrap();
        pool.resize(5).unwrap();
        pool.close(Close::Drain, Duration::from_secs(20));
        drop(pool);
        let updates: Vec<_> = listener.blocking().collect();
        let joined = updates.iter().any(|update| match update {
            batchyard::Update::Snapshot(snapshot) => {
                snapshot.nodes.iter().any(|node| node.slots == 2)
            }
            batchyard::Update::Event(event) => {
                matches!(event.kind, EventKind::NodeJoined { slots: 2, .. })
            }
            _ => false,
        });
        assert!(joined, "the node is known from the start, or joins");
        let events = events(updates);
        first(&events, None, |kind| {
            matches!(kind, EventKind::NodeResized { slots: 5, .. })
        });
        first(&events, None, |kind| {
            matches!(kind, EventKind::NodeLeft { .. })
        });
    });
}

#[test]
fn events_are_json_lines() -> Result<(), Error> {
    let mut job = Job::new("lines");
    let tries = AtomicU32::new(0);
    let body = move || match tries.fetch_add(1, Ordering::Relaxed) {
        0 => Err("not yet"),
        _ => Ok(()),
    };
    let task = job.task("second-time", (), fallible(body));
    let settings = TaskSettings::new().max_retries(1).backoff(Backoff::none());
    job.configure(task, settings);
    let events = told(1, job);

    let lines: Vec<serde_json::Value> = events
        .iter()
        .map(|event| serde_json::to_value(event).unwrap())
        .collect();
    let end = lines.iter().find(|line| line["event"] == "attempt_ended");
    let end = end.unwrap();
    assert_eq!(end["job"], "lines");
    assert_eq!(end["run"], 0);
    assert_eq!(end["task"], "second-time");
    assert_eq!(end["attempt"], 1);
    assert_eq!(end["outcome"], "failed");
    assert!(end["error"].as_str().unwrap().contains("not yet"));
    assert!(end["at"].is_f64() && end["id"].is_u64() && end["cause"].is_u64());
    Ok(())
}

#[test]
fn a_run_is_told_of_when_it_is_disabled_and_when_it_goes_on() {
    within_30s(|| {
        let pool = pool(1);
        let listener = pool.events();
        let mut job = Job::new("paused");
        let first = job.task("first", (), || ());
        job.configure(
            first,
            TaskSettings::new().start_after(Duration::from_millis(50)),
        );
        let run = pool.submit(job).unwrap();
        run.disable(batchyard::DisableTasks::Wait);
        run.enable();
        run.wait().unwrap();
        drop(pool);
        let events = events(listener.blocking());
        assert_in_order(&events);
        let submitted = first_of(&events, is_submission);
        let disabled = first_of(&events, |kind| matches!(kind, EventKind::RunDisabled));
        let enabled = first_of(&events, |kind| matches!(kind, EventKind::RunEnabled));
        assert_eq!(disabled.cause, Some(submitted.id));
        assert_eq!(enabled.cause, Some(disabled.id));
        assert!(enabled.id < first_of(&events, is_start).id);
    });
}

fn first_of(events: &[batchyard::Event], kind: impl Fn(&EventKind) -> bool) -> &batchyard::Event {
    first(events, None, kind)
}
