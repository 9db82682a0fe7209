#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(
    not(feature = "thread"),
    allow(
        dead_code,
        unused_imports,
        reason = "lanes are there, and only threads work on them"
    )
)]
#![doc = include_str!("crate.md")]

#[cfg(all(feature = "command", target_os = "linux"))]
mod agent;
#[cfg(feature = "data")]
mod data;
mod engine;
pub mod executor;
mod graph;
mod job;
#[cfg(feature = "journal")]
pub mod journal;
mod model;
mod observe;
mod open;
mod pool;
mod run;
#[cfg(feature = "scoring")]
pub mod scoring;
mod sync;
#[cfg(feature = "testing")]
pub mod testing;
mod work;

pub use executor::Executor;
#[cfg(feature = "thread")]
pub use executor::ThreadExecutor;
#[cfg(all(feature = "process", target_os = "linux"))]
pub use executor::{BodyError, ChildDied, FrameTooLarge, ProcessExecutor, init};
pub use graph::{CriticalPath, Dependency, Graph, GraphEdge, GraphNode};
pub use job::{FrozenJob, IntoFrozen, Job, Task};
#[cfg(feature = "process")]
pub use model::Printed;
pub use model::{
    Amount, AmountError, Attempt, AttemptEnd, Backoff, BoxError, Capacity, Counts, Defect,
    DefectKind, DependencyAction, DisableTasks, Error, ErrorKind, ExitCode, ExitConditions,
    ExitOptions, Explanation, FailurePolicy, FileUploadError, Fingerprint, Fraction, IntoAmount,
    JobAction, MaxRetries, Name, OnTaskFailure, Panic, Permanent, Placement, PreProcessingError,
    ProgressReport, Resources, Result, RetryIf, Returned, RunState, TaskCounters, TaskId,
    TaskOrder, TaskPage, TaskSettings, TaskState, TaskStatus,
};
#[cfg(feature = "command")]
pub use model::{
    Captured, Command, CommandFailure, CommandOutput, CommandSettings, Container, ContainerEngine,
    Ending, FileSource, LaunchError, OutputFiles, PickUp, Retention, Straggler, Stragglers, Sweep,
    Tail, UploadError, Usage,
};
pub use observe::{
    ArrayProgress, Event, EventId, EventKind, Events, NodeId, NodeSnapshot, Progress, RunId,
    RunName, RunSnapshot, Snapshot, Story, Summary, TaskStates, Update,
};
#[cfg(feature = "timeline")]
pub use observe::{AttemptOutcome, AttemptTimes, Drawing, Recording, Timeline};
#[cfg(feature = "progress")]
pub use observe::{ProgressView, ShownProgress};
pub use petgraph;
pub use pool::{Close, Pool};
pub use run::{Ended, Run, Tasks, Waiting};
pub use work::{
    All, AnyFunction, Argument, Array, Asynchronous, Body, Context, EachInput, EachInputs, Element,
    Fallible, Function, Handle, Input, Inputs, Output, OutputOf, Registry, Selector, TaskRef, all,
    asynchronous, fallible,
};

#[cfg(feature = "codec")]
pub use work::CodecError;
#[cfg(feature = "command")]
pub use work::{Commanded, command};
#[cfg(feature = "journal")]
pub use work::{Durable, durable};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// The pages of the guide, whose blocks are tests.
#[cfg(all(doctest, feature = "thread", feature = "testing"))]
mod guide {
    #[doc = include_str!("../docs/guide/first-job.md")]
    struct FirstJob;
    #[doc = include_str!("../docs/guide/values.md")]
    struct Values;
    #[doc = include_str!("../docs/guide/arrays.md")]
    struct Arrays;
    #[doc = include_str!("../docs/guide/failures.md")]
    struct Failures;
    #[cfg(all(feature = "data", target_os = "linux"))]
    #[doc = include_str!("../docs/guide/job-files.md")]
    struct JobFiles;
    #[doc = include_str!("../docs/guide/testing.md")]
    struct Testing;
    #[doc = include_str!("../docs/guide/from-rayon.md")]
    struct FromRayon;
    #[doc = include_str!("../docs/guide/from-dask.md")]
    struct FromDask;
}
