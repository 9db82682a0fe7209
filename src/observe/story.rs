//! One task's history, in words.

use super::progress::Short;
use super::words::AttemptWords;
use crate::engine::Run;
use crate::model::{Attempt, Explanation, TaskId, TaskState};
use std::fmt;
use std::time::Duration;

/// One task's whole history: see [`Run::story`](crate::Run::story). Printed, it is one line for each thing that happened,
/// with the time since the job was submitted. The words may change.
///
/// Times of attempts are known where the pool kept them: of tasks that failed, were lost, or were tried again.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Story {
    title: String,
    lines: Vec<(Option<Duration>, String)>,
}

impl Story {
    pub(crate) fn of(run: &Run, task: TaskId, now: &Explanation) -> Self {
        let mut story = Story {
            title: format!("`{}` of job `{}`", run.label(task), run.name()),
            lines: vec![(Some(Duration::ZERO), "the job was submitted".to_owned())],
        };
        story.tell_upstreams(run, task);
        let attempts = run.attempts(task);
        story.tell_attempts(&attempts);
        story.tell_end(run, task, &attempts, now);
        story
    }

    fn tell(&mut self, at: Option<Duration>, words: impl Into<String>) {
        self.lines.push((at, words.into()));
    }

    /// What it waited for, and waits for.
    fn tell_upstreams(&mut self, run: &Run, task: TaskId) {
        let before: Vec<_> = run.direct_predecessors(task);
        match before.len() {
            0 => self.tell(None, "it waits for no other task"),
            1..=5 => before.iter().for_each(|&before| {
                let state = run.state(before);
                self.tell(
                    None,
                    format!("it waits for `{}`, which is {state}", run.label(before)),
                );
            }),
            many => {
                let done = |&&task: &&TaskId| run.state(task) == TaskState::Succeeded;
                let done = before.iter().filter(done).count();
                self.tell(
                    None,
                    format!("it waits for {many} others, of which {done} succeeded"),
                );
            }
        }
    }

    fn tell_attempts(&mut self, attempts: &[Attempt]) {
        let mut ended = None;
        for attempt in attempts {
            let number = attempt.number;
            if let Some(started) = attempt.started {
                let waited = ended.map(|ended| Short(started.saturating_sub(ended)));
                let waited = waited.map_or(String::new(), |wait| format!(" after waiting {wait}"));
                self.tell(Some(started), format!("attempt {number} began{waited}"));
            }
            let end = AttemptWords(&attempt.end);
            self.tell(Some(attempt.ended), format!("attempt {number} {end}"));
            ended = Some(attempt.ended);
        }
    }

    fn tell_end(&mut self, run: &Run, task: TaskId, attempts: &[Attempt], now: &Explanation) {
        let state = run.state(task);
        if state == TaskState::Succeeded && attempts.is_empty() {
            self.tell(None, "its first attempt succeeded");
        }
        self.tell(None, format!("it {now}"));
    }
}

impl fmt::Display for Story {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.title)?;
        for (at, words) in &self.lines {
            match at {
                Some(at) => write!(f, "\n{:>11.3} s  {words}", at.as_secs_f64())?,
                None => write!(f, "\n{:>11}    {words}", "")?,
            }
        }
        Ok(())
    }
}
