//! What tests say of how it went. All of it panics with what was seen instead, and with the trace.

use super::TestPool;
use super::faults::means;
use super::trace::{Entry, Event};
use crate::model::{Error, TaskState};

/// How tasks ended and in which order. Tasks are meant by their names, or as `job/task`; `array[3]` is an element and
/// `array` all of it. Of several runs with such a task the last one is meant.
impl TestPool {
    /// How a task stands.
    ///
    /// # Panics
    /// If no job with such a task was submitted.
    #[track_caller]
    pub fn state(&self, task: &str) -> TaskState {
        self.end_of(task).0
    }

    /// Why a task did not succeed, if it has ended and did not.
    ///
    /// # Panics
    /// If no job with such a task was submitted.
    #[track_caller]
    pub fn error(&self, task: &str) -> Option<Error> {
        self.end_of(task).1
    }

    /// A task has succeeded.
    ///
    /// # Panics
    /// If it has not.
    #[track_caller]
    pub fn assert_succeeded(&self, task: &str) {
        self.assert_state(task, TaskState::Succeeded);
    }

    /// A task has failed, with an error that says `words` somewhere, its causes included.
    ///
    /// # Panics
    /// If it has not.
    #[track_caller]
    pub fn assert_failed(&self, task: &str, words: &str) {
        self.assert_state(task, TaskState::Failed);
        let error = self.error(task);
        let said = error.map(|error| error.to_string()).unwrap_or_default();
        let trace = self.trace();
        assert!(
            said.contains(words),
            "`{task}` failed, but not with {words:?}: {said}\n{trace}"
        );
    }

    /// A task was skipped, since one that it depends on did not succeed.
    ///
    /// # Panics
    /// If it was not.
    #[track_caller]
    pub fn assert_skipped(&self, task: &str) {
        self.assert_state(task, TaskState::Skipped);
    }

    /// A task was cancelled.
    ///
    /// # Panics
    /// If it was not.
    #[track_caller]
    pub fn assert_cancelled(&self, task: &str) {
        self.assert_state(task, TaskState::Cancelled);
    }

    /// So many attempts of a task have begun, or, of an array, of its elements together.
    ///
    /// # Panics
    /// If it were more or fewer.
    #[track_caller]
    pub fn assert_attempts(&self, task: &str, number: usize) {
        let trace = self.trace();
        let begun = |entry: &&Entry| is_of(entry, task) && entry.event == Event::Began;
        let seen = trace.entries().iter().filter(begun).count();
        assert!(
            seen == number,
            "`{task}` had {seen} attempts, not {number}\n{trace}"
        );
    }

    /// The last attempt of `before` had ended when the first one of `after` began.
    ///
    /// # Panics
    /// If it was otherwise, or one of them has not run.
    #[track_caller]
    pub fn assert_order(&self, before: &str, after: &str) {
        let trace = self.trace();
        let ended = |entry: &Entry| is_of(entry, before) && entry.event != Event::Began;
        let began = |entry: &Entry| is_of(entry, after) && entry.event == Event::Began;
        let end = trace.entries().iter().rposition(ended);
        let begin = trace.entries().iter().position(began);
        let seen = match (end, begin) {
            (Some(end), Some(begin)) if end < begin => return,
            (None, _) => format!("`{before}` has not run"),
            (_, None) => format!("`{after}` has not run"),
            _ => "it did not".to_owned(),
        };
        panic!("`{before}` should have run before `{after}`: {seen}\n{trace}");
    }

    #[track_caller]
    fn assert_state(&self, task: &str, expected: TaskState) {
        let (state, error) = self.end_of(task);
        let why = error.map_or_else(String::new, |error| format!(" ({error})"));
        let trace = self.trace();
        assert!(
            state == expected,
            "`{task}` is {state}, not {expected}{why}\n{trace}"
        );
    }

    #[track_caller]
    fn end_of(&self, task: &str) -> (TaskState, Option<Error>) {
        match self.stage().find(task) {
            Some(end) => end,
            None => {
                let known = self.stage().names().join("`, `");
                panic!("no task `{task}` was submitted; there are `{known}`")
            }
        }
    }
}

fn is_of(entry: &Entry, task: &str) -> bool {
    means(task, &entry.job, &entry.task)
}
