//! The façade's second half: runs, and what comes out of them.

mod again;
mod tasks;
mod wait;

pub use tasks::Tasks;
pub use wait::{Ended, Waiting};

use crate::engine;
use crate::model::{
    Attempt, Counts, DisableTasks, Error, ErrorKind, Explanation, Result, RunState, TaskCounters,
    TaskId, TaskState,
};
use crate::observe::{Events, Progress, Story, Summary};
use crate::work::{OutputOf, Selector};
use std::fmt;
use std::sync::Arc;

/// How much is shown of what a running command has written to one stream.
#[cfg(feature = "command")]
const TAIL: u64 = 64 << 10;

/// A job that is being run, or has been. Dropping it lets the run go on by itself, unless
/// [`cancel_on_drop`](Run::cancel_on_drop) was asked for. Then only an [open](crate::Job::open) job's own tasks can add to it,
/// and it ends with the last of them.
pub struct Run {
    pub(crate) run: Arc<engine::Run>,
    cancel_on_drop: bool,
    /// What its journal had.
    #[cfg(feature = "journal")]
    pub(crate) reused: Option<crate::journal::Reuse>,
}

impl Run {
    pub(crate) fn new(run: Arc<engine::Run>) -> Self {
        Run {
            run,
            cancel_on_drop: false,
            #[cfg(feature = "journal")]
            reused: None,
        }
    }

    /// Blocks until every task has ended, and counts how. The run of an [open](crate::Job::open) job ends only once it is
    /// [sealed](Run::seal).
    ///
    /// In a task of the same pool, another thread takes the waiting one's place meanwhile.
    ///
    /// # Errors
    /// [`TaskFailed`](ErrorKind::TaskFailed) if a task did, with the first failure as cause;
    /// [`Cancelled`](ErrorKind::Cancelled); [`Disabled`](ErrorKind::Disabled) if the run is, and nothing of it runs:
    /// then it has not ended; [`PoolClosed`](ErrorKind::PoolClosed) if the pool was closed first;
    /// [`Executor`](ErrorKind::Executor) if its executor gave up;
    /// [`WouldDeadlock`](ErrorKind::WouldDeadlock) in a task of this very run.
    pub fn wait(&self) -> Result<Counts> {
        self.ended().wait()
    }

    /// As [`wait`](Run::wait), as a future of any runtime.
    pub fn ended(&self) -> Ended {
        Ended::of(&self.run)
    }

    /// The output of a task, of an array (as a slice), or of an element: a future of any runtime, with a blocking
    /// [`wait`](Waiting::wait). It resolves as soon as that task has ended, however the run goes on.
    ///
    /// # Errors
    /// [`TaskFailed`](ErrorKind::TaskFailed), [`TaskSkipped`](ErrorKind::TaskSkipped) or
    /// [`Cancelled`](ErrorKind::Cancelled), with the cause, if the task did not succeed; `Cancelled` too when the pool was
    /// closed or the executor gave up, with that as the cause;
    /// [`Disabled`](ErrorKind::Disabled) if the task has not ended, its run is disabled, and nothing of that runs;
    /// [`OutputFreed`](ErrorKind::OutputFreed) if its dependents are through with it;
    /// [`UnknownTask`](ErrorKind::UnknownTask) for a handle of another job.
    pub fn output<O: OutputOf>(&self, of: O) -> Waiting<O::Value> {
        Waiting::new(&self.run, &of)
    }

    /// Cancels whatever has not ended; [`wait`](Run::wait) then returns at once. Bodies that are running count as over:
    /// what they return is ignored, and they are asked to stop through their
    /// [`Context`](crate::Context::is_cancelled).
    pub fn cancel(&self) {
        let cause = Error::new(ErrorKind::Cancelled, "was cancelled").in_job(self.run.name());
        self.run
            .engine()
            .with(|policy, effects| policy.cancel_run(&self.run, cause, effects));
        self.settle_in_journal();
    }

    /// Cancels one task, or all of an array, by [id](crate::Handle::id); its dependents are skipped. Returns how many
    /// tasks that cancelled: none, if it had ended. Ids are numbers within a job: one of another job isn't recognised as
    /// such, here and wherever an id is taken.
    ///
    /// # Errors
    /// [`UnknownTask`](ErrorKind::UnknownTask) if the job has no such task.
    pub fn cancel_task(&self, task: impl Into<Selector>) -> Result<u64> {
        let task = self.known(task)?;
        let cancelled = self
            .run
            .engine()
            .with(|policy, effects| policy.cancel_tasks(&self.run, &[task], effects));
        self.settle_in_journal();
        Ok(cancelled)
    }

    /// Cancels a task and everything that depends on it, directly or not. Returns how many tasks that cancelled.
    ///
    /// # Errors
    /// [`UnknownTask`](ErrorKind::UnknownTask) if the job has no such task.
    pub fn cancel_subtree(&self, task: impl Into<Selector>) -> Result<u64> {
        let tasks = engine::Policy::subtree(&self.run, self.known(task)?);
        let cancelled = self
            .run
            .engine()
            .with(|policy, effects| policy.cancel_tasks(&self.run, &tasks, effects));
        self.settle_in_journal();
        Ok(cancelled)
    }

    /// Ends the run before its time, for a reason that is told by its error, and by those of the tasks that had not ended:
    /// they are cancelled. Does nothing once the run has ended. (Azure Batch: terminate a job.)
    ///
    /// ```
    /// # use batchyard::*;
    /// # let pool = Pool::new(ThreadExecutor::new(1)?);
    /// let mut job = Job::new("endless");
    /// let wait = job.task("wait", (), |cx: &Context| while !cx.is_cancelled() {});
    /// let run = pool.submit(job)?;
    /// run.terminate("the budget is spent");
    /// let error = run.wait().unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::Cancelled);
    /// assert!(error.to_string().contains("the budget is spent"));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn terminate(&self, reason: impl fmt::Display) {
        let reason = reason.to_string();
        self.run
            .engine()
            .with(|policy, effects| policy.terminate(&self.run, &reason, effects));
        self.settle_in_journal();
    }

    /// Starts nothing more of the run until it is [enabled](Run::enable); what becomes of its running tasks says `tasks`.
    /// Returns at once, and does nothing once the run has ended. (Azure Batch: disable a job.)
    ///
    /// Those who wait for the run, or for an output of it, get an error of kind [`Disabled`](ErrorKind::Disabled) as soon
    /// as nothing of it runs any more. Time limits and deadlines go on. A pool that is closed with
    /// [`Close::Drain`](crate::Close::Drain) waits for it, up to the deadline.
    ///
    /// ```
    /// # use batchyard::*;
    /// # let pool = Pool::new(ThreadExecutor::new(1)?);
    /// let mut job = Job::new("pause");
    /// let steps = job.array("steps", 100, |n: &usize| *n);
    /// let run = pool.submit(job)?;
    /// run.disable(DisableTasks::Wait);
    /// if let Err(error) = run.wait() {
    ///     assert_eq!(error.kind(), ErrorKind::Disabled);
    ///     run.enable();
    /// }
    /// assert_eq!(run.wait()?.succeeded, 100);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn disable(&self, tasks: DisableTasks) {
        self.run
            .engine()
            .with(|policy, effects| policy.disable(&self.run, tasks, None, effects));
    }

    /// Lets a run go on that was [disabled](Run::disable), by a call or by a task's exit conditions.
    pub fn enable(&self) {
        self.run
            .engine()
            .with(|policy, effects| policy.enable(&self.run, effects));
    }

    /// How the run as a whole stands.
    pub fn run_state(&self) -> RunState {
        self.run
            .engine()
            .with(|policy, effects| policy.run_state(&self.run, effects))
    }

    /// How a task, or an array as a whole, stands. An array has failed as soon as one of its elements has.
    ///
    /// # Errors
    /// [`UnknownTask`](ErrorKind::UnknownTask) if the job has no such task.
    pub fn state(&self, task: impl Into<Selector>) -> Result<TaskState> {
        Ok(self.run.state(self.known(task)?))
    }

    /// Why a task, or an array as a whole, is not running: which task it waits for, until when, which limit, or what each
    /// node lacks for it; or that it is running, or how it ended. For people: the words may change.
    ///
    /// # Errors
    /// [`UnknownTask`](ErrorKind::UnknownTask) if the job has no such task.
    pub fn explain(&self, task: impl Into<Selector>) -> Result<Explanation> {
        let task = self.known(task)?;
        let engine = self.run.engine();
        let words = engine.with(|policy, effects| policy.explain(&self.run, task, effects));
        Ok(Explanation::new(words))
    }

    /// What holds the run back: for whom how many tasks wait, and why those don't run or for how long they have; which
    /// limits, times and nodes keep ready tasks from starting. The biggest reason first, one a line, and at last what is
    /// running. Each task that has not ended is counted once. For people: the words may change.
    ///
    /// It takes one pass over what has not ended, some ten milliseconds for a million single tasks; tasks go on meanwhile.
    pub fn explain_all(&self) -> Explanation {
        Explanation::new(self.run.explain_all())
    }

    /// The last of what a command has written so far, while it is running: up to 64 KiB of each of its streams. Nothing of
    /// a task that isn't running, or is no command: what one that has ended wrote is in its
    /// [output](crate::CommandOutput::stdout).
    ///
    /// # Errors
    /// [`UnknownTask`](ErrorKind::UnknownTask) if the job has no such task; [`Executor`](ErrorKind::Executor) if the files
    /// can't be read.
    #[cfg(feature = "command")]
    pub fn tail(&self, task: impl Into<Selector>) -> Result<crate::Tail> {
        let task = self.known(task)?;
        let Some([stdout, stderr]) = self.run.live().get(task) else {
            return Ok(crate::Tail::default());
        };
        let read = |stream: &crate::model::LiveStream| stream.tail(TAIL);
        let unreadable = |cause| {
            let error = Error::new(ErrorKind::Executor, "what it writes can't be read");
            error
                .in_job(self.run.name())
                .of_task(self.run.label(task))
                .caused_by(cause)
        };
        Ok(crate::Tail {
            stdout: read(&stdout).map_err(unreadable)?,
            stderr: read(&stderr).map_err(unreadable)?,
        })
    }

    /// What the attempts of a function wrote to standard output and error in child processes, in the order in which they
    /// ended; of each the last 16 KiB. Attempts that wrote nothing are not among them. A run keeps 64 MiB of it in all, and
    /// the latest.
    ///
    /// Exact for each attempt of a function that writes with every attempt. If it writes for the first time in a batch of
    /// attempts that travelled together, what they wrote together counts for each whose outcome is not yet in.
    ///
    /// # Errors
    /// [`UnknownTask`](ErrorKind::UnknownTask) if the job has no such task.
    #[cfg(feature = "process")]
    pub fn printed(&self, task: impl Into<Selector>) -> Result<Vec<crate::Printed>> {
        Ok(self.run.live().printed(self.known(task)?))
    }

    /// How many tasks stand where; the numbers add up to the total. Exact once the run has ended, and before that as of some
    /// time during the call, at most a few tasks behind.
    ///
    /// What has ended is counted as it ends. Which of the others wait is looked up, in one pass over the single tasks that
    /// have not succeeded and their edges, and over elements sixty-four at a time: some milliseconds for a million single
    /// tasks, microseconds for a million elements. (Azure Batch: job task counts, whose *active* are those that wait or are
    /// ready.)
    pub fn counts(&self) -> Counts {
        self.run.counts()
    }

    /// The failures so far, in the order in which they happened.
    pub fn failures(&self) -> Vec<Error> {
        self.run.failures()
    }

    /// The attempts of a task that are on record: those of tasks that failed, were lost, or were tried again. A success
    /// at the first attempt leaves no trace.
    ///
    /// # Errors
    /// [`UnknownTask`](ErrorKind::UnknownTask) if the job has no such task.
    pub fn attempts(&self, task: impl Into<Selector>) -> Result<Vec<Attempt>> {
        Ok(self.run.attempts(self.known(task)?))
    }

    /// How far the run is, how fast it goes on, and when it may end.
    pub fn progress(&self) -> Progress {
        Progress::of(&self.run)
    }

    /// What became of the run, for people: counts, rate, and the first failures with their causes. Complete once the run
    /// has ended.
    pub fn summary(&self) -> Summary {
        Summary::of(&self.run)
    }

    /// One task's whole history in words: what it waited for, its attempts with their ends, the waits between them, how it
    /// ended, or why it is not running.
    ///
    /// # Errors
    /// [`UnknownTask`](ErrorKind::UnknownTask) if the job has no such task.
    pub fn story(&self, task: impl Into<Selector>) -> Result<Story> {
        let task = self.known(task)?;
        let now = self.explain(task)?;
        Ok(Story::of(&self.run, task, &now))
    }

    /// The job's graph and how its tasks stand now, to be drawn. What a run did over time is a
    /// [`Timeline`](crate::Timeline).
    #[cfg(feature = "timeline")]
    pub fn drawing(&self) -> crate::Drawing {
        crate::Drawing::of(&self.run)
    }

    /// Everything that happens from now on to the tasks of this run, and to the pool's nodes, after a snapshot of how they
    /// stand. The stream ends with the run's end. See [`Events`](crate::Events).
    ///
    /// To miss nothing, listen to the [pool](crate::Pool::events) before the job is submitted.
    pub fn events(&self) -> Events {
        Events::of_run(&self.run)
    }

    /// How often a task was run again, since it failed, was requeued, or lost its node.
    ///
    /// # Errors
    /// [`UnknownTask`](ErrorKind::UnknownTask) if the job has no such task.
    pub fn counters(&self, task: impl Into<Selector>) -> Result<TaskCounters> {
        Ok(self.run.counters(self.known(task)?))
    }

    /// Whether every task has ended.
    pub fn has_ended(&self) -> bool {
        self.run.has_ended()
    }

    /// Cancels the run when this handle is dropped, instead of letting it go on.
    pub fn cancel_on_drop(mut self) -> Self {
        self.cancel_on_drop = true;
        self
    }

    #[cfg(feature = "journal")]
    pub(crate) fn engine_run(&self) -> &Arc<engine::Run> {
        &self.run
    }

    #[cfg(any(feature = "progress", feature = "timeline"))]
    pub(crate) fn inner(&self) -> &Arc<engine::Run> {
        &self.run
    }

    fn known(&self, task: impl Into<Selector>) -> Result<TaskId> {
        let Selector { job, task } = task.into();
        let known = |&task: &TaskId| {
            let tag = self.run.tag_of_task(task);
            tag.is_some_and(|tag| job.is_none_or(|job| job == tag))
        };
        task.filter(known).ok_or_else(|| unknown_task(&self.run))
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        if self.cancel_on_drop {
            self.cancel();
        }
        self.leave_to_tasks();
        self.leave_journal();
    }
}

#[cfg(not(feature = "journal"))]
impl Run {
    fn settle_in_journal(&self) {}
    fn leave_journal(&self) {}
}

impl fmt::Debug for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Run")
            .field("job", &self.run.name())
            .field("counts", &self.run.counts_of_ended())
            .finish_non_exhaustive()
    }
}

fn unknown_task(run: &engine::Run) -> Error {
    let message = "the handle belongs to another job, or its index is not in the array; use handles of the job that runs";
    Error::new(ErrorKind::UnknownTask, message).in_job(run.name())
}
