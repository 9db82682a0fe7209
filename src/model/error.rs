//! The crate's one error.

use super::{Defect, Panic};
use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;

/// Any error of the user's.
pub type BoxError = Box<dyn StdError + Send + Sync>;

/// A result with the crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong: a [kind](ErrorKind) to match on, the job and task, the cause, and what to do about it.
///
/// Cheap to clone: everyone who waits for a task that failed gets the same error.
///
/// ```
/// use batchyard::{fallible, Error, ErrorKind, Job, Pool, ThreadExecutor};
///
/// let mut job = Job::new("errors");
/// let read = job.task("read", (), fallible(|| std::fs::read("/no/such/file")));
/// let pool = Pool::new(ThreadExecutor::new(1)?);
/// let run = pool.submit(job)?;
/// let error = run.output(&read).wait().unwrap_err();
///
/// assert_eq!(error.kind(), ErrorKind::TaskFailed);
/// assert_eq!(error.task(), Some("read"));
/// assert_eq!(error.cause::<std::io::Error>().unwrap().kind(), std::io::ErrorKind::NotFound);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone)]
pub struct Error(Arc<Inner>);

#[derive(Clone)]
struct Inner {
    kind: ErrorKind,
    message: String,
    job: Option<String>,
    task: Option<String>,
    attempt: Option<u32>,
    defects: Vec<Defect>,
    source: Option<Arc<dyn StdError + Send + Sync>>,
}

/// What kind of thing went wrong.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The job can't be run as described: see [`Error::defects`].
    InvalidJob,
    /// The job is sound, but this pool's executor can't run it.
    Unsupported,
    /// A setting is out of its range.
    InvalidSetting,
    /// What should be read is not there, or not what it was said to be.
    InvalidInput,
    /// A task failed: its body returned an error or panicked.
    TaskFailed,
    /// A task, or its job, had a time limit or deadline and did not end in time.
    TimedOut,
    /// A task never ran, since one that it depends on did not succeed.
    TaskSkipped,
    /// The task or run was cancelled.
    Cancelled,
    /// The run is disabled, and nothing of it runs: enable it, or terminate it.
    Disabled,
    /// The pool is closed, or was closed before the task or run had ended.
    PoolClosed,
    /// A task waited for itself, or for one that can't end before it does.
    WouldDeadlock,
    /// The output was freed after its last dependent; keep it with [`Job::keep`](crate::Job::keep) or
    /// [`Task::keep`](crate::Task::keep).
    OutputFreed,
    /// The handle belongs to another job, or the index is not in the array.
    UnknownTask,
    /// The run takes no more tasks: it was [sealed](crate::Run::seal), has ended, or was submitted whole.
    Sealed,
    /// What was asked for can't be done with a task that stands, or ended, as this one did.
    InvalidState,
    /// Two functions of one name and version in a registry.
    DuplicateFunction,
    /// The executor itself failed.
    Executor,
    /// A run's journal can't be opened, read or written, or doesn't fit the job.
    Journal,
}

#[cfg(feature = "journal")]
impl ErrorKind {
    /// Whether a run that was ended for this goes on when its journal is opened: it was the program that ended, not the
    /// run.
    pub(crate) fn ends_no_durable_run(self) -> bool {
        matches!(
            self,
            ErrorKind::PoolClosed | ErrorKind::Executor | ErrorKind::Journal
        )
    }
}

impl Error {
    /// What kind of thing went wrong.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Whether the same call could succeed if it were simply made again. A bad job stays bad; a task that failed,
    /// or an executor that broke, may do better the next time.
    pub fn is_retryable(&self) -> bool {
        matches!(
            self.kind(),
            ErrorKind::TaskFailed | ErrorKind::TimedOut | ErrorKind::Executor
        )
    }

    /// The job's name.
    pub fn job(&self) -> Option<&str> {
        self.0.job.as_deref()
    }

    /// The task's name, or a description such as `task 17` or `count[3]`.
    pub fn task(&self) -> Option<&str> {
        self.0.task.as_deref()
    }

    /// The attempt that failed, from 1.
    pub fn attempt(&self) -> Option<u32> {
        self.0.attempt
    }

    /// Everything that is wrong with the job, for [`ErrorKind::InvalidJob`].
    pub fn defects(&self) -> &[Defect] {
        &self.0.defects
    }

    /// What happened, and nothing else.
    #[cfg(feature = "journal")]
    pub(crate) fn message(&self) -> &str {
        &self.0.message
    }

    /// What happened, without job and task: what is told of an attempt whose task is known.
    pub(crate) fn reason(&self) -> String {
        match &self.0.source {
            Some(source) => format!("{}: {source}", self.0.message),
            None => self.0.message.clone(),
        }
    }

    /// The first error of type `E` in the chain of causes: what the body returned, as it was.
    ///
    /// An error that a body wrapped in `anyhow::Error` is found only if it lies under a `context(..)`: anyhow hides the
    /// type of the outermost one.
    pub fn cause<E: StdError + 'static>(&self) -> Option<&E> {
        let mut next: Option<&(dyn StdError + 'static)> = self.source();
        while let Some(error) = next {
            if let Some(found) = error.downcast_ref::<E>() {
                return Some(found);
            }
            next = error.source();
        }
        None
    }

    /// The panic that ended the task, if one did.
    pub fn panic(&self) -> Option<&Panic> {
        self.cause::<Panic>()
    }
}

/// How the crate makes its errors: a kind and what happened, then what is known about where.
impl Error {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Error(Arc::new(Inner {
            kind,
            message: message.into(),
            job: None,
            task: None,
            attempt: None,
            defects: Vec::new(),
            source: None,
        }))
    }

    pub(crate) fn invalid_job(job: &str, defects: Vec<Defect>) -> Self {
        let mut error = Error::new(ErrorKind::InvalidJob, "can't be run as described").in_job(job);
        error.edit(|inner| inner.defects = defects);
        error
    }

    pub(crate) fn in_job(mut self, job: &str) -> Self {
        self.edit(|inner| inner.job = Some(job.to_owned()));
        self
    }

    pub(crate) fn of_task(mut self, task: impl Into<String>) -> Self {
        self.edit(|inner| inner.task = Some(task.into()));
        self
    }

    pub(crate) fn on_attempt(mut self, attempt: u32) -> Self {
        self.edit(|inner| inner.attempt = Some(attempt));
        self
    }

    pub(crate) fn caused_by(mut self, source: impl Into<BoxError>) -> Self {
        self.edit(|inner| inner.source = Some(Arc::from(source.into())));
        self
    }

    /// Errors that others hold too are left to them.
    fn edit(&mut self, change: impl FnOnce(&mut Inner)) {
        change(Arc::make_mut(&mut self.0));
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inner = &*self.0;
        if let Some(job) = &inner.job {
            write!(f, "job `{job}`")?;
            f.write_str(if inner.task.is_some() { ", " } else { ": " })?;
        }
        if let Some(task) = &inner.task {
            write!(f, "task `{task}`: ")?;
        }
        f.write_str(&inner.message)?;
        if let Some(attempt) = inner.attempt {
            write!(f, " on attempt {attempt}")?;
        }
        for defect in &inner.defects {
            write!(f, "\n  {defect}")?;
        }
        match &inner.source {
            Some(source) => write!(f, ": {source}"),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {self}", self.kind())
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0
            .source
            .as_deref()
            .map(|source| source as &(dyn StdError + 'static))
    }
}
