//! Ending tasks and runs before their time.

use super::settle::attempt_ended;
use super::walk::Walk;
use super::{Effects, Order, Policy, Run};
use crate::engine::chronicle::Fact;
use crate::model::{AttemptEnd, Error, TaskId, TaskState};
use std::collections::HashSet;

impl Policy {
    /// Cancels whatever of a run has not ended. Bodies that are running count as over at once.
    pub(crate) fn cancel_run(&mut self, run: &Run, cause: Error, effects: &mut Effects) {
        self.stop_run(run, cause, None, effects);
    }

    /// As [`cancel_run`](Self::cancel_run), since `by` has failed, if one task's failure is the reason.
    pub(super) fn stop_run(
        &mut self,
        run: &Run,
        cause: Error,
        by: Option<TaskId>,
        effects: &mut Effects,
    ) {
        self.quiesce(run, effects);
        if self.entry(run).is_none() {
            return;
        }
        effects.note(run, || Fact::RunStopped {
            why: Box::new(cause.clone()),
            by,
        });
        let mut walk = Walk::new(run);
        let mut has_empty = false;
        for segment in run.flow().segments() {
            let job = &segment.job;
            // An array without elements is no task to cancel: it is skipped, or succeeds with what it depends on.
            let (empty, nodes): (Vec<_>, Vec<_>) =
                (0..job.units.len() as u32).partition(|&node| job.is_empty_array(node));
            has_empty |= !empty.is_empty();
            let tasks = nodes.into_iter().map(|node| job.task(node));
            tasks.for_each(|task| walk.end(task, TaskState::Cancelled, false));
        }
        if has_empty {
            walk.skip_dependents();
        }
        let ended = walk.counted(effects);
        run.ledger().ended_by.get_or_insert(cause);
        self.stop_ended(run, effects);
        self.report(run, ended, effects);
        self.end(run, effects);
    }

    /// Cancels tasks that have not ended; returns how many. Their dependents are skipped.
    pub(crate) fn cancel_tasks(
        &mut self,
        run: &Run,
        tasks: &[TaskId],
        effects: &mut Effects,
    ) -> u64 {
        self.quiesce(run, effects);
        let mut walk = Walk::new(run);
        for &task in tasks {
            walk.end(task, TaskState::Cancelled, false);
        }
        let before = run.ledger().cancelled;
        let ended = self.finish_walk(run, walk, effects);
        let cancelled = run.ledger().cancelled - before;
        self.stop_ended(run, effects);
        self.report(run, ended, effects);
        cancelled
    }

    /// A task and everything that depends on it, directly or not.
    pub(crate) fn subtree(run: &Run, root: TaskId) -> Vec<TaskId> {
        let mut seen = HashSet::from([root]);
        let mut found = vec![root];
        let mut at = 0;
        while let Some(&task) = found.get(at) {
            let next = run.dependents(task);
            found.extend(next.into_iter().filter(|&next| seen.insert(next)));
            at += 1;
        }
        found
    }

    /// Cancels every run, and refuses further ones.
    pub(crate) fn cancel_all(&mut self, cause: &Error, effects: &mut Effects) {
        let runs: Vec<_> = self.runs.values().map(|entry| entry.run.clone()).collect();
        for run in runs {
            self.cancel_run(&run, cause.clone().in_job(run.name()), effects);
        }
    }

    /// The executor is gone: what has not ended never will.
    pub(crate) fn abandon(&mut self, cause: &Error, effects: &mut Effects) {
        self.closed = true;
        self.abandoned = true;
        self.cancel_all(cause, effects);
        effects.changed = true;
        effects.wake_all = true;
    }

    pub(crate) fn order(&mut self, order: Order, effects: &mut Effects) {
        self.orders.push_back(order);
        effects.changed = true;
    }

    pub(crate) fn next_order(&mut self) -> Option<Order> {
        self.orders.pop_front()
    }

    /// Takes back the leases of tasks that were ended, and has their attempts stopped.
    fn stop_ended(&mut self, run: &Run, effects: &mut Effects) {
        let Some(entry) = self.entry(run) else { return };
        let mut ended: Vec<_> = entry
            .leased
            .extract_if(|&task, _| run.ended_state(task).is_some())
            .collect();
        // The order of decisions follows from nothing but what was decided on.
        ended.sort_unstable_by_key(|&(task, _)| task);
        let delayed: Vec<_> = entry
            .delayed
            .extract_if(|&task, _| run.ended_state(task).is_some())
            .collect();
        let keys: Vec<_> = ended
            .iter()
            .flat_map(|(task, lease)| entry.keys(*task, lease.attempt))
            .collect();
        entry.leave_stopped(&ended);
        let gangs = entry.musters.keys().copied();
        let gangs: Vec<_> = gangs
            .filter(|&task| run.ended_state(task).is_some())
            .collect();
        gangs.into_iter().for_each(|task| self.disband(run, task));
        for (task, lease) in &ended {
            effects.note(run, || {
                attempt_ended(*task, lease.attempt, AttemptEnd::Cancelled)
            });
        }
        self.timers
            .clear_all(ended.into_iter().flat_map(|(_, lease)| lease.timers()));
        self.timers
            .clear_all(delayed.into_iter().map(|(_, timer)| timer));
        effects.changed |= !keys.is_empty();
        // Something may have been kept for what was ready.
        effects.wake = true;
        self.orders.extend(keys.into_iter().map(Order::Stop));
        self.mark_stale(run);
        self.leave_to_lanes(run);
    }
}
