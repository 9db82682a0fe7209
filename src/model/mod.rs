//! Plain data that everything else speaks in: names, ids, outcomes, settings, errors.

mod defect;
mod error;
mod ids;
mod name;
mod outcome;
mod settings;

pub use defect::{Defect, DefectKind};
pub use error::{BoxError, Error, ErrorKind, Result};
pub use ids::TaskId;
pub use name::Name;
pub use outcome::{Counts, Panic, TaskState};
pub use settings::FailurePolicy;

pub(crate) use ids::{ELEMENT, JobTag, MAX_INDEX};
