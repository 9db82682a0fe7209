//! Counters, gauges and histograms through the `metrics` facade (feature `metrics`).
//!
//! Names, units and labels are stable, and listed in `docs/observability.md`.

use super::event::{Event, EventKind, RunId};
use super::events::{Events, Update};
use super::snapshot::{RunSnapshot, Snapshot};
use super::words::outcome_name;
use crate::Pool;
use crate::model::{AttemptEnd, Counts, TaskId, TaskState};
use metrics::{
    Unit, counter, describe_counter, describe_gauge, describe_histogram, gauge, histogram,
};
use std::collections::HashMap;
use std::time::Duration;

impl Pool {
    /// Records metrics of this pool from now on, with the recorder that is installed for the process: see
    /// `docs/observability.md` for names, units and labels. A thread does it, until the pool is dropped.
    ///
    /// It listens to all [events](Pool::events), so each task costs what it costs to be listened to. The counts of runs and
    /// tasks stay right when events are lost; those of attempts, retries and stalls, and the histograms, then lack some.
    pub fn record_metrics(&self) -> std::io::Result<()> {
        describe();
        let events = self.events();
        let thread = std::thread::Builder::new().name("batchyard-metrics".into());
        thread.spawn(move || record(events)).map(drop)
    }
}

fn describe() {
    describe_counter!(
        "batchyard_runs_total",
        Unit::Count,
        "runs that ended, by outcome"
    );
    describe_counter!(
        "batchyard_tasks_total",
        Unit::Count,
        "tasks that ended, by outcome"
    );
    describe_counter!(
        "batchyard_attempts_total",
        Unit::Count,
        "attempts that ended, by outcome"
    );
    describe_counter!(
        "batchyard_retries_total",
        Unit::Count,
        "retries that were planned"
    );
    describe_counter!(
        "batchyard_stalls_total",
        Unit::Count,
        "attempts that stalled"
    );
    describe_counter!(
        "batchyard_events_lost_total",
        Unit::Count,
        "events lost to lagging"
    );
    describe_gauge!("batchyard_runs", Unit::Count, "runs under way");
    describe_gauge!("batchyard_tasks_running", Unit::Count, "tasks in a body");
    describe_gauge!("batchyard_slots", Unit::Count, "slots of a node");
    describe_histogram!(
        "batchyard_attempt_seconds",
        Unit::Seconds,
        "how long attempts took"
    );
    describe_histogram!(
        "batchyard_wait_seconds",
        Unit::Seconds,
        "from ready to started"
    );
}

fn record(events: Events) {
    let mut recorder = Recorder::default();
    for update in events.blocking() {
        match update {
            Update::Event(event) => recorder.event(&event),
            Update::Snapshot(snapshot) => recorder.snapshot(&snapshot),
            Update::Lagged(lost) => counter!("batchyard_events_lost_total").increment(lost),
        }
    }
    recorder.runs.into_values().for_each(|run| run.leave());
}

#[derive(Default)]
struct Recorder {
    runs: HashMap<RunId, Watched>,
}

/// A run under way.
struct Watched {
    job: String,
    counted: Counts,
    ready: HashMap<TaskId, Duration>,
    running: HashMap<TaskId, Option<Duration>>,
}

impl Recorder {
    fn event(&mut self, event: &Event) {
        match (&event.kind, &event.run) {
            (
                EventKind::NodeJoined { node, slots, .. } | EventKind::NodeResized { node, slots },
                _,
            ) => {
                gauge!("batchyard_slots", "node" => node.0.to_string()).set(f64::from(*slots));
            }
            (EventKind::NodeLeft { node }, _) => {
                gauge!("batchyard_slots", "node" => node.0.to_string()).set(0.0);
            }
            (EventKind::RunEnded { error }, Some(name)) => {
                let run = self.runs.remove(&name.id());
                let run = run.unwrap_or_else(|| Watched::new(name.job()));
                run.end(error.is_none());
            }
            (_, Some(name)) => {
                let run = self
                    .runs
                    .entry(name.id())
                    .or_insert_with(|| Watched::new(name.job()));
                run.event(event);
            }
            (_, None) => (),
        }
    }

    /// After a loss: what is known is brought in line with how everything stands.
    fn snapshot(&mut self, snapshot: &Snapshot) {
        for node in &snapshot.nodes {
            gauge!("batchyard_slots", "node" => node.node.0.to_string()).set(f64::from(node.slots));
        }
        let mut before = std::mem::take(&mut self.runs);
        for stood in &snapshot.runs {
            let known = before.remove(&stood.run);
            let mut run = known.unwrap_or_else(|| Watched::new(&stood.job));
            run.catch_up(stood);
            match stood.ended {
                true => run.end(stood.succeeded),
                false => drop(self.runs.insert(stood.run, run)),
            }
        }
        before.into_values().for_each(Watched::leave);
    }
}

impl Watched {
    fn new(job: &str) -> Self {
        gauge!("batchyard_runs", "job" => job.to_owned()).increment(1.0);
        Watched {
            job: job.to_owned(),
            counted: Counts::default(),
            ready: HashMap::new(),
            running: HashMap::new(),
        }
    }

    fn event(&mut self, event: &Event) {
        match &event.kind {
            EventKind::TasksReady { count, .. } if *count <= 1 => {
                self.ready.extend(event.task().map(|task| (task, event.at)));
            }
            EventKind::AttemptStarted { task, .. } => self.started(*task, event.at),
            EventKind::AttemptEnded { task, end, .. } => self.attempt_ended(*task, end, event.at),
            EventKind::RetryPlanned { .. } => {
                counter!("batchyard_retries_total", "job" => self.job.clone()).increment(1);
            }
            EventKind::AttemptStalled { .. } => {
                counter!("batchyard_stalls_total", "job" => self.job.clone()).increment(1);
            }
            EventKind::TaskFailed { .. } => self.ended(TaskState::Failed, 1),
            EventKind::TasksSkipped { count, .. } => self.ended(TaskState::Skipped, *count),
            EventKind::TasksCancelled { count, .. } => {
                event.kind.tasks().for_each(|task| self.stopped(task));
                self.ended(TaskState::Cancelled, *count);
            }
            _ => (),
        }
    }

    fn started(&mut self, task: TaskId, at: Duration) {
        if let Some(ready) = self.ready.remove(&task) {
            let wait = at.saturating_sub(ready).as_secs_f64();
            histogram!("batchyard_wait_seconds", "job" => self.job.clone()).record(wait);
        }
        if self.running.insert(task, Some(at)).is_none() {
            self.running_gauge().increment(1.0);
        }
    }

    fn attempt_ended(&mut self, task: TaskId, end: &AttemptEnd, at: Duration) {
        let outcome = outcome_name(end).to_owned();
        let labels = [("job", self.job.clone()), ("outcome", outcome)];
        counter!("batchyard_attempts_total", &labels).increment(1);
        if let Some(Some(started)) = self.running.get(&task) {
            let took = at.saturating_sub(*started).as_secs_f64();
            histogram!("batchyard_attempt_seconds", &labels).record(took);
        }
        self.stopped(task);
        if let AttemptEnd::Succeeded = end {
            self.ended(TaskState::Succeeded, 1);
        }
    }

    fn stopped(&mut self, task: TaskId) {
        if self.running.remove(&task).is_some() {
            self.running_gauge().decrement(1.0);
        }
    }

    fn running_gauge(&self) -> metrics::Gauge {
        gauge!("batchyard_tasks_running", "job" => self.job.clone())
    }

    fn ended(&mut self, state: TaskState, tasks: u32) {
        self.counted.add(state, u64::from(tasks));
        self.count(state, u64::from(tasks));
    }

    fn count(&self, state: TaskState, tasks: u64) {
        let labels = [("job", self.job.clone()), ("outcome", state.to_string())];
        if tasks > 0 {
            counter!("batchyard_tasks_total", &labels).increment(tasks);
        }
    }

    fn catch_up(&mut self, stood: &RunSnapshot) {
        let (now, before) = (stood.counts, self.counted);
        self.count(
            TaskState::Succeeded,
            now.succeeded.saturating_sub(before.succeeded),
        );
        self.count(TaskState::Failed, now.failed.saturating_sub(before.failed));
        self.count(
            TaskState::Skipped,
            now.skipped.saturating_sub(before.skipped),
        );
        self.count(
            TaskState::Cancelled,
            now.cancelled.saturating_sub(before.cancelled),
        );
        self.counted = now;
        self.ready.clear();
        self.running_gauge().decrement(self.running.len() as f64);
        self.running = stood
            .tasks_in(TaskState::Running)
            .map(|task| (task, None))
            .collect();
        self.running_gauge().increment(self.running.len() as f64);
    }

    fn end(self, succeeded: bool) {
        let outcome = if succeeded { "succeeded" } else { "failed" };
        let labels = [("job", self.job.clone()), ("outcome", outcome.to_owned())];
        counter!("batchyard_runs_total", &labels).increment(1);
        self.leave();
    }

    /// Nobody watches it any more.
    fn leave(self) {
        self.running_gauge().decrement(self.running.len() as f64);
        gauge!("batchyard_runs", "job" => self.job).decrement(1.0);
    }
}

#[cfg(all(test, feature = "thread", not(loom)))]
#[allow(
    clippy::unwrap_used,
    reason = "the helpers of tests may panic, too; clippy.toml allows it only in the tests themselves"
)]
mod tests {
    use super::*;
    use crate::{Backoff, Job, TaskSettings, ThreadExecutor, fallible};
    use metrics_util::debugging::{DebugValue, DebuggingRecorder};
    use std::collections::BTreeSet;

    /// A metric: name, kind, labels, unit, and the value, or how many there are.
    type Metric = (String, String, Vec<(String, String)>, Option<Unit>, f64);

    /// A hundred tasks, of which one fails, twice, and one is skipped for it.
    fn job() -> Job {
        let mut job = Job::new("counted");
        let check = |n: &usize| if *n == 7 { Err("is torn") } else { Ok(*n) };
        let checked = job.map("check", 0..98, fallible(check));
        let twice = TaskSettings::new().max_retries(1);
        job.configure(checked, twice.backoff(Backoff::none()));
        job.reduce("sum", &checked, |all: &[usize]| all.len());
        job.task("other", (), || ());
        job
    }

    /// What is recorded of that job, run once, by a reader for whom so many events wait.
    fn recorded(capacity: usize) -> Vec<Metric> {
        let pool = Pool::new(ThreadExecutor::new(2).unwrap());
        let events = pool.events().capacity(capacity);
        pool.submit(job()).unwrap().wait().unwrap_err();
        drop(pool);
        let recorder = DebuggingRecorder::new();
        metrics::with_local_recorder(&recorder, || {
            describe();
            record(events);
        });
        let snapshot = recorder.snapshotter().snapshot().into_vec().into_iter();
        let metric = |(key, unit, _, value): (metrics_util::CompositeKey, _, _, _)| {
            let labels = key.key().labels();
            let labels = labels.map(|label| (label.key().to_owned(), label.value().to_owned()));
            let kind = format!("{:?}", key.kind()).to_lowercase();
            let value = match value {
                DebugValue::Counter(count) => count as f64,
                DebugValue::Gauge(value) => value.into_inner(),
                DebugValue::Histogram(values) => values.len() as f64,
            };
            (
                key.key().name().to_owned(),
                kind,
                labels.collect(),
                unit,
                value,
            )
        };
        snapshot.map(metric).collect()
    }

    fn value(metrics: &[Metric], name: &str, outcome: &str) -> f64 {
        let has = |labels: &[(String, String)]| labels.iter().any(|(_, value)| value == outcome);
        let is_it = |it: &&Metric| it.0 == name && (outcome.is_empty() || has(&it.2));
        metrics
            .iter()
            .find(is_it)
            .map_or(f64::NAN, |metric| metric.4)
    }

    /// Name, outcome, and what is expected of `recorded`, whatever is lost.
    const RUNS_AND_TASKS: [(&str, &str, f64); 6] = [
        ("batchyard_runs", "", 0.0),
        ("batchyard_runs_total", "failed", 1.0),
        ("batchyard_tasks_running", "", 0.0),
        ("batchyard_tasks_total", "succeeded", 98.0),
        ("batchyard_tasks_total", "failed", 1.0),
        ("batchyard_tasks_total", "skipped", 1.0),
    ];

    fn check(metrics: &[Metric], expected: &[(&str, &str, f64)]) {
        for &(name, outcome, expected) in expected {
            assert_eq!(value(metrics, name, outcome), expected, "{name}");
        }
    }

    #[test]
    fn runs_tasks_and_attempts_are_counted_by_outcome() {
        let metrics = recorded(1 << 16);
        check(&metrics, &RUNS_AND_TASKS);
        check(
            &metrics,
            &[
                ("batchyard_attempts_total", "failed", 2.0),
                ("batchyard_attempt_seconds", "succeeded", 98.0),
                ("batchyard_retries_total", "", 1.0),
            ],
        );
    }

    #[test]
    fn runs_and_tasks_are_counted_though_their_events_are_lost() {
        let metrics = recorded(5);
        assert!(value(&metrics, "batchyard_events_lost_total", "") > 100.0);
        check(&metrics, &RUNS_AND_TASKS);
    }

    /// Name, kind, and names of labels.
    type Row = (String, String, BTreeSet<String>);

    /// A line of the table in the documentation.
    fn documented(line: &str) -> Option<Row> {
        let cells: Vec<_> = line.split('|').map(str::trim).collect();
        let [_, name, kind, _, labels, _] = cells[..] else {
            return None;
        };
        let name = name.strip_prefix('`')?.strip_suffix('`')?;
        let labels = labels.split('`').skip(1).step_by(2).map(str::to_owned);
        let labels = labels.filter(|label| ["job", "outcome", "node"].contains(&&**label));
        let is_metric = name.starts_with("batchyard_");
        is_metric.then(|| (name.to_owned(), kind.to_owned(), labels.collect()))
    }

    #[test]
    fn names_kinds_and_labels_are_those_that_are_documented() {
        let lines = include_str!("../../docs/observability.md").lines();
        let is_usual = |row: &Row| row.0 != "batchyard_stalls_total";
        let documented: BTreeSet<_> = lines.filter_map(documented).filter(is_usual).collect();
        let metrics = recorded(1 << 16).into_iter().chain(recorded(5));
        let recorded = metrics.map(|(name, kind, labels, unit, _)| {
            let in_seconds = unit == Some(Unit::Seconds);
            assert!(
                unit.is_some() && in_seconds == name.ends_with("_seconds"),
                "{name}"
            );
            (name, kind, labels.into_iter().map(|(key, _)| key).collect())
        });
        assert_eq!(recorded.collect::<BTreeSet<Row>>(), documented);
    }
}
