//! What has happened, for those who listen.
//!
//! Lanes and the engine write down [facts](Fact), each writer in a [log](Log) of its own, with nothing but the time. Now
//! and then the logs are entered in the book: in the order of their times, each fact with an id and the id of its cause.
//! There they are *events*, and go to the queues of all who listen. Whoever does not listen fast enough loses them, and is
//! told instead how everything stands: the book knows, so that no run is asked for it.
//!
//! A run that nobody listens to writes nothing.

mod book;
mod desk;
mod fact;
mod log;
mod queue;
mod scribe;
mod table;

pub(crate) use book::{Aftermath, Entry, RunStanding, Standing};
pub(crate) use fact::{Fact, NodeSeen, Record, Spot, TaskSpan};
pub(crate) use log::Log;
pub(crate) use queue::{Delivery, Scope};
pub(crate) use scribe::Scribe;

use super::policy::{NodeKey, Time};
use super::{Engine, Run};
use crate::model::{TaskId, TaskState};
use crate::sync::lock;
use book::Book;
use desk::Desk;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::task::Waker;

/// The events of one pool. Its locks are taken after the engine's, the book's before a log's.
#[derive(Default)]
pub(crate) struct Chronicle {
    book: Mutex<Book>,
    /// What is written under the engine's lock, and by lanes that did not expect to be listened to.
    common: Arc<Log>,
    desk: Desk,
    /// Somebody listens to whatever the pool does.
    hears_pool: AtomicBool,
    /// Somebody listens.
    audience: AtomicBool,
    /// Runs whose events wait to be written down, and until when they are.
    #[cfg(feature = "journal")]
    held: Mutex<std::collections::BTreeMap<u64, u64>>,
}

/// How a run stands that somebody begins to listen to.
pub(crate) struct Opening {
    pub(crate) run: Arc<Run>,
    pub(crate) ended: bool,
    /// It has ended, and with success.
    pub(crate) succeeded: bool,
    /// Tasks that are not waiting, with how they stand.
    pub(crate) states: Vec<(TaskId, TaskState)>,
}

impl Chronicle {
    pub(crate) fn hears_pool(&self) -> bool {
        self.hears_pool.load(Ordering::Relaxed)
    }

    pub(crate) fn has_audience(&self) -> bool {
        self.audience.load(Ordering::Relaxed)
    }

    /// Writes down what was decided, under the engine's lock.
    pub(super) fn write(&self, now: Time, mut records: Vec<Record>) {
        let at = nanoseconds(now);
        records.iter_mut().for_each(|record| record.at = at);
        self.common.write(records);
    }

    /// Writes down one fact.
    pub(super) fn note(&self, now: Time, run: u64, fact: Fact) {
        let at = nanoseconds(now);
        self.common.write([Record { at, run, fact }]);
    }

    /// There is something to enter. With no lock held.
    #[inline]
    pub(super) fn call(&self, now: impl FnOnce() -> Time) {
        if !self.desk.call() {
            self.enter(now());
        }
    }

    /// Enters what has been written. Returns whether that was anything. With no lock held.
    pub(super) fn enter(&self, now: Time) -> bool {
        let mut aftermath = Aftermath::default();
        let horizon = nanoseconds(now).min(self.told_until());
        let any = lock(&self.book).collect(horizon, &mut aftermath);
        aftermath.finish();
        any
    }

    #[cfg(not(feature = "journal"))]
    fn told_until(&self) -> u64 {
        u64::MAX
    }

    /// Until when events may be told: the order in which they happened is kept, so that those of one run hold up all.
    #[cfg(feature = "journal")]
    fn told_until(&self) -> u64 {
        lock(&self.held).values().min().copied().unwrap_or(u64::MAX)
    }

    /// Events of a run may be told that happened until then; or all.
    #[cfg(feature = "journal")]
    pub(super) fn hold(&self, run: u64, until: Option<Time>) {
        let mut held = lock(&self.held);
        match until {
            Some(until) => held.insert(run, nanoseconds(until)),
            None => held.remove(&run),
        };
    }

    /// Adds a lane's log.
    fn add(&self, log: &Arc<Log>) {
        lock(&self.book).add_source(log);
    }

    /// Adds a listener. `openings` are the runs that nobody has listened to so far, and nobody works on at the moment.
    pub(super) fn listen(
        &self,
        scope: Scope,
        now: Time,
        openings: &[Opening],
        nodes: Vec<(NodeKey, NodeSeen)>,
    ) -> (u64, Aftermath) {
        let mut aftermath = Aftermath::default();
        let mut book = lock(&self.book);
        book.add_source(&self.common);
        // What is left of listeners who have gone must not count as new.
        book.collect(nanoseconds(now), &mut aftermath);
        for (node, seen) in nodes {
            book.add_node(node, seen);
        }
        openings.iter().for_each(|opening| book.add_run(opening));
        let listener = book.listen(scope, &mut aftermath);
        self.hears_pool.store(book.hears_pool(), Ordering::Relaxed);
        self.audience.store(true, Ordering::Relaxed);
        (listener, aftermath)
    }

    pub(super) fn open_desk(&self, engine: &Weak<Engine>) {
        self.desk.open(engine);
    }

    /// How many events are kept for a listener that does not ask for them.
    pub(crate) fn set_capacity(&self, listener: u64, capacity: usize) {
        lock(&self.book).set_capacity(listener, capacity);
    }

    /// A listener goes. Returns whether nobody is left.
    pub(super) fn leave(&self, listener: u64) -> (bool, Aftermath) {
        let mut aftermath = Aftermath::default();
        let mut book = lock(&self.book);
        let nobody = book.leave(listener, &mut aftermath);
        self.hears_pool.store(book.hears_pool(), Ordering::Relaxed);
        self.audience.store(!nobody, Ordering::Relaxed);
        (nobody, aftermath)
    }

    /// What a listener has not heard. Without anything, `waker` is woken when there is.
    pub(crate) fn deliver(&self, listener: u64, waker: &Waker) -> Delivery {
        let mut aftermath = Aftermath::default();
        let delivery = lock(&self.book).deliver(listener, waker, &mut aftermath);
        aftermath.finish();
        delivery
    }

    /// The pool is over: there will be no more.
    pub(super) fn end(&self, now: Time) {
        let mut aftermath = Aftermath::default();
        {
            let mut book = lock(&self.book);
            book.collect(nanoseconds(now), &mut aftermath);
            book.end(&mut aftermath);
        }
        aftermath.finish();
    }
}

fn nanoseconds(time: Time) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
