//! What the end of a task means for its dependents and its job, by how its body ended.

use super::BoxError;
use serde::{Deserialize, Serialize};
use std::error::Error as StdError;
use std::fmt;
use std::ops::RangeInclusive;

/// What the end of a task means for its dependents and for its job, by exit code or kind of failure. (Azure Batch:
/// exit conditions.)
///
/// A body has an exit code if the error that it returns is an [`ExitCode`], or has one among its sources. Conditions are
/// looked at when a task *ends*: for a failure that is retried, only the last attempt counts. Of what is set here, the
/// first of these decides:
///
/// 1. the exit code, if it is listed: by itself, or else in the first range that holds it. That counts also if files
///    could not be uploaded afterwards, and for a success, whose code is 0;
/// 2. for a [`PreProcessingError`], [`pre_processing_error`](Self::pre_processing_error);
/// 3. for a [`FileUploadError`], [`file_upload_error`](Self::file_upload_error);
/// 4. for every failure, whatever it was, [`otherwise`](Self::otherwise). A success that isn't listed has no
///    consequences of its own.
///
/// A task that is cancelled has not ended by itself, and no condition applies to it.
///
/// ```
/// use batchyard::*;
///
/// let mut job = Job::new("conditions");
/// let probe = job.task("probe", (), fallible(|| Err::<(), _>(ExitCode(3))));
/// let report = job.task_after("report", [probe.into()], || "done anyway");
/// job.configure(&probe, TaskSettings::new().exit_conditions(
///     ExitConditions::new()
///         .range(1..=9, DependencyAction::Satisfy)
///         .otherwise(JobAction::Terminate),
/// ));
/// let pool = Pool::new(ThreadExecutor::new(1)?);
/// let run = pool.submit(job)?;
/// assert_eq!(*run.output(&report).wait()?, "done anyway");
/// assert_eq!(run.state(&probe)?, TaskState::Failed);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ExitConditions {
    pub(crate) codes: Vec<(i32, ExitOptions)>,
    pub(crate) ranges: Vec<(RangeInclusive<i32>, ExitOptions)>,
    pub(crate) pre_processing_error: Option<ExitOptions>,
    pub(crate) file_upload_error: Option<ExitOptions>,
    pub(crate) otherwise: Option<ExitOptions>,
}

/// What is done when a task ends in a certain way. What is not set is as it is for a task without conditions: the job is
/// left alone; dependents run after a success, and are skipped after a failure.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ExitOptions {
    pub(crate) job_action: Option<JobAction>,
    pub(crate) dependency_action: Option<DependencyAction>,
}

/// What the end of a task does to its job.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "data", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum JobAction {
    /// Nothing.
    None,
    /// Disables the run, as [`Run::disable`](crate::Run::disable) does with [`DisableTasks::Requeue`].
    Disable,
    /// Terminates the run, as [`Run::terminate`](crate::Run::terminate) does, with the reason `TaskFailed`, or
    /// `TaskSucceeded`.
    Terminate,
}

/// What the end of a task does to those that depend on it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "data", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum DependencyAction {
    /// They may run. Those that read the output of a task that failed are skipped all the same: there is none.
    Satisfy,
    /// They are skipped.
    Block,
}

/// What becomes of a run's running tasks when it is [disabled](crate::Run::disable). (Azure Batch: `disableTasks`.)
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum DisableTasks {
    /// They count as over at once, and run again, from the start and as another attempt, when the run is enabled. That
    /// uses none of their retries.
    Requeue,
    /// They are cancelled.
    Terminate,
    /// They run to their end; a failure is retried when the run is enabled.
    Wait,
}

/// Whether job actions of [`ExitConditions`] are carried out. (Azure Batch: `onTaskFailure`.)
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "data", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum OnTaskFailure {
    /// No: a job that has some is refused.
    NoAction,
    /// Yes.
    PerformExitOptionsJobAction,
}

/// A body's exit code, as the error that it fails with, or as a source of that error.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, thiserror::Error)]
#[error("exited with code {0}")]
pub struct ExitCode(pub i32);

/// What a task needs before its body can begin could not be had: a file, a program, an image. Such a failure uses no
/// retry, and [`ExitConditions::pre_processing_error`] is for it.
#[derive(Debug)]
pub struct PreProcessingError(BoxError);

/// A body has ended, and its files could not be uploaded. Such a failure uses no retry, and
/// [`ExitConditions::file_upload_error`] is for it, unless the body's exit code is listed.
#[derive(Debug)]
pub struct FileUploadError {
    cause: BoxError,
    code: Option<ExitCode>,
}

/// How an attempt ended, as far as conditions can tell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Exit {
    code: Option<i32>,
    stage: Stage,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    PreProcessing,
    Body,
    FileUpload,
}

impl ExitConditions {
    /// None.
    pub fn new() -> Self {
        Self::default()
    }

    /// For this exit code. 0 is that of a success.
    pub fn code(mut self, code: i32, options: impl Into<ExitOptions>) -> Self {
        self.codes.push((code, options.into()));
        self
    }

    /// For these exit codes, both ends included.
    pub fn range(mut self, codes: RangeInclusive<i32>, options: impl Into<ExitOptions>) -> Self {
        self.ranges.push((codes, options.into()));
        self
    }

    /// For a [`PreProcessingError`].
    pub fn pre_processing_error(mut self, options: impl Into<ExitOptions>) -> Self {
        self.pre_processing_error = Some(options.into());
        self
    }

    /// For a [`FileUploadError`].
    pub fn file_upload_error(mut self, options: impl Into<ExitOptions>) -> Self {
        self.file_upload_error = Some(options.into());
        self
    }

    /// For every failure that nothing else here is for: with an exit code or without one, also a panic, a time limit,
    /// or the loss of too many nodes. (Azure Batch: `default`.)
    pub fn otherwise(mut self, options: impl Into<ExitOptions>) -> Self {
        self.otherwise = Some(options.into());
        self
    }

    /// What applies to a task that failed like this.
    pub(crate) fn of_failure(&self, exit: Exit) -> ExitOptions {
        let listed = exit.code.and_then(|code| self.listed(code));
        let by_stage = match exit.stage {
            Stage::PreProcessing => self.pre_processing_error,
            Stage::FileUpload => self.file_upload_error,
            Stage::Body => None,
        };
        listed.or(by_stage).or(self.otherwise).unwrap_or_default()
    }

    /// What applies to a task that succeeded, if that is listed.
    pub(crate) fn of_success(&self) -> Option<ExitOptions> {
        self.listed(0)
    }

    fn listed(&self, code: i32) -> Option<ExitOptions> {
        let exact = self.codes.iter().find(|(listed, _)| *listed == code);
        let within = || self.ranges.iter().find(|(range, _)| range.contains(&code));
        let options = exact.map(|(_, options)| options);
        options.or_else(|| Some(&within()?.1)).copied()
    }

    /// Whether some failure lets dependents run.
    pub(crate) fn may_satisfy(&self) -> bool {
        let satisfies =
            |options: ExitOptions| options.dependency_action == Some(DependencyAction::Satisfy);
        self.all().any(satisfies)
    }

    pub(crate) fn sets_job_action(&self) -> bool {
        self.all().any(|options| options.job_action.is_some())
    }

    /// A range that holds no code.
    pub(crate) fn empty_range(&self) -> Option<&RangeInclusive<i32>> {
        let mut ranges = self.ranges.iter().map(|(range, _)| range);
        ranges.find(|range| range.is_empty())
    }

    fn all(&self) -> impl Iterator<Item = ExitOptions> + '_ {
        let listed = self.codes.iter().map(|(_, options)| *options);
        let kinds = [
            self.pre_processing_error,
            self.file_upload_error,
            self.otherwise,
        ];
        listed
            .chain(self.ranges.iter().map(|(_, options)| *options))
            .chain(kinds.into_iter().flatten())
    }
}

impl ExitOptions {
    /// Nothing set.
    pub fn new() -> Self {
        Self::default()
    }

    /// What is done to the job. Default: [`JobAction::None`].
    pub fn job_action(mut self, action: JobAction) -> Self {
        self.job_action = Some(action);
        self
    }

    /// What is done to those that depend on the task. Default: [`Satisfy`](DependencyAction::Satisfy) after a success,
    /// [`Block`](DependencyAction::Block) after a failure.
    pub fn dependency_action(mut self, action: DependencyAction) -> Self {
        self.dependency_action = Some(action);
        self
    }

    pub(crate) fn job_action_or(self, unset: JobAction) -> JobAction {
        self.job_action.unwrap_or(unset)
    }

    pub(crate) fn dependency_action_or(self, unset: DependencyAction) -> DependencyAction {
        self.dependency_action.unwrap_or(unset)
    }
}

impl From<JobAction> for ExitOptions {
    fn from(action: JobAction) -> Self {
        ExitOptions::new().job_action(action)
    }
}

impl From<DependencyAction> for ExitOptions {
    fn from(action: DependencyAction) -> Self {
        ExitOptions::new().dependency_action(action)
    }
}

impl PreProcessingError {
    /// A failure before the body. Its cause stays one: [`Error::cause`](crate::Error::cause) finds it.
    pub fn new(cause: impl Into<BoxError>) -> Self {
        PreProcessingError(cause.into())
    }
}

impl FileUploadError {
    /// A failure after the body. Its cause stays one: [`Error::cause`](crate::Error::cause) finds it.
    pub fn new(cause: impl Into<BoxError>) -> Self {
        FileUploadError {
            cause: cause.into(),
            code: None,
        }
    }

    /// With what the body had exited before.
    pub fn after(mut self, code: ExitCode) -> Self {
        self.code = Some(code);
        self
    }
}

impl Exit {
    /// Of a failure for which there is no error of a body.
    pub(crate) const FAILED: Exit = Exit {
        code: None,
        stage: Stage::Body,
    };

    /// What an error, and its sources, say. Calls code of the user's.
    pub(crate) fn of(cause: &(dyn StdError + 'static)) -> Self {
        let mut exit = Exit::FAILED;
        let mut next = Some(cause);
        while let Some(error) = next {
            exit.look_at(error);
            next = error.source();
        }
        exit
    }

    fn look_at(&mut self, error: &(dyn StdError + 'static)) {
        let mut code = error.downcast_ref::<ExitCode>().copied();
        if error.is::<PreProcessingError>() {
            self.stage = Stage::PreProcessing;
        }
        if let Some(upload) = error.downcast_ref::<FileUploadError>() {
            self.stage = Stage::FileUpload;
            code = upload.code;
        }
        self.code = self.code.or(code.map(|code| code.0));
    }

    /// Whether it was the body that failed, and not what comes before and after it.
    pub(crate) fn is_of_body(self) -> bool {
        self.stage == Stage::Body
    }
}

impl fmt::Display for PreProcessingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "could not be begun: {}", self.0)
    }
}

impl StdError for PreProcessingError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        Some(&*self.0)
    }
}

impl fmt::Display for FileUploadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.code {
            Some(code) => write!(f, "{code}, and its files were not uploaded: ")?,
            None => f.write_str("its files were not uploaded: ")?,
        }
        fmt::Display::fmt(&self.cause, f)
    }
}

impl StdError for FileUploadError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        Some(&*self.cause)
    }
}
