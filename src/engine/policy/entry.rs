//! A run, as the policy sees it.

use super::super::flow::{Ready, Sink};
use super::gang::Muster;
use super::placing::{ClassId, RunKey};
use super::timers::{Time, TimerKey};
use super::{Item, Run};
use crate::engine::chronicle::TaskSpan;
use crate::model::{ELEMENT, TaskId};
use event_listener::Event;
use rustc_hash::{FxHashMap, FxHashSet};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Range;
use std::sync::Arc;

/// An attempt of a task, among all runs of the pool.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct LeaseKey {
    /// The run's number in the pool.
    pub(crate) run: u64,
    pub(crate) task: TaskId,
    pub(crate) attempt: u32,
    /// Which of its instances.
    pub(crate) instance: u32,
}

/// The order of runs: the more urgent first, then those submitted first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct RunRank(Reverse<i32>, u64);

impl RunRank {
    pub(crate) fn new(priority: i32, seq: u64) -> Self {
        RunRank(Reverse(priority), seq)
    }

    /// The number of the run, in the order of submission.
    pub(crate) fn seq(self) -> u64 {
        self.1
    }

    pub(super) fn priority(self) -> i32 {
        self.0.0
    }

    /// The same number as the placing keeps it: it wraps after four billion runs.
    pub(super) fn number(self) -> u32 {
        self.1 as u32
    }

    /// Whether a run goes before another because of its priority.
    pub(super) fn is_more_urgent_than(self, other: RunRank) -> bool {
        self.0 < other.0
    }
}

/// The current attempt of a task.
#[derive(Clone, Copy, Debug)]
pub(super) struct LeaseState {
    pub(super) attempt: u32,
    pub(super) started: Time,
    /// Of its time limit.
    pub(super) timer: Option<TimerKey>,
    /// When it was last heard of, and the timer of its next being heard of.
    pub(super) heard: Time,
    pub(super) watch: Option<TimerKey>,
    /// Its output has been stored: only then can it have succeeded.
    pub(super) stored: bool,
}

impl LeaseState {
    /// The timers that were set for it.
    pub(super) fn timers(&self) -> impl Iterator<Item = TimerKey> + use<> {
        self.timer.into_iter().chain(self.watch)
    }
}

/// A run that has not ended.
pub(super) struct Entry {
    pub(super) run: Arc<Run>,
    /// Ready for any lane: no policy applies to it but its job's.
    pub(super) ready: VecDeque<Item>,
    /// Who counts those of its tasks that the policy starts; and of which arrays, by node, another does.
    group: RunKey,
    arrays: FxHashMap<u32, RunKey>,
    /// What tasks ask for, by their settings and whether their bodies wait.
    pub(super) classes: FxHashMap<(u32, u32, bool), ClassId>,
    /// Elements, and nodes, that have just become ready, that only the policy starts, and that are not yet queued.
    pub(super) opened: Vec<Range<u32>>,
    pub(super) reached: Vec<u32>,
    /// While somebody listens: what lanes have run and the engine has settled, and what they start and is now ready.
    pub(super) succeeded: Vec<TaskSpan>,
    pub(super) readied: Vec<TaskSpan>,
    /// The current attempt of each task that an executor has been given one by one.
    pub(super) leased: FxHashMap<TaskId, LeaseState>,
    /// The instances of tasks that have several, from their being placed to the end of the attempt.
    pub(super) musters: FxHashMap<TaskId, Muster>,
    /// Tasks that are not ready before a time.
    pub(super) delayed: FxHashMap<TaskId, TimerKey>,
    /// Tasks that have lost their nodes so often that they are to run alone.
    pub(super) suspects: FxHashSet<TaskId>,
    /// Tasks that were taken from lanes, which are in their bodies, to be run again.
    pub(super) taken_from_lanes: BTreeSet<TaskId>,
    /// The last attempt of each task that has had one and may have another.
    pub(super) attempts: FxHashMap<TaskId, u32>,
    /// Tasks were reactivated. Those that have become ready since; and whether each is in the queue. What else lanes,
    /// grants and the queue hold of them is from before they ended.
    pub(super) reactivated: bool,
    pub(super) ready_again: FxHashMap<TaskId, bool>,
    /// Bodies have outlived their attempts.
    pub(super) had_strays: bool,
    /// From when the deadline of a reactivated task counts.
    pub(super) deadlines_from: FxHashMap<TaskId, Time>,
    /// Until when attempts may begin, of tasks whose attempts together have a limit.
    pub(super) attempts_until: FxHashMap<TaskId, Time>,
    /// Tasks of an earlier life of the run that may not start before.
    pub(super) not_before: FxHashMap<TaskId, Time>,
    /// Timers of the run itself, and of deadlines.
    pub(super) timers: Vec<TimerKey>,
    pub(super) watchers: BTreeMap<TaskId, Arc<Event>>,
}

impl Entry {
    pub(super) fn new(run: Arc<Run>, group: RunKey, arrays: FxHashMap<u32, RunKey>) -> Self {
        Entry {
            run,
            ready: VecDeque::new(),
            group,
            arrays,
            classes: FxHashMap::default(),
            opened: Vec::new(),
            reached: Vec::new(),
            succeeded: Vec::new(),
            readied: Vec::new(),
            leased: FxHashMap::default(),
            musters: FxHashMap::default(),
            delayed: FxHashMap::default(),
            suspects: FxHashSet::default(),
            taken_from_lanes: BTreeSet::new(),
            attempts: FxHashMap::default(),
            reactivated: false,
            had_strays: false,
            ready_again: FxHashMap::default(),
            deadlines_from: FxHashMap::default(),
            attempts_until: FxHashMap::default(),
            not_before: FxHashMap::default(),
            timers: Vec::new(),
            watchers: BTreeMap::new(),
        }
    }

    /// The tasks that an item makes ready, for those who listen.
    fn heard(&self, item: Item) -> Option<TaskSpan> {
        if !self.run.is_observed() {
            return None;
        }
        match item.ready() {
            Ready::Node(node) if self.run.is_array(node) => None,
            Ready::Node(node) => Some(TaskId(node).into()),
            Ready::Elements(numbers) => {
                Some(TaskSpan::of(numbers.start | ELEMENT..numbers.end | ELEMENT))
            }
            Ready::Sources(_) => None,
        }
    }

    /// Whether there are plain tasks to start.
    pub(super) fn has_plain(&self) -> bool {
        !self.ready.is_empty() && !self.run.is_disabled()
    }

    /// Whether there are plain tasks to steal from a lane.
    pub(super) fn shares_plain(&self) -> bool {
        !self.run.is_disabled() && self.run.flow().has_surplus()
    }

    /// Ready work that its lane, or grant, will not begin. What was taken from lanes is queued elsewhere.
    pub(super) fn take_in(&mut self, items: Vec<Item>) {
        if self.taken_from_lanes.is_empty() {
            return self.ready.extend(items);
        }
        let rest = items.into_iter().flat_map(|item| {
            let segment = self.run.flow().segment_of(item);
            let job = &segment.job;
            item.without(job.base, &job.csr.sources, &self.taken_from_lanes)
        });
        self.ready.extend(rest);
    }

    /// Who counts all tasks of the run.
    pub(super) fn whole_group(&self) -> RunKey {
        self.group
    }

    /// Arrays with limits of their own were added.
    pub(super) fn add_arrays(&mut self, arrays: FxHashMap<u32, RunKey>) {
        self.arrays.extend(arrays);
    }

    /// Who counts the tasks of a node.
    pub(super) fn group_of(&self, node: u32) -> RunKey {
        self.arrays.get(&node).copied().unwrap_or(self.group)
    }

    pub(super) fn groups(&self) -> impl Iterator<Item = RunKey> {
        self.arrays.values().copied().chain([self.group])
    }

    /// Begins the next attempt of a task.
    pub(super) fn lease(&mut self, task: TaskId, started: Time, timer: Option<TimerKey>) -> u32 {
        let attempt = self.next_attempt(task);
        self.leased.insert(
            task,
            LeaseState {
                attempt,
                started,
                timer,
                heard: started,
                watch: None,
                stored: false,
            },
        );
        attempt
    }

    pub(super) fn next_attempt(&self, task: TaskId) -> u32 {
        self.attempts.get(&task).map_or(1, |last| last + 1)
    }

    /// Attempts were stopped, and their bodies may go on. Another attempt of the same task has a higher number.
    pub(super) fn leave_stopped(&mut self, leased: &[(TaskId, LeaseState)]) {
        for (task, lease) in leased {
            self.attempts.insert(*task, lease.attempt);
            self.leave_strays(*task, self.keys(*task, lease.attempt).len() as u32);
        }
    }

    /// So many leased bodies may go on although their attempt is over.
    pub(super) fn leave_strays(&mut self, task: TaskId, bodies: u32) {
        self.had_strays = true;
        self.run.ledger().strays.add(task, bodies);
    }

    /// A reactivated task is ready: in the queue, or to be put there later.
    pub(super) fn note_ready_again(&mut self, task: TaskId, in_queue: bool) {
        if self.reactivated && self.run.flow().is_reactivated(task) {
            self.ready_again.insert(task, in_queue);
        }
    }

    /// Takes a task that the queue gave out, unless that was left there from before it was reactivated.
    pub(super) fn claim(&mut self, task: TaskId) -> bool {
        if !self.reactivated || !self.run.flow().is_reactivated(task) {
            return true;
        }
        let in_queue = self.ready_again.get_mut(&task);
        in_queue.is_some_and(std::mem::take)
    }

    /// Whether a task that was claimed may be begun. Somebody may have claimed it before it was reactivated, and others
    /// since: the first of them gets it.
    pub(super) fn may_begin(&mut self, task: TaskId) -> bool {
        if !self.reactivated {
            return true;
        }
        let free = !self.leased.contains_key(&task) && !self.delayed.contains_key(&task);
        if free {
            self.note_ready_again(task, false);
        }
        free
    }

    /// Whether the task should have ended by now, as its deadline says. That of a reactivated task counts anew.
    pub(super) fn is_deadline_over(&self, task: TaskId, now: Time) -> bool {
        let Some(place) = self.run.locate(task) else {
            return false;
        };
        let from = self.deadlines_from.get(&task).copied();
        let deadline = place.segment.job.settings_of(task).deadline;
        deadline.is_some_and(|deadline| {
            let anew = from.map(|from| from + deadline);
            anew.unwrap_or_else(|| self.run.after(&place.segment, deadline)) <= now
        })
    }

    /// Every timer that was set for the run.
    pub(super) fn all_timers(&self) -> impl Iterator<Item = TimerKey> + '_ {
        let leases = self.leased.values().flat_map(|lease| lease.timers());
        leases
            .chain(self.delayed.values().copied())
            .chain(self.timers.iter().copied())
    }

    pub(super) fn is_current(&self, task: TaskId, attempt: u32) -> bool {
        self.leased
            .get(&task)
            .is_some_and(|lease| lease.attempt == attempt)
    }

    pub(super) fn key(&self, task: TaskId, attempt: u32, instance: u32) -> LeaseKey {
        LeaseKey {
            run: self.run.seq(),
            task,
            attempt,
            instance,
        }
    }
}

/// Work that becomes ready under the policy's eyes waits for whoever takes it next, or to be queued.
impl Sink for Entry {
    fn ready(&mut self, item: Item) {
        match item.ready() {
            Ready::Node(node) if self.run.is_queued(node) => self.reached.push(node),
            _ => {
                self.readied.extend(self.heard(item));
                self.ready.push_back(item);
            }
        }
    }

    fn queue_elements(&mut self, elements: Range<u32>) {
        self.opened.push(elements);
    }

    fn elements_succeeded(&mut self, elements: Range<u32>) {
        if self.run.is_observed() {
            self.succeeded.push(TaskSpan::of(
                elements.start | ELEMENT..elements.end | ELEMENT,
            ));
        }
    }
}
