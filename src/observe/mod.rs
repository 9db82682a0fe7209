//! Seeing what happens: events, progress, and what is made of them.
//!
//! Everything here reads what the engine writes down for those who [listen](Events), or asks a run how it stands. Nothing
//! below knows of it.

#[cfg(feature = "progress")]
mod bars;
mod event;
mod events;
#[cfg(feature = "metrics")]
mod metrics;
mod progress;
mod snapshot;
mod story;
mod summary;
mod words;

#[cfg(feature = "progress")]
pub use bars::{ProgressView, ShownProgress};
pub use event::{Event, EventId, EventKind, NodeId, RunId, RunName};
pub use events::{Events, Update};
pub use progress::{ArrayProgress, Progress};
pub use snapshot::{NodeSnapshot, RunSnapshot, Snapshot, TaskStates};
pub use story::Story;
pub use summary::Summary;
