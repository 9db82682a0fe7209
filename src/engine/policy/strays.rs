//! Bodies that go on although their attempt is over: past its time limit, or cancelled.
//!
//! They read their task's inputs by reference. When the task runs once more and succeeds meanwhile, its inputs are let go
//! only after the last of them has returned.

use super::at_work::may_be_for_lanes;
use super::{Effects, Policy, Run};
use crate::engine::standing::is_lost;
use crate::model::TaskId;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The strays of one run, and what waits for them.
#[derive(Default)]
pub(crate) struct Strays {
    /// How many of each task.
    bodies: BTreeMap<TaskId, u32>,
    /// Those on lanes, by the lane. A task is on one at most once.
    on_lanes: Vec<(usize, TaskId)>,
    /// Tasks, and arrays as a whole, that have succeeded and still hold their inputs.
    held: BTreeSet<TaskId>,
    held_arrays: BTreeSet<TaskId>,
}

/// Inputs that may be let go now: of a task, or of an array as a whole.
pub(crate) enum Due {
    Release(TaskId),
    Finish(TaskId),
}

impl Strays {
    /// Leased bodies go on although their attempt is over: one, or several of a task with instances.
    pub(super) fn add(&mut self, task: TaskId, bodies: u32) {
        if bodies > 0 {
            *self.bodies.entry(task).or_default() += bodies;
        }
    }

    /// A lane is in the body.
    pub(super) fn add_on_lane(&mut self, lane: usize, task: TaskId) {
        self.add(task, 1);
        self.on_lanes.push((lane, task));
    }

    /// A leased body has returned.
    pub(crate) fn returned(&mut self, task: TaskId) {
        if let Some(bodies) = self.bodies.get_mut(&task) {
            *bodies -= 1;
            if *bodies == 0 {
                self.bodies.remove(&task);
            }
        }
    }

    /// A lane is in none of its bodies any more; or in no body of the task.
    pub(crate) fn lane_returned(&mut self, lane: Option<usize>, task: Option<TaskId>) {
        let back = |&mut (on, of): &mut (usize, TaskId)| Some(on) == lane || Some(of) == task;
        let returned: Vec<_> = self.on_lanes.extract_if(.., back).collect();
        returned
            .into_iter()
            .for_each(|(_, task)| self.returned(task));
    }

    fn has(&self, task: TaskId) -> bool {
        self.bodies.contains_key(&task)
    }

    fn has_of_array(&self, run: &Run, array: TaskId) -> bool {
        let ids = run.ids_of(array);
        let mut strays = self.bodies.range(TaskId(ids.start)..TaskId(ids.end));
        strays.next().is_some()
    }

    /// Whether a task that has succeeded has to hold its inputs. Then it will let go of them.
    fn may_not_release(&mut self, task: TaskId) -> bool {
        self.has(task) && self.held.insert(task)
    }

    /// Whether an array that has succeeded may let go of what it wanted as a whole; if not, it will.
    pub(crate) fn may_finish(&mut self, run: &Run, array: TaskId) -> bool {
        let held = !self.bodies.is_empty() && self.has_of_array(run, array);
        if held {
            self.held_arrays.insert(array);
        }
        !held
    }

    /// What nobody reads any more of what was held.
    pub(crate) fn due(&mut self, run: &Run) -> Vec<Due> {
        let tasks: Vec<_> = self
            .held
            .iter()
            .copied()
            .filter(|&task| !self.has(task))
            .collect();
        let arrays = self.held_arrays.iter().copied();
        let arrays: Vec<_> = arrays
            .filter(|&array| !self.has_of_array(run, array))
            .collect();
        for task in &tasks {
            self.held.remove(task);
        }
        for array in &arrays {
            self.held_arrays.remove(array);
        }
        let tasks = tasks.into_iter().map(Due::Release);
        tasks.chain(arrays.into_iter().map(Due::Finish)).collect()
    }
}

impl Policy {
    /// The task has succeeded: its inputs are let go, as soon as no body of it reads them any more.
    pub(super) fn let_go(&mut self, run: &Run, task: TaskId, effects: &mut Effects) {
        let Some(entry) = self.entry(run) else { return };
        if entry.had_strays && run.ledger().strays.may_not_release(task) {
            return;
        }
        if run.reads(task) {
            effects.release.push((entry.run.clone(), task));
        }
    }

    /// As well for what an array wanted as a whole.
    pub(super) fn let_go_of_array(&mut self, run: &Arc<Run>, array: TaskId, effects: &mut Effects) {
        if run.ledger().strays.may_finish(run, array) {
            effects.finish.push((run.clone(), array));
        }
    }

    /// Lanes are in these tasks' bodies, and will find that they were ended: what they hold is looked after, and the next
    /// attempt has another number.
    pub(super) fn leave_to_lanes(&mut self, run: &Run) {
        let Some(entry) = self.entry(run) else { return };
        let mut ledger = run.ledger();
        entry.had_strays = true;
        for (lane, task) in run.flow().at_lanes() {
            let own = may_be_for_lanes(run, task) && is_lost(run.ended_state(task));
            if own && !entry.attempts.contains_key(&task) {
                entry.attempts.insert(task, 1);
                ledger.strays.add_on_lane(lane, task);
            }
        }
    }
}
