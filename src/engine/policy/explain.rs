//! Why a task is not running, in words.

use super::placing::{Explanation, Rank, RunKey};
use super::{Effects, Policy, Run};
use crate::model::{TaskId, TaskState};
use std::time::Duration;

impl Policy {
    /// How a task stands, and what it waits for, if it does.
    pub(crate) fn explain(&mut self, run: &Run, task: TaskId, effects: &mut Effects) -> String {
        // What lanes have settled, and not written down, is written down.
        self.quiesce(run, effects);
        let ended = run.ended_state(task).map(|state| ended(run, task, state));
        ended
            .or_else(|| self.explain_lease(run, task, effects))
            .or_else(|| self.explain_lane(run, task))
            .unwrap_or_else(|| self.explain_wait(run, task, effects))
    }

    fn explain_wait(&mut self, run: &Run, task: TaskId, effects: &mut Effects) -> String {
        let why = self
            .explain_delay(run, task, effects)
            .or_else(|| self.explain_upstream(run, task, effects))
            .or_else(|| explain_block(run, task));
        if !run.is_disabled() {
            return why.unwrap_or_else(|| self.explain_ready(run, task));
        }
        let why = why.unwrap_or_else(|| "is ready".to_owned());
        format!("{why}; its run is disabled, and starts nothing until it is enabled")
    }

    fn explain_lease(&mut self, run: &Run, task: TaskId, effects: &Effects) -> Option<String> {
        let lease = self.entry(run)?.leased.get(&task).copied()?;
        let since = words(effects.now().saturating_sub(lease.started));
        let running = format!("is running, attempt {}, for {since}", lease.attempt);
        let limit = run.with_settings(task, |settings| settings.stalled_after);
        let silent = effects.now().saturating_sub(lease.heard);
        match limit.is_some_and(|limit| silent >= limit) {
            true => Some(format!(
                "{running}, and has said nothing for {}",
                words(silent)
            )),
            false => Some(running),
        }
    }

    /// A lane is in its body; or was in it last, if that failed and it is to be tried again.
    fn explain_lane(&mut self, run: &Run, task: TaskId) -> Option<String> {
        self.is_running(run, task).then(|| "is running".to_owned())
    }

    fn explain_delay(&mut self, run: &Run, task: TaskId, effects: &Effects) -> Option<String> {
        let entry = self.entry(run)?;
        let wait = entry
            .delayed
            .get(&task)?
            .time()
            .saturating_sub(effects.now());
        let wait = words(wait);
        Some(match run.counters(task).retries {
            0 => format!("may not start yet, but in {wait}"),
            retry => format!("waits for its retry {retry}, which may start in {wait}"),
        })
    }

    fn explain_upstream(
        &mut self,
        run: &Run,
        task: TaskId,
        effects: &mut Effects,
    ) -> Option<String> {
        let before = run.predecessor_of(task, |before| run.ended_state(before).is_none())?;
        let label = run.label(before);
        // An array as a whole waits for its own elements.
        let is_own = !task.is_element()
            && run
                .locate(before)
                .is_some_and(|place| place.task() == task && before != task);
        if is_own {
            let why = self.explain(run, before, effects);
            return Some(format!("waits for its elements; `{label}` {why}"));
        }
        Some(format!("waits for `{label}`, which has not ended"))
    }

    pub(super) fn explain_ready(&mut self, run: &Run, task: TaskId) -> String {
        let queued = self.rank(run, task).filter(|_| self.is_queued(run, task));
        if let Some((_, _, group)) = queued
            && let Some(limit) = self.explain_limit(group)
        {
            return limit;
        }
        let slot = self.placing.slot_class();
        let (class, rank) =
            queued.map_or((slot, run.rank().plain()), |(class, rank, _)| (class, rank));
        self.explain_place(class, rank)
    }

    fn explain_limit(&self, group: RunKey) -> Option<String> {
        let (most, of_array) = self.limits.reached(group)?;
        let whole = if of_array { "array" } else { "job" };
        let tasks = if most == 1 { "task" } else { "tasks" };
        Some(format!(
            "is ready; its {whole} runs {most} {tasks} at once, and does"
        ))
    }

    pub(super) fn explain_place(&self, class: super::placing::ClassId, rank: Rank) -> String {
        let name = |node| self.nodes.name(node);
        let why: Explanation = self.placing.explain(class, rank, &name);
        format!("is ready; {why}")
    }

    /// Whether the policy starts the task, now or by its settings.
    fn is_queued(&mut self, run: &Run, task: TaskId) -> bool {
        let located = run.locate(task);
        let retried = self
            .entry(run)
            .is_some_and(|entry| entry.attempts.contains_key(&task));
        retried
            || run.flow().is_reactivated(task)
            || located.is_some_and(|place| place.segment.job.is_queued(place.node))
    }
}

/// By Azure Batch's rules, what depends on a failure is left as it is.
fn explain_block(run: &Run, task: TaskId) -> Option<String> {
    let before = run.predecessor_of(task, |before| run.blocks(before, task))?;
    let (label, end) = (run.label(before), run.ended_state(before)?);
    Some(format!(
        "is blocked for good by `{label}`, which has {end}; the run goes on until it is terminated"
    ))
}

fn ended(run: &Run, task: TaskId, state: TaskState) -> String {
    let why = match state {
        TaskState::Succeeded => return "has succeeded".to_owned(),
        TaskState::Skipped => "was skipped",
        TaskState::Cancelled => "was cancelled",
        _ => "has failed",
    };
    match run.task_error(task) {
        Some(error) => format!("{why} ({error})"),
        None => why.to_owned(),
    }
}

/// To the millisecond.
pub(super) fn words(time: Duration) -> String {
    format!("{:?}", Duration::from_millis(time.as_millis() as u64))
}
