//! A run, as the policy sees it.

use super::super::flow::Sink;
use super::{Item, Run};
use crate::model::{ELEMENT, TaskId};
use event_listener::Event;
use std::collections::{HashMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;

/// An attempt of a task, among all runs of the pool.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct LeaseKey {
    /// The run's address: unique while the lease holds the run.
    pub(crate) run: usize,
    pub(crate) task: TaskId,
    pub(crate) attempt: u32,
}

/// A run that has not ended.
pub(super) struct Entry {
    pub(super) run: Arc<Run>,
    /// Ready for any lane: no policy applies to it but its job's.
    pub(super) ready: VecDeque<Item>,
    /// Ready, and started one by one by the policy.
    pub(super) queued: VecDeque<TaskId>,
    /// The current attempt of each task that an executor has been given one by one.
    pub(super) leased: HashMap<TaskId, u32>,
    /// How many attempts of a task were lost with their node, or with the executor's interest.
    pub(super) recoveries: HashMap<TaskId, u32>,
    /// The last attempt of each task that has had one.
    pub(super) attempts: HashMap<TaskId, u32>,
    pub(super) watchers: HashMap<TaskId, Arc<Event>>,
}

impl Entry {
    pub(super) fn new(run: Arc<Run>) -> Self {
        Entry {
            run,
            ready: VecDeque::new(),
            queued: VecDeque::new(),
            leased: HashMap::new(),
            recoveries: HashMap::new(),
            attempts: HashMap::new(),
            watchers: HashMap::new(),
        }
    }

    /// Whether there is something to start.
    pub(super) fn has_work(&self) -> bool {
        !self.ready.is_empty() || !self.queued.is_empty()
    }

    /// Whether there is something to start, or to steal from a lane.
    pub(super) fn has_or_shares_work(&self) -> bool {
        self.has_work() || self.run.flow().has_surplus()
    }

    /// Begins the next attempt of a task.
    pub(super) fn lease(&mut self, task: TaskId) -> u32 {
        let attempt = self.attempts.get(&task).map_or(1, |last| last + 1);
        if attempt > 1 {
            self.attempts.insert(task, attempt);
        }
        self.leased.insert(task, attempt);
        attempt
    }

    pub(super) fn is_current(&self, task: TaskId, attempt: u32) -> bool {
        self.leased.get(&task) == Some(&attempt)
    }

    pub(super) fn key(&self, task: TaskId, attempt: u32) -> LeaseKey {
        LeaseKey {
            run: Arc::as_ptr(&self.run) as usize,
            task,
            attempt,
        }
    }
}

/// Work that becomes ready under the policy's eyes waits for whoever takes it next.
impl Sink for Entry {
    fn ready(&mut self, item: Item) {
        self.ready.push_back(item);
    }

    fn queue_elements(&mut self, elements: Range<u32>) {
        self.queued
            .extend(elements.map(|number| TaskId(number | ELEMENT)));
    }
}
