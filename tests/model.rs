//! Random jobs against a model of what must become of them.
//!
//! A job is a random graph of single tasks and arrays. Some bodies fail, some panic, some wait; tasks, subtrees or the
//! whole run are cancelled after a random number of bodies have begun. Without a cancellation, or a failure policy that
//! makes one, the end is known exactly; with one, it is known what can't be.
//!
//! `PROPTEST_CASES` says how many jobs are tried.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "the helpers of tests may panic, too; clippy.toml allows it only in the tests themselves"
)]

#[path = "common/watchdog.rs"]
mod watchdog;

use batchyard::{
    Array, Close, Context, Counts, ErrorKind, FailurePolicy, FrozenJob, Handle, Job, Pool, Run,
    TaskId, TaskRef, TaskState, ThreadExecutor, all, asynchronous, fallible,
};
use proptest::prelude::*;
use proptest::sample::Index;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU32, AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};
use watchdog::within_30s;

// ---------------------------------------------------------------------------------------------- the job, as data

#[derive(Clone, Debug)]
struct Plan {
    nodes: Vec<Node>,
    /// From an earlier node to a later one.
    orders: Vec<(usize, usize)>,
    policy: FailurePolicy,
    threads: usize,
    cancels: Vec<Cancel>,
    keep: Vec<usize>,
}

#[derive(Clone, Debug)]
struct Node {
    /// `None` for a single task.
    len: Option<usize>,
    inputs: Vec<Input>,
    waits: bool,
    /// By element.
    fates: Vec<Fate>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Input {
    /// A single task's output.
    One(usize),
    /// All of an array.
    Whole(usize),
    /// The element of the same index.
    Same(usize),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Fate {
    Succeeds,
    Fails,
    Panics,
}

#[derive(Clone, Copy, Debug)]
struct Cancel {
    /// Once so many bodies have begun.
    after: usize,
    /// The body that makes it due waits until it is done.
    held: bool,
    what: What,
}

#[derive(Clone, Copy, Debug)]
enum What {
    Task(usize, usize),
    Node(usize),
    Subtree(usize, usize),
    Run,
}

impl Input {
    fn node(self) -> usize {
        let (Input::One(node) | Input::Whole(node) | Input::Same(node)) = self;
        node
    }
}

impl Plan {
    fn tasks(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        let indexes = |node: usize| 0..self.nodes[node].len.unwrap_or(1);
        (0..self.nodes.len()).flat_map(move |node| indexes(node).map(move |index| (node, index)))
    }

    fn is_cancelled_by_someone(&self) -> bool {
        !self.cancels.is_empty()
    }

    /// Nodes that must have succeeded wholly before this one, by value or order.
    fn whole_dependencies(&self, node: usize) -> impl Iterator<Item = usize> + '_ {
        let empty = self.nodes[node].len == Some(0);
        let inputs = self.nodes[node].inputs.iter();
        inputs
            .filter(move |input| empty || !matches!(input, Input::Same(_)))
            .map(|input| input.node())
            .chain(
                self.orders
                    .iter()
                    .filter(move |order| order.1 == node)
                    .map(|order| order.0),
            )
    }
}

// ---------------------------------------------------------------------------------------------------- the model

/// How every task ends if nobody cancels anything, and with which value.
struct Ends {
    states: Vec<Vec<TaskState>>,
    values: Vec<Vec<u64>>,
    /// By node: whether it has succeeded as a whole.
    whole: Vec<bool>,
}

impl Ends {
    fn of(plan: &Plan) -> Self {
        let mut ends = Ends {
            states: Vec::new(),
            values: Vec::new(),
            whole: Vec::new(),
        };
        for (number, node) in plan.nodes.iter().enumerate() {
            let may_begin = plan
                .whole_dependencies(number)
                .all(|before| ends.whole[before]);
            let (mut states, mut values) = (Vec::new(), Vec::new());
            for index in 0..node.len.unwrap_or(1) {
                let elements_succeeded = node.inputs.iter().all(|input| match *input {
                    Input::Same(before) => ends.states[before][index] == TaskState::Succeeded,
                    _ => true,
                });
                states.push(match node.fates[index] {
                    _ if !may_begin || !elements_succeeded => TaskState::Skipped,
                    Fate::Succeeds => TaskState::Succeeded,
                    _ => TaskState::Failed,
                });
                let read = node.inputs.iter().flat_map(|input| match *input {
                    Input::One(before) => vec![ends.values[before][0]],
                    Input::Whole(before) => ends.values[before].clone(),
                    Input::Same(before) => vec![ends.values[before][index]],
                });
                values.push(value_of(number, index, read));
            }
            ends.whole
                .push(may_begin && states.iter().all(|state| *state == TaskState::Succeeded));
            ends.states.push(states);
            ends.values.push(values);
        }
        ends
    }

    fn counts(&self) -> Counts {
        let count = |sought| {
            self.states
                .iter()
                .flatten()
                .filter(|state| **state == sought)
                .count() as u64
        };
        let mut counts = Counts::default();
        counts.succeeded = count(TaskState::Succeeded);
        counts.failed = count(TaskState::Failed);
        counts.skipped = count(TaskState::Skipped);
        counts.total = counts.ended();
        counts
    }
}

fn value_of(node: usize, index: usize, inputs: impl IntoIterator<Item = u64>) -> u64 {
    let start = (node as u64) << 32 | index as u64;
    let mix = |at: u64, next: u64| {
        (at ^ next)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            .rotate_left(17)
    };
    inputs.into_iter().fold(mix(start, 1), mix)
}

// ------------------------------------------------------------------------------------------ the job, as it is run

/// An output: of a type that needs dropping, or of one that doesn't.
trait Value: Clone + Send + Sync + 'static {
    fn new(number: u64, living: &Arc<AtomicI64>) -> Self;
    fn number(&self) -> u64;
}

impl Value for u64 {
    fn new(number: u64, _: &Arc<AtomicI64>) -> Self {
        number
    }

    fn number(&self) -> u64 {
        *self
    }
}

/// Counts how many of it are alive, and dies if it is used or dropped when it is dead.
struct Living {
    number: Box<u64>,
    count: Arc<AtomicI64>,
}

impl Value for Living {
    fn new(number: u64, living: &Arc<AtomicI64>) -> Self {
        living.fetch_add(1, SeqCst);
        Living {
            number: Box::new(number),
            count: living.clone(),
        }
    }

    fn number(&self) -> u64 {
        *self.number
    }
}

impl Clone for Living {
    fn clone(&self) -> Self {
        Living::new(*self.number, &self.count)
    }
}

impl Drop for Living {
    fn drop(&mut self) {
        self.count.fetch_sub(1, SeqCst);
    }
}

/// What bodies do, and what is known of what they did.
struct World {
    plan: Plan,
    living: Arc<AtomicI64>,
    ran: Vec<Vec<AtomicU32>>,
    begun: AtomicUsize,
    events: Sender<Event>,
}

enum Event {
    /// So many bodies have begun. The one that sends it may wait for the answer.
    Begun(usize, Option<Sender<()>>),
    Ended,
}

#[derive(Debug, thiserror::Error)]
#[error("failed as planned")]
struct Planned;

impl World {
    fn new(plan: &Plan, events: Sender<Event>) -> Self {
        let counters = |node: &Node| node.fates.iter().map(|_| AtomicU32::new(0)).collect();
        World {
            plan: plan.clone(),
            living: Arc::default(),
            ran: plan.nodes.iter().map(counters).collect(),
            begun: AtomicUsize::new(0),
            events,
        }
    }

    fn body<V: Value>(
        &self,
        node: usize,
        index: usize,
        inputs: impl IntoIterator<Item = u64>,
    ) -> Result<V, Planned> {
        self.ran[node][index].fetch_add(1, SeqCst);
        let value = V::new(value_of(node, index, inputs), &self.living);
        let begun = self.begun.fetch_add(1, SeqCst) + 1;
        for cancel in self
            .plan
            .cancels
            .iter()
            .filter(|cancel| cancel.after == begun)
        {
            let (answer, done) = channel();
            let sent = self
                .events
                .send(Event::Begun(begun, cancel.held.then_some(answer)));
            if sent.is_ok() && cancel.held {
                let _ = done.recv();
            }
        }
        match self.plan.nodes[node].fates[index] {
            Fate::Succeeds => Ok(value),
            Fate::Fails => Err(Planned),
            Fate::Panics => panic!("panicked as planned"),
        }
    }
}

#[derive(Clone, Copy)]
enum Added<V> {
    Single(Handle<V>),
    Array(Array<V>),
}

impl<V: Value> Added<V> {
    fn handle(&self) -> &Handle<V> {
        match self {
            Added::Single(handle) => handle,
            Added::Array(_) => unreachable!("a single task by its plan"),
        }
    }

    fn array(&self) -> &Array<V> {
        match self {
            Added::Array(array) => array,
            Added::Single(_) => unreachable!("an array by its plan"),
        }
    }

    fn task_ref(&self) -> TaskRef {
        match self {
            Added::Single(handle) => handle.into(),
            Added::Array(array) => array.into(),
        }
    }

    fn id(&self, index: usize) -> TaskId {
        match self {
            Added::Single(handle) => handle.id(),
            Added::Array(array) => array.at(index).id().expect("an index of its plan"),
        }
    }
}

fn numbers<V: Value>(values: &[V]) -> impl Iterator<Item = u64> + '_ {
    values.iter().map(Value::number)
}

/// Adds a node; `added` are those before it.
fn add<V: Value>(job: &mut Job, world: &Arc<World>, n: usize, added: &[Added<V>]) -> Added<V> {
    use Input::{One, Same, Whole};
    let (node, w) = (&world.plan.nodes[n], world.clone());
    let handle = |node: usize| added[node].handle();
    let array = |node: usize| added[node].array();
    let Some(len) = node.len else {
        return Added::Single(match (node.waits, &node.inputs[..]) {
            (true, []) => job.task(
                (),
                (),
                asynchronous(move || {
                    let w = w.clone();
                    async move { w.body(n, 0, []) }
                }),
            ),
            (true, [One(a)]) => job.task(
                (),
                handle(*a),
                asynchronous(move |a: V| {
                    let w = w.clone();
                    async move { w.body(n, 0, [a.number()]) }
                }),
            ),
            (true, [Whole(a)]) => job.task(
                (),
                array(*a),
                asynchronous(move |a: Vec<V>| {
                    let w = w.clone();
                    async move { w.body(n, 0, numbers(&a)) }
                }),
            ),
            (_, []) => job.task((), (), fallible(move || w.body(n, 0, []))),
            (_, [One(a)]) => job.task(
                (),
                handle(*a),
                fallible(move |a: &V| w.body(n, 0, [a.number()])),
            ),
            (_, [Whole(a)]) => job.task(
                (),
                array(*a),
                fallible(move |a: &[V]| w.body(n, 0, numbers(a))),
            ),
            (_, [One(a), One(b)]) => job.task(
                (),
                (handle(*a), handle(*b)),
                fallible(move |a: &V, b: &V| w.body(n, 0, [a.number(), b.number()])),
            ),
            (_, [One(a), Whole(b)]) => job.task(
                (),
                (handle(*a), array(*b)),
                fallible(move |a: &V, b: &[V]| {
                    w.body(n, 0, [a.number()].into_iter().chain(numbers(b)))
                }),
            ),
            (_, [Whole(a), One(b)]) => job.task(
                (),
                (array(*a), handle(*b)),
                fallible(move |a: &[V], b: &V| w.body(n, 0, numbers(a).chain([b.number()]))),
            ),
            (_, [Whole(a), Whole(b)]) => job.task(
                (),
                (array(*a), array(*b)),
                fallible(move |a: &[V], b: &[V]| w.body(n, 0, numbers(a).chain(numbers(b)))),
            ),
            (_, inputs) => unreachable!("no single task reads {inputs:?}"),
        });
    };
    let items = 0..len as u64;
    Added::Array(match (node.waits, &node.inputs[..]) {
        (true, []) => job.map(
            (),
            items,
            asynchronous(move |cx: Context, _: u64| {
                let w = w.clone();
                async move { w.body(n, cx.index(), []) }
            }),
        ),
        (true, [Same(a)]) => job.each(
            (),
            array(*a),
            asynchronous(move |cx: Context, a: V| {
                let w = w.clone();
                async move { w.body(n, cx.index(), [a.number()]) }
            }),
        ),
        (_, []) => job.map(
            (),
            items,
            fallible(move |i: &u64| w.body(n, *i as usize, [])),
        ),
        (_, [One(a)]) => job.map_with(
            (),
            items,
            handle(*a),
            fallible(move |i: &u64, a: &V| w.body(n, *i as usize, [a.number()])),
        ),
        (_, [Whole(a)]) => job.map_with(
            (),
            items,
            array(*a),
            fallible(move |i: &u64, a: &[V]| w.body(n, *i as usize, numbers(a))),
        ),
        (_, [One(a), Whole(b)]) => job.map_with(
            (),
            items,
            (handle(*a), array(*b)),
            fallible(move |i: &u64, a: &V, b: &[V]| {
                w.body(n, *i as usize, [a.number()].into_iter().chain(numbers(b)))
            }),
        ),
        (_, [Same(a)]) => job.each(
            (),
            array(*a),
            fallible(move |cx: &Context, a: &V| w.body(n, cx.index(), [a.number()])),
        ),
        (_, [Same(a), Same(b)]) => job.each(
            (),
            (array(*a), array(*b)),
            fallible(move |cx: &Context, a: &V, b: &V| {
                w.body(n, cx.index(), [a.number(), b.number()])
            }),
        ),
        (_, [Same(a), One(b)]) => job.each(
            (),
            (array(*a), handle(*b)),
            fallible(move |cx: &Context, a: &V, b: &V| {
                w.body(n, cx.index(), [a.number(), b.number()])
            }),
        ),
        (_, [Same(a), Whole(b)]) => job.each(
            (),
            (array(*a), all(array(*b))),
            fallible(move |cx: &Context, a: &V, b: &[V]| {
                w.body(n, cx.index(), [a.number()].into_iter().chain(numbers(b)))
            }),
        ),
        (_, inputs) => unreachable!("no array reads {inputs:?}"),
    })
}

fn build<V: Value>(world: &Arc<World>) -> (FrozenJob, Vec<Added<V>>) {
    let plan = &world.plan;
    let mut job = Job::new("model");
    job.failure_policy(plan.policy);
    let mut added = Vec::new();
    for node in 0..plan.nodes.len() {
        let new = add(&mut job, world, node, &added);
        added.push(new);
    }
    plan.orders
        .iter()
        .for_each(|&(before, after)| job.order(added[before].task_ref(), added[after].task_ref()));
    plan.keep
        .iter()
        .for_each(|&node| job.keep(added[node].task_ref()));
    (job.freeze().expect("sound by its plan"), added)
}

// ------------------------------------------------------------------------------------------------- run and compare

/// A plan being run, and what it must come to.
struct Trial<V> {
    plan: Plan,
    world: Arc<World>,
    added: Vec<Added<V>>,
    ends: Ends,
}

impl<V: Value> Trial<V> {
    fn make(plan: Plan) {
        let (send, events) = channel();
        let world = Arc::new(World::new(&plan, send.clone()));
        let (job, added) = build::<V>(&world);
        let ends = Ends::of(&plan);
        let trial = Trial {
            plan,
            world,
            added,
            ends,
        };
        let pool = Pool::new(ThreadExecutor::new(trial.plan.threads).expect("at least one"));
        let run = Arc::new(pool.submit(&job).expect("accepted"));
        trial.watch(&run, send);
        let cancelled = trial.carry_out(&run, events);
        trial.check_counts(&run, cancelled);
        trial.check_tasks(&run);
        let stuck = pool.close(Close::Drain, Duration::from_secs(20));
        assert_eq!(stuck, [""; 0]);
        trial.check_values(&run);
        drop((run, pool));
        trial.check_living(0, "the run is gone");
    }

    fn watch(&self, run: &Arc<Run>, events: Sender<Event>) {
        let ended = run.ended();
        std::thread::spawn(move || {
            let _ = ended.wait();
            let _ = events.send(Event::Ended);
        });
    }

    /// Cancels what is due when it is due, until the run has ended; nobody is held after that. Returns how many tasks were said to be cancelled,
    /// or `None` if the whole run was.
    fn carry_out(&self, run: &Run, events: Receiver<Event>) -> Option<u64> {
        let mut cancelled = Some(0);
        let mut due: Vec<Cancel> = self.plan.cancels.clone();
        while let Ok(Event::Begun(begun, answer)) = events.recv() {
            for cancel in due.extract_if(.., |cancel| cancel.after == begun) {
                let more = self.cancel(run, cancel.what);
                cancelled = cancelled.zip(more).map(|(before, more)| before + more);
            }
            drop(answer);
        }
        cancelled
    }

    fn cancel(&self, run: &Run, what: What) -> Option<u64> {
        let count = match what {
            What::Task(node, index) => run.cancel_task(self.added[node].id(index)),
            What::Node(node) => match self.added[node] {
                Added::Single(handle) => run.cancel_task(handle),
                Added::Array(array) => run.cancel_task(array),
            },
            What::Subtree(node, index) => run.cancel_subtree(self.added[node].id(index)),
            What::Run => {
                run.cancel();
                return None;
            }
        };
        Some(count.expect("a task of the job"))
    }

    fn states(&self, run: &Run) -> Vec<Vec<TaskState>> {
        let state = |node: usize, index| {
            run.state(self.added[node].id(index))
                .expect("a task of the job")
        };
        let indexes = |node: usize| 0..self.plan.nodes[node].len.unwrap_or(1);
        (0..self.added.len())
            .map(|node| indexes(node).map(|index| state(node, index)).collect())
            .collect()
    }

    fn ends_early(&self) -> bool {
        let failures = self.ends.counts().failed;
        self.plan.is_cancelled_by_someone()
            || match self.plan.policy {
                FailurePolicy::FailFast => failures > 0,
                FailurePolicy::MaxFailures(most) => failures > most,
                _ => false,
            }
    }

    fn check_counts(&self, run: &Run, cancelled: Option<u64>) {
        assert!(run.has_ended());
        let counts = run.counts();
        let states: Vec<_> = self.states(run).into_iter().flatten().collect();
        let count = |sought| states.iter().filter(|state| **state == sought).count() as u64;
        assert_eq!(counts.total, states.len() as u64);
        assert_eq!(counts.unfinished(), 0, "{counts:?} {states:?}");
        assert_eq!(
            counts.succeeded,
            count(TaskState::Succeeded),
            "{counts:?} {states:?}"
        );
        assert_eq!(
            counts.failed,
            count(TaskState::Failed),
            "{counts:?} {states:?}"
        );
        assert_eq!(
            counts.skipped,
            count(TaskState::Skipped),
            "{counts:?} {states:?}"
        );
        assert_eq!(
            counts.cancelled,
            count(TaskState::Cancelled),
            "{counts:?} {states:?}"
        );
        assert_eq!(run.failures().len() as u64, counts.failed);
        if !self.ends_early() {
            assert_eq!(counts, self.ends.counts());
        }
        if self.plan.policy == FailurePolicy::Continue
            && let Some(cancelled) = cancelled
        {
            assert_eq!(counts.cancelled, cancelled, "as many as cancelling said");
        }
    }

    fn check_tasks(&self, run: &Run) {
        let states = self.states(run);
        for (node, index) in self.plan.tasks() {
            let (state, expected) = (states[node][index], self.ends.states[node][index]);
            let at = format!(
                "task {node}[{index}]: {state}, without cancellation {expected}; {states:?}"
            );
            let ran = self.world.ran[node][index].load(SeqCst);
            match state {
                TaskState::Succeeded | TaskState::Failed => assert_eq!(ran, 1, "{at}"),
                TaskState::Skipped => assert_eq!(ran, 0, "{at}"),
                TaskState::Cancelled => assert!(ran <= 1, "{at}"),
                _ => panic!("has not ended: {at}"),
            }
            if !self.ends_early() || matches!(state, TaskState::Succeeded | TaskState::Failed) {
                assert_eq!(state, expected, "{at}");
            }
            let may_run = self.dependencies_succeeded(&states, node, index);
            assert!(
                ran == 0 || may_run,
                "ran although a dependency had not succeeded: {at}"
            );
            assert!(
                state != TaskState::Skipped || !may_run,
                "skipped for nothing: {at}"
            );
            self.check_error(run, node, index, state);
        }
    }

    /// For empty arrays, which have no state of their own here, what they depend on counts.
    fn dependencies_succeeded(&self, states: &[Vec<TaskState>], node: usize, index: usize) -> bool {
        let whole = |before: usize| self.node_succeeded(states, before);
        let same = |input: &Input| match *input {
            Input::Same(before) => states[before][index] == TaskState::Succeeded,
            _ => true,
        };
        self.plan.whole_dependencies(node).all(whole)
            && self.plan.nodes[node].inputs.iter().all(same)
    }

    fn node_succeeded(&self, states: &[Vec<TaskState>], node: usize) -> bool {
        match self.plan.nodes[node].len {
            // Itself may have been cancelled, which nobody sees but its dependents.
            Some(0) => self
                .plan
                .whole_dependencies(node)
                .all(|before| self.node_succeeded(states, before)),
            _ => states[node]
                .iter()
                .all(|state| *state == TaskState::Succeeded),
        }
    }

    fn check_error(&self, run: &Run, node: usize, index: usize, state: TaskState) {
        let error = match self.added[node] {
            Added::Single(handle) => run.output(&handle).wait().map(drop),
            Added::Array(array) => run.output(array.at(index)).wait().map(drop),
        };
        let kind = error.as_ref().err().map(|error| error.kind());
        match state {
            TaskState::Failed => {
                assert_eq!(kind, Some(ErrorKind::TaskFailed));
                let error = error.expect_err("failed");
                let panicked = self.plan.nodes[node].fates[index] == Fate::Panics;
                assert_eq!(error.panic().is_some(), panicked);
                assert_eq!(error.cause::<Planned>().is_some(), !panicked);
            }
            TaskState::Skipped => assert_eq!(kind, Some(ErrorKind::TaskSkipped)),
            TaskState::Cancelled => assert_eq!(kind, Some(ErrorKind::Cancelled)),
            _ => assert!(kind.is_none_or(|kind| kind == ErrorKind::OutputFreed)),
        }
    }

    /// With no worker left: which outputs are there, and that they are right.
    fn check_values(&self, run: &Run) {
        let states = self.states(run);
        for (node, index) in self.plan.tasks() {
            if states[node][index] != TaskState::Succeeded {
                continue;
            }
            let value = match self.added[node] {
                Added::Single(handle) => run.output(&handle).wait().map(|value| value.number()),
                Added::Array(array) => run
                    .output(array.at(index))
                    .wait()
                    .map(|value| value.number()),
            };
            match value {
                Ok(number) => assert_eq!(number, self.ends.values[node][index]),
                Err(_) => assert!(
                    self.may_be_freed(&states, node, index),
                    "{node}[{index}] was freed too early"
                ),
            }
        }
        if std::mem::needs_drop::<V>() {
            let at_most = self
                .plan
                .tasks()
                .filter(|&(node, index)| !self.must_be_freed(&states, node, index))
                .count();
            self.check_living(at_most, &format!("{states:?}"));
        }
    }

    /// At most so many values are alive. The thread that was the last to hold the run, or a body that was cancelled, may
    /// still be on its way out, and no one joins it.
    fn check_living(&self, at_most: usize, when: &str) {
        let patience = Instant::now() + Duration::from_secs(10);
        let living = || self.world.living.load(SeqCst);
        while living() > at_most as i64 && Instant::now() < patience {
            std::thread::yield_now();
        }
        assert!(
            (0..=at_most as i64).contains(&living()),
            "{} of at most {at_most} values live: {when}",
            living()
        );
    }

    fn readers(&self, node: usize) -> impl Iterator<Item = (usize, Input)> + '_ {
        let nodes = self.plan.nodes.iter().enumerate();
        nodes.flat_map(move |(reader, plan)| {
            plan.inputs
                .iter()
                .filter(move |input| input.node() == node)
                .map(move |input| (reader, *input))
        })
    }

    /// Whether everyone who reads a value has succeeded.
    fn may_be_freed(&self, states: &[Vec<TaskState>], node: usize, index: usize) -> bool {
        let through = |(reader, input): (usize, Input)| match input {
            Input::Same(_) => states[reader][index] == TaskState::Succeeded,
            _ => states[reader]
                .iter()
                .all(|state| *state == TaskState::Succeeded),
        };
        !self.plan.keep.contains(&node)
            && self.readers(node).count() > 0
            && self.readers(node).all(through)
    }

    /// As well; but an empty array is a reader that may not have come to it before the run was over.
    fn must_be_freed(&self, states: &[Vec<TaskState>], node: usize, index: usize) -> bool {
        let empty = |(reader, _): (usize, Input)| states[reader].is_empty();
        // A body that waits may have put its output by when it was cancelled: that goes with the run.
        let put = self.plan.nodes[node].waits && states[node][index] == TaskState::Cancelled;
        states[node][index] != TaskState::Succeeded && !put
            || self.may_be_freed(states, node, index) && !self.readers(node).any(empty)
    }
}

// ------------------------------------------------------------------------------------------------- random plans

/// A node before it is known what it can read.
#[derive(Clone, Debug)]
struct Seed {
    shape: u8,
    len: usize,
    inputs: Vec<(u8, Index)>,
    waits: bool,
    fates: Vec<u8>,
    order: Option<Index>,
    keep: bool,
}

fn seeds() -> impl Strategy<Value = Seed> {
    let len = prop_oneof![8 => 0..6_usize, 1 => 60..200_usize];
    let inputs = proptest::collection::vec((any::<u8>(), any::<Index>()), 0..=2);
    let fates = proptest::collection::vec(any::<u8>(), 1..8);
    let waits = proptest::bool::weighted(0.15);
    let order = proptest::option::weighted(0.2, any::<Index>());
    let keep = proptest::bool::weighted(0.1);
    (any::<u8>(), len, inputs, waits, fates, order, keep).prop_map(
        |(shape, len, inputs, waits, fates, order, keep)| Seed {
            shape,
            len,
            inputs,
            waits,
            fates,
            order,
            keep,
        },
    )
}

/// Grows a node on those before it.
fn grow(nodes: &[Node], seed: &Seed, trouble: u8) -> Node {
    let pick = |sort: fn(&Node) -> bool, index: &Index| {
        let fitting: Vec<usize> = (0..nodes.len())
            .filter(|&node| sort(&nodes[node]))
            .collect();
        (!fitting.is_empty()).then(|| *index.get(&fitting))
    };
    let single = |index: &Index| pick(|node| node.len.is_none(), index).map(Input::One);
    let array = |index: &Index| pick(|node| node.len.is_some(), index).map(Input::Whole);
    let either = |(which, index): &(u8, Index)| {
        if which % 2 == 0 {
            single(index)
        } else {
            array(index)
        }
    };
    let mut inputs: Vec<Input> = Vec::new();
    let mut len = None;
    match seed.shape % 4 {
        0 | 1 => inputs.extend(seed.inputs.iter().filter_map(either)),
        2 => {
            len = Some(seed.len);
            inputs.extend(seed.inputs.first().and_then(either));
            let second = seed.inputs.get(1).and_then(|(_, index)| array(index));
            inputs.extend(second.filter(|_| matches!(inputs[..], [Input::One(_)])));
        }
        _ => {
            len = Some(seed.len);
            if let Some(first) = seed.inputs.first().and_then(|(_, index)| array(index)) {
                let first = first.node();
                len = nodes[first].len;
                inputs.push(Input::Same(first));
                let same_len = |other: &Input| nodes[other.node()].len == len;
                inputs.extend(seed.inputs.get(1).and_then(|(which, index)| {
                    match which % 3 {
                        0 => single(index),
                        1 => array(index),
                        _ => array(index)
                            .filter(same_len)
                            .map(|other| Input::Same(other.node())),
                    }
                }));
            }
        }
    }
    let waits = seed.waits
        && (inputs.is_empty()
            || inputs.len() == 1 && (len.is_none() || matches!(inputs[0], Input::Same(_))));
    let fate = |index: usize| match seed.fates[index % seed.fates.len()] {
        fate if fate >= trouble => Fate::Succeeds,
        fate if fate % 2 == 0 => Fate::Fails,
        _ => Fate::Panics,
    };
    let fates = (0..len.unwrap_or(1)).map(fate).collect();
    Node {
        len,
        inputs,
        waits,
        fates,
    }
}

fn plans(with_cancels: bool) -> impl Strategy<Value = Plan> {
    let policy = prop_oneof![
        3 => Just(FailurePolicy::Continue),
        1 => Just(FailurePolicy::FailFast),
        1 => (0..3_u64).prop_map(FailurePolicy::MaxFailures),
    ];
    let cancel = (
        1..40_usize,
        any::<bool>(),
        any::<u8>(),
        any::<Index>(),
        any::<Index>(),
    );
    let cancels = proptest::collection::vec(cancel, if with_cancels { 1..=3 } else { 0..=0 });
    let trouble = prop_oneof![1 => Just(0_u8), 2 => Just(8), 1 => Just(40)];
    (
        proptest::collection::vec(seeds(), 1..14),
        policy,
        1..=3_usize,
        cancels,
        trouble,
    )
        .prop_map(|(seeds, policy, threads, cancels, trouble)| {
            let mut nodes: Vec<Node> = Vec::new();
            let (mut orders, mut keep) = (Vec::new(), Vec::new());
            for (number, seed) in seeds.iter().enumerate() {
                nodes.push(grow(&nodes, seed, trouble));
                let before = seed
                    .order
                    .filter(|_| number > 0)
                    .map(|index| index.index(number));
                orders.extend(before.map(|before| (before, number)));
                keep.extend(seed.keep.then_some(number));
            }
            let mut plan = Plan {
                nodes,
                orders,
                policy,
                threads,
                cancels: Vec::new(),
                keep,
            };
            let tasks: Vec<_> = plan.tasks().collect();
            for (after, held, what, node, task) in cancels {
                let node = node.index(plan.nodes.len());
                let task = (!tasks.is_empty()).then(|| *task.get(&tasks));
                let what = match (what % 7, task) {
                    (0..=2, Some((node, index))) => What::Task(node, index),
                    (3..=4, Some((node, index))) => What::Subtree(node, index),
                    // One without elements has no state to compare.
                    (5, _) if plan.nodes[node].len != Some(0) => What::Node(node),
                    _ => What::Run,
                };
                plan.cancels.push(Cancel { after, held, what });
            }
            plan
        })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_task_ends_as_the_model_says(plan in plans(false)) {
        let owned = plan.clone();
        within_30s(move || Trial::<Living>::make(owned));
        within_30s(move || Trial::<u64>::make(plan));
    }

    #[test]
    fn whatever_is_cancelled_the_rest_is_right(plan in plans(true)) {
        let owned = plan.clone();
        within_30s(move || Trial::<Living>::make(owned));
        within_30s(move || Trial::<u64>::make(plan));
    }
}
