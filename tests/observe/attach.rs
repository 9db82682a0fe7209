//! Listening to what has begun before.

use crate::watchdog::within_30s;
use crate::{assert_in_order, events, first, is_end, is_ready, is_run_end, is_start, pool};
use batchyard::{EventKind, Job, Run, Snapshot, TaskSettings, TaskState, Update};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};

/// A body that says that it has begun, and goes on when it may.
fn gate() -> (impl Fn() + Send + Sync + 'static, Receiver<()>, Sender<()>) {
    let (begun, has_begun) = channel();
    let (go_on, may_go_on) = channel();
    let may_go_on = Mutex::new(may_go_on);
    let body = move || {
        begun.send(()).unwrap();
        may_go_on.lock().unwrap().recv().unwrap();
    };
    (body, has_begun, go_on)
}

fn attached(run: &Run) -> (Snapshot, impl Iterator<Item = Update>) {
    let mut updates = run.events().blocking();
    let Some(Update::Snapshot(snapshot)) = updates.next() else {
        panic!("the first is a snapshot");
    };
    (snapshot, updates)
}

#[test]
fn whoever_comes_while_a_task_runs_hears_of_its_end_and_of_what_follows() {
    within_30s(|| {
        let pool = pool(2);
        let mut job = Job::new("late");
        let (body, has_begun, go_on) = gate();
        let before = job.task("before", (), || ());
        let gate = job.task("gate", &before, move |(): &()| body());
        let next = job.task("next", &gate, |_: &()| ());
        let side = job.task("side", &gate, |_: &()| ());
        let run = pool.submit(job).unwrap();
        has_begun.recv().unwrap();

        let (snapshot, updates) = attached(&run);
        let stood = &snapshot.runs[0];
        assert_eq!(stood.state(before.id()), Some(TaskState::Succeeded));
        assert_eq!(stood.state(gate.id()), Some(TaskState::Running));
        assert_eq!(stood.state(next.id()), Some(TaskState::Waiting));
        assert_eq!((stood.counts.total, stood.counts.succeeded), (4, 1));

        go_on.send(()).unwrap();
        run.wait().unwrap();
        let events = events(updates);
        assert_in_order(&events);
        let end = first(&events, gate.id(), is_end).id;
        for task in [next.id(), side.id()] {
            let ready = first(&events, task, is_ready);
            assert_eq!(ready.cause, Some(end));
            let start = first(&events, task, is_start);
            assert_eq!(start.cause, Some(ready.id));
            assert_eq!(first(&events, task, is_end).cause, Some(start.id));
        }
        assert!(is_run_end(&events.last().unwrap().kind));
    });
}

#[test]
fn whoever_comes_while_an_element_runs_hears_of_its_end_and_of_the_others() {
    within_30s(|| {
        let pool = pool(1);
        let mut job = Job::new("late-array");
        let (body, has_begun, go_on) = gate();
        let array = job.array("array", 50, move |&at: &usize| {
            if at == 20 {
                body();
            }
        });
        let each = job.each("each", &array, |_: &()| ());
        let run = pool.submit(job).unwrap();
        has_begun.recv().unwrap();

        let (snapshot, updates) = attached(&run);
        let stood = &snapshot.runs[0];
        let begun = stood.tasks_in(TaskState::Succeeded).count();
        go_on.send(()).unwrap();
        run.wait().unwrap();
        let events = events(updates);
        assert_in_order(&events);
        let ends = events.iter().filter(|event| is_end(&event.kind)).count();
        assert_eq!(begun + ends, 100, "each end is in the snapshot, or told of");
        let gate = array.at(20).id().unwrap();
        let after = first(&events, each.at(20).id().unwrap(), is_ready);
        assert!(after.id > first(&events, gate, is_end).id);
    });
}

#[test]
fn a_task_that_the_policy_started_is_running_in_the_snapshot() {
    within_30s(|| {
        let pool = pool(1);
        let mut job = Job::new("leased");
        let (body, has_begun, go_on) = gate();
        let gate = job.task("gate", (), body);
        let next = job.task("next", (), || ());
        job.defaults(TaskSettings::new().priority(3));
        let run = pool.submit(job).unwrap();
        has_begun.recv().unwrap();
        let (snapshot, updates) = attached(&run);
        let stood = &snapshot.runs[0];
        assert_eq!(stood.state(gate.id()), Some(TaskState::Running));
        assert_eq!(stood.state(next.id()), Some(TaskState::Ready));
        go_on.send(()).unwrap();
        run.wait().unwrap();
        let events = events(updates);
        assert_in_order(&events);
        first(&events, gate.id(), is_end);
        first(&events, next.id(), is_start);
    });
}

#[test]
fn of_a_run_that_has_ended_there_is_only_how_it_stands() {
    let pool = pool(1);
    let mut job = Job::new("over");
    job.task((), (), || ());
    let run = pool.submit(job).unwrap();
    run.wait().unwrap();
    let (snapshot, mut updates) = attached(&run);
    assert!(snapshot.runs[0].ended);
    assert_eq!(snapshot.runs[0].counts.succeeded, 1);
    assert!(updates.next().is_none());
}

#[test]
fn a_stream_of_one_run_tells_of_no_other() {
    within_30s(|| {
        let pool = pool(1);
        let (body, has_begun, go_on) = gate();
        let mut job = Job::new("mine");
        job.task("gate", (), body);
        let run = pool.submit(job).unwrap();
        has_begun.recv().unwrap();
        let (_, updates) = attached(&run);
        let mut other = Job::new("other");
        other.task((), (), || ());
        let other = pool.submit(other).unwrap();
        go_on.send(()).unwrap();
        other.wait().unwrap();
        run.wait().unwrap();
        let events = events(updates);
        let of_other =
            |event: &&batchyard::Event| event.run.as_ref().is_some_and(|run| run.job() == "other");
        assert_eq!(events.iter().filter(of_other).count(), 0);
        assert!(matches!(
            events.last().unwrap().kind,
            EventKind::RunEnded { .. }
        ));
    });
}

#[test]
fn listeners_come_and_go_while_a_run_goes_on_and_none_misses_an_end() {
    within_30s(|| {
        let pool = pool(2);
        let mut job = Job::new("busy");
        let first = job.array("first", 3_000, |n: &usize| *n);
        let second = job.each("second", &first, |n: &usize| *n);
        job.reduce("sum", &second, |all: &[usize]| all.len());
        for _ in 0..500 {
            let a = job.task((), (), || 1);
            job.task((), &a, |a: &i32| *a);
        }
        let job = job.freeze().unwrap();
        for _ in 0..5 {
            let run = pool.submit(&job).unwrap();
            for _ in 0..5 {
                drop(run.events());
            }
            let (snapshot, updates) = attached(&run);
            run.wait().unwrap();
            let events = events(updates.inspect(|update| {
                assert!(!matches!(update, Update::Lagged(_)) || job.len() > 20_000);
            }));
            let ends = events.iter().filter(|event| is_end(&event.kind)).count() as u64;
            assert_eq!(snapshot.runs[0].counts.succeeded + ends, job.len());
        }
    });
}
