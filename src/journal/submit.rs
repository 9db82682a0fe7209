//! Runs with a journal, as their users see them.

use super::{Journal, Reuse};
use crate::engine;
use crate::job::IntoFrozen;
use crate::model::Result;
use crate::pool::Pool;
use crate::run::Run;
use std::sync::Arc;
use std::time::Duration;

impl Pool {
    /// Begins to run a job that is written down in a [`Journal`], or goes on with it if the journal says that it had begun.
    /// It returns once the journal says that the job was submitted.
    ///
    /// ```
    /// use batchyard::{Function, Job, Pool, ThreadExecutor, journal::Journal};
    ///
    /// static DOUBLE: Function<u64, u64> = Function::new("double", |n| 2 * n);
    ///
    /// fn job() -> (Job, batchyard::Array<u64>) {
    ///     let mut job = Job::new("doubles");
    ///     let doubles = job.map("double", 0..100u64, &DOUBLE);
    ///     (job, doubles)
    /// }
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// let path = folder.path().join("doubles.journal");
    /// let pool = Pool::new(ThreadExecutor::new(2)?);
    /// pool.submit_durable(job().0, Journal::create(&path)?)?.wait()?;
    ///
    /// let (job, doubles) = job(); // in another process, say
    /// let run = pool.submit_durable(job, Journal::open(&path)?)?;
    /// assert_eq!(run.output(&doubles).wait()?[99], 198);
    /// assert_eq!(run.reuse().map(|reuse| reuse.reused), Some(100));
    /// # Ok::<(), batchyard::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`submit`](Pool::submit); [`Unsupported`](crate::ErrorKind::Unsupported) if a task can't be known again in another
    /// process, which is named; [`Journal`](crate::ErrorKind::Journal) if the journal is of another job, or can't be
    /// written. Then nothing was started.
    pub fn submit_durable(&self, job: impl IntoFrozen, journal: Journal) -> Result<Run> {
        let job = job.into_frozen()?;
        let offer = self.offer_for(&job)?;
        let (run, reuse) = journal.begin(self.engine(), &job, &offer)?;
        self.note_journal(&run);
        Ok(Run::durable(run, reuse))
    }
}

impl Run {
    /// What was taken over from the journal, and what is run again and why. Of a run without a journal, nothing.
    pub fn reuse(&self) -> Option<&Reuse> {
        self.reused.as_ref()
    }

    pub(super) fn durable(run: Arc<engine::Run>, reuse: Reuse) -> Self {
        let mut run = Run::new(run);
        run.reused = Some(reuse);
        run
    }

    /// What the caller has asked for is written down when this returns.
    pub(crate) fn settle_in_journal(&self) {
        if let Some(durable) = self.engine_run().durable() {
            durable.barrier();
        }
    }

    /// The handle goes. If the run has ended, its journal can be opened by others when this returns.
    pub(crate) fn leave_journal(&self) {
        let run = self.engine_run();
        if let Some(durable) = run.durable() {
            durable.leave();
            if run.has_ended() {
                durable.wait_for_close(PATIENCE);
            }
        }
    }
}

/// How long the drop of a handle waits for what is being written.
const PATIENCE: Duration = Duration::from_secs(5);
