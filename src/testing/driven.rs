//! An executor whose steps a test takes by hand.

use crate::engine::Engine;
use crate::executor::{
    Executor, Feed, Grant, Lease, LeaseId, Node, NodeSpec, Offer, Order, Outcome, Returned,
};
use crate::model::{Error, ErrorKind, Panic, Result};
use crate::pool::Pool;
use crate::sync::lock;
use async_trait::async_trait;
use event_listener::{Event, Listener};
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::time::Duration;

/// An executor that does nothing by itself: a test has its nodes join and be lost, begins attempts, says how they end, and
/// sees what the pool orders.
///
/// [`DrivenExecutor::pool`] makes a pool on one, without a thread, whose time is the test's to move. Where the code under
/// test makes the pool, pass a clone of it to [`Pool::new`](crate::Pool::new): then time is the system's. Waiting for a run
/// blocks the thread; look at it, or wait once it has ended.
///
/// ```
/// use batchyard::executor::{NodeSpec, Order};
/// use batchyard::testing::DrivenExecutor;
/// use batchyard::{Job, Task, TaskState};
/// use std::time::Duration;
///
/// let (pool, executor) = DrivenExecutor::pool();
/// let node = executor.join(NodeSpec::new(1));
/// let mut job = Job::new("job");
/// let body = Task::new("task", (), || 7).time_limit(Duration::from_secs(60)).max_retries(2);
/// let task = job.add(body);
/// let run = pool.submit(job)?;
///
/// let slow = node.begin().unwrap();
/// executor.advance(Duration::from_secs(60));
/// assert_eq!(executor.orders(), [Order::Stop(slow.id())]);
/// assert!(!slow.succeed(), "too late: it timed out");
///
/// executor.advance(Duration::from_secs(1)); // the wait before the retry
/// node.begin().unwrap().lose();
/// assert_eq!(run.state(task.id())?, TaskState::Ready);
/// assert!(node.begin().unwrap().succeed());
/// assert_eq!(*run.output(&task).wait()?, 7);
/// # Ok::<(), batchyard::Error>(())
/// ```
#[derive(Clone)]
pub struct DrivenExecutor(Arc<Inner>);

struct Inner {
    /// Once it serves a pool.
    feed: OnceLock<Feed>,
    served: Event,
    /// Of a pool whose time is moved by hand.
    engine: Option<Arc<Engine>>,
}

impl DrivenExecutor {
    /// An executor for [`Pool::new`](crate::Pool::new): of one pool.
    #[expect(
        clippy::new_without_default,
        reason = "it is made for one pool, not to be left at that"
    )]
    pub fn new() -> Self {
        Self::with_engine(None)
    }

    /// A pool on an executor that is driven by hand. No thread serves it, and its time moves only in
    /// [`advance`](DrivenExecutor::advance).
    pub fn pool() -> (Pool, Self) {
        let engine = Engine::by_hand();
        let executor = Self::with_engine(Some(engine.clone()));
        executor.serve_feed(Feed::new(engine.clone()));
        (Pool::by_hand(executor.clone(), engine), executor)
    }

    fn with_engine(engine: Option<Arc<Engine>>) -> Self {
        DrivenExecutor(Arc::new(Inner {
            feed: OnceLock::new(),
            served: Event::new(),
            engine,
        }))
    }

    /// A node joins the pool. Waits until there is one, if it was not made yet.
    pub fn join(&self, node: NodeSpec) -> DrivenNode {
        DrivenNode {
            node: self.feed().join(node),
            attempts: Mutex::default(),
        }
    }

    /// What the pool has ordered since the last call.
    pub fn orders(&self) -> Vec<Order> {
        let feed = self.feed();
        std::iter::from_fn(|| feed.try_order()).collect()
    }

    /// How much time has passed for the pool.
    pub fn now(&self) -> Duration {
        self.engine().now()
    }

    /// Lets so much time pass. Limits, retries and starts that come due on the way do so one after another, each at its
    /// time.
    ///
    /// # Panics
    /// If the pool was not made by [`DrivenExecutor::pool`]: then time is the system's.
    #[track_caller]
    pub fn advance(&self, time: Duration) {
        let engine = self.engine();
        engine.go_to(engine.now().saturating_add(time));
    }

    /// When something happens next that time alone brings about, by the time of [`now`](DrivenExecutor::now).
    ///
    /// # Panics
    /// As [`advance`](DrivenExecutor::advance).
    #[track_caller]
    pub fn next_alarm(&self) -> Option<Duration> {
        self.engine().next_alarm()
    }

    /// The executor's end of the pool, for what the other methods don't reach.
    pub fn feed(&self) -> Feed {
        loop {
            let served = self.0.served.listen();
            match self.0.feed.get() {
                Some(feed) => return feed.clone(),
                None => served.wait(),
            }
        }
    }

    #[track_caller]
    fn engine(&self) -> &Arc<Engine> {
        match &self.0.engine {
            Some(engine) => engine,
            None => panic!("only the time of a pool made by `DrivenExecutor::pool` can be moved"),
        }
    }

    /// False if it serves another pool.
    fn serve_feed(&self, feed: Feed) -> bool {
        let first = self.0.feed.set(feed).is_ok();
        self.0.served.notify(usize::MAX);
        first
    }
}

#[async_trait]
impl Executor for DrivenExecutor {
    fn offer(&self) -> Offer {
        Offer::in_process()
    }

    /// Orders are left for the test.
    async fn serve(&self, feed: Feed) -> Result<()> {
        if self.serve_feed(feed.clone()) {
            feed.over().await;
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::Executor,
            "a driven executor serves one pool; make another",
        ))
    }
}

/// A node of a [`DrivenExecutor`]. Dropping it lets it leave; attempts that have begun there go on.
pub struct DrivenNode {
    node: Node,
    attempts: Mutex<Vec<Weak<Mutex<Option<Lease>>>>>,
}

impl DrivenNode {
    /// Begins the next task that the pool has for this node; `None` if there is none, or no room for it.
    pub fn begin(&self) -> Option<DrivenAttempt> {
        loop {
            let lease = self.take(1)?.begin();
            if let Some(lease) = lease {
                return Some(self.attempt(lease));
            }
        }
    }

    /// At most so many ready tasks, as an executor is given them. What is begun from it isn't lost with the node.
    pub fn take(&self, room: u32) -> Option<Grant> {
        self.node.try_take(room)
    }

    /// The node has another number of slots from now on.
    pub fn resize(&self, slots: u32) {
        self.node.resize(slots);
    }

    /// The node is lost, and the attempts that have begun there with it.
    pub fn lose(self) {
        drop(self.node);
        let attempts = std::mem::take(&mut *lock(&self.attempts));
        for attempt in attempts.iter().filter_map(Weak::upgrade) {
            let lease = lock(&attempt).take();
            drop(lease);
        }
    }

    fn attempt(&self, lease: Lease) -> DrivenAttempt {
        let id = lease.id();
        let (job, task, number) = (
            lease.job_name().to_owned(),
            lease.task_label(),
            lease.attempt(),
        );
        let lease = Arc::new(Mutex::new(Some(lease)));
        let mut attempts = lock(&self.attempts);
        attempts.retain(|attempt| attempt.strong_count() > 0);
        attempts.push(Arc::downgrade(&lease));
        DrivenAttempt {
            lease,
            id,
            job,
            task,
            number,
        }
    }
}

/// An attempt of a task that has begun on a [`DrivenNode`]. Those who end it hear whether that still counted. Dropping it
/// is losing it.
pub struct DrivenAttempt {
    /// `None` once it was lost with its node.
    lease: Arc<Mutex<Option<Lease>>>,
    id: LeaseId,
    job: String,
    task: String,
    number: u32,
}

impl DrivenAttempt {
    /// Tells it from all others of the pool.
    pub fn id(&self) -> LeaseId {
        self.id
    }

    /// The job's name.
    pub fn job(&self) -> &str {
        &self.job
    }

    /// The task's name, or a description.
    pub fn task(&self) -> &str {
        &self.task
    }

    /// Which attempt of the task it is, from 1.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// Whether it no longer counts: it was cancelled, timed out, or lost with its node.
    pub fn is_cancelled(&self) -> bool {
        let lease = lock(&self.lease);
        lease.as_ref().is_none_or(Lease::is_cancelled)
    }

    /// Calls the body, and reports that it succeeded.
    ///
    /// # Panics
    /// If it did not, though it still counts.
    #[track_caller]
    pub fn succeed(self) -> bool {
        let task = self.task.clone();
        self.end(|lease| match lease.run() {
            Outcome::Failed(cause) => panic!("the body of `{task}` failed: {cause}"),
            outcome => outcome,
        })
    }

    /// Calls the body, and reports how it ended.
    pub fn run(self) -> bool {
        self.end(Lease::run)
    }

    /// Reports that it failed. The body is not called.
    pub fn fail(self, message: impl Into<String>) -> bool {
        self.end(|_| Outcome::Failed(message.into().into()))
    }

    /// Reports that it panicked. The body is not called.
    pub fn panic(self, message: impl Into<String>) -> bool {
        let (message, place) = (message.into(), None);
        self.end(|_| Outcome::Failed(Panic { message, place }.into()))
    }

    /// Its worker is lost, but not the node.
    pub fn lose(self) -> bool {
        self.end(|_| Outcome::Returned(Returned::NodeLost))
    }

    /// Its node was taken away from it, which is not the task's fault.
    pub fn take_away(self) -> bool {
        self.end(|_| Outcome::Returned(Returned::TakenAway))
    }

    fn end(self, how: impl FnOnce(&Lease) -> Outcome) -> bool {
        let lease = lock(&self.lease).take();
        let Some(lease) = lease else { return false };
        let outcome = how(&lease);
        let counts = !lease.is_cancelled();
        lease.complete(outcome);
        counts
    }
}

impl fmt::Debug for DrivenExecutor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DrivenExecutor").finish_non_exhaustive()
    }
}

impl fmt::Debug for DrivenNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("DrivenNode").field(&self.node).finish()
    }
}

impl fmt::Debug for DrivenAttempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "DrivenAttempt({}/{}, {})",
            self.job, self.task, self.number
        )
    }
}
