//! The façade's first half: pools.

use crate::engine::{Engine, pool_closed};
use crate::executor::{Executor, Feed, Offer};
use crate::job::{FrozenJob, IntoFrozen};
use crate::model::{Error, ErrorKind, Panic, Placement, Result};
use crate::observe::Events;
use crate::run::Run;
use crate::sync::lock;
use event_listener::Listener;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long dropping a pool waits for bodies to notice that they are cancelled.
const DROP_PATIENCE: Duration = Duration::from_secs(1);

/// Runs jobs on an executor: several at a time, the more urgent first, equal ones in the order of submission.
///
/// Dropping it closes it with [`Close::Cancel`] and waits for a second at most; a body that is still running then goes
/// on by itself, and its outcome is ignored.
///
/// ```
/// use batchyard::{Close, Job, Pool, ThreadExecutor};
/// use std::time::Duration;
///
/// let pool = Pool::new(ThreadExecutor::new(2)?);
/// let mut job = Job::new("hello");
/// let hello = job.task("hello", (), || "hello");
/// println!("{}", pool.submit(job)?.output(&hello).wait()?);
///
/// let still_running = pool.close(Close::Drain, Duration::from_secs(10));
/// assert!(still_running.is_empty());
/// # Ok::<(), batchyard::Error>(())
/// ```
pub struct Pool {
    engine: Arc<Engine>,
    executor: Arc<dyn Executor>,
    server: Server,
    /// What is written of its runs.
    #[cfg(feature = "journal")]
    journals: Mutex<Vec<Arc<crate::engine::Durable>>>,
}

/// How a pool is closed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Close {
    /// What was submitted is run to its end. An [open](crate::Job::open) job that nobody has sealed takes tasks only from its
    /// own, and ends with the last of them.
    Drain,
    /// What has not ended is cancelled.
    Cancel,
}

impl Pool {
    /// A pool on any executor, or a `Box<dyn Executor>`, which is served from now on by a thread of the pool's own.
    pub fn new(executor: impl Executor) -> Self {
        crate::sync::prepare();
        let engine = Engine::new();
        let executor: Arc<dyn Executor> = Arc::new(executor);
        let server = Server::start(executor.clone(), engine.clone());
        Pool {
            engine,
            executor,
            server,
            #[cfg(feature = "journal")]
            journals: Mutex::default(),
        }
    }

    /// A pool without a thread, whose executor is served by whoever has the engine.
    #[cfg(feature = "testing")]
    pub(crate) fn by_hand(executor: impl Executor, engine: Arc<Engine>) -> Self {
        crate::sync::prepare();
        Pool {
            engine,
            executor: Arc::new(executor),
            server: Server::nobody(),
            #[cfg(feature = "journal")]
            journals: Mutex::default(),
        }
    }

    /// Begins to run a job: a [`Job`](crate::Job), or a [`FrozenJob`] for another time.
    ///
    /// # Errors
    /// [`InvalidJob`](ErrorKind::InvalidJob) if the job can't be run as described, [`Unsupported`](ErrorKind::Unsupported)
    /// if this executor can't run it, [`PoolClosed`](ErrorKind::PoolClosed). Then nothing was started.
    pub fn submit(&self, job: impl IntoFrozen) -> Result<Run> {
        let job = job.into_frozen()?;
        let offer = self.offer_for(&job)?;
        self.engine.submit(&job, &offer).map(Run::new)
    }

    /// What the executor has, if it can run the job.
    pub(crate) fn offer_for(&self, job: &FrozenJob) -> Result<Offer> {
        let offer = self.executor.offer();
        refuse_unsupported(job, &offer)?;
        Ok(offer)
    }

    #[cfg(feature = "journal")]
    pub(crate) fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    /// The pool waits for the run's journal when it is dropped.
    #[cfg(feature = "journal")]
    pub(crate) fn note_journal(&self, run: &crate::engine::Run) {
        let mut journals = lock(&self.journals);
        journals.retain(|journal| !journal.is_closed());
        journals.extend(run.durable().cloned());
    }

    /// How many tasks its nodes run at once, if the executor can say.
    #[cfg(feature = "scoring")]
    pub(crate) fn slots(&self) -> Option<u32> {
        let nodes = self.executor.offer().nodes?;
        let slots = nodes.iter().map(crate::model::Capacity::slot_count);
        Some(slots.fold(0, u32::saturating_add)).filter(|&slots| slots > 0)
    }

    /// Everything that happens from now on to runs, tasks and nodes of this pool, after a snapshot of how they stand. The
    /// stream ends when the pool is dropped. See [`Events`].
    ///
    /// Runs that are under way pause for it, for as long as it takes to look at each of their tasks once.
    pub fn events(&self) -> Events {
        Events::of_pool(&self.engine)
    }

    /// Asks the executor for another number of slots. Running tasks are left alone; a shrinking executor gives slots up
    /// between two tasks. Executors that can't change their size ignore it.
    ///
    /// # Errors
    /// [`InvalidSetting`](ErrorKind::InvalidSetting) for none, or for more than a `u32` counts.
    pub fn resize(&self, slots: usize) -> Result<()> {
        let slots = u32::try_from(slots).ok().filter(|&slots| slots > 0);
        let slots = slots.ok_or_else(|| {
            Error::new(ErrorKind::InvalidSetting, "a pool needs at least one slot")
        })?;
        self.engine
            .with(|policy, effects| policy.order(crate::engine::Order::Resize(slots), effects));
        Ok(())
    }

    /// Which node tasks go to from now on, of those that wait for work: see [`Placement`]. Default: the emptiest. It makes
    /// no difference to an executor with one node, such as that of threads.
    pub fn place(&self, placement: Placement) {
        self.engine
            .with(|policy, effects| policy.set_placement(placement, effects));
    }

    /// Closes the pool, blocking until it has closed or the deadline is over, and returns the tasks whose bodies are
    /// still running then, as `job/task`. Nothing is accepted any more. With [`Close::Drain`], what has not ended at the
    /// deadline is cancelled.
    ///
    /// The deadline is counted from the call; with [`Duration::MAX`] there is none. Not for bodies of the same pool: they
    /// would wait for themselves. Calling it again waits again.
    pub fn close(&self, how: Close, deadline: Duration) -> Vec<String> {
        let until = Instant::now().checked_add(deadline);
        self.begin_close(how);
        let drained = self.wait_until(until, || self.engine.with(|policy, _| policy.is_idle()));
        if !drained {
            self.begin_close(Close::Cancel);
        }
        let through = || self.engine.with(|policy, _| policy.holds_nothing());
        self.wait_until(until, || self.server.has_ended() && through());
        let charges = self.engine.with(|policy, _| policy.charges());
        charges.iter().filter_map(|charge| charge.label()).collect()
    }

    /// As [`close`](Pool::close), for asynchronous callers: a thread does the waiting. The pool is closed with the call;
    /// dropping the future stops only the waiting.
    pub fn close_async(
        self,
        how: Close,
        deadline: Duration,
    ) -> impl Future<Output = Vec<String>> + Send + 'static {
        let (send, receive) = futures::channel::oneshot::channel();
        self.begin_close(how);
        let closer = move || drop(send.send(self.close(how, deadline)));
        let started = std::thread::Builder::new()
            .name("batchyard-close".into())
            .spawn(closer);
        async move {
            // Without a thread for it, the pool was closed by being dropped.
            let _ = started.is_ok();
            receive.await.unwrap_or_default()
        }
    }

    fn begin_close(&self, how: Close) {
        self.engine.with(|policy, effects| {
            policy.close(effects);
            if how == Close::Cancel {
                policy.cancel_all(&pool_closed(), effects);
            }
        });
    }

    /// Waits for `reached`, which changes only with the engine's notice. Returns whether it came true in time.
    fn wait_until(&self, until: Option<Instant>, reached: impl Fn() -> bool) -> bool {
        loop {
            let changed = self.engine.listen();
            if reached() {
                return true;
            }
            match self.engine.step() {
                Some(Ok(())) => continue,
                Some(Err(_)) => return reached(),
                None => {}
            }
            match until {
                Some(until) => {
                    if changed.wait_deadline(until).is_none() {
                        return reached();
                    }
                }
                None => changed.wait(),
            }
        }
    }
}

fn refuse_unsupported(job: &FrozenJob, offer: &Offer) -> Result<()> {
    match job.inner().unsupported(offer) {
        None => Ok(()),
        Some((task, what)) => Err(Error::new(ErrorKind::Unsupported, what)
            .in_job(job.name())
            .of_task(task)),
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.close(Close::Cancel, DROP_PATIENCE);
        #[cfg(feature = "journal")]
        self.wait_for_journals();
        self.server.join();
        self.engine.end_events();
    }
}

#[cfg(feature = "journal")]
impl Pool {
    /// What is written of runs that nobody has any more is written when the pool is gone, and can be opened.
    fn wait_for_journals(&self) {
        for journal in std::mem::take(&mut *lock(&self.journals)) {
            journal.wait_if_left(DROP_PATIENCE);
        }
    }
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool").finish_non_exhaustive()
    }
}

/// The thread that serves the executor.
struct Server {
    ended: Arc<AtomicBool>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Server {
    fn start(executor: Arc<dyn Executor>, engine: Arc<Engine>) -> Self {
        let ended = Arc::new(AtomicBool::new(false));
        let (flag, feed) = (ended.clone(), engine.clone());
        let serve = move || {
            let result = serve(&*executor, &engine);
            flag.store(true, Ordering::Release);
            engine.with(|policy, effects| policy.abandon(&gone(result), effects));
        };
        let thread = std::thread::Builder::new()
            .name("batchyard-pool".into())
            .spawn(serve);
        if let Err(cause) = &thread {
            let error = Error::new(
                ErrorKind::Executor,
                format!("can't start the pool's thread: {cause}"),
            );
            feed.with(|policy, effects| policy.abandon(&error, effects));
            ended.store(true, Ordering::Release);
        }
        Server {
            ended,
            thread: Mutex::new(thread.ok()),
        }
    }

    /// None: the pool goes on by hand.
    #[cfg(feature = "testing")]
    fn nobody() -> Self {
        Server {
            ended: Arc::new(AtomicBool::new(true)),
            thread: Mutex::new(None),
        }
    }

    fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }

    /// Joins the thread if it has ended; it is left to itself if a body keeps it, or if we are it.
    fn join(&self) {
        let others = |thread: &JoinHandle<()>| thread.thread().id() != std::thread::current().id();
        let thread = lock(&self.thread).take().filter(|_| self.has_ended());
        if let Some(thread) = thread.filter(others) {
            let _ = thread.join();
        }
    }
}

fn serve(executor: &dyn Executor, engine: &Arc<Engine>) -> Result<()> {
    let serving = || futures::executor::block_on(executor.serve(Feed::new(engine.clone())));
    catch_unwind(AssertUnwindSafe(serving)).unwrap_or_else(|panic| {
        Err(Error::new(ErrorKind::Executor, "the executor").caused_by(Panic::from_payload(panic)))
    })
}

/// Why nothing runs any more.
fn gone(result: Result<()>) -> Error {
    let error = Error::new(
        ErrorKind::Executor,
        "the executor stopped before the job had ended",
    );
    match result {
        Ok(()) => error,
        Err(cause) => error.caused_by(cause),
    }
}
