//! Settings of a task, or of every element of an array.

use super::retries::{Backoff, MaxRetries, RetryIf};
use crate::model::{ExitConditions, Resources};
use serde::{Deserialize, Serialize};
use std::error::Error as StdError;
use std::time::Duration;

/// When and how often a task, or each element of an array, may run. What is not set is taken from the job's
/// [defaults](crate::Job::defaults).
///
/// ```
/// use batchyard::{Job, TaskSettings};
/// use std::time::Duration;
///
/// let mut job = Job::new("settings");
/// job.defaults(TaskSettings::new().max_retries(2));
/// let fetched = job.map("fetch", ["a", "b"], |url: &&str| url.len());
/// job.configure(&fetched, TaskSettings::new().time_limit(Duration::from_secs(60)));
/// ```
#[derive(Clone, Default, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TaskSettings {
    pub(crate) max_retries: Option<MaxRetries>,
    pub(crate) backoff: Option<Backoff>,
    #[serde(skip)]
    pub(crate) retry_if: Option<RetryIf>,
    pub(crate) time_limit: Option<Duration>,
    pub(crate) total_time_limit: Option<Duration>,
    pub(crate) start_after: Option<Duration>,
    pub(crate) deadline: Option<Duration>,
    pub(crate) priority: Option<i32>,
    pub(crate) resources: Option<Resources>,
    pub(crate) max_parallel: Option<u32>,
    pub(crate) stalled_after: Option<Duration>,
    pub(crate) max_recoveries: Option<u32>,
    pub(crate) exit_conditions: Option<ExitConditions>,
}

impl TaskSettings {
    /// Nothing set.
    pub fn new() -> Self {
        Self::default()
    }

    /// How often the task may fail and be tried again: a number, or [`MaxRetries::Unlimited`]. Default 0.
    pub fn max_retries(mut self, retries: impl Into<MaxRetries>) -> Self {
        self.max_retries = Some(retries.into());
        self
    }

    /// How long to wait before each retry. Default: [`Backoff::default`].
    pub fn backoff(mut self, backoff: Backoff) -> Self {
        self.backoff = Some(backoff);
        self
    }

    /// Which errors are worth a retry. Default: all but [`Permanent`](crate::Permanent). Called outside all locks, with
    /// what the body returned or its [`Panic`](crate::Panic). Not part of the serialised form.
    pub fn retry_if(
        mut self,
        worth: impl Fn(&(dyn StdError + 'static)) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.retry_if = Some(RetryIf::new(worth));
        self
    }

    /// How long one attempt may take. One that takes longer counts as failed at once, whether or not its body can be
    /// stopped; that uses a retry. Default: no limit. (Azure Batch: `maxWallClockTime` of a task.)
    pub fn time_limit(mut self, limit: Duration) -> Self {
        self.time_limit = Some(limit);
        self
    }

    /// How long all attempts together may take, from the first one's start, waits included. No retry begins after it.
    /// Default: no limit.
    pub fn total_time_limit(mut self, limit: Duration) -> Self {
        self.total_time_limit = Some(limit);
        self
    }

    /// Not before this long after the job was submitted, or the task [added](crate::Run::add). Default: at once.
    pub fn start_after(mut self, wait: Duration) -> Self {
        self.start_after = Some(wait);
        self
    }

    /// The task fails if it has not ended this long after the job was submitted, or the task [added](crate::Run::add). Default: never.
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = Some(deadline);
        self
    }

    /// Which of a job's ready tasks go first: those of higher priority. Default 0. Of tasks of several jobs, the job's
    /// [priority](crate::Job::priority) counts first.
    pub fn priority(mut self, priority: i32) -> Self {
        self.priority = Some(priority);
        self
    }

    /// What the task needs of the node it runs on, for as long as it runs. Default: one slot. A job that asks for more
    /// than any node of the pool has is refused at submit.
    ///
    /// A body that waits holds its node's slots for such bodies, and whatever else it asks for.
    pub fn resources(mut self, resources: Resources) -> Self {
        self.resources = Some(resources);
        self
    }

    /// At most so many of an array's elements run at once. 0 counts as 1. Default: as many as have room. As a job's
    /// default it holds for each of its arrays by itself; for all its tasks together there is
    /// [`Job::max_parallel_tasks`](crate::Job::max_parallel_tasks).
    pub fn max_parallel(mut self, tasks: u32) -> Self {
        self.max_parallel = Some(tasks.max(1));
        self
    }

    /// An attempt of which nothing is heard for so long is told of as [stalled](crate::EventKind::AttemptStalled), and
    /// [`Run::explain`](crate::Run::explain) says so. It runs on; a [time limit](Self::time_limit) would end it. What is
    /// heard is [`Context::report_progress`](crate::Context::report_progress). Default: never.
    pub fn stalled_after(mut self, silence: Duration) -> Self {
        self.stalled_after = Some(silence);
        self
    }

    /// How often the task may lose its node, or worker process, and be run again; one more loss, and it counts as the
    /// cause and fails. After its second loss it runs alone on its node, so that others aren't lost with it. Default 5.
    pub fn max_recoveries(mut self, recoveries: u32) -> Self {
        self.max_recoveries = Some(recoveries);
        self
    }

    /// What the task's end means for its dependents and its job, by exit code or kind of failure. They replace those
    /// that were set before, and the job's default ones, as a whole. Default: none.
    pub fn exit_conditions(mut self, conditions: ExitConditions) -> Self {
        self.exit_conditions = Some(conditions);
        self
    }

    /// What is not set, from `defaults`.
    pub(crate) fn or(self, defaults: &TaskSettings) -> Self {
        TaskSettings {
            max_retries: self.max_retries.or(defaults.max_retries),
            backoff: self.backoff.or(defaults.backoff),
            retry_if: self.retry_if.or_else(|| defaults.retry_if.clone()),
            time_limit: self.time_limit.or(defaults.time_limit),
            total_time_limit: self.total_time_limit.or(defaults.total_time_limit),
            start_after: self.start_after.or(defaults.start_after),
            deadline: self.deadline.or(defaults.deadline),
            priority: self.priority.or(defaults.priority),
            resources: self.resources.or_else(|| defaults.resources.clone()),
            max_parallel: self.max_parallel.or(defaults.max_parallel),
            stalled_after: self.stalled_after.or(defaults.stalled_after),
            max_recoveries: self.max_recoveries.or(defaults.max_recoveries),
            exit_conditions: self
                .exit_conditions
                .or_else(|| defaults.exit_conditions.clone()),
        }
    }

    /// Whether lanes may start the task: nothing here needs a clock before it fails, counts what runs, or has to be
    /// looked at when it succeeds.
    pub(crate) fn is_plain(&self) -> bool {
        self.time_limit.is_none()
            && self.total_time_limit.is_none()
            && self.start_after.is_none()
            && self.deadline.is_none()
            && self.max_parallel.is_none()
            && self.stalled_after.is_none()
            && !self.acts_on_success()
    }

    /// Whether a success has consequences of its own.
    pub(crate) fn acts_on_success(&self) -> bool {
        let conditions = self.exit_conditions.as_ref();
        conditions.is_some_and(|conditions| conditions.of_success().is_some())
    }

    /// Whether the task has a say in the order of its job: then no other may jump it.
    pub(crate) fn is_ordered(&self) -> bool {
        self.priority.is_some() || self.resources.is_some()
    }
}
