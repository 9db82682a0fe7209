//! One case on its way: the executor it is about, the rule it is at, and how it fails.

use super::{Executor, Offer, Options};
use crate::job::{IntoFrozen, Job};
use crate::model::{Error, ErrorKind, Panic, Result};
use crate::pool::Pool;
use crate::run::Run;
use crate::sync::lock;
use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

/// How long a case may take. Nothing in it waits for time to pass.
const PATIENCE: Duration = Duration::from_secs(30);

/// What tasks are made of in a case that doesn't mind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Bodies {
    Closures,
    Functions,
}

/// What a case works with. A rule is stated before what it is about is tried, so that it is known even if that hangs.
#[derive(Clone)]
pub(super) struct Trial {
    make: Arc<dyn Fn(usize) -> Box<dyn Executor> + Send + Sync>,
    options: Options,
    bodies: Bodies,
    rule: Arc<Mutex<&'static str>>,
}

impl Trial {
    pub(super) fn new<E: Executor>(
        options: Options,
        make: impl Fn(usize) -> E + Send + Sync + 'static,
    ) -> Self {
        Trial {
            make: Arc::new(move |slots| Box::new(make(slots))),
            options,
            bodies: Bodies::Closures,
            rule: Arc::new(Mutex::new("an executor can be made")),
        }
    }

    pub(super) fn with(&self, bodies: Bodies) -> Self {
        Trial {
            bodies,
            rule: Arc::new(Mutex::new("an executor can be made")),
            ..self.clone()
        }
    }

    /// Runs a case on a thread of its own, which is left to itself if it hangs.
    pub(super) fn run(self, name: &'static str, case: fn(&Trial)) {
        let (bodies, rule) = (self.bodies, self.rule.clone());
        let (send, ended) = mpsc::channel();
        let work = move || {
            let result = catch_unwind(AssertUnwindSafe(|| case(&self)));
            drop(send.send(result.map_err(Panic::from_payload)));
        };
        let thread = std::thread::Builder::new().name(format!("conformance {name}"));
        let started = thread.spawn(work);
        let broken = |seen: String| -> ! {
            let rule = *lock(&rule);
            panic!("conformance case `{name}` with {bodies:?}: broken rule: {rule}\n  {seen}")
        };
        match ended.recv_timeout(PATIENCE) {
            Ok(Ok(())) => (),
            Ok(Err(panic)) => broken(panic.to_string()),
            Err(_) => broken(format!("hangs (the thread: {started:?})")),
        }
    }

    /// The rule that what follows is about.
    pub(super) fn rule(&self, rule: &'static str) {
        *lock(&self.rule) = rule;
    }

    pub(super) fn options(&self) -> Options {
        self.options
    }

    pub(super) fn offer(&self) -> Offer {
        self.executor().offer()
    }

    pub(super) fn slots(&self) -> usize {
        self.options.slots
    }

    pub(super) fn uses_functions(&self) -> bool {
        self.bodies == Bodies::Functions
    }

    pub(super) fn executor(&self) -> Box<dyn Executor> {
        (self.make)(self.slots())
    }

    /// A pool on an executor with the usual number of slots.
    pub(super) fn pool(&self) -> Pool {
        self.pool_of(self.slots())
    }

    pub(super) fn pool_of(&self, slots: usize) -> Pool {
        Pool::new((self.make)(slots))
    }

    pub(super) fn submit(&self, pool: &Pool, job: impl IntoFrozen) -> Run {
        self.ok(pool.submit(job))
    }

    /// Runs a job to its end, which must be good.
    pub(super) fn succeed(&self, pool: &Pool, job: impl IntoFrozen) -> Run {
        let run = self.submit(pool, job);
        self.ok(run.wait());
        run
    }

    /// The pool still works, whatever happened before.
    pub(super) fn goes_on(&self, pool: &Pool) {
        let mut job = Job::new("afterwards");
        let sum = super::functions::sum_of_doubles(self, &mut job, 10);
        let run = self.succeed(pool, job);
        self.same(*self.ok(run.output(&sum).wait()), 90);
    }

    pub(super) fn holds(&self, condition: bool, seen: impl Debug) {
        assert!(condition, "seen: {seen:?}");
    }

    pub(super) fn same<T: PartialEq + Debug>(&self, seen: T, expected: T) {
        assert!(seen == expected, "seen: {seen:?}; expected: {expected:?}");
    }

    pub(super) fn ok<T>(&self, result: Result<T>) -> T {
        result.unwrap_or_else(|error| panic!("seen: {error}"))
    }

    pub(super) fn error<T>(&self, result: Result<T>, kind: ErrorKind) -> Error {
        match result {
            Err(error) if error.kind() == kind => error,
            Err(error) => panic!("seen: {error:?}; expected: an error {kind:?}"),
            Ok(_) => panic!("seen: success; expected: an error {kind:?}"),
        }
    }
}
