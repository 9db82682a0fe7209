//! Running again what did not succeed.

use super::Run;
use crate::engine::Again;
use crate::model::Result;
use crate::work::Selector;

/// Running tasks again that ended without success, while the run goes on or after it has ended.
///
/// A task that has failed or was cancelled starts over: its retries and time limits count anew, while the numbers of its
/// attempts go on rising and those on record [stay there](Run::attempts). What was skipped because of it waits for it
/// again, unless it also depends on something else that did not succeed. The outputs that it reads are still there: an
/// output lives until everything that reads it has succeeded. A task that has succeeded is never run again.
///
/// A run that has ended goes on: [`has_ended`](Run::has_ended) is false again, [`wait`](Run::wait) waits, the job's time
/// limit counts anew, and so does a task's deadline. [`output`](Run::output) then waits for the new end of a task.
///
/// (Azure Batch: reactivate, for one task of a job that is still active; here also for many, and for ended jobs.)
impl Run {
    /// Runs a task again that has failed or was cancelled; of an array, all elements that have. Returns how many tasks are
    /// to run now that were not, with those that were skipped because of it.
    ///
    /// ```
    /// use batchyard::{Job, Pool, ThreadExecutor, fallible};
    /// use std::sync::atomic::{AtomicBool, Ordering};
    /// use std::sync::Arc;
    ///
    /// let mended = Arc::new(AtomicBool::new(false));
    /// let mut job = Job::new("mended");
    /// let works = mended.clone();
    /// let load = job.task("load", (), fallible(move || match works.load(Ordering::Relaxed) {
    ///     true => Ok(20),
    ///     false => Err(std::io::Error::other("not mounted")),
    /// }));
    /// let double = job.task("double", &load, |n: &i32| n * 2);
    ///
    /// let pool = Pool::new(ThreadExecutor::new(2)?);
    /// let run = pool.submit(job)?;
    /// assert!(run.wait().is_err());
    /// mended.store(true, Ordering::Relaxed);
    /// assert_eq!(run.reactivate(&load)?, 2);
    /// assert_eq!(*run.output(&double).wait()?, 40);
    /// # Ok::<(), batchyard::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`InvalidState`](crate::ErrorKind::InvalidState) if it has succeeded or has not ended, or can't run since a task
    /// that it depends on did not succeed, which is named: reactivate that one;
    /// [`PoolClosed`](crate::ErrorKind::PoolClosed) if the run has ended and its pool is closed;
    /// [`UnknownTask`](crate::ErrorKind::UnknownTask) if the job has no such task.
    pub fn reactivate(&self, task: impl Into<Selector>) -> Result<u64> {
        let task = self.known(task)?;
        self.again(Again::Task(task))
    }

    /// Runs again what has failed or was cancelled of a task and everything that depends on it, directly or not. Returns how
    /// many tasks are to run now that were not: none, if all of them have succeeded, are still going on, or can't run since
    /// something else that they depend on did not succeed.
    ///
    /// # Errors
    /// [`PoolClosed`](crate::ErrorKind::PoolClosed) and [`UnknownTask`](crate::ErrorKind::UnknownTask), as for
    /// [`reactivate`](Run::reactivate).
    pub fn reactivate_subtree(&self, task: impl Into<Selector>) -> Result<u64> {
        let task = self.known(task)?;
        self.again(Again::Subtree(task))
    }

    /// Runs again what has failed, and what was skipped because of it. If the run was ended by its
    /// [failure policy](crate::FailurePolicy), what was cancelled comes back too. Returns how many tasks are to run now that
    /// were not.
    ///
    /// # Errors
    /// [`PoolClosed`](crate::ErrorKind::PoolClosed) if the run has ended and its pool is closed.
    pub fn reactivate_failed(&self) -> Result<u64> {
        self.again(Again::Failed)
    }

    /// Runs again whatever has ended without success: failed, skipped or cancelled. So a run that was
    /// [cancelled](Run::cancel) goes on. Returns how many tasks are to run now that were not.
    ///
    /// # Errors
    /// [`PoolClosed`](crate::ErrorKind::PoolClosed) if the run has ended and its pool is closed.
    pub fn reactivate_all(&self) -> Result<u64> {
        self.again(Again::All)
    }

    fn again(&self, which: Again) -> Result<u64> {
        let engine = self.run.engine();
        engine.with(|policy, effects| policy.reactivate(&self.run, which, effects))
    }
}
