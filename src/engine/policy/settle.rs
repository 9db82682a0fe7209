//! What an outcome means for its task and for those that depend on it.

use super::attempts::Failure;
use super::entry::LeaseState;
use super::gang::PartEnd;
use super::walk::Walk;
use super::{Effects, Policy, Run};
use crate::engine::chronicle::Fact;
use crate::engine::flow::{Place, Settled, Verdict};
use crate::model::{
    Attempt, AttemptEnd, BoxError, DependencyAction, Returned, TaskId, TaskSettings, TaskState,
};
use std::sync::Arc;
use std::time::Duration;

/// How an attempt that was leased one by one ended.
#[derive(Debug)]
#[non_exhaustive]
pub enum Outcome {
    /// The body succeeded and its output is stored.
    Succeeded,
    /// The body failed.
    Failed(BoxError),
    /// The attempt was stopped on an order of the pool.
    Cancelled,
    /// The attempt did not take place, or its end is unknown. Not the task's fault.
    Returned(Returned),
}

/// An [`Outcome`] as the policy takes it in: whether a failure is worth a retry has been asked.
pub(crate) enum Ended {
    Succeeded,
    Failed(Failure),
    Cancelled,
    Returned(Returned),
}

impl Outcome {
    /// Calls the user's `retry_if`, so not under the engine's lock.
    pub(crate) fn judged(self, settings: &TaskSettings) -> Ended {
        match self {
            Outcome::Succeeded => Ended::Succeeded,
            Outcome::Failed(cause) => Ended::Failed(Failure::of_body(cause, settings)),
            Outcome::Cancelled => Ended::Cancelled,
            Outcome::Returned(why) => Ended::Returned(why),
        }
    }
}

impl Policy {
    /// An executor reports the end of an attempt, or of an instance of it. One that is no longer current is ignored.
    pub(crate) fn complete(
        &mut self,
        run: &Run,
        task: TaskId,
        (attempt, instance): (u32, u32),
        ended: Ended,
        effects: &mut Effects,
    ) {
        let current = self
            .entry(run)
            .filter(|entry| entry.is_current(task, attempt));
        let Some(entry) = current else { return };
        let part = matches!(ended, Ended::Succeeded)
            .then(|| entry.part_succeeded(task, instance))
            .flatten();
        if matches!(part, Some(PartEnd::Wait)) {
            return;
        }
        let Some(mut lease) = entry.leased.remove(&task) else {
            return;
        };
        if let Some(part) = part {
            lease.stored = matches!(part, PartEnd::All);
        }
        let is_gang = entry.musters.contains_key(&task);
        let ended = match ended {
            // Others have begun the same attempt: it has had its number.
            Ended::Returned(Returned::NotBegun) if is_gang => Ended::Returned(Returned::TakenAway),
            ended => ended,
        };
        if is_gang {
            self.stop_attempt(run, task, attempt, Some(instance), effects);
        }
        self.timers.clear_all(lease.timers());
        let started = Some(run.since_submission(lease.started));
        match ended {
            Ended::Succeeded if lease.stored => self.succeed(run, task, &lease, effects),
            // Its dependents would read what is not there.
            Ended::Succeeded => {
                self.fail(
                    run,
                    task,
                    attempt,
                    started,
                    Failure::without_output(),
                    effects,
                );
            }
            Ended::Failed(failure) => self.fail(run, task, attempt, started, failure, effects),
            Ended::Cancelled => {
                self.used_attempt(run, task, attempt);
                effects.note(run, || attempt_ended(task, attempt, AttemptEnd::Cancelled));
                self.end_task(run, task, TaskState::Cancelled, false, effects);
            }
            Ended::Returned(why) => self.take_back(run, task, attempt, why, effects),
        }
        self.come_to_rest(run, effects);
        effects.wake = true;
    }

    pub(crate) fn is_current(&mut self, run: &Run, task: TaskId, attempt: u32) -> bool {
        self.entry(run)
            .is_some_and(|entry| entry.is_current(task, attempt))
    }

    /// Whether the attempt may store its output now: it is current and has not done so. It counts as having done so.
    pub(crate) fn may_store(
        &mut self,
        run: &Run,
        task: TaskId,
        (attempt, instance): (u32, u32),
    ) -> bool {
        let Some(entry) = self.entry(run) else {
            return false;
        };
        let lease = entry.leased.get_mut(&task);
        let Some(lease) = lease.filter(|lease| lease.attempt == attempt) else {
            return false;
        };
        let first = !std::mem::replace(&mut lease.stored, true);
        entry.may_store_part(task, instance).unwrap_or(first)
    }

    fn succeed(&mut self, run: &Run, task: TaskId, lease: &LeaseState, effects: &mut Effects) {
        let attempt = lease.attempt;
        effects.note(run, || attempt_ended(task, attempt, AttemptEnd::Succeeded));
        if lease.attempt > 1 {
            let since = |time: Duration| run.since_submission(time);
            let (started, ended) = (Some(since(lease.started)), since(effects.now()));
            let end = AttemptEnd::Succeeded;
            run.ledger().record(
                task,
                Attempt {
                    number: lease.attempt,
                    started,
                    ended,
                    end,
                },
            );
        }
        let Some(place) = run.locate(task) else {
            return;
        };
        self.let_go(run, task, effects);
        let consequences = place.segment.job.of_success(task);
        if consequences.is_some_and(|after| after.dependency_action == DependencyAction::Block) {
            self.succeed_and_block(run, task, effects);
        } else {
            self.settle_success(run, task, &place, effects);
            self.recall_less_urgent(run);
            self.queue_reached(run, effects);
            self.notify_watchers(run, task, effects);
            self.report(run, 1, effects);
        }
        if let Some(after) = consequences {
            self.act(run, task, after.job_action, None, effects);
        }
    }

    /// Writes a success down, and tells those who depend on it.
    fn settle_success(
        &mut self,
        run: &Run,
        task: TaskId,
        place: &Place<'_>,
        effects: &mut Effects,
    ) {
        let (segment, node) = (&place.segment, place.node);
        let Some(entry) = self.entry(run) else { return };
        let Some(array) = place.array() else {
            segment.word(node).succeed();
            segment.fire(node, entry);
            return self.fire_late(run, task, Verdict::Succeeded, effects);
        };
        let elements = place.index..place.index + 1;
        let ended = segment.elements_succeeded(array, elements.clone(), entry);
        let settled = Settled {
            node: place.task().0,
            elements,
            end: ended.then(|| segment.array_ended(array, entry)),
        };
        let run = entry.run.clone();
        self.elements_settled(&run, settled, effects);
    }

    /// Elements have succeeded: what waits for them, or for their array, is told.
    pub(super) fn elements_settled(
        &mut self,
        run: &Arc<Run>,
        settled: Settled,
        effects: &mut Effects,
    ) {
        if settled.releases() {
            self.let_go_of_array(run, TaskId(settled.node), effects);
        }
        self.fire_late_settled(run, &settled, effects);
        self.notify_array_watchers(run, TaskId(settled.node), settled.elements, effects);
    }

    /// As its exit conditions say, nothing that depends on the task runs although it succeeded.
    pub(super) fn succeed_and_block(&mut self, run: &Run, task: TaskId, effects: &mut Effects) {
        run.ledger().set_unusual(task);
        let mut walk = Walk::new(run);
        walk.end(task, TaskState::Succeeded, false);
        let ended = self.finish_walk(run, walk, effects);
        self.report(run, ended, effects);
    }

    /// Ends a task that has not ended and that nobody can settle meanwhile. What depends on it is skipped, but for what
    /// may run all the same: with `satisfied`, that is all that needs no value of it.
    pub(super) fn end_task(
        &mut self,
        run: &Run,
        task: TaskId,
        state: TaskState,
        satisfied: bool,
        effects: &mut Effects,
    ) {
        let mut walk = Walk::new(run);
        walk.end(task, state, satisfied);
        let ended = self.finish_walk(run, walk, effects);
        self.report(run, ended, effects);
    }

    /// Ends what depends on what the walk has ended, or lets it go on. Returns how many tasks have ended.
    pub(super) fn finish_walk(
        &mut self,
        run: &Run,
        mut walk: Walk<'_>,
        effects: &mut Effects,
    ) -> u64 {
        walk.skip_dependents();
        if let Some(entry) = self.entry(run) {
            walk.pass(entry);
            effects.wake |= !entry.ready.is_empty();
        }
        let ended = walk.counted(effects);
        self.recall_less_urgent(run);
        self.queue_reached(run, effects);
        self.notify(run, walk.watched, effects);
        ended
    }

    /// Tasks have ended. The last one ends the run.
    pub(super) fn report(&mut self, run: &Run, ended: u64, effects: &mut Effects) {
        if run.flow().report(ended) {
            self.end(run, effects);
        }
    }
}

/// The end of an attempt that was leased.
pub(super) fn attempt_ended(task: TaskId, attempt: u32, end: AttemptEnd) -> Fact {
    let end = Box::new(end);
    Fact::AttemptEnded { task, attempt, end }
}
