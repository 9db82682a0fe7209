//! What a body can ask about the attempt it is.

use super::call::{Host, Instance};
use super::handles::TaskRef;
use crate::model::{Fraction, Panic, ProgressReport, TaskId};
use crate::sync::lock;
use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::thread::ThreadId;

/// The attempt a body is running for. A body that wants it takes a `&Context` as its first argument.
///
/// ```
/// use batchyard::{Context, Job, Pool, ThreadExecutor};
///
/// let mut job = Job::new("contexts");
/// let squares = job.map("squares", 0..4u64, |cx: &Context, n: &u64| {
///     if cx.is_cancelled() { return 0 }
///     n * n + u64::from(cx.attempt() - 1)
/// });
/// let pool = Pool::new(ThreadExecutor::new(2)?);
/// let run = pool.submit(job)?;
/// assert_eq!(run.output(&squares).wait()?[..], [0, 1, 4, 9]);
/// # Ok::<(), batchyard::Error>(())
/// ```
#[derive(Clone)]
pub struct Context {
    host: Arc<dyn Host>,
    task: TaskId,
    index: u32,
    attempt: u32,
    instance: Instance,
    leased: bool,
    gpus: Option<Arc<[u32]>>,
}

impl Context {
    pub(crate) fn new(
        host: Arc<dyn Host>,
        task: TaskId,
        index: u32,
        attempt: u32,
        instance: Instance,
        leased: bool,
        gpus: Option<Arc<[u32]>>,
    ) -> Self {
        Context {
            host,
            task,
            index,
            attempt,
            instance,
            leased,
            gpus,
        }
    }

    /// Whether the task, or its run, has been cancelled. What the body returns after that is thrown away, so it may
    /// as well return early. Cheap enough to ask in a loop of microseconds.
    pub fn is_cancelled(&self) -> bool {
        self.host
            .is_cancelled(self.task, self.leased.then_some(self.attempt))
    }

    /// The task being run, or the element of an array: for tasks that it [adds](Context::add) and that are to start after
    /// it has succeeded.
    pub fn this(&self) -> TaskRef {
        TaskRef {
            job: self.host.tag_of(self.task),
            task: self.task,
        }
    }

    /// Says how far the body is: a fraction from 0 to 1, or `(done, total)`. Whoever listens hears of it
    /// ([`EventKind::ProgressReported`](crate::EventKind::ProgressReported)), and the attempt doesn't count as
    /// [stalled](crate::TaskSettings::stalled_after). Cheap when neither is asked for; some hundred nanoseconds else.
    ///
    /// ```
    /// # use batchyard::{Context, Job};
    /// # let mut job = Job::new("progress");
    /// job.task("copy", (), |cx: &Context| {
    ///     for file in 0..100 {
    ///         cx.report_progress((file, 100), format!("file {file}"));
    ///     }
    /// });
    /// ```
    pub fn report_progress(&self, done: impl Into<Fraction>, message: impl Into<String>) {
        let Fraction(fraction) = done.into();
        let message = message.into();
        let report = ProgressReport { fraction, message };
        self.host.report_progress(self.task, self.attempt, report);
    }

    /// Saves what the body has come to, a small state, for the task's next attempt: should this one fail, lose its node, or
    /// end with the program. It takes the place of what was saved before, and is gone once the task has ended. In a run with
    /// a [journal](crate::journal) it is written with the next group.
    ///
    /// ```
    /// use batchyard::{BoxError, Context, Job, MaxRetries, Pool, Task, ThreadExecutor, fallible};
    ///
    /// let mut job = Job::new("checkpoints");
    /// let count = job.add(Task::new("count", (), fallible(|cx: &Context| {
    ///     let begun = cx.last_checkpoint::<u64>()?.unwrap_or(0);
    ///     for at in begun..100 {
    ///         cx.checkpoint(&(at + 1))?;
    ///         if at == 50 && cx.attempt() == 1 {
    ///             return Err(BoxError::from("half of it is done"));
    ///         }
    ///     }
    ///     Ok(begun)
    /// })).max_retries(1));
    /// let pool = Pool::new(ThreadExecutor::new(1)?);
    /// let run = pool.submit(job)?;
    /// assert_eq!(*run.output(&count).wait()?, 51);
    /// # Ok::<(), batchyard::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) if it can't be made into bytes, with a
    /// [`CodecError`](crate::CodecError) as cause; [`Cancelled`](crate::ErrorKind::Cancelled) if the attempt no longer counts;
    /// [`Unsupported`](crate::ErrorKind::Unsupported) on an executor that can't pass it on.
    #[cfg(feature = "journal")]
    pub fn checkpoint<T: serde::Serialize>(&self, state: &T) -> crate::model::Result<()> {
        let mut bytes = Vec::new();
        super::encode(state, &mut bytes).map_err(|error| self.unusable(error))?;
        let leased = self.leased.then_some(self.attempt);
        self.host.save_checkpoint(self.task, leased, bytes)
    }

    /// What an earlier attempt has [saved](Self::checkpoint) last.
    ///
    /// # Errors
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) if it is of another type, with a [`CodecError`](crate::CodecError) as
    /// cause.
    #[cfg(feature = "journal")]
    pub fn last_checkpoint<T: serde::de::DeserializeOwned>(
        &self,
    ) -> crate::model::Result<Option<T>> {
        let saved = self.host.last_checkpoint(self.task);
        let decoded = saved.map(|bytes| super::decode(&bytes)).transpose();
        decoded.map_err(|error| self.unusable(error))
    }

    #[cfg(feature = "journal")]
    fn unusable(&self, error: super::CodecError) -> crate::model::Error {
        let kind = crate::model::ErrorKind::InvalidInput;
        crate::model::Error::new(kind, "a checkpoint")
            .in_job(self.job_name())
            .of_task(self.task_label())
            .caused_by(error)
    }

    /// Which attempt this is, from 1.
    pub fn attempt(&self) -> u32 {
        self.attempt
    }

    /// Which of the task's [instances](crate::Resources::instances) this is, from 0. The output of instance 0 is the
    /// task's.
    pub fn instance(&self) -> u32 {
        self.instance.index
    }

    /// How many instances the task has, all of them running at once: 1, unless its resources ask for more.
    pub fn instances(&self) -> u32 {
        self.instance.of
    }

    /// The GPUs that are this attempt's until its body returns, by index: as many whole ones as its
    /// [resources](crate::Resources::gpus) ask for, or the one that it has a part of.
    pub fn gpus(&self) -> Vec<u32> {
        self.gpus.as_deref().unwrap_or_default().to_vec()
    }

    /// The index in the task array, or 0 for a single task.
    pub fn index(&self) -> usize {
        self.index as usize
    }

    /// The task's id.
    pub fn task_id(&self) -> TaskId {
        self.task
    }

    /// The task's name; for an element `name[index]`; for a task without a name a description such as `task 17`.
    pub fn task_label(&self) -> String {
        self.host.task_label(self.task)
    }

    /// The job's name.
    pub fn job_name(&self) -> &str {
        self.host.job_name()
    }

    /// Calls `body` with this worker's own state of type `T` in this run, which `init` makes at the first call.
    ///
    /// A worker is one thread of the executor. The state is dropped when the run ends. If `init` or `body` panics,
    /// the state is dropped, and the next call makes it anew. While `body` has the state, a call inside it for the same `T`
    /// makes another.
    ///
    /// ```
    /// # use batchyard::{Context, Job};
    /// # struct Model; impl Model { fn load() -> Self { Model } fn score(&mut self, x: &f32) -> f32 { *x } }
    /// # let mut job = Job::new("locals");
    /// job.map("score", vec![0.5f32], |cx: &Context, x: &f32| cx.worker_local(Model::load, |model| model.score(x)));
    /// ```
    pub fn worker_local<T: Send + 'static, R>(
        &self,
        init: impl FnOnce() -> T,
        body: impl FnOnce(&mut T) -> R,
    ) -> R {
        let mut state = self
            .host
            .locals()
            .take::<T>()
            .unwrap_or_else(|| Box::new(init()));
        let result = body(&mut state);
        self.host.locals().give_back(state);
        result
    }
}

/// What the façade needs to know of it.
impl Context {
    pub(crate) fn host(&self) -> &Arc<dyn Host> {
        &self.host
    }

    /// The task being run, and its attempt, if that was leased.
    pub(crate) fn attempted(&self) -> (TaskId, Option<u32>) {
        (self.task, self.leased.then_some(self.attempt))
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("task", &self.task)
            .field("attempt", &self.attempt)
            .finish_non_exhaustive()
    }
}

/// The worker-local states of one run.
pub(crate) struct Locals(Mutex<Option<States>>);

type States = HashMap<(ThreadId, TypeId), Box<dyn Any + Send>>;

impl Default for Locals {
    fn default() -> Self {
        Locals(Mutex::new(Some(States::new())))
    }
}

impl Locals {
    /// Takes the state out while it is used, so that no lock is held over a body.
    fn take<T: Send + 'static>(&self) -> Option<Box<T>> {
        let state = lock(&self.0).as_mut()?.remove(&key::<T>())?;
        state.downcast().ok()
    }

    /// Keeps the state for the worker's next call. One that comes back when the run is over, or that a call inside the
    /// call has replaced, is dropped, outside the lock.
    fn give_back<T: Send + 'static>(&self, state: Box<T>) {
        let left = match &mut *lock(&self.0) {
            Some(states) => states.insert(key::<T>(), state),
            None => Some(state as Box<dyn Any + Send>),
        };
        drop(left);
    }

    /// Keeps states again: the run goes on after it was over.
    pub(crate) fn reopen(&self) {
        lock(&self.0).get_or_insert_default();
    }

    /// Drops every state: the run is over.
    pub(crate) fn clear(&self) {
        let states = lock(&self.0).take();
        Panic::ignore_dropping(states.into_iter().flat_map(HashMap::into_values).collect());
    }
}

fn key<T: 'static>() -> (ThreadId, TypeId) {
    (std::thread::current().id(), TypeId::of::<T>())
}
