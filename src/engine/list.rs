//! Lists of a run's tasks, page by page.

use super::Run;
use crate::model::{ELEMENT, Error, TaskId, TaskState, TaskStatus};
use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

/// Which tasks are sought.
#[derive(Clone, Copy, Default)]
pub(crate) struct Sought {
    pub(crate) state: Option<TaskState>,
    /// One task, or all elements of an array.
    pub(crate) of: Option<TaskId>,
    /// Those with greater ids.
    pub(crate) after: Option<TaskId>,
}

impl Run {
    /// The first so many tasks that are sought, by id.
    pub(crate) fn list(&self, sought: Sought, limit: usize) -> Vec<TaskStatus> {
        let running: BTreeSet<_> = self
            .ask(|policy, _| policy.running(self))
            .into_iter()
            .collect();
        let state = |task: TaskId| self.state_beside(task, &running);
        let ids = self.ids(sought);
        let is_in = |task: &TaskId| is_among(&ids, *task);
        let found: Vec<_> = match sought.state {
            Some(TaskState::Failed) => {
                let failed: Vec<_> = self
                    .ledger()
                    .failed_after(sought.after)
                    .filter(is_in)
                    .take(limit)
                    .collect();
                failed
                    .into_iter()
                    .map(|task| (task, TaskState::Failed))
                    .collect()
            }
            Some(TaskState::Running) => {
                let running = running.iter().copied().filter(is_in).take(limit);
                running.map(|task| (task, TaskState::Running)).collect()
            }
            wanted => {
                let all = ids.into_iter().flatten().map(TaskId);
                let tasks = all.filter(|task| self.is_task(*task));
                let with_states = tasks.map(|task| (task, state(task)));
                let wanted =
                    |&(_, state): &(TaskId, TaskState)| wanted.is_none_or(|wanted| wanted == state);
                with_states.filter(wanted).take(limit).collect()
            }
        };
        let mut roots = HashMap::new();
        let attempts = self.ask(|policy, _| {
            let last = |(task, _): &(TaskId, TaskState)| policy.last_attempt(self, *task);
            found.iter().map(last).collect::<Vec<_>>()
        });
        let status = |((task, state), attempt): ((TaskId, TaskState), Option<u32>)| TaskStatus {
            id: task,
            label: self.label(task),
            state,
            attempt: attempt.unwrap_or(match state {
                // It left no trace, so it was the first.
                TaskState::Running | TaskState::Succeeded => 1,
                _ => 0,
            }),
            error: self
                .summary(task, state, &mut roots)
                .map(|error| error.to_string()),
        };
        found.into_iter().zip(attempts).map(status).collect()
    }

    /// The ids to go through, ascending: of single tasks and arrays, then of elements.
    fn ids(&self, sought: Sought) -> Vec<Range<u32>> {
        let elements = sought.of.map(|task| self.ids_of(task)).unwrap_or_default();
        let single = sought.of.map(|task| task.0..task.0 + 1);
        let ids = match single {
            None => self.all_ids(),
            Some(_) if !elements.is_empty() => vec![elements],
            Some(single) => vec![single],
        };
        let from = sought.after.map_or(0, |after| after.0.saturating_add(1));
        let rest = ids.into_iter().map(|ids| ids.start.max(from)..ids.end);
        rest.collect()
    }

    fn all_ids(&self) -> Vec<Range<u32>> {
        let (mut nodes, mut elements) = (Vec::new(), Vec::new());
        for segment in self.flow().segments() {
            let (job, base) = (&segment.job, segment.job.base);
            nodes.push(base..base + job.units.len() as u32);
            elements.push(job.elements.start | ELEMENT..job.elements.end | ELEMENT);
        }
        elements.sort_by_key(|ids| ids.start);
        nodes.append(&mut elements);
        nodes
    }

    /// Not an array as a whole.
    fn is_task(&self, task: TaskId) -> bool {
        task.is_element() || !self.is_array(task.0)
    }

    /// How a task stands, if those are running.
    pub(super) fn state_beside(&self, task: TaskId, running: &BTreeSet<TaskId>) -> TaskState {
        self.ended_state(task).unwrap_or_else(|| {
            let ready = self.is_ready(task);
            match ready {
                _ if running.contains(&task) => TaskState::Running,
                true => TaskState::Ready,
                false => TaskState::Waiting,
            }
        })
    }

    /// Why a task did not succeed. What was skipped is followed back to the cause once for all that share the way.
    fn summary(
        &self,
        task: TaskId,
        state: TaskState,
        roots: &mut HashMap<TaskId, TaskId>,
    ) -> Option<Error> {
        if state != TaskState::Skipped {
            return self.task_error(task).filter(|_| state.is_final());
        }
        let mut way = Vec::new();
        let mut at = task;
        while self.ended_state(at) == Some(TaskState::Skipped) {
            way.push(at);
            match roots.get(&at).copied().or_else(|| self.obstacle(at)) {
                Some(before) => at = before,
                None => return self.task_error(task),
            }
        }
        roots.extend(way.into_iter().map(|skipped| (skipped, at)));
        Some(self.skip_error_for(task, at))
    }
}

/// Whether the id of a task is in one of these ranges, which ascend.
fn is_among(ids: &[Range<u32>], task: TaskId) -> bool {
    let after = ids.partition_point(|ids| ids.start <= task.0);
    let found = after.checked_sub(1).and_then(|at| ids.get(at));
    found.is_some_and(|ids| ids.contains(&task.0))
}
