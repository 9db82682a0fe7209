//! What needs Linux: starting processes, finding and ending all that came of one, and knowing when they are gone.

mod process;
mod spawn;
mod tree;
mod watchdog;

pub(super) use process::{Child, End, is_ours};
pub(super) use spawn::Start;
pub(super) use tree::{Leash, Process, Tree};
pub(super) use watchdog::Watchdog;
