//! Has tasks run again that ended without success, in a run that goes on or that has ended.
//!
//! What comes back is the policy's to start, plain or not. Lanes, grants and the queue may still hold a task from before it
//! ended: lanes take it for one that has ended, and what the queue and grants hold counts once for each time that the task
//! became ready ([`Entry::claim`](super::Entry::claim)).

use super::revival::{Revival, is_lost, is_ready, obstacle};
use super::timers::Alarm;
use super::{Effects, Policy, Run};
use crate::engine::flow::ranges;
use crate::model::{ELEMENT, Error, ErrorKind, Result, TaskId, TaskState};
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
        let now = effects.now;
        self.set_run_timer(run, |limit| now + limit, effects);
        // What was ready when it ended was thrown away, and arrays that wait to be opened with it.
        for array in 0..run.job().arrays.len() {
            self.reopen(run, array, effects);
        }
    }

    /// Opens an array that has become ready, and whose turn to be opened may be lost.
    pub(super) fn reopen(&mut self, run: &Run, array: usize, effects: &mut Effects) {
        let part = &run.job().arrays[array];
        let waits = part.is_opened(run.job().csr.in_degrees[part.node as usize]);
        if !waits || !is_ready(run, part.node, None) {
            return;
        }
        let Some(entry) = self.runs.get_mut(&run.rank()) else {
            return;
        };
        run.flow().open(array, entry);
        if part.len == 0 && run.flow().word(part.node).ended().is_none() {
            run.flow().array_ended(array, entry);
            effects.finish.push((entry.run.clone(), array));
            self.notify_array_watchers(run, array, 0..0, effects);
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
        let Some((node, first)) = run.job().locate(TaskId(ids.start)) else {
            return;
        };
        let element = |id: u32| Some((run.job().array_of_node(node)?, id - ids.start + first));
        let is_element = ids.start & ELEMENT != 0;
        let ready = |id: u32| is_ready(run, node, element(id).filter(|_| is_element));
        let ready: Vec<_> = ranges(ids.clone(), ready).collect();
        for range in ready {
            self.queue(run, range, effects);
        }
    }

    fn set_deadlines_anew(&mut self, run: &Run, ids: Range<u32>, effects: &mut Effects) {
        let Some(deadline) = run.job().settings_of(TaskId(ids.start)).deadline else {
            return;
        };
        for task in ids.map(TaskId) {
            let alarm = Alarm::Deadline(run.rank(), task);
            self.set_timer(run, effects.now + deadline, alarm, effects);
            if let Some(entry) = self.entry(run) {
                entry.deadlines_from.insert(task, effects.now);
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
            if tasks.iter().all(|&task| obstacle(run, task).is_some()) {
                return Err(refusal(run, task));
            }
            tasks
        }
        Again::Subtree(root) => {
            let tasks = Policy::subtree(run, root).into_iter();
            tasks.flat_map(|task| lost_of(run, task)).collect()
        }
        Again::Failed if !ended_for_failures() => run.ledger().failed_tasks().collect(),
        Again::Failed | Again::All => {
            let nodes = 0..run.job().units.len() as u32;
            nodes.flat_map(|node| lost_of(run, TaskId(node))).collect()
        }
    })
}

/// A task that has failed or was cancelled; of an array, those elements that have.
fn lost_of(run: &Run, task: TaskId) -> impl Iterator<Item = TaskId> + '_ {
    let array = (!task.is_element()).then(|| run.job().array_of_node(task.0));
    let ids = match array.flatten().map(|array| &run.job().arrays[array]) {
        Some(part) if part.len > 0 => part.ids(0..part.len),
        _ => task.0..task.0 + 1,
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
