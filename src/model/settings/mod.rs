//! Settings of jobs and tasks.

mod placement;
mod retries;
mod task;

pub use placement::Placement;
pub(crate) use retries::seed;
pub use retries::{Backoff, MaxRetries, Permanent, RetryIf};
pub use task::TaskSettings;

use serde::{Deserialize, Serialize};

/// What the failure of a task means for the rest of its job. The dependents of a failed task are skipped, unless its
/// [exit conditions](crate::ExitConditions) satisfy them or they wait for
/// [any outcome](crate::Task::after_any_outcome).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "data", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FailurePolicy {
    /// Everything that does not depend on the failed task goes on. The default.
    #[default]
    Continue,
    /// The first failure cancels what has not ended.
    FailFast,
    /// As many failures are borne; one more cancels what has not ended. `MaxFailures(0)` is `FailFast`.
    MaxFailures(u64),
}

/// Which of a job's ready tasks go first, among those of equal priority. Jobs of equal priority go first job first,
/// whatever the order inside them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "data", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum TaskOrder {
    /// As they became ready, more or less. The default, and the quickest.
    #[default]
    Ready,
    /// As they were added to the job; elements by index.
    Submission,
    /// As they became ready, together with those of other jobs that say so, and behind jobs that don't.
    Interleaved,
}

impl FailurePolicy {
    /// Whether a job with so many failed tasks goes on.
    pub(crate) fn bears(self, failures: u64) -> bool {
        match self {
            FailurePolicy::Continue => true,
            FailurePolicy::FailFast => failures == 0,
            FailurePolicy::MaxFailures(most) => failures <= most,
        }
    }
}
