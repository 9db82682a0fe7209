//! Those who wait for a task's end, and looking at a run while its lanes are shut out.

use super::{Effects, Policy, Run};
use crate::model::TaskId;
use event_listener::EventListener;
use std::ops::Range;

impl Policy {
    /// Listens for a task's end; `None` when it has ended already, or is not to be expected.
    pub(crate) fn watch(
        &mut self,
        run: &Run,
        task: TaskId,
        effects: &mut Effects,
    ) -> Option<EventListener> {
        if run.has_ended() || run.ended_state(task).is_some() {
            return None;
        }
        self.quiesce(run, effects);
        if run.ended_state(task).is_some() || run.is_at_rest() {
            return None;
        }
        let (node, _) = run.job().locate(task)?;
        match run.job().array_of_node(node) {
            Some(array) => run.flow().array(array).watch(),
            None => run.flow().word(node).watch(),
        }
        Some(self.entry(run)?.watchers.entry(task).or_default().listen())
    }

    /// Tells those who wait for one of these tasks, by id. All of them have ended.
    pub(super) fn notify(
        &mut self,
        run: &Run,
        tasks: impl IntoIterator<Item = Range<u32>>,
        effects: &mut Effects,
    ) {
        let Some(entry) = self.entry(run) else { return };
        for range in tasks {
            let watched = entry.watchers.range(TaskId(range.start)..TaskId(range.end));
            let watched: Vec<_> = watched.map(|(&task, _)| task).collect();
            let watchers = watched
                .iter()
                .filter_map(|task| entry.watchers.remove(task));
            effects.notify.extend(watchers);
        }
    }

    pub(crate) fn notify_watchers(&mut self, run: &Run, task: TaskId, effects: &mut Effects) {
        self.notify(run, std::iter::once(task.0..task.0 + 1), effects);
    }

    /// Elements of an array have ended, and all of it may have.
    pub(crate) fn notify_array_watchers(
        &mut self,
        run: &Run,
        array: usize,
        elements: Range<u32>,
        effects: &mut Effects,
    ) {
        if !run.flow().array(array).is_watched() {
            return;
        }
        let part = &run.job().arrays[array];
        let whole = run
            .ended_state(TaskId(part.node))
            .map(|_| part.node..part.node + 1);
        self.notify(run, whole.into_iter().chain([part.ids(elements)]), effects);
    }

    /// Shuts out the run's lanes until the engine's lock is given up. The run may turn out to have ended.
    pub(super) fn quiesce(&mut self, run: &Run, effects: &mut Effects) {
        let Some(entry) = self.entry(run) else { return };
        let (settled, finished) = run.flow().quiesce(entry);
        effects.wake |= !entry.ready.is_empty();
        let owner = entry.run.clone();
        for settled in settled {
            if settled.completed {
                self.let_go_of_array(&owner, settled.array, effects);
            }
            self.notify_array_watchers(run, settled.array, settled.elements, effects);
        }
        self.queue_reached(run, effects);
        if finished {
            self.end(run, effects);
        }
    }
}
