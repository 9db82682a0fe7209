//! A single task with settings of its own.

use crate::model::{Backoff, ExitConditions, JobTag, MaxRetries, Name, Resources, TaskSettings};
use crate::work::{Body, Inputs, Places, Slot, TaskRef, Unit, Upstream, task_unit};
use std::fmt;
use std::time::Duration;

/// A task before it is added to a job: a name, inputs, a body, and settings. See [`Job::add`](crate::Job::add).
///
/// ```
/// use batchyard::{Job, Task};
///
/// let mut job = Job::new("settings");
/// let clean = job.task("clean", (), || ());
/// let rows = job.add(Task::new("count", (), || 41u64).after(clean).keep());
/// let next = job.task("next", &rows, |rows: &u64| rows + 1);
/// ```
pub struct Task<T> {
    pub(super) name: Name,
    pub(super) inputs: Vec<Upstream>,
    pub(super) after: Vec<TaskRef>,
    pub(super) after_named: Vec<String>,
    pub(super) after_any_outcome: Vec<TaskRef>,
    pub(super) keep: bool,
    pub(super) settings: TaskSettings,
    pub(super) unit: Box<dyn MakeUnit<T>>,
}

/// A body that has not been placed yet.
pub(super) trait MakeUnit<T> {
    /// `relocate` is for [its inputs](Places::relocate).
    fn make(self: Box<Self>, slot: Slot<T>, relocate: &mut Relocate<'_>) -> Box<dyn Unit>;

    /// The body, if it is a command, which can still be changed.
    #[cfg(feature = "command")]
    fn command(&mut self) -> Option<&mut crate::model::Command> {
        None
    }
}

/// Says where an input lies, given where its handle says that it does.
pub(super) type Relocate<'a> = dyn FnMut(u32) -> u32 + 'a;

impl<T, F> MakeUnit<T> for F
where
    F: FnOnce(Slot<T>, &mut Relocate<'_>) -> Box<dyn Unit>,
{
    fn make(self: Box<Self>, slot: Slot<T>, relocate: &mut Relocate<'_>) -> Box<dyn Unit> {
        self(slot, relocate)
    }
}

impl<T: Send + Sync + 'static> Task<T> {
    /// A task that reads `inputs` and runs `body` on them: see [`Job::task`](crate::Job::task).
    pub fn new<I, B, M>(name: impl Into<Name>, inputs: I, body: B) -> Self
    where
        I: Inputs,
        B: Body<I::Args, M, Output = T>,
        M: 'static,
    {
        let mut upstreams = Vec::new();
        inputs.upstreams(&mut |input| upstreams.push(input));
        let mut places = inputs.places();
        let make = move |slot: Slot<T>, relocate: &mut Relocate<'_>| {
            places.relocate(relocate);
            task_unit(body, places, slot)
        };
        Task {
            inputs: upstreams,
            ..Task::of_unit(name.into(), Box::new(make))
        }
    }

    /// A task without inputs.
    pub(super) fn of_unit(name: Name, unit: Box<dyn MakeUnit<T>>) -> Self {
        Task {
            name,
            inputs: Vec::new(),
            after: Vec::new(),
            after_named: Vec::new(),
            after_any_outcome: Vec::new(),
            keep: false,
            settings: TaskSettings::default(),
            unit,
        }
    }

    /// Runs only when this other task, or whole array, has succeeded.
    pub fn after(mut self, task: impl Into<TaskRef>) -> Self {
        self.after.push(task.into());
        self
    }

    /// Runs only when the task, or array, of this name has succeeded. It may be added later.
    pub fn after_named(mut self, name: impl Into<String>) -> Self {
        self.after_named.push(name.into());
        self
    }

    /// Runs only when this other task, or whole array, has ended, whatever became of it: see
    /// [`Job::order_any_outcome`](crate::Job::order_any_outcome).
    pub fn after_any_outcome(mut self, task: impl Into<TaskRef>) -> Self {
        self.after_any_outcome.push(task.into());
        self
    }

    /// When and how often it may run, all at once. What was set before is kept where this sets nothing.
    pub fn settings(mut self, settings: TaskSettings) -> Self {
        self.settings = settings.or(&self.settings);
        self
    }

    /// See [`TaskSettings::max_retries`].
    pub fn max_retries(self, retries: impl Into<MaxRetries>) -> Self {
        self.settings(TaskSettings::new().max_retries(retries))
    }

    /// See [`TaskSettings::backoff`].
    pub fn backoff(self, backoff: Backoff) -> Self {
        self.settings(TaskSettings::new().backoff(backoff))
    }

    /// See [`TaskSettings::time_limit`].
    pub fn time_limit(self, limit: Duration) -> Self {
        self.settings(TaskSettings::new().time_limit(limit))
    }

    /// See [`TaskSettings::stalled_after`].
    pub fn stalled_after(self, silence: Duration) -> Self {
        self.settings(TaskSettings::new().stalled_after(silence))
    }

    /// See [`TaskSettings::priority`].
    pub fn priority(self, priority: i32) -> Self {
        self.settings(TaskSettings::new().priority(priority))
    }

    /// See [`TaskSettings::resources`].
    pub fn resources(self, resources: Resources) -> Self {
        self.settings(TaskSettings::new().resources(resources))
    }

    /// See [`TaskSettings::exit_conditions`].
    pub fn exit_conditions(self, conditions: ExitConditions) -> Self {
        self.settings(TaskSettings::new().exit_conditions(conditions))
    }

    /// Keeps the output as long as the [`Run`](crate::Run), although others depend on it.
    pub fn keep(mut self) -> Self {
        self.keep = true;
        self
    }
}

impl<T> Task<T> {
    pub(super) fn label(&self) -> Option<String> {
        self.name.as_str().map(str::to_owned)
    }

    /// The jobs whose tasks it names.
    pub(super) fn dependencies(&self) -> impl Iterator<Item = JobTag> + '_ {
        self.inputs
            .iter()
            .map(|input| input.job)
            .chain(self.after.iter().map(|task| task.job))
            .chain(self.after_any_outcome.iter().map(|task| task.job))
    }
}

impl<T> fmt::Debug for Task<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Task")
            .field("name", &self.name.as_str())
            .finish_non_exhaustive()
    }
}
