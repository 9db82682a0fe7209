//! A timeline in the trace event format of Chrome and Perfetto.

use super::{AttemptTimes, Timeline};
use crate::model::TaskId;
use crate::observe::event::NodeId;
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::time::Duration;

/// The job is a process of its own, before those of the nodes.
const JOB: u64 = 1;

pub(super) struct Trace<'a>(pub(super) &'a Timeline);

/// One event of the format. Times are in microseconds.
#[derive(Serialize)]
struct Entry {
    ph: &'static str,
    name: String,
    cat: &'static str,
    ts: f64,
    pid: u64,
    tid: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    dur: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<usize>,
    /// That a flow ends in the slice around it, and not in the next one.
    #[serde(skip_serializing_if = "Option::is_none")]
    bp: Option<&'static str>,
    #[serde(skip_serializing_if = "Value::is_null")]
    args: Value,
}

impl fmt::Display for Trace<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut entries = self.0.attempt_entries();
        entries.push(self.0.run_entry());
        entries.extend(self.0.waits());
        entries.extend(self.0.flows());
        entries.sort_by(|one, other| one.ts.total_cmp(&other.ts));
        f.write_str("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[")?;
        for (at, entry) in self.0.names().into_iter().chain(entries).enumerate() {
            let comma = if at == 0 { "\n" } else { ",\n" };
            let entry = serde_json::to_string(&entry).map_err(|_| fmt::Error)?;
            write!(f, "{comma}{entry}")?;
        }
        let about = json!({
            "job": self.0.run.job(),
            "lost_events": self.0.lost,
            "omitted_attempts": self.0.omitted,
        });
        writeln!(f, "\n],\"otherData\":{about}}}")
    }
}

impl Timeline {
    fn attempt_entries(&self) -> Vec<Entry> {
        let entry = |attempt: &AttemptTimes| {
            let mut entry = self.entry("X", attempt, attempt.started);
            entry.dur = Some(micros(self.length_of(attempt)));
            entry.args = json!({
                "attempt": attempt.attempt,
                "outcome": attempt.outcome.name(),
                "reason": attempt.reason.as_deref(),
                "waited_us": attempt.wait().map(micros),
            });
            entry
        };
        self.attempts.iter().map(entry).collect()
    }

    /// An event on an attempt's track.
    fn entry(&self, ph: &'static str, attempt: &AttemptTimes, at: Duration) -> Entry {
        Entry {
            ph,
            name: self.run.task_label(attempt.task),
            cat: "attempt",
            ts: micros(at),
            pid: process(attempt.node),
            tid: u64::from(attempt.slot) + 1,
            dur: None,
            id: None,
            bp: None,
            args: Value::Null,
        }
    }

    fn run_entry(&self) -> Entry {
        let mut entry = of_job("X", self.run.to_string(), self.begun);
        entry.dur = Some(micros(self.span()));
        entry.args = json!({ "tasks": self.summary.progress.tasks });
        entry
    }

    /// From ready to started.
    fn waits(&self) -> impl Iterator<Item = Entry> {
        let waits = self
            .attempts
            .iter()
            .enumerate()
            .filter_map(|(id, attempt)| {
                let ready = attempt.ready.filter(|&ready| ready < attempt.started)?;
                Some([("b", ready), ("e", attempt.started)].map(|(ph, at)| {
                    let mut entry = of_job(ph, self.run.task_label(attempt.task), at);
                    (entry.cat, entry.id) = ("wait", Some(id));
                    entry
                }))
            });
        waits.flatten()
    }

    /// From the last attempts of what a task depends on to its first.
    fn flows(&self) -> Vec<Entry> {
        let ends = self.ends();
        let mut entries = Vec::new();
        let firsts = self.attempts.iter().filter(|attempt| attempt.attempt == 1);
        for attempt in firsts {
            for before in self.drawing.job().direct_predecessors(attempt.task) {
                let before = ends.get(&before).map(|&before| &self.attempts[before]);
                let Some(before) = before.filter(|before| self.end_of(before) <= attempt.started)
                else {
                    continue;
                };
                entries.extend(self.flow(entries.len() / 2, before, attempt));
            }
        }
        entries
    }

    fn flow(&self, id: usize, from: &AttemptTimes, to: &AttemptTimes) -> [Entry; 2] {
        // A slice ends before its end: what is to be inside it comes a nanosecond earlier.
        let inside = self.end_of(from).saturating_sub(Duration::from_nanos(1));
        let mut start = self.entry("s", from, inside.max(from.started));
        let mut finish = self.entry("f", to, to.started);
        finish.bp = Some("e");
        for entry in [&mut start, &mut finish] {
            entry.name = "dependency".to_owned();
            (entry.cat, entry.id) = ("dependency", Some(id));
        }
        [start, finish]
    }

    /// Of each task its last attempt; of each array that of the element that ended last.
    fn ends(&self) -> HashMap<TaskId, usize> {
        let job = self.drawing.job();
        let mut ends: HashMap<TaskId, usize> = HashMap::new();
        for (at, attempt) in self.attempts.iter().enumerate() {
            ends.insert(attempt.task, at);
            let array = job
                .locate(attempt.task)
                .filter(|_| attempt.task.is_element());
            if let Some((array, _)) = array {
                let last = ends.entry(TaskId(array)).or_insert(at);
                if self.end_of(attempt) >= self.end_of(&self.attempts[*last]) {
                    *last = at;
                }
            }
        }
        ends
    }

    /// What processes and threads are called.
    fn names(&self) -> Vec<Entry> {
        let mut names = vec![
            name("process_name", JOB, 0, format!("job `{}`", self.run.job())),
            name("thread_name", JOB, 1, "run".to_owned()),
        ];
        let tracks = self.slots();
        let nodes: BTreeSet<_> = tracks.iter().map(|&(node, _)| node).collect();
        for node in nodes {
            names.push(name(
                "process_name",
                process(node),
                0,
                self.node_label(node),
            ));
        }
        for (node, slot) in tracks {
            let tid = u64::from(slot) + 1;
            names.push(name(
                "thread_name",
                process(node),
                tid,
                format!("slot {slot}"),
            ));
        }
        names
    }

    /// A node's number, and its labels if it has any.
    pub(super) fn node_label(&self, node: NodeId) -> String {
        let seen = self.nodes.iter().find(|seen| seen.node == node);
        match seen.filter(|seen| !seen.labels.is_empty()) {
            Some(seen) => format!("{node} {}", seen.labels.join(" ")),
            None => node.to_string(),
        }
    }
}

fn of_job(ph: &'static str, name: String, at: Duration) -> Entry {
    Entry {
        ph,
        name,
        cat: "job",
        ts: micros(at),
        pid: JOB,
        tid: 1,
        dur: None,
        id: None,
        bp: None,
        args: Value::Null,
    }
}

fn name(what: &str, pid: u64, tid: u64, called: String) -> Entry {
    Entry {
        tid,
        pid,
        cat: "__metadata",
        args: json!({ "name": called }),
        ..of_job("M", what.to_owned(), Duration::ZERO)
    }
}

fn process(node: NodeId) -> u64 {
    u64::from(node.0) + JOB + 1
}

fn micros(time: Duration) -> f64 {
    time.as_nanos() as f64 / 1000.0
}
