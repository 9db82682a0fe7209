//! What goes wrong because a test says so.

use super::stage::Stage;
use crate::model::{BoxError, Panic};
use std::time::Duration;

/// A sentence about a task, begun by [`TestPool::when`](super::TestPool::when) and ended by one of these verbs. Of two
/// that contradict each other the later one holds.
#[must_use = "it says nothing until a verb ends it"]
pub struct When<'a> {
    stage: &'a Stage,
    task: String,
    attempt: Option<u32>,
}

impl<'a> When<'a> {
    pub(super) fn new(stage: &'a Stage, task: String) -> Self {
        let attempt = None;
        When {
            stage,
            task,
            attempt,
        }
    }

    /// Only this attempt, from 1. Else every attempt.
    pub fn attempt(mut self, number: u32) -> Self {
        self.attempt = Some(number);
        self
    }

    /// It fails with this error; its body is not called.
    pub fn fails(self, message: impl Into<String>) {
        self.say(Happening::End(Ending::Fail(message.into())));
    }

    /// It panics; its body is not called.
    pub fn panics(self, message: impl Into<String>) {
        self.say(Happening::End(Ending::Panic(message.into())));
    }

    /// It never ends by itself; its body is not called. It is over when it is cancelled or past a limit.
    pub fn hangs(self) {
        self.say(Happening::End(Ending::Never));
    }

    /// Its node is lost while it runs, with whatever else runs there. One that is like it joins at once.
    pub fn loses_its_node(self) {
        self.say(Happening::End(Ending::LoseNode));
    }

    /// It takes that much simulated time; what it does, it does at the end.
    pub fn takes(self, time: Duration) {
        self.say(Happening::Take(time));
    }

    fn say(self, what: Happening) {
        let (task, attempt) = (self.task, self.attempt);
        self.stage.add_fault(Fault {
            task,
            attempt,
            what,
        });
    }
}

pub(super) struct Fault {
    task: String,
    attempt: Option<u32>,
    what: Happening,
}

#[derive(Clone)]
enum Happening {
    Take(Duration),
    End(Ending),
}

/// How an attempt ends instead of by its body.
#[derive(Clone)]
pub(super) enum Ending {
    Fail(String),
    Panic(String),
    LoseNode,
    Never,
}

#[derive(Default)]
pub(super) struct Faults(Vec<Fault>);

/// What a test has said of one attempt.
#[derive(Default)]
pub(super) struct Fate {
    pub(super) takes: Duration,
    pub(super) ending: Option<Ending>,
}

impl Faults {
    pub(super) fn add(&mut self, fault: Fault) {
        self.0.push(fault);
    }

    pub(super) fn of(&self, job: &str, task: &str, attempt: u32) -> Fate {
        let mut fate = Fate::default();
        let meant = |fault: &&Fault| {
            fault.attempt.is_none_or(|number| number == attempt) && means(&fault.task, job, task)
        };
        for fault in self.0.iter().filter(meant) {
            match &fault.what {
                Happening::Take(time) => fate.takes = *time,
                Happening::End(ending) => fate.ending = Some(ending.clone()),
            }
        }
        fate
    }
}

impl Ending {
    /// The failure that it is, if it is one.
    pub(super) fn failure(self) -> Option<BoxError> {
        match self {
            Ending::Fail(message) => Some(message.into()),
            Ending::Panic(message) => {
                let place = None;
                Some(Panic { message, place }.into())
            }
            Ending::LoseNode | Ending::Never => None,
        }
    }
}

/// Whether a task, or the array that it is an element of, is called so.
pub(super) fn means(name: &str, job: &str, task: &str) -> bool {
    let own = name
        .strip_prefix(job)
        .and_then(|rest| rest.strip_prefix('/'));
    let is = |name: &str| match task.strip_prefix(name) {
        Some("") => true,
        Some(rest) => rest.starts_with('[') && rest.ends_with(']'),
        None => false,
    };
    is(name) || own.is_some_and(is)
}
