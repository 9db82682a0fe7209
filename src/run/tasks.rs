//! Lists of tasks.

use super::{Run, unknown_task};
use crate::engine::Sought;
use crate::model::{Error, ErrorKind, Result, TaskId, TaskPage, TaskState};
use crate::work::Selector;

/// How many tasks a page has if nothing is said.
const PAGE: usize = 100;

/// Which tasks of a run are to be listed: see [`Run::tasks`].
#[derive(Clone, Copy)]
pub struct Tasks<'a> {
    run: &'a Run,
    sought: Sought,
    limit: usize,
    /// A task was asked for that the job does not have.
    unknown: bool,
}

impl Run {
    /// Lists tasks in the order of their ids, page by page: single tasks as they were added, then elements of arrays.
    ///
    /// A page goes on where the one before ended. Those in the states `Failed` and `Running` are found by index; for the
    /// others, and without a state, a page costs a few nanoseconds for each task from its first to its last. So all pages
    /// together cost one pass, however many there are.
    ///
    /// ```
    /// use batchyard::{Job, Pool, TaskState, ThreadExecutor, fallible};
    ///
    /// let mut job = Job::new("lists");
    /// let parse = job.map("parse", ["1", "x", "3", "?"], fallible(|text: &&str| text.parse::<u32>()));
    /// let pool = Pool::new(ThreadExecutor::new(2)?);
    /// let run = pool.submit(job)?;
    /// let _ = run.wait();
    ///
    /// let failed = run.tasks().in_state(TaskState::Failed);
    /// let page = failed.limit(1).page()?;
    /// assert_eq!(page.tasks[0].label, "parse[1]");
    /// assert!(page.tasks[0].error.as_ref().unwrap().contains("invalid digit"));
    /// let page = failed.after(page.next.unwrap()).page()?;
    /// assert_eq!(page.tasks[0].label, "parse[3]");
    /// assert_eq!(page.next, None);
    /// # Ok::<(), batchyard::Error>(())
    /// ```
    pub fn tasks(&self) -> Tasks<'_> {
        Tasks {
            run: self,
            sought: Sought::default(),
            limit: PAGE,
            unknown: false,
        }
    }
}

impl Tasks<'_> {
    /// Only tasks that stand so.
    pub fn in_state(mut self, state: TaskState) -> Self {
        self.sought.state = Some(state);
        self
    }

    /// Only this task, or the elements of this array.
    pub fn of(mut self, task: impl Into<Selector>) -> Self {
        let known = self.run.known(task);
        self.unknown |= known.is_err();
        self.sought.of = known.ok();
        self
    }

    /// Only the task, or the elements of the array, of this name.
    pub fn named(mut self, name: &str) -> Self {
        self.sought.of = self.run.run.named(name);
        self.unknown |= self.sought.of.is_none();
        self
    }

    /// Only tasks after this one: the [`next`](TaskPage::next) of the page before.
    pub fn after(mut self, task: TaskId) -> Self {
        self.sought.after = Some(task);
        self
    }

    /// At most so many: 100 if nothing is said.
    pub fn limit(mut self, tasks: usize) -> Self {
        self.limit = tasks;
        self
    }

    /// The tasks, as they stand now.
    ///
    /// # Errors
    /// [`UnknownTask`](ErrorKind::UnknownTask) if the job has no task or array that was asked for;
    /// [`InvalidSetting`](ErrorKind::InvalidSetting) for a limit of none.
    pub fn page(self) -> Result<TaskPage> {
        if self.unknown {
            return Err(unknown_task(&self.run.run));
        }
        if self.limit == 0 {
            let message = "a page of no tasks leads nowhere; ask for at least one";
            return Err(Error::new(ErrorKind::InvalidSetting, message).in_job(self.run.run.name()));
        }
        let mut tasks = self.run.run.list(self.sought, self.limit.saturating_add(1));
        let more = tasks.len() > self.limit;
        tasks.truncate(self.limit);
        let next = tasks.last().map(|task| task.id).filter(|_| more);
        Ok(TaskPage { tasks, next })
    }
}

impl std::fmt::Debug for Tasks<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tasks")
            .field("run", self.run)
            .finish_non_exhaustive()
    }
}
