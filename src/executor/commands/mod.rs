//! The commands that an executor runs on its own machine, through the agent.

#[cfg(all(feature = "command", target_os = "linux"))]
mod through_agent;
#[cfg(feature = "command")]
pub(super) use crate::model::Workplace;
#[cfg(all(feature = "command", target_os = "linux"))]
pub(super) use through_agent::Commands;

#[cfg(not(all(feature = "command", target_os = "linux")))]
mod unsupported;
#[cfg(not(all(feature = "command", target_os = "linux")))]
pub(super) use unsupported::Commands;
#[cfg(not(feature = "command"))]
pub(super) use unsupported::Workplace;
