//! A lane's pen.

use super::fact::{Fact, Record, Spot, TaskSpan};
use super::log::Log;
use super::nanoseconds;
use crate::engine::flow::Witness;
use crate::engine::trace::Inside;
use crate::engine::{Engine, Run};
use crate::model::TaskId;
use std::cell::{Cell, RefCell};
use std::ops::Range;
use std::sync::Arc;

/// Writes down what a lane does. Between two bodies it looks at the clock once: where nothing comes between, the second
/// starts when the first has ended.
pub(crate) struct Scribe<'a> {
    engine: &'a Engine,
    run: &'a Run,
    /// None where there is nothing to write, but spans to enter.
    log: Option<&'a Log>,
    spot: Spot,
    aside: RefCell<Vec<Fact>>,
    /// When the last body ended, if the next one starts at once.
    at: Cell<Option<u64>>,
}

impl<'a> Scribe<'a> {
    pub(crate) fn new(run: &'a Run, log: &'a Arc<Log>, spot: Spot) -> Self {
        let engine = run.engine();
        let log = run.is_observed().then_some(log);
        log.into_iter().for_each(|log| engine.chronicle().add(log));
        Scribe {
            engine,
            run,
            log: log.map(|log| &**log),
            spot,
            aside: RefCell::default(),
            at: Cell::new(None),
        }
    }

    fn put_aside(&self, fact: Fact) {
        if self.log.is_none() {
            return;
        }
        self.aside.borrow_mut().push(fact);
    }

    /// Writes what was put aside, and `last`. Returns whether the log is too long.
    fn write(&self, last: Option<Fact>) -> bool {
        let Some(log) = self.log else { return false };
        let at = self.at.take().unwrap_or_else(|| self.now());
        let mut aside = self.aside.borrow_mut();
        let facts = aside.drain(..).chain(last);
        let run = self.run.seq();
        log.write(facts.map(|fact| Record { at, run, fact }))
    }

    fn now(&self) -> u64 {
        nanoseconds(self.engine.now())
    }
}

impl Witness for Scribe<'_> {
    type Inside = Inside;

    fn writes(&self) -> bool {
        self.log.is_some()
    }

    #[inline]
    fn started(&self, task: TaskId) -> Inside {
        let (attempt, spot) = (1, self.spot);
        let full = self.write(Some(Fact::Started {
            task,
            attempt,
            spot,
        }));
        let chronicle = self.engine.chronicle();
        chronicle.call(|| self.engine.now());
        if full {
            chronicle.enter(self.engine.now());
        }
        self.run.attempt_span(task, attempt).enter()
    }

    #[inline]
    fn succeeded(&self, tasks: Range<u32>) {
        self.put_aside(Fact::Succeeded(TaskSpan::of(tasks)));
    }

    #[inline]
    fn ready(&self, tasks: Range<u32>, by: Option<TaskId>) {
        let tasks = TaskSpan::of(tasks);
        self.put_aside(Fact::Ready { tasks, by });
    }

    #[inline]
    fn publish(&self) {
        if !self.aside.borrow().is_empty() {
            let now = self.now();
            self.at.set(Some(now));
            self.write(None);
            self.at.set(Some(now));
        }
    }

    fn pause(&self) {
        self.publish();
        // What begins next does not begin at once.
        self.at.set(None);
        self.engine.chronicle().call(|| self.engine.now());
    }
}
