//! Who is at what: the tasks whose bodies are running, leased or on a lane.

use super::{Entry, Policy, Run};
use crate::model::TaskId;

impl Policy {
    /// The tasks whose bodies are running and count, by id.
    pub(crate) fn running(&mut self, run: &Run) -> Vec<TaskId> {
        let leased = |entry: &mut Entry| entry.leased.keys().copied().collect();
        let mut tasks: Vec<_> = self.entry(run).map(leased).unwrap_or_default();
        tasks.extend(self.on_lanes(run).into_iter().map(|(_, task)| task));
        tasks.sort_unstable();
        tasks.dedup();
        tasks
    }

    /// Whether a body of the task is being run that counts.
    pub(crate) fn is_running(&mut self, run: &Run, task: TaskId) -> bool {
        let leased = |entry: &mut Entry| entry.leased.contains_key(&task);
        self.entry(run).is_some_and(leased)
            || self.on_lanes(run).iter().any(|&(_, other)| other == task)
    }

    /// Lanes, and the tasks whose bodies they are in, or about to be. A lane that goes on meanwhile may seem to be
    /// elsewhere, but what is not ready, or has ended, is no lane's.
    pub(super) fn on_lanes(&mut self, run: &Run) -> Vec<(usize, TaskId)> {
        let mut at_lanes = run.flow().at_lanes();
        at_lanes.retain(|&(_, task)| {
            is_for_lanes(run, task) && !self.has_moved_on(run, task) && !run.is_waiting(task)
        });
        at_lanes
    }

    /// Whether a lane's attempt of a task is over: it has had another, or was taken from its lane.
    pub(crate) fn has_moved_on(&mut self, run: &Run, task: TaskId) -> bool {
        let entry = self.entry(run);
        entry.is_some_and(|entry| entry.attempts.contains_key(&task))
    }

    /// Whether a lane's attempt of a task counts.
    pub(crate) fn is_current_on_lane(&mut self, run: &Run, task: TaskId) -> bool {
        run.flow().is_for_lanes(task) && !self.has_moved_on(run, task)
    }

    /// The number of a task's attempt that goes on, or of its last, if that left a trace.
    pub(crate) fn last_attempt(&mut self, run: &Run, task: TaskId) -> Option<u32> {
        let current = self.entry(run).and_then(|entry| {
            let lease = entry.leased.get(&task).map(|lease| lease.attempt);
            lease.or_else(|| entry.attempts.get(&task).copied())
        });
        let recorded = run.ledger().last_attempt(task);
        current.max(recorded)
    }
}

/// Whether lanes may run a task: it has not ended, is no array, and the policy does not start it.
pub(super) fn is_for_lanes(run: &Run, task: TaskId) -> bool {
    may_be_for_lanes(run, task) && run.flow().is_for_lanes(task)
}

/// Whether lanes may run a task, as far as its job says.
pub(super) fn may_be_for_lanes(run: &Run, task: TaskId) -> bool {
    run.locate(task).is_some_and(|place| {
        let is_body = task.is_element() || place.array().is_none();
        is_body && !place.segment.job.is_queued(place.node)
    })
}
