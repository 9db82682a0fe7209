//! Plain data that everything else speaks in: names, ids, outcomes, settings, errors.

#[cfg(feature = "command")]
mod command;
mod defect;
mod error;
mod exit;
mod fingerprint;
mod ids;
mod name;
mod node;
mod outcome;
mod resources;
pub(crate) mod settings;
mod status;

#[cfg(feature = "command")]
pub use command::{
    Captured, Command, CommandFailure, CommandOutput, CommandSettings, Container, ContainerEngine,
    Ending, FileSource, LaunchError, OutputFiles, PickUp, Retention, Straggler, Stragglers, Sweep,
    Tail, UploadError, Usage,
};
pub use defect::{Defect, DefectKind};
pub use error::{BoxError, Error, ErrorKind, Result};
pub use exit::{
    DependencyAction, DisableTasks, ExitCode, ExitConditions, ExitOptions, FileUploadError,
    JobAction, OnTaskFailure, PreProcessingError,
};
pub use fingerprint::Fingerprint;
pub use ids::TaskId;
pub use name::Name;
pub use node::{NodeSpec, Offer};
#[cfg(feature = "process")]
pub use outcome::Printed;
pub use outcome::{
    Attempt, AttemptEnd, Counts, Explanation, Fraction, Panic, ProgressReport, Returned, RunState,
    TaskCounters, TaskState,
};
pub use resources::{Amount, AmountError, Capacity, IntoAmount, Resources};
pub use settings::{
    Backoff, FailurePolicy, MaxRetries, Permanent, Placement, RetryIf, TaskOrder, TaskSettings,
};
pub use status::{TaskPage, TaskStatus};

#[cfg(all(feature = "command", any(feature = "data", feature = "journal")))]
pub(crate) use command::Parameter;
#[cfg(all(feature = "command", feature = "journal"))]
pub(crate) use command::SavedOutput;
#[cfg(feature = "data")]
pub(crate) use command::Variable;
#[cfg(all(feature = "command", target_os = "linux"))]
pub(crate) use command::{CommandRules, Keeper, Kept, Login};
#[cfg(all(
    feature = "command",
    any(target_os = "linux", feature = "data", feature = "journal")
))]
pub(crate) use command::{Content, ResourceFile, Stdin, leaves};
#[cfg(feature = "command")]
pub(crate) use command::{LiveStream, Workplace};
pub(crate) use exit::Exit;
pub(crate) use ids::{ELEMENT, JobTag, MAX_INDEX};
pub(crate) use outcome::TimeLimitOver;
