//! Jobs: tasks, task arrays and their dependencies, as they are described; and frozen, as they are run.

mod addition;
mod build;
#[cfg(feature = "command")]
mod command;
#[cfg(feature = "data")]
mod described;
mod distinct;
mod find;
mod freeze;
mod frozen;
#[cfg(feature = "journal")]
mod inputs;
mod loose;
mod refusal;
mod rules;
mod settings;
mod task;

pub use build::Job;
pub use frozen::{FrozenJob, IntoFrozen};
pub use task::Task;

pub(crate) use addition::{Late, Needs, Numbers, Ties};
#[cfg(feature = "data")]
pub(crate) use described::{Described, DescribedNode};
pub(crate) use frozen::{ArrayPart, Frozen};
#[cfg(feature = "journal")]
use inputs::InputOrder;
pub(crate) use loose::LooseEdge;
pub(crate) use rules::Rules;
pub(crate) use settings::QueuedNodes;
