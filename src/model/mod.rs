//! Plain data that everything else speaks in: names, ids, outcomes, settings, errors.

#[cfg(feature = "command")]
mod command;
mod defect;
mod error;
mod ids;
mod name;
mod node;
mod outcome;
mod resources;
pub(crate) mod settings;

#[cfg(feature = "command")]
pub use command::{
    Captured, Command, CommandFailure, CommandOutput, CommandSettings, Ending, ExitCode,
    FileSource, FileUploadError, LaunchError, OutputFiles, PickUp, PreProcessingError, Retention,
    Straggler, Stragglers, UploadError, Usage,
};
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

#[cfg(feature = "command")]
pub(crate) use command::Workplace;
#[cfg(all(feature = "command", target_os = "linux"))]
pub(crate) use command::{CommandRules, Content, Keeper, Kept, ResourceFile, Stdin, leaves};
pub(crate) use ids::{ELEMENT, JobTag, MAX_INDEX};
pub(crate) use outcome::TimeLimitOver;
