//! Has tasks run again that ended without success, in a run that goes on or that has ended.
//!
//! What comes back is the policy's to start, plain or not. Lanes, grants and the queue may still hold a task from before it
//! ended: lanes take it for one that has ended, and what the queue and grants hold counts once for each time that the task
//! became ready ([`Entry::claim`](super::Entry::claim)).

use super::revival::Revival;
use super::timers::Alarm;
use super::{Effects, Policy, Run};
use crate::engine::flow::{Settled, ranges};
use crate::engine::standing::is_lost;
use crate::model::{Error, ErrorKind, Result, TaskId, TaskState};
use std::ops::Range;
use std::sync::Arc;

/// Which tasks are to run again.
#[derive(Clone, Copy)]
pub(crate) enum Again {
    /// This one, or those elements of this array that can.
    Task(TaskId),
    /// This one and everything behind it.
    Subtree(TaskId),
    /// What has failed; and, if the run was ended for it, what was cancelled with it.
    Failed,
    /// What has failed or was cancelled.
    All,
}

impl Policy {
    /// Has tasks run again, and with them what was skipped because of them. Returns how many there are.
    pub(crate) fn reactivate(
        &mut self,
        run: &Arc<Run>,
        which: Again,
        effects: &mut Effects,
    ) -> Result<u64> {
        self.quiesce(run, effects);
        if self.closed && run.has_ended() {
            return Err(closed(run));
        }
        let roots = roots(run, which)?;
        if roots.is_empty() {
            return Ok(0);
        }
        if run.has_ended() {
            self.revive(run, effects);
        }
        let revival = Revival::of(run, &roots);
        let tasks = revival.counts.iter().sum();
        self.forget_ends(run, &revival, effects);
        for &array in &revival.empty {
            self.reopen(run, array, effects);
        }
        for ids in revival.tasks {
            self.start_over(run, ids, effects);
        }
        self.queue_reached(run, effects);
        self.end_if_through(run, effects);
        effects.wake = true;
        Ok(tasks)
    }

    /// An ended run goes on. Its time limit counts anew.
    fn revive(&mut self, run: &Arc<Run>, effects: &mut Effects) {
        let mut entry = self.new_entry(run);
        entry.attempts = std::mem::take(&mut run.ledger().last_attempts);
        entry.had_strays = true;
        effects.forgotten.extend(run.ledger().ended_by.take());
        run.mark_going_on();
        self.runs.insert(run.rank(), entry);
        self.quiesce(run, effects);
        let now = effects.now();
        self.set_run_timer(run, |limit| now + limit, effects);
        // What was ready when it ended was thrown away, and arrays that wait to be opened with it.
        for segment in run.flow().segments() {
            let arrays = segment.job.arrays.iter();
            arrays.for_each(|part| self.reopen(run, segment.job.task(part.node), effects));
        }
    }

    /// Opens an array that has become ready, and whose turn to be opened may be lost.
    pub(super) fn reopen(&mut self, run: &Run, node: TaskId, effects: &mut Effects) {
        let Some(place) = run.locate(node) else {
            return;
        };
        let Some(array) = place.array() else { return };
        let (segment, part) = (&place.segment, &place.segment.job.arrays[array]);
        if !segment.job.is_opened(part) || !run.is_ready(node) {
            return;
        }
        let Some(entry) = self.runs.get_mut(&run.rank()) else {
            return;
        };
        segment.open(array, entry);
        if part.len == 0 && segment.word(part.node).ended().is_none() {
            let settled = Settled {
                node: node.0,
                elements: 0..0,
                end: Some(segment.array_ended(array, entry)),
            };
            let run = entry.run.clone();
            self.elements_settled(&run, settled, effects);
        }
        self.queue_reached(run, effects);
    }

    /// That tasks had ended is taken out of the books. Their attempts stay on record.
    fn forget_ends(&mut self, run: &Run, revival: &Revival<'_>, effects: &mut Effects) {
        let Some(entry) = self.entry(run) else { return };
        entry.reactivated = true;
        let tasks = revival.tasks.iter().cloned().flatten().map(TaskId);
        let mut ledger = run.ledger();
        for task in tasks {
            effects.forgotten.extend(ledger.forget_failure(task));
            ledger.start_over(task);
            entry.suspects.remove(&task);
            entry.attempts_until.remove(&task);
            entry.ready_again.remove(&task);
        }
        let [failed, skipped, cancelled] = revival.counts;
        ledger.failed -= failed;
        ledger.skipped -= skipped;
        ledger.cancelled -= cancelled;
        run.flow().resume(failed + skipped + cancelled);
    }

    /// Tasks that came back: one, or elements of one array. Those that wait for nothing are ready.
    fn start_over(&mut self, run: &Run, ids: Range<u32>, effects: &mut Effects) {
        self.set_deadlines_anew(run, ids.clone(), effects);
        let ready: Vec<_> = ranges(ids, |id| run.is_ready(TaskId(id))).collect();
        for range in ready {
            self.queue(run, range, effects);
        }
    }

    fn set_deadlines_anew(&mut self, run: &Run, ids: Range<u32>, effects: &mut Effects) {
        let deadline = run.with_settings(TaskId(ids.start), |settings| settings.deadline);
        let Some(deadline) = deadline else { return };
        for task in ids.map(TaskId) {
            let alarm = Alarm::Deadline(run.rank(), task);
            self.set_timer(run, effects.now() + deadline, alarm, effects);
            if let Some(entry) = self.entry(run) {
                entry.deadlines_from.insert(task, effects.now());
            }
        }
    }
}

/// The tasks that have failed or been cancelled and that are meant.
fn roots(run: &Run, which: Again) -> Result<Vec<TaskId>> {
    let ended_for_failures = || {
        let kind = run.ledger().ended_by.as_ref().map(Error::kind);
        kind == Some(ErrorKind::TaskFailed)
    };
    Ok(match which {
        Again::Task(task) => {
            let tasks: Vec<_> = lost_of(run, task).collect();
            if tasks.iter().all(|&task| run.obstacle(task).is_some()) {
                return Err(refusal(run, task));
            }
            tasks
        }
        Again::Subtree(root) => {
            let tasks = Policy::subtree(run, root).into_iter();
            tasks.flat_map(|task| lost_of(run, task)).collect()
        }
        Again::Failed if !ended_for_failures() => run.ledger().failed_tasks().collect(),
        Again::Failed | Again::All => run.nodes().flat_map(|node| lost_of(run, node)).collect(),
    })
}

/// A task that has failed or was cancelled; of an array, those elements that have.
fn lost_of(run: &Run, task: TaskId) -> impl Iterator<Item = TaskId> + '_ {
    let elements = run.ids_of(task);
    let ids = match elements.is_empty() {
        false => elements,
        true => task.0..task.0 + 1,
    };
    ids.map(TaskId).filter(|&task| {
        let state = run.ended_state(task);
        is_lost(state) && state != Some(TaskState::Skipped)
    })
}

/// Why a task can't run again.
fn refusal(run: &Run, task: TaskId) -> Error {
    let message = match run.ended_state(task) {
        None => {
            "has not ended; only a task that has ended without success can be reactivated".into()
        }
        Some(TaskState::Succeeded) => {
            "has succeeded, and what depends on it may have read its output; it doesn't run again"
                .into()
        }
        Some(_) => match run.root_cause(task) {
            Some(root) if is_lost(run.ended_state(root)) => {
                let root = run.label(root);
                format!("can't run, since `{root}` did not succeed; reactivate that one")
            }
            Some(root) => format!("can't run, since {}", run.as_cause(root)),
            None => "has nothing to run again".to_owned(),
        },
    };
    Error::new(ErrorKind::InvalidState, message)
        .in_job(run.name())
        .of_task(run.label(task))
}

fn closed(run: &Run) -> Error {
    let message = "the pool is closed, and the run has ended; submit the job to another pool";
    Error::new(ErrorKind::PoolClosed, message).in_job(run.name())
}
