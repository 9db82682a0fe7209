//! Those who wait for a task's end, and looking at a run while its lanes are shut out.

use super::{Effects, Policy, Run};
use crate::engine::flow::Place;
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
        run.locate(task)?.watch();
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
        node: TaskId,
        elements: Range<u32>,
        effects: &mut Effects,
    ) {
        let Some(place) = run.locate(node).filter(Place::is_watched) else {
            return;
        };
        let Some(array) = place.array() else { return };
        let ids = place.segment.job.arrays[array].ids(elements);
        let whole = place.ended(node).map(|_| node.0..node.0 + 1);
        self.notify(run, whole.into_iter().chain([ids]), effects);
    }

    /// Shuts out the run's lanes until the engine's lock is given up. The run may turn out to have ended.
    pub(super) fn quiesce(&mut self, run: &Run, effects: &mut Effects) {
        let Some(entry) = self.entry(run) else { return };
        let (settled, finished) = run.flow().quiesce(entry);
        effects.wake |= !entry.ready.is_empty();
        let owner = entry.run.clone();
        for settled in settled {
            self.elements_settled(&owner, settled, effects);
        }
        self.queue_reached(run, effects);
        if finished {
            self.end(run, effects);
        }
    }
}
