//! What can be wrong with a job as it was described.

use std::fmt;

/// One thing wrong with a job. An [`Error`](crate::Error) of kind
/// [`InvalidJob`](crate::ErrorKind::InvalidJob) lists them all.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Defect {
    pub(crate) index: Option<usize>,
    pub(crate) task: Option<String>,
    pub(crate) kind: DefectKind,
}

/// The kinds of [`Defect`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DefectKind {
    /// A name that is the empty string. Pass `()` for a task without a name.
    #[error("its name is empty; give it a name, or `()` for none")]
    EmptyName,
    /// Two tasks of one name.
    #[error("the name is taken by another task of the job; names are unique in a job")]
    DuplicateName,
    /// A dependency by a name that no task of the job has.
    #[error("it depends on `{0}`, which is no task of this job")]
    UnknownName(String),
    /// A handle that another job gave out.
    #[error("it depends on a task of another job; use handles of the job they are passed to")]
    ForeignHandle,
    /// A task that the run had already, and that an addition would change.
    #[error(
        "the run has it already, so that it can't be changed or made to wait; say this of what is added"
    )]
    AddedBefore,
    /// An addition that changes what holds for the job as a whole.
    #[error(
        "an addition can't change settings of the job as a whole; make them before it is submitted"
    )]
    JobSettings,
    /// Tasks that wait for each other, in the order of waiting, the first repeated at the end.
    #[error("these tasks wait for each other: {}; remove one of the dependencies", .0.join(" → "))]
    Cycle(Vec<String>),
    /// Arrays of different lengths, combined element by element.
    #[error(
        "its arrays are combined element by element and have {0} and {1} elements; make them equally long, or pass `all(&array)`"
    )]
    LengthMismatch(u32, u32),
    /// More than 2^30 − 1 tasks, or array elements.
    #[error(
        "a job holds at most 1,073,741,823 single tasks and as many array elements; split it into several jobs"
    )]
    TooManyTasks,
    /// A task that waits for more than 2^26 − 1 others.
    #[error(
        "it depends on more than 67,108,863 tasks; let it depend on an array of them, or on tasks that each gather some"
    )]
    TooManyDependencies,
    /// A range of exit codes that ends before it begins.
    #[error(
        "its exit conditions have the range {0}..={1}, which holds no code; put the smaller one first"
    )]
    EmptyExitCodes(i32, i32),
    /// A job action that the job's settings keep from being carried out.
    #[error(
        "its exit conditions have a job action; let the job carry it out, with `on_task_failure`"
    )]
    JobActionNotPerformed,
    /// A command has a placeholder of this number, and its sweep only so many parameters.
    #[error(
        "its command has the placeholder {{{0}}}, and its sweep has {1} parameters, counted from 0; write {{{{{0}}}}} for the text itself"
    )]
    UnknownPlaceholder(usize, usize),
    /// A command's container can't be.
    #[error("its container can't be: {0}")]
    Container(&'static str),
    /// More than 32 GiB of outputs, counted as they lie in memory without what they point to.
    #[error("the job's outputs take more than 32 GiB; return boxed values or split the job")]
    OutputsTooLarge,
    /// The iterator that a job was filled from panicked.
    #[error("its iterator panicked after {0} items: {1}")]
    IteratorPanicked(usize, String),
}

impl Defect {
    /// The position of the bad item in the call that added it, when it came from an iterator.
    pub fn index(&self) -> Option<usize> {
        self.index
    }

    /// The task: its name, or `task 17` for one without.
    pub fn task(&self) -> Option<&str> {
        self.task.as_deref()
    }

    /// What is wrong with it.
    pub fn kind(&self) -> &DefectKind {
        &self.kind
    }
}

impl fmt::Display for Defect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(index) = self.index {
            write!(f, "item {index}: ")?;
        }
        if let Some(task) = &self.task {
            write!(f, "`{task}`: ")?;
        }
        fmt::Display::fmt(&self.kind, f)
    }
}
