//! Where facts become events: in the order of their times, each with an id and its cause.

use super::Opening;
use super::fact::{Fact, NodeSeen, Record, TaskSpan};
use super::log::{Log, Source};
use super::queue::{Delivery, Queue, Scope};
use super::table::RunTable;
use crate::engine::policy::NodeKey;
use crate::job::Frozen;
use crate::model::{Panic, TaskState};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::task::Waker;

/// A record that has become an event.
#[derive(Clone)]
pub(crate) struct Entry {
    /// From 1, without gaps.
    pub(crate) id: u64,
    /// 0 for none.
    pub(crate) cause: u64,
    pub(crate) record: Record,
}

/// How everything stands that is listened to.
pub(crate) struct Standing {
    /// The last event that is part of it.
    pub(crate) event: u64,
    pub(crate) runs: Vec<RunStanding>,
    pub(crate) nodes: Vec<(NodeKey, NodeSeen)>,
}

pub(crate) struct RunStanding {
    pub(crate) run: u64,
    pub(crate) job: Arc<Frozen>,
    pub(crate) ended: bool,
    pub(crate) succeeded: bool,
    pub(crate) spans: Vec<(TaskSpan, TaskState)>,
}

/// What is to be done when the book is closed again: wakers and errors are the user's.
#[derive(Default)]
pub(crate) struct Aftermath {
    wakers: Vec<Waker>,
    dropped: Vec<Entry>,
    jobs: Vec<Arc<Frozen>>,
}

#[derive(Default)]
pub(super) struct Book {
    sources: Vec<Source>,
    entered: u64,
    /// The time of the last event.
    now: u64,
    runs: BTreeMap<u64, RunTable>,
    /// Those that are there, with the event of their joining.
    nodes: BTreeMap<NodeKey, (NodeSeen, u64)>,
    queues: HashMap<u64, Queue>,
    listeners: u64,
    over: bool,
}

impl Book {
    pub(super) fn add_source(&mut self, log: &Arc<Log>) {
        if !self.sources.iter().any(|source| source.is_of(log)) {
            self.sources.push(Source::new(log.clone()));
        }
    }

    /// Enters all that was written by `horizon`. Returns whether that was anything.
    ///
    /// A cause is written before its effect is timed. So whatever was timed by `horizon`, which was learnt before the
    /// first log is read, has its cause in a log that has yet to be read.
    pub(super) fn collect(&mut self, horizon: u64, aftermath: &mut Aftermath) -> bool {
        self.sources.iter_mut().for_each(Source::refill);
        let mut any = false;
        while let Some(record) = self.next_record(horizon) {
            self.enter_each(record, aftermath);
            any = true;
        }
        self.sources.retain(|source| !source.is_exhausted());
        if any {
            let queues = self.queues.values_mut();
            aftermath
                .wakers
                .extend(queues.filter_map(Queue::take_waker));
        }
        any
    }

    fn next_record(&mut self, horizon: u64) -> Option<Record> {
        let times = self.sources.iter().enumerate();
        let times = times.filter_map(|(at, source)| Some((source.next_at(horizon)?, at)));
        let (_, first) = times.min()?;
        self.sources[first].waiting.pop_front()
    }

    /// Each success is an event of its own, also where a lane's are told of together.
    fn enter_each(&mut self, record: Record, aftermath: &mut Aftermath) {
        match record.fact {
            Fact::Succeeded(tasks) if tasks.count > 1 => tasks.ids().for_each(|task| {
                let fact = Fact::Succeeded(task.into());
                self.enter(Record { fact, ..record }, aftermath);
            }),
            _ => self.enter(record, aftermath),
        }
    }

    fn enter(&mut self, mut record: Record, aftermath: &mut Aftermath) {
        // A writer may have been interrupted between the clock and its log.
        self.now = self.now.max(record.at);
        record.at = self.now;
        let id = self.entered + 1;
        let known = self.note(id, &record);
        let cause = known.unwrap_or(0);
        let entry = Entry { id, cause, record };
        if known.is_some() {
            self.entered = id;
            let queues = self.queues.values_mut();
            queues.for_each(|queue| queue.offer(&entry, &mut aftermath.dropped));
            self.end_run(&entry.record, aftermath);
        }
        aftermath.keep_for_dropping(entry);
    }

    /// What an event means for the book. Returns its cause; `None`, if it is none: nobody listens to its run any more, or
    /// it was known already.
    fn note(&mut self, id: u64, record: &Record) -> Option<u64> {
        match &record.fact {
            Fact::NodeJoined { node, seen } => {
                self.nodes.insert(*node, ((**seen).clone(), id));
                Some(0)
            }
            Fact::NodeResized { node, slots } => {
                let (seen, joined) = self.nodes.get_mut(node)?;
                seen.slots = *slots;
                Some(*joined)
            }
            Fact::NodeLeft(node) => self.nodes.remove(node).map(|(_, joined)| joined),
            Fact::RunSubmitted(job) => {
                self.runs.insert(record.run, RunTable::new(job.clone(), id));
                Some(0)
            }
            fact => {
                let table = self.runs.get_mut(&record.run)?;
                if table.is_belated(fact) {
                    return None;
                }
                let cause = table.cause(fact);
                table.note(id, fact);
                Some(cause)
            }
        }
    }

    /// Forgets a run that has ended.
    fn end_run(&mut self, record: &Record, aftermath: &mut Aftermath) {
        let Fact::RunEnded(error) = &record.fact else {
            return;
        };
        let Some(mut table) = self.runs.remove(&record.run) else {
            return;
        };
        (table.ended, table.succeeded) = (true, error.is_none());
        let lagging = self.queues.values_mut().filter(|queue| queue.lags());
        let concerned = lagging.filter(|queue| queue.scope.has(record.run));
        concerned.for_each(|queue| queue.keep_end(RunStanding::of(record.run, &table)));
        aftermath.jobs.push(table.job);
    }

    /// Takes in a run that has begun before somebody listened.
    pub(super) fn add_run(&mut self, opening: &Opening) {
        let mut table = RunTable::new(opening.run.flow().first.job.clone(), self.entered);
        for &(task, state) in &opening.states {
            table.set_state(task, state);
        }
        (table.ended, table.succeeded) = (opening.ended, opening.succeeded);
        self.runs.insert(opening.run.seq(), table);
    }

    pub(super) fn add_node(&mut self, node: NodeKey, seen: NodeSeen) {
        self.nodes.entry(node).or_insert((seen, 0));
    }

    /// Adds a listener, who is told first how everything stands.
    pub(super) fn listen(&mut self, scope: Scope, aftermath: &mut Aftermath) -> u64 {
        self.listeners += 1;
        let standing = self.standing(scope);
        let ended = self.runs.iter().filter(|(_, table)| table.ended);
        let ended: Vec<u64> = ended.map(|(&run, _)| run).collect();
        let mut queue = Queue::new(scope, standing);
        queue.over = self.over || !ended.is_empty();
        let tables = ended.iter().filter_map(|run| self.runs.remove(run));
        aftermath.jobs.extend(tables.map(|table| table.job));
        self.queues.insert(self.listeners, queue);
        self.listeners
    }

    pub(super) fn set_capacity(&mut self, listener: u64, capacity: usize) {
        if let Some(queue) = self.queues.get_mut(&listener) {
            queue.capacity = capacity.max(1);
        }
    }

    /// A listener goes. Returns whether none is left; then nothing is known any more.
    pub(super) fn leave(&mut self, listener: u64, aftermath: &mut Aftermath) -> bool {
        if let Some(queue) = self.queues.remove(&listener) {
            aftermath.dropped.extend(queue.into_entries());
        }
        let nobody = self.queues.is_empty();
        if nobody {
            let runs = std::mem::take(&mut self.runs).into_values();
            aftermath.jobs.extend(runs.map(|table| table.job));
            self.nodes.clear();
        }
        nobody
    }

    /// Whether somebody listens to whatever the pool will do.
    pub(super) fn hears_pool(&self) -> bool {
        let mut scopes = self.queues.values().map(|queue| queue.scope);
        scopes.any(|scope| scope == Scope::Pool)
    }

    /// What a listener has not heard. Without anything, `waker` is woken when there is.
    pub(super) fn deliver(
        &mut self,
        listener: u64,
        waker: &Waker,
        aftermath: &mut Aftermath,
    ) -> Delivery {
        let Some(mut queue) = self.queues.remove(&listener) else {
            return Delivery::Over;
        };
        let scope = queue.scope;
        let standing = || self.standing(scope);
        let delivery = queue.deliver(standing, waker, &mut aftermath.wakers);
        self.queues.insert(listener, queue);
        delivery
    }

    fn standing(&self, scope: Scope) -> Standing {
        let runs = self.runs.iter().filter(|(run, _)| scope.has(**run));
        let nodes = self.nodes.iter();
        Standing {
            event: self.entered,
            runs: runs
                .map(|(&run, table)| RunStanding::of(run, table))
                .collect(),
            nodes: nodes.map(|(&key, (seen, _))| (key, seen.clone())).collect(),
        }
    }

    /// There will be no more events.
    pub(super) fn end(&mut self, aftermath: &mut Aftermath) {
        self.over = true;
        for queue in self.queues.values_mut() {
            queue.over = true;
            aftermath.wakers.extend(queue.take_waker());
        }
    }
}

impl Standing {
    /// With runs that have ended, before those that have not.
    pub(super) fn with_ended(mut self, mut ended: Vec<RunStanding>) -> Self {
        ended.append(&mut self.runs);
        self.runs = ended;
        self
    }
}

impl RunStanding {
    fn of(run: u64, table: &RunTable) -> Self {
        RunStanding {
            run,
            job: table.job.clone(),
            ended: table.ended,
            succeeded: table.succeeded,
            spans: table.spans(),
        }
    }
}

impl Aftermath {
    /// What may hold something of the user's is not dropped under the lock.
    fn keep_for_dropping(&mut self, entry: Entry) {
        if entry.record.fact.may_hold_users() {
            self.dropped.push(entry);
        }
    }

    /// With no lock held.
    pub(crate) fn finish(self) {
        self.wakers.into_iter().for_each(Waker::wake);
        Panic::ignore_dropping(self.dropped);
        Panic::ignore_dropping(self.jobs);
    }
}
