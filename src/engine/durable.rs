//! What of a run has been written down, so that nobody is told of anything else; and how its writer is called.

use super::survey::Written;
use crate::model::{Error, TaskId};
use crate::sync::lock;
use event_listener::{Event, EventListener};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, OnceLock};
use std::time::Duration;

/// What a run and the writer of its journal know of each other.
#[derive(Default)]
pub(crate) struct Durable {
    written: Mutex<Written>,
    /// The run's end has been written down.
    ended: AtomicBool,
    failed: OnceLock<Error>,
    /// More has been written down, or nothing more will be.
    changed: Event,
    calls: Mutex<Calls>,
    called: Condvar,
}

#[derive(Default)]
struct Calls {
    called: bool,
    /// How often somebody has asked for all to be written down, and how often that was done.
    asked: u64,
    answered: u64,
    /// Nobody has the run any more, as its user.
    left: bool,
    /// Nothing is written any more.
    closed: bool,
}

impl Durable {
    pub(crate) fn written(&self) -> std::sync::MutexGuard<'_, Written> {
        lock(&self.written)
    }

    /// Whether a task that has ended, or an array that has as a whole, is written down.
    pub(crate) fn has(&self, task: TaskId) -> bool {
        lock(&self.written).has(task)
    }

    /// Whether the end of the run is.
    pub(crate) fn has_end(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }

    pub(crate) fn set_end(&self, written: bool) {
        self.ended.store(written, Ordering::Release);
    }

    /// Why nothing is written any more.
    pub(crate) fn failure(&self) -> Option<&Error> {
        self.failed.get()
    }

    pub(crate) fn fail(&self, error: Error) {
        let _ = self.failed.set(error);
        self.announce();
    }

    /// Tells those who wait for something to be written down.
    pub(crate) fn announce(&self) {
        self.changed.notify(usize::MAX);
    }

    /// Notified when more has been written down. The writer is called, so that this is soon.
    pub(crate) fn listen(&self) -> EventListener {
        let listener = self.changed.listen();
        self.call();
        listener
    }

    /// Has the writer look at once.
    pub(crate) fn call(&self) {
        lock(&self.calls).called = true;
        self.called.notify_all();
    }

    /// Blocks until all that has happened by now is written down, or nothing is any more.
    pub(crate) fn barrier(&self) {
        let mut calls = lock(&self.calls);
        calls.asked += 1;
        calls.called = true;
        let mine = calls.asked;
        self.called.notify_all();
        while calls.answered < mine && !calls.closed && self.failed.get().is_none() {
            calls = wait(&self.called, calls, None);
        }
    }

    /// The writer waits until it is called, or for so long; and learns which asking it answers with what it does next, and
    /// whether the run was left.
    pub(crate) fn wait(&self, most: Option<Duration>) -> (u64, bool) {
        let mut calls = lock(&self.calls);
        if !calls.called {
            calls = wait(&self.called, calls, most);
        }
        calls.called = false;
        (calls.asked, calls.left)
    }

    pub(crate) fn answer(&self, asked: u64) {
        lock(&self.calls).answered = asked;
        self.called.notify_all();
    }

    /// Its user has no handle of the run any more.
    pub(crate) fn leave(&self) {
        lock(&self.calls).left = true;
        self.call();
    }

    /// The writer has ended.
    pub(crate) fn close(&self) {
        lock(&self.calls).closed = true;
        self.called.notify_all();
        self.announce();
    }

    /// Blocks until the writer has ended, for so long at most.
    pub(crate) fn wait_for_close(&self, most: Duration) {
        let until = std::time::Instant::now() + most;
        let mut calls = lock(&self.calls);
        while !calls.closed {
            let left = until.saturating_duration_since(std::time::Instant::now());
            if left.is_zero() {
                return;
            }
            calls = wait(&self.called, calls, Some(left));
        }
    }

    /// As well, if its user has no handle of the run any more.
    pub(crate) fn wait_if_left(&self, most: Duration) {
        let left = lock(&self.calls).left;
        if left {
            self.call();
            self.wait_for_close(most);
        }
    }

    pub(crate) fn is_closed(&self) -> bool {
        lock(&self.calls).closed
    }
}

fn wait<'a, T>(
    called: &Condvar,
    guard: std::sync::MutexGuard<'a, T>,
    most: Option<Duration>,
) -> std::sync::MutexGuard<'a, T> {
    match most {
        None => called
            .wait(guard)
            .unwrap_or_else(std::sync::PoisonError::into_inner),
        Some(most) => {
            called
                .wait_timeout(guard, most)
                .unwrap_or_else(std::sync::PoisonError::into_inner)
                .0
        }
    }
}
