//! Seeing what happens: events, progress, and what is made of them.
//!
//! Everything here reads what the engine writes down for those who [listen](Events), or asks a run how it stands. Nothing
//! below knows of it.

mod event;
mod events;
mod snapshot;
mod words;

pub use event::{Event, EventId, EventKind, NodeId, RunId, RunName};
pub use events::{Events, Update};
pub use snapshot::{NodeSnapshot, RunSnapshot, Snapshot, TaskStates};
