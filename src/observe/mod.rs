//! Seeing what happens: events, progress, and what is made of them.
//!
//! Everything here reads what the engine writes down for those who [listen](Events), or asks a run how it stands. Nothing
//! below knows of it.

#[cfg(feature = "progress")]
mod bars;
#[cfg(feature = "timeline")]
mod drawing;
mod event;
mod events;
#[cfg(feature = "metrics")]
mod metrics;
mod progress;
mod snapshot;
mod story;
mod summary;
#[cfg(feature = "timeline")]
mod timeline;
mod words;

#[cfg(feature = "progress")]
pub use bars::{ProgressView, ShownProgress};
#[cfg(feature = "timeline")]
pub use drawing::Drawing;
pub use event::{Event, EventId, EventKind, NodeId, RunId, RunName};
pub use events::{Events, Update};
pub use progress::{ArrayProgress, Progress};
pub use snapshot::{NodeSnapshot, RunSnapshot, Snapshot, TaskStates};
pub use story::Story;
pub use summary::Summary;
#[cfg(feature = "timeline")]
pub use timeline::{AttemptOutcome, AttemptTimes, Recording, Timeline};
