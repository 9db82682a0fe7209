//! The façade of open jobs: tasks that are added to a run, from outside and by its own tasks.

use crate::Job;
use crate::engine::{self, Adder, Admits};
use crate::model::{Error, ErrorKind, Result};
use crate::run::{Run, Waiting};
use crate::work::{Context, OutputOf};
use std::sync::Arc;

impl Run {
    /// Adds tasks to the run of an [open](Job::open) job: all that `describe` adds to the job it is given, or, if anything is
    /// wrong with it, none. What `describe` returns is returned: handles, as a rule.
    ///
    /// What is added may depend on anything the run has, by handle or by name, and read its outputs: *as if it had been there
    /// from the start*. So a dependency on a task that has ended means what it would have meant then. It is met by a success,
    /// unless exit conditions block what depends on it; by a failure if exit conditions
    /// [satisfy](crate::DependencyAction::Satisfy) what depends on it and no value is read; by any end if it is
    /// [after any outcome](Job::order_any_outcome). Otherwise the new task is skipped, naming that task, and comes back when
    /// that one is [reactivated](Run::reactivate). Tasks that the run has already can't be changed, nor
    /// settings of the job as a whole; [`defaults`](Job::defaults) are those of the job, and what is set here holds for this
    /// addition. Earliest starts and deadlines count from the addition.
    ///
    /// The addition is part of the run in all else: counts, limits, failure policy, cancellation. `describe` runs on the
    /// calling thread, under no lock; several threads may add at once. Each addition costs about a kilobyte beside its tasks,
    /// until the run is dropped: add many tasks together rather than one by one.
    ///
    /// # Errors
    /// [`InvalidJob`](ErrorKind::InvalidJob), listing everything that is wrong; [`Unsupported`](ErrorKind::Unsupported) if the
    /// executor can't run it; [`Sealed`](ErrorKind::Sealed) if the run was sealed, has ended, or was submitted whole;
    /// [`PoolClosed`](ErrorKind::PoolClosed). Then nothing was added, and the run goes on as it was.
    pub fn add<R>(&self, describe: impl FnOnce(&mut Job) -> R) -> Result<R> {
        engine::add(&self.run, None, describe)
    }

    /// No more tasks are to be added to the run of an [open](Job::open) job: it ends when those that it has do. That can't be
    /// undone, also not by [reactivating](Run::reactivate) tasks of a run that has ended; doing it again, or to a job that was
    /// submitted whole, changes nothing.
    ///
    /// A run that nobody seals ends with its last task once its handle was dropped or its pool is closed: then only tasks that
    /// have not ended can add to it.
    pub fn seal(&self) {
        seal(&self.run, Admits::Nobody);
    }

    /// The handle is gone: only the run's own tasks can add to it now.
    pub(crate) fn leave_to_tasks(&self) {
        seal(&self.run, Admits::Tasks);
    }
}

impl Context {
    /// Adds tasks to the run of an [open](Job::open) job from inside one of its tasks: see [`Run::add`].
    ///
    /// What is added may depend on [this](Context::this) task itself, and starts after it has succeeded. What an attempt has
    /// added stays, also if the attempt then fails and there is another.
    ///
    /// ```
    /// use batchyard::{Context, Job, Pool, ThreadExecutor};
    ///
    /// fn grow(cx: &Context, depth: u32) {
    ///     for _ in 0..2 {
    ///         let deeper = move |cx: &Context| if depth > 1 { grow(cx, depth - 1) };
    ///         cx.add(|more| more.task((), (), deeper)).expect("nobody has sealed the run");
    ///     }
    /// }
    ///
    /// let mut job = Job::open("tree");
    /// job.task("root", (), |cx: &Context| grow(cx, 4));
    /// let pool = Pool::new(ThreadExecutor::new(2)?);
    /// let ended = pool.submit(job)?.ended(); // the handle is gone: only tasks add
    /// assert_eq!(ended.wait()?.succeeded, 31);
    /// # Ok::<(), batchyard::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Run::add`]; and [`Cancelled`](ErrorKind::Cancelled) if the attempt no longer counts.
    pub fn add<R>(&self, describe: impl FnOnce(&mut Job) -> R) -> Result<R> {
        let adder: Adder = Some(self.attempted());
        engine::add(&self.run()?, adder, describe)
    }

    /// Seals the run, as [`Run::seal`] does.
    pub fn seal(&self) {
        if let Ok(run) = self.run() {
            seal(&run, Admits::Nobody);
        }
    }

    /// The output of another task of the same run, as [`Run::output`] gives it. Waiting for a task that can't end before this
    /// one is [`WouldDeadlock`](ErrorKind::WouldDeadlock); while this one waits, another thread takes its place.
    pub fn output<O: OutputOf>(&self, of: O) -> Result<Waiting<O::Value>> {
        Ok(Waiting::new(&self.run()?, &of))
    }

    fn run(&self) -> Result<Arc<engine::Run>> {
        let run = self.host().clone().any().downcast();
        run.map_err(|_| {
            Error::new(
                ErrorKind::Unsupported,
                "runs outside of this process's pool",
            )
        })
    }
}

fn seal(run: &Arc<engine::Run>, admits: Admits) {
    if run.job().open {
        run.engine()
            .with(|policy, effects| policy.seal(run, admits, effects));
    }
}
