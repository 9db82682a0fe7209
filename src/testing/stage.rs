//! What a test pool runs on: nodes, attempts under way, and the choice of what happens next.

use super::attempt::{Attempt, Step};
use super::faults::{Fault, Faults};
use super::record::Record;
use super::trace::{Entry, Event, Trace};
use crate::engine::{Engine, Hand, Run};
use crate::executor::{Feed, LeaseId, Node, NodeSpec, Order, Outcome};
use crate::model::{Error, ErrorKind, Result, TaskState};
use crate::sync::lock;
use fastrand::Rng;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

/// How many plain tasks the seed chooses among. Those that are not chosen go back.
const CHOICE: u32 = 32;

pub(super) struct Stage {
    engine: Arc<Engine>,
    feed: Feed,
    state: Mutex<State>,
}

struct State {
    rng: Rng,
    nodes: Vec<TestNode>,
    joined: u64,
    attempts: Vec<Attempt>,
    /// Nodes that are to be lost, by name, and when.
    losses: Vec<(Duration, String)>,
    faults: Faults,
    records: Vec<Record>,
    trace: Trace,
}

struct TestNode {
    number: u64,
    name: String,
    spec: NodeSpec,
    node: Arc<Node>,
}

/// Something that could happen now.
#[derive(Clone, Copy)]
enum Chance {
    /// A node begins a task.
    Begin(u64),
    /// An attempt goes on.
    GoOn(LeaseId),
}

impl Hand for Stage {
    fn step(&self) -> Result<()> {
        if self.act() {
            return Ok(());
        }
        match self.next_time() {
            Some(time) => {
                self.go_to(time);
                Ok(())
            }
            None => Err(self.stuck()),
        }
    }

    fn submitted(&self, run: &Arc<Run>) {
        let mut state = self.state();
        state.records.push(Record::Going(run.clone()));
    }
}

impl Stage {
    pub(super) fn new(engine: Arc<Engine>, seed: u64) -> Arc<Self> {
        let state = State {
            rng: Rng::with_seed(seed),
            nodes: Vec::new(),
            joined: 0,
            attempts: Vec::new(),
            losses: Vec::new(),
            faults: Faults::default(),
            records: Vec::new(),
            trace: Trace::default(),
        };
        let stage = Arc::new(Stage {
            feed: Feed::new(engine.clone()),
            engine,
            state: Mutex::new(state),
        });
        let hand: Arc<dyn Hand> = stage.clone();
        stage.engine.set_hand(Arc::downgrade(&hand));
        stage
    }

    /// Does one of the things that can be done now, as the seed chooses; false if there is none.
    pub(super) fn act(&self) -> bool {
        let acted =
            self.take_orders() || self.chances().into_iter().any(|chance| self.take(chance));
        self.settle_records();
        acted
    }

    fn take(&self, chance: Chance) -> bool {
        match chance {
            Chance::Begin(node) => self.begin(node),
            Chance::GoOn(attempt) => self.go_on(attempt),
        }
    }

    /// What could happen now, in a random order.
    fn chances(&self) -> Vec<Chance> {
        let now = self.now();
        let mut state = self.state();
        let due = state.attempts.iter().filter(|attempt| attempt.is_due(now));
        let due = due.map(|attempt| Chance::GoOn(attempt.id()));
        let nodes = state.nodes.iter().map(|node| Chance::Begin(node.number));
        let mut chances: Vec<_> = nodes.chain(due).collect();
        state.rng.shuffle(&mut chances);
        chances
    }

    /// Has a node begin one of the tasks that are ready for it; false if there is none.
    fn begin(&self, number: u64) -> bool {
        let found = self.with_node(number, |node| (node.node.clone(), node.name.clone()));
        let Some((node, name)) = found else {
            return false;
        };
        let Some(mut grant) = node.try_take(CHOICE) else {
            return false;
        };
        let Some(lease) = grant.begin_any(|among| self.state().rng.usize(..among)) else {
            return true;
        };
        drop(grant);
        let mut state = self.state();
        let fate = state
            .faults
            .of(lease.job_name(), &lease.task_label(), lease.attempt());
        let attempt = Attempt::new(lease, number, name, self.now(), fate);
        state.trace.add(attempt.entry(Event::Began, self.now()));
        state.attempts.push(attempt);
        true
    }

    fn go_on(&self, id: LeaseId) -> bool {
        let Some(attempt) = self.take_attempt(id) else {
            return false;
        };
        let number = attempt.node;
        let node = self.with_node(number, |node| Arc::downgrade(&node.node));
        match attempt.go_on(node.unwrap_or_default()) {
            Step::Wait(attempt) => self.state().attempts.push(attempt),
            Step::Over(attempt, outcome) => self.complete(attempt, outcome),
            Step::LosesNode(attempt) => {
                self.state().attempts.push(attempt);
                let spec = self.with_node(number, |node| node.spec.clone());
                self.lose(number);
                spec.into_iter().for_each(|spec| self.join(spec));
            }
        }
        true
    }

    fn complete(&self, attempt: Attempt, outcome: Outcome) {
        let entry = attempt.complete(outcome, self.now());
        self.add(entry);
    }

    /// Carries out the pool's orders; false if there are none.
    fn take_orders(&self) -> bool {
        let mut any = false;
        while let Some(order) = self.feed.try_order() {
            any = true;
            match order {
                Order::Stop(id) => {
                    if let Some(attempt) = self.take_attempt(id) {
                        self.complete(attempt, Outcome::Cancelled);
                    }
                }
                Order::Resize(slots) => {
                    let first = self.state().nodes.first().map(|node| node.node.clone());
                    first.into_iter().for_each(|node| node.resize(slots));
                }
            }
        }
        any
    }

    fn take_attempt(&self, id: LeaseId) -> Option<Attempt> {
        let mut state = self.state();
        let at = state
            .attempts
            .iter()
            .position(|attempt| attempt.id() == id)?;
        Some(state.attempts.remove(at))
    }
}

/// Time.
impl Stage {
    pub(super) fn now(&self) -> Duration {
        self.engine.now()
    }

    /// Does whatever can be done until then.
    pub(super) fn advance_to(&self, time: Duration) {
        loop {
            while self.act() {}
            match self.next_time().filter(|&next| next <= time) {
                Some(next) => self.go_to(next),
                None => break,
            }
        }
        self.go_to(time);
    }

    /// When something happens next that time alone brings about.
    fn next_time(&self) -> Option<Duration> {
        let alarm = self.engine.next_alarm();
        let now = self.now();
        let state = self.state();
        let attempts = state.attempts.iter();
        let attempts = attempts.filter_map(|attempt| attempt.goes_on_at(now));
        let losses = state.losses.iter().map(|(time, _)| *time);
        attempts.chain(losses).chain(alarm).min()
    }

    fn go_to(&self, time: Duration) {
        self.engine.go_to(time);
        for name in self.take_losses() {
            self.lose_named(&name);
        }
    }

    fn take_losses(&self) -> Vec<String> {
        let now = self.now();
        let mut state = self.state();
        let due = state.losses.extract_if(.., |(time, _)| *time <= now);
        due.map(|(_, name)| name).collect()
    }
}

/// Nodes.
impl Stage {
    pub(super) fn join(&self, spec: NodeSpec) {
        let node = Arc::new(self.feed.join(spec.clone()));
        let mut state = self.state();
        state.joined += 1;
        let number = state.joined;
        let name = match spec.labels.is_empty() {
            true => format!("node {number}"),
            false => spec.labels.join(" "),
        };
        state.nodes.push(TestNode {
            number,
            name,
            spec,
            node,
        });
    }

    pub(super) fn lose_later(&self, name: String, time: Duration) {
        self.state().losses.push((time, name));
    }

    /// False if there is no such node.
    pub(super) fn lose_named(&self, name: &str) -> bool {
        let number = {
            let state = self.state();
            let mut named = state.nodes.iter().filter(|node| node.name == name);
            named.next().map(|node| node.number)
        };
        number.is_some_and(|number| {
            self.lose(number);
            true
        })
    }

    /// The node leaves; then what it ran comes back without an outcome.
    fn lose(&self, number: u64) {
        let now = self.now();
        let (node, attempts) = {
            let mut state = self.state();
            let is_lost = |attempt: &mut Attempt| attempt.node == number;
            let attempts: Vec<_> = state.attempts.extract_if(.., is_lost).collect();
            for attempt in &attempts {
                let entry = attempt.entry(Event::Lost, now);
                state.trace.add(entry);
            }
            let is_it = |node: &mut TestNode| node.number == number;
            let node: Vec<_> = state.nodes.extract_if(.., is_it).collect();
            (node, attempts)
        };
        drop(node);
        drop(attempts);
    }

    fn with_node<R>(&self, number: u64, look: impl FnOnce(&TestNode) -> R) -> Option<R> {
        let state = self.state();
        let mut nodes = state.nodes.iter();
        nodes.find(|node| node.number == number).map(look)
    }
}

/// What tests say and ask.
impl Stage {
    pub(super) fn add_fault(&self, fault: Fault) {
        self.state().faults.add(fault);
    }

    pub(super) fn trace(&self) -> Trace {
        self.state().trace.clone()
    }

    /// How a task of the last run that has it stands.
    pub(super) fn find(&self, task: &str) -> Option<(TaskState, Option<Error>)> {
        self.settle_records();
        let state = self.state();
        let mut records = state.records.iter().rev();
        records.find_map(|record| record.find(task))
    }

    /// Every task that is known, as `job/task`.
    pub(super) fn names(&self) -> Vec<String> {
        let state = self.state();
        let mut names: Vec<_> = state.records.iter().flat_map(Record::names).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Lets go of runs that have ended: outside the lock, since that may drop their outputs.
    fn settle_records(&self) {
        let mut records = std::mem::take(&mut self.state().records);
        records.iter_mut().for_each(Record::settle);
        let mut state = self.state();
        records.append(&mut state.records);
        state.records = records;
    }

    /// Why nothing happens any more.
    fn stuck(&self) -> Error {
        let state = self.state();
        let attempts = state.attempts.iter();
        let mut held: Vec<_> = attempts
            .map(|attempt| format!("`{}` {}", attempt.label(), attempt.obstacle()))
            .collect();
        if held.is_empty() {
            let unfinished = state.records.iter().find_map(Record::first_unfinished);
            let unfinished = unfinished.map(|(run, task)| (run.clone(), task));
            drop(state);
            held.extend(unfinished.map(|(run, task)| {
                let why = self
                    .engine
                    .with(|policy, effects| policy.explain(&run, task, effects));
                format!("`{}/{}` {why}", run.name(), run.label(task))
            }));
        }
        let message = format!(
            "would wait for ever, since nothing happens by itself any more: {}",
            held.join("; ")
        );
        Error::new(ErrorKind::WouldDeadlock, message)
    }

    fn add(&self, entry: Entry) {
        self.state().trace.add(entry);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}
