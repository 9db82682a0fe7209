//! What holds a run back, in words.

use super::explain::words;
use super::{Effects, Policy, Run};
use crate::engine::blame::Blame;
use crate::model::TaskId;

/// How many reasons of a kind are told.
const MOST: usize = 5;

const DISABLED: &str = "the run is disabled, and starts nothing until it is enabled";

const UNSEALED: &str = "all tasks have ended; the run takes more until it is sealed";

/// So many tasks are held back by this.
struct Reason(u64, String);

impl Policy {
    /// The nodes that somebody is at, those first that have been for longest.
    pub(crate) fn nodes_at_work(&mut self, run: &Run) -> Vec<TaskId> {
        let mut running = self.running(run);
        if let Some(entry) = self.entry(run) {
            running.sort_by_key(|task| entry.leased.get(task).map(|lease| lease.started));
        }
        let nodes = running.into_iter().filter_map(|task| run.locate(task));
        nodes.map(|place| place.task()).collect()
    }

    /// What holds a run back most, then what holds it back less, then what is going on. `blames` are those that others
    /// wait for; `free` is how many tasks wait for none.
    pub(in crate::engine) fn explain_all(
        &mut self,
        run: &Run,
        blames: &[Blame],
        free: u64,
        effects: &mut Effects,
    ) -> String {
        if run.has_ended() {
            let counts = run.counts_of_ended();
            let lost = counts.total - counts.succeeded;
            return format!("has ended; {} without success", tasks(lost));
        }
        let mut reasons: Vec<_> = blames
            .iter()
            .take(MOST)
            .map(|blame| self.wait_for(run, blame, effects))
            .collect();
        let more: u64 = blames.iter().skip(MOST).map(|blame| blame.waiting).sum();
        reasons.extend((more > 0).then(|| Reason(more, format!("{} for others", wait(more)))));
        let running = self.running(run);
        let delayed = self.delayed(run, effects);
        let queued = self.queued(run);
        let known = |reasons: &[Reason]| reasons.iter().map(|reason| reason.0).sum::<u64>();
        let plain = free.saturating_sub(running.len() as u64 + known(&delayed) + known(&queued));
        reasons.extend(delayed);
        reasons.extend(queued);
        if plain > 0 && run.is_disabled() {
            reasons.push(Reason(plain, tasks_are_ready(plain)));
        } else if plain > 0 {
            let class = self.placing.slot_class();
            let why = self.explain_place(class, run.rank().plain());
            reasons.push(Reason(plain, format!("{} {why}", tasks_are(plain))));
        }
        reasons.sort_by_key(|reason| std::cmp::Reverse(reason.0));
        let disabled = run.is_disabled().then(|| DISABLED.to_owned());
        let lines = reasons.into_iter().map(|reason| reason.1);
        let lines = disabled.into_iter().chain(lines);
        let at_work = self.at_work(run, &running, effects);
        lines.chain([at_work]).collect::<Vec<_>>().join("\n")
    }

    fn wait_for(&mut self, run: &Run, blame: &Blame, effects: &mut Effects) -> Reason {
        let task = blame.node;
        if let Some(end) = run.ended_state(task).filter(|_| blame.for_good) {
            let (tasks, label) = (tasks(blame.waiting), run.label(task));
            let words = format!("{tasks} blocked for good by `{label}`, which has {end}");
            return Reason(blame.waiting, words);
        }
        let why = self.explain(run, task, effects);
        let others = match blame.others {
            0 => String::new(),
            1 => " and another".to_owned(),
            more => format!(" and {more} others"),
        };
        let label = run.label(task);
        let words = format!(
            "{} for `{label}`{others}; `{label}` {why}",
            wait(blame.waiting)
        );
        Reason(blame.waiting, words)
    }

    /// Tasks that are not ready before a time.
    fn delayed(&mut self, run: &Run, effects: &Effects) -> Vec<Reason> {
        let Some(entry) = self.entry(run) else {
            return Vec::new();
        };
        let (mut retries, mut starts) = (Vec::new(), Vec::new());
        for (task, timer) in &entry.delayed {
            let wait = timer.time().saturating_sub(effects.now());
            match run.counters(*task).retries > 0 {
                true => retries.push(wait),
                false => starts.push(wait),
            }
        }
        let reason = |waits: Vec<_>, what: &str| {
            let (count, first) = (waits.len() as u64, words(*waits.iter().min()?));
            Some(Reason(
                count,
                format!("{} {what}, the first in {first}", tasks(count)),
            ))
        };
        let retries = reason(retries, "may be tried again after their backoff");
        let starts = reason(starts, "may not start yet");
        retries.into_iter().chain(starts).collect()
    }

    /// Tasks that are in the queue, by what they ask for and by the limit they count against.
    fn queued(&mut self, run: &Run) -> Vec<Reason> {
        let groups: Vec<_> = self
            .entry(run)
            .map(|entry| entry.groups().collect())
            .unwrap_or_default();
        let mut reasons = Vec::new();
        for (head, count) in groups
            .into_iter()
            .flat_map(|group| self.placing.heads_of(group))
            .collect::<Vec<_>>()
        {
            let label = run.label(TaskId(head));
            let mut words = format!("{}, the first `{label}`", tasks_are_ready(count));
            if !run.is_disabled() {
                let why = self.explain_ready(run, TaskId(head));
                words += "; ";
                words += why.strip_prefix("is ready; ").unwrap_or(&why);
            }
            reasons.push(Reason(count, words));
        }
        reasons
    }

    fn at_work(&mut self, run: &Run, running: &[TaskId], effects: &Effects) -> String {
        let leased = self.entry(run).map(|entry| &entry.leased);
        let started = |task: &TaskId| Some((leased?.get(task)?.started, *task));
        let longest = running.iter().filter_map(started).min();
        let what = match running.len() as u64 {
            0 if has_only_to_be_sealed(run) => return UNSEALED.to_owned(),
            0 => return "nothing is running".to_owned(),
            1 => "1 task is running".to_owned(),
            more => format!("{more} tasks are running"),
        };
        match longest {
            Some((start, task)) => {
                let since = words(effects.now().saturating_sub(start));
                format!("{what}; `{}` for {since}", run.label(task))
            }
            None => what,
        }
    }
}

fn has_only_to_be_sealed(run: &Run) -> bool {
    run.flow().is_open() && run.counts_of_ended().unfinished() == 0
}

fn tasks(count: u64) -> String {
    match count {
        1 => "1 task".to_owned(),
        more => format!("{more} tasks"),
    }
}

fn wait(count: u64) -> String {
    let verb = if count == 1 { "waits" } else { "wait" };
    format!("{} {verb}", tasks(count))
}

/// To be followed by "is ready", as of each.
fn tasks_are(count: u64) -> String {
    match count {
        1 => "1 task".to_owned(),
        more => format!("each of {more} tasks"),
    }
}

fn tasks_are_ready(count: u64) -> String {
    let verb = if count == 1 { "is" } else { "are" };
    format!("{} {verb} ready", tasks(count))
}
