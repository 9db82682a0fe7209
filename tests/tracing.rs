//! Spans and lines for subscribers of `tracing`.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "the helpers of tests may panic, too; clippy.toml allows it only in the tests themselves"
)]

use batchyard::{Job, Pool, TaskSettings, ThreadExecutor, asynchronous, fallible};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

type Fields = BTreeMap<&'static str, String>;

/// A span: its name, what it is in, and its fields.
type Span = (&'static str, Option<u64>, Fields);

/// Keeps everything.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Notes>>);

#[derive(Default)]
struct Notes {
    spans: Vec<Span>,
    lines: Vec<(Level, Option<u64>, Fields)>,
    closed: Vec<u64>,
}

thread_local! {
    static INSIDE: std::cell::RefCell<Vec<u64>> = const { std::cell::RefCell::new(Vec::new()) };
}

struct Visitor<'a>(&'a mut Fields);

impl Visit for Visitor<'_> {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name(), value.to_owned());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        self.0.insert(field.name(), format!("{value:?}"));
    }
}

impl Subscriber for Kept {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        matches!(metadata.target(), "batchyard" | "tracing")
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut fields = Fields::new();
        span.record(&mut Visitor(&mut fields));
        let spans = &mut self.0.lock().unwrap().spans;
        let parent = span.parent().map(Id::into_u64);
        spans.push((span.metadata().name(), parent, fields));
        Id::from_u64(spans.len() as u64)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut fields = Fields::new();
        event.record(&mut Visitor(&mut fields));
        let inside = INSIDE.with_borrow(|inside| inside.last().copied());
        let lines = &mut self.0.lock().unwrap().lines;
        lines.push((*event.metadata().level(), inside, fields));
    }

    fn enter(&self, span: &Id) {
        INSIDE.with_borrow_mut(|inside| inside.push(span.into_u64()));
    }

    fn exit(&self, _: &Id) {
        INSIDE.with_borrow_mut(|inside| inside.truncate(inside.len().saturating_sub(1)));
    }

    fn try_close(&self, id: Id) -> bool {
        self.0.lock().unwrap().closed.push(id.into_u64());
        true
    }
}

#[test]
fn attempts_are_spans_of_their_jobs_and_a_final_failure_is_one_warning_though_nobody_awaits_it() {
    let kept = Kept::default();
    tracing::subscriber::set_global_default(kept.clone()).unwrap();
    let pool = Pool::new(ThreadExecutor::new(2).unwrap());
    let mut job = Job::new("traced");
    let settings = TaskSettings::new()
        .max_retries(1)
        .backoff(batchyard::Backoff::none());
    let plain = job.task(
        "plain",
        (),
        || tracing::info!(target: "tracing", says = "plain"),
    );
    let waits = job.task(
        "waits",
        &plain,
        asynchronous(|(): ()| async {
            tracing::info!(target: "tracing", says = "waits");
            Ok::<_, std::io::Error>(())
        }),
    );
    let fails = job.task("fails", &waits, fallible(|(): &()| Err::<(), _>("torn")));
    job.configure(fails, settings);
    let array = job.array("array", 3, |n: &usize| {
        tracing::info!(target: "tracing", says = "element", n);
    });
    assert_eq!(array.len(), 3);
    drop(pool.submit(job).unwrap());
    assert!(
        pool.close(batchyard::Close::Drain, Duration::from_secs(25))
            .is_empty()
    );
    drop(pool);

    let notes = kept.0.lock().unwrap();
    let jobs: Vec<_> = notes.spans.iter().filter(|span| span.0 == "job").collect();
    assert_eq!(jobs.len(), 1);
    assert_eq!(jobs[0].2["job"], "traced");
    assert_eq!(jobs[0].2["tasks"], "6");
    let attempts: Vec<_> = notes
        .spans
        .iter()
        .filter(|span| span.0 == "attempt")
        .collect();
    assert_eq!(
        attempts.len(),
        7,
        "one each, and two of what fails: {attempts:?}"
    );
    assert!(
        attempts.iter().all(|span| span.1 == Some(1)),
        "all in the job's"
    );

    for (says, task) in [
        ("plain", "plain"),
        ("waits", "waits"),
        ("element", "array[2]"),
    ] {
        let line = notes.lines.iter().find(|(_, inside, fields)| {
            let span = inside.map(|id| &notes.spans[id as usize - 1]);
            fields.get("says").is_some_and(|is| is == says)
                && span.is_some_and(|span| span.2["task"] == task)
        });
        assert!(line.is_some(), "{says} is said in the span of {task}");
    }
    let warnings = notes
        .lines
        .iter()
        .filter(|(level, ..)| *level == Level::WARN);
    let warnings: Vec<_> = warnings.collect();
    assert_eq!(warnings.len(), 1);
    let fields = &warnings[0].2;
    assert_eq!(fields["job"], "traced");
    assert_eq!(fields["task"], "fails");
    assert_eq!(fields["attempt"], "2");
    assert!(fields["cause"].contains("torn"));
    assert!(
        notes.closed.contains(&1),
        "the job's span is closed with the run"
    );
}
