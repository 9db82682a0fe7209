//! The trace, held against the rules of the trace event format.

use crate::watchdog::within_30s;
use crate::{mixed, recorded};
use batchyard::Job;
use serde_json::{Map, Value};
use std::collections::{HashMap, HashSet};

type Entry = Map<String, Value>;

/// A trace that keeps the rules of the format, or a panic.
struct Trace(Vec<Entry>);

impl Trace {
    /// Fields that each phase needs, times and durations, tracks that are in order and don't overlap, names for all tracks,
    /// waits that end, and flows that lead from inside one slice into another, later one.
    fn checked(text: &str) -> Self {
        let document: Value = serde_json::from_str(text).expect("JSON");
        assert_eq!(document["displayTimeUnit"], "ms");
        let events = document["traceEvents"].as_array().expect("an array");
        let entry = |event: &Value| event.as_object().expect("objects").clone();
        let trace = Trace(events.iter().map(entry).collect());
        trace.0.iter().for_each(check_fields);
        trace.check_tracks();
        trace.check_names();
        trace.check_waits();
        trace.check_flows();
        trace
    }

    fn of_phase<'a>(&'a self, ph: &'a str) -> impl Iterator<Item = &'a Entry> {
        self.0.iter().filter(move |entry| text(entry, "ph") == ph)
    }

    fn check_tracks(&self) {
        let mut last: HashMap<_, f64> = HashMap::new();
        for entry in self.0.iter().filter(|entry| text(entry, "ph") != "M") {
            let last = last.entry(track(entry)).or_insert(0.0);
            assert!(number(entry, "ts") >= *last, "goes back: {entry:?}");
            *last = number(entry, "ts");
        }
        let mut free: HashMap<_, f64> = HashMap::new();
        for slice in self.of_phase("X") {
            let free = free.entry(track(slice)).or_insert(0.0);
            // A microsecond has a thousand parts; floating point is less exact than that here.
            assert!(number(slice, "ts") + 0.0005 >= *free, "overlaps: {slice:?}");
            *free = end(slice);
        }
    }

    fn check_names(&self) {
        let named = |what: &str| {
            let names = self
                .of_phase("M")
                .filter(|entry| text(entry, "name") == what);
            let names = names.inspect(|entry| assert!(entry["args"]["name"].is_string()));
            names.map(track).collect::<HashSet<_>>()
        };
        let (processes, threads) = (named("process_name"), named("thread_name"));
        for entry in self.of_phase("X") {
            let (pid, tid) = track(entry);
            assert!(processes.contains(&(pid, 0)), "{entry:?}");
            assert!(threads.contains(&(pid, tid)), "{entry:?}");
        }
    }

    fn check_waits(&self) {
        let mut open = HashMap::new();
        for entry in &self.0 {
            let key = || (text(entry, "cat"), entry["id"].to_string());
            match text(entry, "ph") {
                "b" => assert!(open.insert(key(), number(entry, "ts")).is_none()),
                "e" => {
                    let begun = open.remove(&key()).expect("begins before it ends");
                    assert!(begun <= number(entry, "ts"));
                }
                _ => (),
            }
        }
        assert!(open.is_empty(), "without end: {open:?}");
    }

    fn check_flows(&self) {
        let mut begun = HashMap::new();
        for entry in self.of_phase("s") {
            assert!(begun.insert(entry["id"].to_string(), entry).is_none());
        }
        for entry in self.of_phase("f") {
            let start = begun
                .remove(&entry["id"].to_string())
                .expect("a start for each end");
            assert!(number(start, "ts") <= number(entry, "ts"));
            assert_eq!(
                (text(start, "cat"), text(start, "name")),
                (text(entry, "cat"), text(entry, "name"))
            );
            assert_eq!(text(entry, "bp"), "e");
            self.slice_around(start);
            self.slice_around(entry);
        }
        assert!(begun.is_empty(), "lead nowhere: {begun:?}");
    }

    fn slice_around(&self, point: &Entry) -> &Entry {
        let (at, on) = (number(point, "ts"), track(point));
        let around = |slice: &&Entry| {
            track(slice) == on && number(slice, "ts") <= at && at <= end(slice) + 0.0005
        };
        self.of_phase("X")
            .find(around)
            .unwrap_or_else(|| panic!("in no slice: {point:?}"))
    }

    /// Which task's flow leads to which.
    fn flows(&self) -> HashSet<(String, String)> {
        let ends: HashMap<_, _> = self
            .of_phase("f")
            .map(|entry| (entry["id"].to_string(), entry))
            .collect();
        // Where one slice ends another begins: the flow starts in the first, and ends in the second.
        let from = |point| text(self.slice_around(point), "name").to_owned();
        let to = |point: &Entry| {
            let is_it = |slice: &&Entry| {
                track(slice) == track(point) && number(slice, "ts") == number(point, "ts")
            };
            text(self.of_phase("X").find(is_it).unwrap(), "name").to_owned()
        };
        let pairs = self
            .of_phase("s")
            .map(|start| (from(start), to(ends[&start["id"].to_string()])));
        pairs.collect()
    }
}

fn check_fields(entry: &Entry) {
    let needs: &[&str] = match text(entry, "ph") {
        "X" => &["dur"],
        "b" | "e" | "s" | "f" => &["id", "cat"],
        "M" => &["args"],
        other => panic!("no phase that is used: {other}"),
    };
    needs
        .iter()
        .for_each(|field| assert!(entry.contains_key(*field), "{field} in {entry:?}"));
    assert!(entry["pid"].is_u64() && entry["tid"].is_u64(), "{entry:?}");
    assert!(!text(entry, "name").is_empty());
    assert!(number(entry, "ts") >= 0.0);
    assert!(
        entry
            .get("dur")
            .is_none_or(|dur| dur.as_f64().unwrap() >= 0.0),
        "{entry:?}"
    );
    assert!(entry.get("args").is_none_or(Value::is_object), "{entry:?}");
}

fn text<'a>(entry: &'a Entry, field: &str) -> &'a str {
    entry
        .get(field)
        .and_then(Value::as_str)
        .unwrap_or_else(|| panic!("{field} in {entry:?}"))
}

fn number(entry: &Entry, field: &str) -> f64 {
    entry
        .get(field)
        .and_then(Value::as_f64)
        .unwrap_or_else(|| panic!("{field} in {entry:?}"))
}

fn track(entry: &Entry) -> (u64, u64) {
    (
        entry["pid"].as_u64().unwrap(),
        entry["tid"].as_u64().unwrap(),
    )
}

fn end(slice: &Entry) -> f64 {
    number(slice, "ts") + number(slice, "dur")
}

#[test]
fn the_trace_of_a_run_with_failures_keeps_the_rules_of_the_format() {
    within_30s(|| {
        let (timeline, _) = recorded(3, mixed());
        let trace = Trace::checked(&timeline.chrome_trace().to_string());
        let slices: Vec<_> = trace
            .of_phase("X")
            .filter(|slice| slice["cat"] == "attempt")
            .collect();
        assert_eq!(slices.len(), timeline.attempts().len());
        let failed = slices
            .iter()
            .filter(|slice| slice["args"]["outcome"] == "failed");
        let reasons: HashSet<_> = failed
            .map(|slice| slice["args"]["reason"].as_str().unwrap())
            .collect();
        assert_eq!(
            reasons,
            HashSet::from(["failed: is torn", "failed: is late"])
        );
    });
}

#[test]
fn flows_lead_from_what_is_waited_for_to_what_waits() {
    within_30s(|| {
        let mut job = Job::new("flows");
        let first = job.task("first", (), || 1);
        let array = job.map_with("array", 0..4, &first, |n: &i32, _: &i32| *n);
        let each = job.each("each", &array, |n: &i32| *n);
        job.reduce("last", &each, |all: &[i32]| all.len());
        let (timeline, _) = recorded(1, job);
        let flows = Trace::checked(&timeline.chrome_trace().to_string()).flows();
        for n in 0..4 {
            assert!(
                flows.contains(&("first".to_owned(), format!("array[{n}]"))),
                "{flows:?}"
            );
            assert!(
                flows.contains(&(format!("array[{n}]"), format!("each[{n}]"))),
                "{flows:?}"
            );
        }
        let to_last = flows.iter().filter(|(_, to)| to == "last");
        assert_eq!(
            to_last.count(),
            1,
            "of all elements, the one that ended last"
        );
        assert_eq!(flows.len(), 9);
    });
}

#[test]
fn names_of_the_users_do_no_harm_in_a_trace() {
    let mut job = Job::new("\"},{\u{1}\\");
    job.task("a\"b\\c\nd", (), || ());
    let (timeline, _) = recorded(1, job);
    let trace = Trace::checked(&timeline.chrome_trace().to_string());
    assert!(
        trace
            .of_phase("X")
            .any(|slice| slice["name"] == "a\"b\\c\nd")
    );
}

#[test]
fn a_job_without_tasks_has_a_trace() {
    let (timeline, _) = recorded(1, Job::new("empty"));
    let trace = Trace::checked(&timeline.chrome_trace().to_string());
    assert_eq!(trace.of_phase("X").count(), 1, "that of the run");
}
