//! Jobs: tasks, task arrays and their dependencies, as they are described; and frozen, as they are run.

mod addition;
mod build;
#[cfg(feature = "command")]
mod command;
mod distinct;
mod freeze;
mod frozen;
mod settings;
mod task;

pub use build::Job;
pub use frozen::{FrozenJob, IntoFrozen};
pub use task::Task;

pub(crate) use addition::{Late, Numbers, Ties};
pub(crate) use frozen::{ArrayPart, Frozen};
pub(crate) use settings::QueuedNodes;
