//! Events become attempts with their times.

use super::{AttemptOutcome, AttemptTimes};
use crate::model::{AttemptEnd, TaskId};
use crate::observe::event::{Event, EventKind, NodeId, RunId, RunName};
use crate::observe::events::Update;
use crate::observe::snapshot::{NodeSnapshot, Snapshot};
use crate::observe::words::AttemptWords;
use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

/// So many attempts of a run are kept: some two hundred megabytes.
const MOST_ATTEMPTS: usize = 1 << 21;

/// All that was heard.
#[derive(Default)]
pub(super) struct Recorder {
    pub(super) runs: BTreeMap<RunId, Recorded>,
    /// Those that have left, too.
    pub(super) nodes: BTreeMap<NodeId, NodeSnapshot>,
    pub(super) lost: u64,
}

/// What was heard of a run.
pub(super) struct Recorded {
    pub(super) name: RunName,
    pub(super) begun: Duration,
    pub(super) ended: Option<Duration>,
    pub(super) attempts: Vec<AttemptTimes>,
    pub(super) omitted: u64,
    ready: Ready,
    /// Where in `attempts` those are that run.
    running: HashMap<TaskId, usize>,
}

/// When tasks became ready that have not started.
#[derive(Default)]
struct Ready {
    single: HashMap<TaskId, Duration>,
    /// Many at once, by the first of them: how many, and when.
    spans: BTreeMap<TaskId, (u32, Duration)>,
}

impl Recorder {
    pub(super) fn take_in(&mut self, update: &Update) {
        match update {
            Update::Event(event) => self.event(event),
            Update::Snapshot(snapshot) => self.snapshot(snapshot),
            Update::Lagged(lost) => self.lost += lost,
        }
    }

    fn snapshot(&mut self, snapshot: &Snapshot) {
        for node in &snapshot.nodes {
            self.nodes.insert(node.node, node.clone());
        }
        for stood in &snapshot.runs {
            let name = stood.name.clone();
            let run = self.runs.entry(stood.run);
            let run = run.or_insert_with(|| Recorded::new(name, Duration::ZERO));
            // What ran may have ended unheard.
            run.running.clear();
        }
    }

    fn event(&mut self, event: &Event) {
        match (&event.kind, &event.run) {
            (
                EventKind::NodeJoined {
                    node,
                    labels,
                    slots,
                },
                _,
            ) => {
                let seen = NodeSnapshot {
                    node: *node,
                    labels: labels.clone(),
                    slots: *slots,
                };
                self.nodes.insert(*node, seen);
            }
            (EventKind::NodeResized { node, slots }, _) => {
                if let Some(seen) = self.nodes.get_mut(node) {
                    seen.slots = seen.slots.max(*slots);
                }
            }
            (_, Some(name)) => {
                let run = self.runs.entry(name.id());
                run.or_insert_with(|| Recorded::new(name.clone(), event.at))
                    .event(event);
            }
            (_, None) => (),
        }
    }
}

impl Recorded {
    fn new(name: RunName, begun: Duration) -> Self {
        Recorded {
            name,
            begun,
            ended: None,
            attempts: Vec::new(),
            omitted: 0,
            ready: Ready::default(),
            running: HashMap::new(),
        }
    }

    fn event(&mut self, event: &Event) {
        match &event.kind {
            EventKind::TasksReady { first, count } => self.ready.add(*first, *count, event.at),
            EventKind::AttemptStarted {
                task,
                attempt,
                node,
                slot,
            } => {
                let ready = self.ready.take(*task);
                let started = AttemptTimes {
                    task: *task,
                    attempt: *attempt,
                    node: *node,
                    slot: *slot,
                    ready,
                    started: event.at,
                    ended: None,
                    outcome: AttemptOutcome::Running,
                    reason: None,
                };
                self.start(started);
            }
            EventKind::AttemptEnded { task, end, .. } => self.end(*task, end, event.at),
            EventKind::TasksCancelled { .. } => {
                let running = event.kind.tasks();
                running.for_each(|task| self.end(task, &AttemptEnd::Cancelled, event.at));
            }
            EventKind::RunEnded { .. } => {
                self.ended = Some(event.at);
                self.ready = Ready::default();
            }
            _ => (),
        }
    }

    fn start(&mut self, attempt: AttemptTimes) {
        if self.attempts.len() == MOST_ATTEMPTS {
            self.omitted += 1;
            return;
        }
        self.running.insert(attempt.task, self.attempts.len());
        self.attempts.push(attempt);
    }

    fn end(&mut self, task: TaskId, end: &AttemptEnd, at: Duration) {
        let Some(attempt) = self.running.remove(&task) else {
            return;
        };
        let attempt = &mut self.attempts[attempt];
        attempt.ended = Some(at);
        attempt.outcome = match end {
            AttemptEnd::Succeeded => AttemptOutcome::Succeeded,
            AttemptEnd::Failed(_) => AttemptOutcome::Failed,
            AttemptEnd::Cancelled => AttemptOutcome::Cancelled,
            AttemptEnd::Returned(_) => AttemptOutcome::Returned,
        };
        let words = || AttemptWords(end).to_string().into();
        attempt.reason = (attempt.outcome != AttemptOutcome::Succeeded).then(words);
    }
}

impl Ready {
    fn add(&mut self, first: TaskId, count: u32, at: Duration) {
        match count {
            1 => drop(self.single.insert(first, at)),
            _ => drop(self.spans.insert(first, (count, at))),
        }
    }

    fn take(&mut self, task: TaskId) -> Option<Duration> {
        let span = || self.spans.range(..=task).next_back();
        self.single.remove(&task).or_else(|| {
            let (first, &(count, at)) = span()?;
            (task.0 - first.0 < count).then_some(at)
        })
    }
}
