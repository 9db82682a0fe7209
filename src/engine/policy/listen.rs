//! Runs that somebody begins to listen to, or nobody does any more.

use super::placing::NodeKey;
use super::{Effects, Entry, Policy, Run};
use crate::engine::chronicle::{NodeSeen, Opening};
use crate::model::{TaskId, TaskState};
use std::collections::BTreeSet;
use std::sync::Arc;

impl Policy {
    /// Has the pool's runs, or `only` one, write down what happens, and says how those stand that did not so far. Their
    /// lanes are shut out until the engine's lock is given up, and then come back with a scribe.
    pub(crate) fn open(&mut self, only: Option<&Arc<Run>>, effects: &mut Effects) -> Vec<Opening> {
        let runs: Vec<_> = match only {
            Some(run) => vec![run.clone()],
            None => self.runs.values().map(|entry| entry.run.clone()).collect(),
        };
        let mut openings = Vec::new();
        for run in runs {
            self.quiesce(&run, effects);
            let (ended, observed) = (run.has_ended(), run.is_observed());
            if observed && !ended || ended && only.is_none() {
                continue;
            }
            run.observe(!ended);
            let states = self.states(&run);
            openings.push(Opening {
                succeeded: ended && run.error().is_none(),
                run,
                ended,
                states,
            });
        }
        openings
    }

    /// Nobody listens any more: lanes may go back to their fast ways.
    pub(crate) fn close_to_listeners(&self) {
        for entry in self.runs.values() {
            entry.run.observe(false);
            entry.run.flow().gate.raise();
        }
    }

    /// Every node, as it is known to listeners.
    pub(crate) fn nodes_seen(&self) -> Vec<(NodeKey, NodeSeen)> {
        self.nodes.seen()
    }

    /// How tasks stand: all that are not waiting.
    fn states(&mut self, run: &Run) -> Vec<(TaskId, TaskState)> {
        let running = self.running(run).into_iter().collect();
        let mut states = Vec::new();
        for segment in run.flow().segments() {
            let nodes = 0..segment.job.units.len() as u32;
            let tasks = nodes.flat_map(|node| segment.job.tasks_of(segment.job.task(node)));
            let all = tasks.map(|task| (task, self.state_of(run, task, &running)));
            states.extend(all.filter(|(_, state)| *state != TaskState::Waiting));
        }
        states
    }

    /// What may not start yet counts as waiting.
    fn state_of(&mut self, run: &Run, task: TaskId, running: &BTreeSet<TaskId>) -> TaskState {
        let delayed = |entry: &mut Entry| entry.delayed.contains_key(&task);
        match run.state_beside(task, running) {
            TaskState::Ready if self.entry(run).is_none_or(delayed) => TaskState::Waiting,
            state => state,
        }
    }
}
