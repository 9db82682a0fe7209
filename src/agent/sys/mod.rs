//! What needs Linux: starting processes, finding and ending all that came of one, and knowing when they are gone.

mod process;
#[cfg(feature = "process")]
mod shared;
mod spawn;
mod tree;
mod watchdog;

pub(super) use process::{Child, End, is_ours};
#[cfg(feature = "process")]
pub(crate) use shared::SharedMemory;
pub(super) use spawn::Start;
pub(super) use tree::{Leash, Process, Tree};
pub(super) use watchdog::Watchdog;
