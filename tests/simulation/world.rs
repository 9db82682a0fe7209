//! A pool, its nodes, and what is under way.

use crate::asks::Asks;
use crate::books::{Book, Name, Urgency};
use crate::checks;
use crate::plan::Plan;
use crate::steps;
use batchyard::executor::{Feed, Grant, Lease, LeaseId, Node, Order};
use batchyard::testing::DrivenExecutor;
use batchyard::{Close, Pool, TaskState};
use fastrand::Rng;
use std::mem::ManuallyDrop;
use std::time::Duration;

/// How many steps there is trouble.
const TROUBLE: usize = 150;

/// A world that has not come to its end after so many transitions never will.
const MOST_TRANSITIONS: usize = 20_000;

pub(crate) struct World<'a> {
    pub(crate) dice: Rng,
    pub(crate) executor: DrivenExecutor,
    pub(crate) feed: Feed,
    pub(crate) nodes: Vec<FakeNode>,
    pub(crate) joined: usize,
    /// Jobs that are still to be submitted, and those that were.
    pub(crate) plans: Vec<Plan>,
    pub(crate) books: Vec<Book>,
    /// Orders that have not reached their nodes.
    pub(crate) orders: Vec<Order>,
    /// Nothing is lost, cancelled or held back any more.
    pub(crate) calm: bool,
    trace: &'a mut Vec<String>,
    /// Dropped last: what is held comes back first.
    pub(crate) pool: Pool,
}

pub(crate) struct FakeNode {
    pub(crate) number: usize,
    pub(crate) has: Asks,
    pub(crate) workers: Vec<Worker>,
    /// Dropped last, unless it is lost.
    pub(crate) node: Node,
}

/// What holds a share of a node: a grant, of which one task at a time is begun.
pub(crate) struct Worker {
    pub(crate) grant: Option<Grant>,
    pub(crate) held: Option<Held>,
    /// What was begun last: it holds its share until the grant is dropped.
    pub(crate) last: Option<Name>,
}

/// An attempt under way.
pub(crate) struct Held {
    pub(crate) lease: Lease,
    pub(crate) name: Name,
    pub(crate) began: Duration,
    /// When its report arrives, and what it says.
    pub(crate) due: Duration,
    pub(crate) fate: Fate,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fate {
    Succeeds,
    Fails,
    IsTakenAway,
    IsLost,
}

impl<'a> World<'a> {
    /// Runs a world from its beginning to its end.
    pub(crate) fn run(seed: u64, trace: &'a mut Vec<String>) {
        // One that fails is left as it is: what its parts do when they are dropped would hide why.
        let mut world = ManuallyDrop::new(World::new(seed, trace));
        steps::begin_world(&mut world);
        for _ in 0..TROUBLE {
            world.step();
        }
        steps::calm_down(&mut world);
        while !world.is_over() {
            let before = world.trace.len();
            steps::go_on(&mut world);
            if world.trace.len() == before {
                checks::starvation::stuck(&world);
            }
        }
        checks::at_the_end(&mut world);
        let stuck = world.pool.close(Close::Drain, Duration::ZERO);
        assert!(stuck.is_empty(), "holds {stuck:?} in the end");
        drop(ManuallyDrop::into_inner(world));
    }

    fn new(seed: u64, trace: &'a mut Vec<String>) -> Self {
        let mut dice = Rng::with_seed(seed);
        let (pool, executor) = DrivenExecutor::pool();
        World {
            plans: (0..dice.usize(1..=4))
                .map(|_| Plan::random(&mut dice))
                .collect(),
            feed: executor.feed(),
            dice,
            executor,
            pool,
            trace,
            nodes: Vec::new(),
            joined: 0,
            books: Vec::new(),
            orders: Vec::new(),
            calm: false,
        }
    }

    /// Tries kinds of steps until one can be taken.
    fn step(&mut self) {
        let before = self.trace.len();
        for _ in 0..100 {
            steps::random(self);
            if self.trace.len() > before {
                return;
            }
        }
    }

    fn is_over(&self) -> bool {
        let ended = |book: &Book| book.run.has_ended();
        self.plans.is_empty() && self.books.iter().all(ended) && self.workers().next().is_none()
    }

    pub(crate) fn now(&self) -> Duration {
        self.executor.now()
    }

    /// Something happened: it is written down, and the checks look at what came of it.
    pub(crate) fn happened(&mut self, what: impl std::fmt::Display) {
        let now = self.now();
        self.trace.push(format!("{now:>12.3?}  {what}"));
        assert!(
            self.trace.len() < MOST_TRANSITIONS,
            "no end after {MOST_TRANSITIONS} transitions"
        );
        checks::after_each_step(self, self.trace.len());
    }

    pub(crate) fn workers(&self) -> impl Iterator<Item = &Worker> {
        self.nodes.iter().flat_map(|node| &node.workers)
    }

    pub(crate) fn held(&self) -> impl Iterator<Item = &Held> {
        self.workers().filter_map(|worker| worker.held.as_ref())
    }

    /// Where a worker is, by a number among all of them.
    pub(crate) fn pick_worker(&mut self, fits: impl Fn(&Worker) -> bool) -> Option<(usize, usize)> {
        let mut found = Vec::new();
        for (at, node) in self.nodes.iter().enumerate() {
            let workers = node.workers.iter().enumerate();
            found.extend(
                workers
                    .filter(|(_, worker)| fits(worker))
                    .map(|(worker, _)| (at, worker)),
            );
        }
        self.dice.choice(found)
    }

    pub(crate) fn book(&self, name: Name) -> &Book {
        &self.books[name.job]
    }

    /// What the pool says of a task.
    pub(crate) fn explain(&self, name: Name) -> String {
        let book = self.book(name);
        let task = book.ids[name.node][name.index];
        let words = book.run.explain(task).expect("a task of its");
        words.to_string()
    }

    pub(crate) fn asks(&self, name: Name) -> Asks {
        self.book(name).asks(name.node)
    }

    pub(crate) fn urgency(&self, name: Name) -> Urgency {
        self.book(name).urgency(name.node)
    }

    /// Whether some grant may have tasks of a job in it, which nobody can see.
    pub(crate) fn is_hidden(&self, job: usize) -> bool {
        let mut grants = self.workers().filter(|worker| worker.grant.is_some());
        grants.any(|worker| match worker.last {
            // What the pool starts itself comes one by one.
            Some(last) => last.job == job && !self.books[job].is_queued(last.node),
            None => true,
        })
    }

    /// Whether a task has lost its node so often that it is to run alone.
    pub(crate) fn is_suspect(&self, name: Name) -> bool {
        self.book(name).tasks[name.node][name.index].losses >= 2
    }

    /// What is free on a node: nothing, while a suspect is there. What a grant has not begun counts as one slot.
    pub(crate) fn free(&self, node: &FakeNode) -> Asks {
        let workers = node.workers.iter();
        let working = workers.filter(|worker| worker.holds_something());
        let mut last = working.clone().filter_map(|worker| worker.last);
        if last.any(|last| self.is_suspect(last)) {
            return Asks::default();
        }
        let asks = |worker: &Worker| worker.last.map_or(Asks::ONE_SLOT, |last| self.asks(last));
        working.map(asks).fold(node.has, Asks::without)
    }

    /// How many attempts of a job, or of one of its nodes, hold something.
    pub(crate) fn running(&self, job: usize, node: Option<usize>) -> u32 {
        let is_of = |name: &Name| name.job == job && node.is_none_or(|node| node == name.node);
        let working = self.workers().filter(|worker| worker.holds_something());
        let names = working.filter_map(|worker| worker.last);
        names.filter(is_of).count() as u32
    }

    /// Tasks that could start now, were there room: nothing that is said of them keeps them. Of those in grants nothing
    /// is known.
    pub(crate) fn startable(&self) -> Vec<Name> {
        let mut found = Vec::new();
        for (job, book) in self
            .books
            .iter()
            .enumerate()
            .filter(|(_, book)| !book.run.has_ended())
        {
            let full =
                |most: Option<u32>, node| most.is_some_and(|most| self.running(job, node) >= most);
            if full(book.plan.max_parallel, None) {
                continue;
            }
            for (node, index) in book.all() {
                let page = &book.tasks[node][index];
                let start = book.submitted + book.node(node).start_after.unwrap_or_default();
                let could = !page.succeeded
                    && self.now() >= page.not_before.max(start)
                    && book.may_begin(node, index)
                    && !full(book.node(node).max_parallel, Some(node));
                if could && book.state(node, index) == TaskState::Ready {
                    found.push(Name { job, node, index });
                }
            }
        }
        found
    }
}

impl Worker {
    fn holds_something(&self) -> bool {
        self.grant.is_some() || self.held.is_some()
    }
}

/// The id of an order to stop.
pub(crate) fn stopped(order: &Order) -> Option<LeaseId> {
    match order {
        Order::Stop(id) => Some(*id),
        _ => None,
    }
}
