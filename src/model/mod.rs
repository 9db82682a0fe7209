//! Plain data that everything else speaks in: names, ids, outcomes, settings, errors.

mod defect;
mod error;
mod ids;
mod name;
mod node;
mod outcome;
mod resources;
pub(crate) mod settings;
mod status;

pub use defect::{Defect, DefectKind};
pub use error::{BoxError, Error, ErrorKind, Result};
pub use ids::TaskId;
pub use name::Name;
pub use node::{NodeSpec, Offer};
pub use outcome::{Attempt, AttemptEnd, Counts, Explanation, Panic, Returned, TaskState};
pub use resources::{Amount, AmountError, Capacity, IntoAmount, Resources};
pub use settings::{
    Backoff, FailurePolicy, MaxRetries, Permanent, RetryIf, TaskOrder, TaskSettings,
};
pub use status::{TaskPage, TaskStatus};

pub(crate) use ids::{ELEMENT, JobTag, MAX_INDEX};
