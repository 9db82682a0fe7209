//! How far a run is, and what is told of it afterwards.

use crate::pool;
use crate::watchdog::within_30s;
use batchyard::{
    Backoff, Context, ErrorKind, Event, EventKind, Job, Resources, TaskSettings, Update, fallible,
};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, mpsc::channel};
use std::time::Duration;

#[test]
fn progress_counts_tasks_and_slots_and_each_array() {
    within_30s(|| {
        let pool = pool(4);
        let mut job = Job::new("halfway");
        let (go_on, may_go_on) = channel::<()>();
        let (begun, has_begun) = channel();
        let may_go_on = Mutex::new(may_go_on);
        let small = job.array("small", 10, |n: &usize| *n);
        let large = job.reduce("large", &small, move |_: &[usize]| {
            begun.send(()).unwrap();
            may_go_on.lock().unwrap().recv().unwrap();
        });
        job.configure(large, TaskSettings::new().resources(Resources::slots(4)));
        let run = pool.submit(job).unwrap();
        has_begun.recv().unwrap();

        let progress = run.progress();
        assert_eq!((progress.tasks.total, progress.tasks.succeeded), (11, 10));
        assert_eq!((progress.slots.total, progress.slots.succeeded), (14, 10));
        assert_eq!(progress.running, 1);
        assert_eq!(progress.arrays.len(), 1);
        assert_eq!(progress.arrays[0].name, "small");
        assert_eq!(progress.arrays[0].tasks.succeeded, 10);
        assert!(progress.rate() > 0.0 && progress.remaining().unwrap() > Duration::ZERO);

        go_on.send(()).unwrap();
        run.wait().unwrap();
        let progress = run.progress();
        assert_eq!(progress.fraction(), 1.0);
        assert_eq!(progress.remaining(), Some(Duration::ZERO));
        assert_eq!(
            progress.elapsed,
            run.progress().elapsed,
            "time stands still after the end"
        );
    });
}

#[test]
fn a_summary_counts_the_ends_and_names_the_failures() {
    let pool = pool(2);
    let mut job = Job::new("mixed");
    let scored = job.map(
        "score",
        0..20_u32,
        fallible(|n: &u32| match n {
            3 | 5 => Err(format!("image {n} is torn")),
            _ => Ok(*n),
        }),
    );
    job.each("double", &scored, |n: &u32| n * 2);
    let run = pool.submit(job).unwrap();
    run.wait().unwrap_err();
    let summary = run.summary();
    assert!(summary.ended && summary.failures.len() == 2);
    let text = summary.to_string();
    for expected in [
        "job `mixed` failed after",
        "36 of 40 tasks succeeded, 2 failed, 2 skipped",
        "`double`: 18 of 20 succeeded, 2 skipped",
        "`score[3]` failed: image 3 is torn",
        "`score[5]` failed: image 5 is torn",
    ] {
        assert!(text.contains(expected), "{expected:?} in\n{text}");
    }
}

#[test]
fn a_story_tells_of_attempts_their_causes_the_waits_and_the_end() {
    let pool = pool(1);
    let mut job = Job::new("tale");
    let first = job.task("first", (), || ());
    let tries = AtomicU32::new(0);
    let body = move |(): &()| match tries.fetch_add(1, Ordering::Relaxed) {
        0 => Err("the disk was full"),
        _ => Ok(()),
    };
    let second = job.task("second", &first, fallible(body));
    let settings = TaskSettings::new()
        .max_retries(1)
        .backoff(Backoff::constant(Duration::from_millis(1)));
    job.configure(second, settings);
    let third = job.task(
        "third",
        &second,
        fallible(|(): &()| Err::<(), _>("no network")),
    );
    let fourth = job.task("fourth", &third, |(): &()| ());
    let run = pool.submit(job).unwrap();
    run.wait().unwrap_err();

    let story = run.story(second).unwrap().to_string();
    for expected in [
        "`second` of job `tale`",
        "it waits for `first`, which is succeeded",
        "attempt 1 failed: the disk was full",
        "attempt 2 began after waiting",
        "attempt 2 succeeded",
        "it has succeeded",
    ] {
        assert!(story.contains(expected), "{expected:?} in\n{story}");
    }
    let first = run.story(first).unwrap().to_string();
    assert!(first.contains("its first attempt succeeded"), "{first}");
    let fourth = run.story(fourth).unwrap().to_string();
    assert!(fourth.contains("it was skipped"), "{fourth}");
    assert!(fourth.contains("no network"), "{fourth}");

    let other = Job::new("other").task("x", (), || ());
    assert_eq!(run.story(other).unwrap_err().kind(), ErrorKind::UnknownTask);
}

#[test]
fn a_story_of_a_task_that_waits_says_what_for() {
    let pool = pool(1);
    let mut job = Job::new("waits");
    let before = job.task("before", (), || ());
    job.configure(
        before,
        TaskSettings::new().start_after(Duration::from_secs(3600)),
    );
    let after = job.task("after", &before, |(): &()| ());
    let run = pool.submit(job).unwrap();
    let story = run.story(after).unwrap().to_string();
    assert!(
        story.contains("it waits for `before`, which has not ended"),
        "{story}"
    );
}

/// The events of a job whose only task is this body, until `enough`.
fn until(
    body: impl Fn(&Context) + Send + Sync + 'static,
    settings: TaskSettings,
    enough: impl Fn(&EventKind) -> bool,
) -> Vec<Event> {
    let pool = pool(1);
    let listener = pool.events().blocking();
    let mut job = Job::new("talking");
    let task = job.task("body", (), body);
    job.configure(task, settings);
    let _run = pool.submit(job).unwrap().cancel_on_drop();
    let mut events = Vec::new();
    for update in listener {
        if let Update::Event(event) = update {
            let last = enough(&event.kind);
            events.push(event);
            if last {
                break;
            }
        }
    }
    events
}

#[test]
fn a_body_reports_its_progress_and_the_reports_stand_between_start_and_end() {
    within_30s(|| {
        let body = |cx: &Context| {
            cx.report_progress(0.25, "a quarter");
            cx.report_progress((3, 4), "three quarters");
        };
        let is_end = |kind: &EventKind| matches!(kind, EventKind::RunEnded { .. });
        let events = until(body, TaskSettings::new(), is_end);
        let start = events
            .iter()
            .find(|event| matches!(event.kind, EventKind::AttemptStarted { .. }));
        let reports: Vec<_> = events
            .iter()
            .filter_map(|event| match &event.kind {
                EventKind::ProgressReported { report, .. } => Some((event.cause, report.clone())),
                _ => None,
            })
            .collect();
        assert_eq!(reports.len(), 2);
        assert!(
            reports
                .iter()
                .all(|(cause, _)| *cause == Some(start.unwrap().id))
        );
        assert_eq!(reports[0].1.fraction, 0.25);
        assert_eq!(reports[1].1.fraction, 0.75);
        assert_eq!(reports[1].1.message, "three quarters");
    });
}

#[test]
fn an_attempt_that_says_nothing_stalls_and_one_that_goes_on_talking_does_not() {
    within_30s(|| {
        let settings = || TaskSettings::new().stalled_after(Duration::from_millis(500));
        let silent = |cx: &Context| {
            while !cx.is_cancelled() {
                std::thread::yield_now();
            }
        };
        let is_stall = |kind: &EventKind| matches!(kind, EventKind::AttemptStalled { .. });
        let events = until(silent, settings(), is_stall);
        let EventKind::AttemptStalled { silent, .. } = events.last().unwrap().kind else {
            panic!("it stalls");
        };
        assert!(silent >= Duration::from_millis(500));

        let done = Arc::new(AtomicBool::new(false));
        let chatty = move |cx: &Context| {
            let begun = std::time::Instant::now();
            while begun.elapsed() < Duration::from_millis(1200) {
                cx.report_progress(0.5, "still here");
                std::thread::yield_now();
            }
            done.store(true, Ordering::Relaxed);
        };
        let is_end = |kind: &EventKind| matches!(kind, EventKind::RunEnded { .. });
        let events = until(chatty, settings(), is_end);
        assert!(!events.iter().any(|event| is_stall(&event.kind)));
    });
}

#[cfg(feature = "progress")]
#[test]
fn without_a_terminal_progress_is_lines_and_the_summary_is_the_last() {
    use batchyard::ProgressView;

    #[derive(Clone, Default)]
    struct Shared(Arc<Mutex<Vec<u8>>>);
    impl std::io::Write for Shared {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().extend(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    within_30s(|| {
        let pool = pool(1);
        let said = Shared::default();
        let line = said.clone();
        let mut job = Job::new("told");
        let first = job.task("first", (), || ());
        // The second goes on when a line has been printed.
        job.task("second", &first, move |(): &()| {
            while !line.0.lock().unwrap().ends_with(b"\n") {
                std::thread::yield_now();
            }
        });
        let run = pool.submit(job).unwrap();
        let shown = ProgressView::lines(Duration::from_millis(5), said.clone()).show(&run);
        run.wait().unwrap();
        drop(shown);
        let text = String::from_utf8(said.0.lock().unwrap().clone()).unwrap();
        assert!(text.starts_with("told: 1/2 (50 %), 1 running, "), "{text}");
        assert!(text.contains("job `told` succeeded after"), "{text}");
        assert!(text.contains("2 of 2 tasks succeeded"), "{text}");
        assert!(!text.contains('\u{1b}'), "no escapes: {text:?}");
    });
}
