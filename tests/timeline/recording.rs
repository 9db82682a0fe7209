//! What is recorded.

use crate::watchdog::within_30s;
use crate::{mixed, recorded};
use batchyard::{AttemptOutcome, Close, Job, Pool, TaskId, ThreadExecutor};
use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::mpsc::channel;
use std::time::Duration;

#[test]
fn every_attempt_is_there_with_its_place_its_times_and_its_end() {
    within_30s(|| {
        let (timeline, run) = recorded(2, mixed());
        let attempts = timeline.attempts();
        let counts = run.counts();
        let with = |outcome| {
            attempts
                .iter()
                .filter(move |attempt| attempt.outcome == outcome)
        };
        assert_eq!(
            with(AttemptOutcome::Succeeded).count() as u64,
            counts.succeeded
        );
        // Elements 3, twice, and 5, once.
        assert_eq!(with(AttemptOutcome::Failed).count(), 3);
        assert_eq!(attempts.len() as u64, counts.succeeded + 3);
        for attempt in attempts {
            let ready = attempt.ready.unwrap();
            assert!(
                timeline.begun() <= ready && ready <= attempt.started,
                "{attempt:?}"
            );
            let ended = attempt.ended.unwrap();
            assert!(
                attempt.started <= ended && ended <= timeline.until(),
                "{attempt:?}"
            );
            assert!(attempt.slot < 2);
            assert_eq!(
                attempt.reason.is_some(),
                attempt.outcome == AttemptOutcome::Failed
            );
        }
        assert_eq!(
            (timeline.lost_events(), timeline.omitted_attempts()),
            (0, 0)
        );
    });
}

#[test]
fn attempts_on_one_slot_do_not_overlap() {
    let (timeline, _) = recorded(3, mixed());
    let mut free = HashMap::new();
    for attempt in timeline.attempts() {
        let place = (attempt.node, attempt.slot);
        let free = free.entry(place).or_insert(Duration::ZERO);
        assert!(*free <= attempt.started, "{attempt:?}");
        *free = attempt.ended.unwrap();
    }
}

#[test]
fn what_still_runs_has_no_end_and_has_one_later() {
    within_30s(|| {
        let pool = Pool::new(ThreadExecutor::new(1).unwrap());
        let recording = pool.record_timelines();
        let (begun, has_begun) = channel();
        let (go_on, may_go_on) = channel::<()>();
        let may_go_on = Mutex::new(may_go_on);
        let mut job = Job::new("open");
        let open = job.task("open", (), move || {
            begun.send(()).unwrap();
            may_go_on.lock().unwrap().recv().unwrap();
        });
        let run = pool.submit(job).unwrap();
        has_begun.recv().unwrap();
        let timeline = recording.timeline(&run).unwrap();
        let [attempt] = timeline.attempts() else {
            panic!("one attempt");
        };
        assert_eq!((attempt.task, attempt.ended), (open.id(), None));
        assert_eq!(attempt.outcome, AttemptOutcome::Running);
        assert!(timeline.html().to_string().contains("is under way"));

        go_on.send(()).unwrap();
        run.wait().unwrap();
        let timeline = recording.timeline(&run).unwrap();
        assert_eq!(timeline.attempts()[0].outcome, AttemptOutcome::Succeeded);
    });
}

#[test]
fn a_cancelled_attempt_ends_when_it_is_cancelled() {
    within_30s(|| {
        let pool = Pool::new(ThreadExecutor::new(1).unwrap());
        let recording = pool.record_timelines();
        let (begun, has_begun) = channel();
        let mut job = Job::new("cancelled");
        job.task("deaf", (), move |cx: &batchyard::Context| {
            begun.send(()).unwrap();
            while !cx.is_cancelled() {
                std::thread::yield_now();
            }
        });
        let run = pool.submit(job).unwrap();
        has_begun.recv().unwrap();
        run.cancel();
        let _ = run.wait();
        let timeline = recording.timeline(&run).unwrap();
        assert_eq!(timeline.attempts()[0].outcome, AttemptOutcome::Cancelled);
        assert!(timeline.attempts()[0].ended.is_some());
    });
}

#[test]
fn runs_are_recorded_apart_and_can_be_forgotten() {
    within_30s(|| {
        let pool = Pool::new(ThreadExecutor::new(2).unwrap());
        let before = pool.submit(array("before", 3)).unwrap();
        before.wait().unwrap();
        let recording = pool.record_timelines();
        let one = pool.submit(array("one", 10)).unwrap();
        let other = pool.submit(array("other", 20)).unwrap();
        one.wait().unwrap();
        other.wait().unwrap();
        assert!(recording.timeline(&before).is_none());
        assert_eq!(recording.timeline(&one).unwrap().attempts().len(), 10);
        assert_eq!(recording.timeline(&other).unwrap().attempts().len(), 20);
        recording.forget(&one);
        assert!(recording.timeline(&one).is_none());

        let elsewhere = Pool::new(ThreadExecutor::new(1).unwrap());
        let stranger = elsewhere.submit(array("stranger", 1)).unwrap();
        assert!(recording.timeline(&stranger).is_none());
    });
}

#[test]
fn a_timeline_can_be_asked_for_when_the_pool_has_closed() {
    within_30s(|| {
        let pool = Pool::new(ThreadExecutor::new(2).unwrap());
        let recording = pool.record_timelines();
        let run = pool.submit(array("closed", 50)).unwrap();
        pool.close(Close::Drain, Duration::MAX);
        drop(pool);
        let timeline = recording.timeline(&run).unwrap();
        let tasks: Vec<TaskId> = timeline
            .attempts()
            .iter()
            .map(|attempt| attempt.task)
            .collect();
        assert_eq!(tasks.len(), 50);
    });
}

fn array(name: &str, len: usize) -> Job {
    let mut job = Job::new(name);
    job.array("array", len, |n: &usize| *n);
    job
}
