//! What lanes and bodies ask of their run.

use super::Run;
use super::chronicle::{Fact, TaskSpan};
use super::flow::{Item, Segment, SegmentRef, Settled, Supervisor, Verdict};
use super::policy::{Due, Failure};
use crate::model::{BoxError, JobTag, Panic, ProgressReport, TaskId};
use crate::work::{Host, LanePass, Locals, Storage, Values};
use std::any::Any;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl Host for Run {
    fn admit(&self, lane: &LanePass<'_>, task: Option<TaskId>) -> bool {
        let (admitted, due) = self.ask(|policy, _| {
            let missed = self.flow.has_recalled_since(lane.seen.get());
            lane.seen.set(self.flow.gate.signal());
            let changed = lane.observed != self.is_observed();
            lane.recalled
                .set(changed || missed || self.has_ended() || policy.wants_back(self));
            let is_current = |task| policy.is_current_on_lane(self, task);
            let current = !self.has_ended() && task.is_none_or(is_current);
            // Under the engine's lock nobody closes the gate, so this goes in.
            let admitted = current && self.flow.gate.enter(lane.turnstile, lane.seen.get());
            (
                admitted,
                self.lane_returned(Some(lane.turnstile.number()), task),
            )
        });
        self.release_due(due);
        admitted
    }

    fn commit(&self, task: TaskId, attempt: (u32, u32), put: &mut dyn FnMut()) -> bool {
        self.engine.look(|policy| {
            let stores = policy.may_store(self, task, attempt);
            if stores && attempt.1 == 0 {
                put();
            }
            stores
        })
    }

    fn is_cancelled(&self, task: TaskId, leased: Option<u32>) -> bool {
        if self.has_ended() || self.ended_state(task).is_some() {
            return true;
        }
        match leased {
            Some(attempt) => !self
                .engine
                .look(|policy| policy.is_current(self, task, attempt)),
            None => {
                !self.flow.is_for_lanes(task)
                    || self.recalled.load(Ordering::Acquire)
                        && self.ask(|policy, _| policy.has_moved_on(self, task))
            }
        }
    }

    fn report_progress(&self, task: TaskId, attempt: u32, report: ProgressReport) {
        let watched = || self.with_settings(task, |settings| settings.stalled_after.is_some());
        if self.is_observed() || watched() {
            self.ask(|policy, effects| policy.progress(self, task, attempt, report, effects));
        }
    }

    #[cfg(feature = "journal")]
    fn save_checkpoint(
        &self,
        task: TaskId,
        leased: Option<u32>,
        bytes: Vec<u8>,
    ) -> crate::model::Result<()> {
        self.save_checkpoint(task, self.is_cancelled(task, leased), bytes)
    }

    #[cfg(feature = "journal")]
    fn last_checkpoint(&self, task: TaskId) -> Option<Vec<u8>> {
        self.checkpoints().last.get(&task).cloned()
    }

    fn job_name(&self) -> &str {
        self.name()
    }

    fn task_label(&self, task: TaskId) -> String {
        self.label(task)
    }

    fn locals(&self) -> &Locals {
        &self.locals
    }

    fn storage_of(self: Arc<Self>, task: TaskId) -> Arc<dyn Storage> {
        let added = match self.flow.locate(task).map(|place| place.segment) {
            Some(SegmentRef::Added(segment)) => Some(segment),
            _ => None,
        };
        match added {
            Some(segment) => Arc::new(Added {
                segment,
                _run: self,
            }),
            None => self,
        }
    }

    fn tag_of(&self, task: TaskId) -> JobTag {
        self.tag_of_task(task).unwrap_or(self.job().tag)
    }

    fn any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync> {
        self
    }
}

impl Storage for Run {
    fn values(&self) -> &Values {
        &self.flow.first.values
    }
}

/// What was added to a run, and the run, which drops the outputs.
struct Added {
    segment: Arc<Segment>,
    _run: Arc<Run>,
}

impl Storage for Added {
    fn values(&self) -> &Values {
        &self.segment.values
    }
}

impl Supervisor for Run {
    fn failed(&self, task: TaskId, cause: BoxError) {
        let failure = self.with_settings(task, |settings| Failure::of_body(cause, settings));
        let mut failure = Some(failure);
        self.ask(|policy, effects| {
            // What no longer counts is the user's to drop, outside the lock.
            let current = !self.has_ended() && policy.is_current_on_lane(self, task);
            if let Some(failure) = failure.take_if(|_| current) {
                policy.lane_failed(self, task, failure, effects);
            }
        });
        let due = self.lane_returned(None, Some(task));
        self.release_due(due);
        Panic::ignore(|| drop(failure));
    }

    fn finish(&self, node: u32) {
        let array = TaskId(node);
        let may_finish = self.ledger().strays.may_finish(self, array);
        if may_finish {
            self.finish_array(array);
        }
    }

    fn queue_node(&self, node: u32) {
        self.ask(|policy, effects| policy.queue_node(self, node, effects));
    }

    fn queue_elements(&self, elements: Range<u32>) {
        self.ask(|policy, effects| {
            policy.queue_elements(self, elements, effects);
        });
    }

    fn watched(&self, node: u32) {
        self.ask(|policy, effects| {
            policy.fire_late(self, TaskId(node), Verdict::Succeeded, effects);
            policy.notify_watchers(self, TaskId(node), effects);
        });
    }

    fn array_settled(&self, settled: Settled) {
        self.ask(|policy, effects| {
            policy.fire_late_settled(self, &settled, effects);
            let node = TaskId(settled.node);
            policy.notify_array_watchers(self, node, settled.elements, effects);
        });
    }

    fn finished(&self) {
        self.ask(|policy, effects| policy.end_if_through(self, effects));
    }

    fn give_back(&self, items: Vec<Item>) {
        self.ask(|policy, effects| policy.give_back(self, items, effects));
        if self.is_observed() {
            self.engine.chronicle().call(|| self.engine.now());
        }
    }

    fn is_observed(&self) -> bool {
        self.is_observed()
    }

    fn note_succeeded(&self, tasks: Range<u32>) {
        self.note(Fact::Succeeded(TaskSpan::of(tasks)));
    }

    fn note_ready(&self, tasks: Range<u32>, by: Option<TaskId>) {
        let tasks = TaskSpan::of(tasks);
        self.note(Fact::Ready { tasks, by });
    }
}

impl Run {
    /// A lane is not in a body any more that may have outlived its attempt.
    fn lane_returned(&self, lane: Option<usize>, task: Option<TaskId>) -> Vec<Due> {
        let mut ledger = self.ledger();
        ledger.strays.lane_returned(lane, task);
        ledger.strays.due(self)
    }

    fn note(&self, fact: Fact) {
        let engine = &self.engine;
        engine.chronicle().note(engine.now(), self.seq(), fact);
    }
}
