//! Durable runs.

#![allow(dead_code, unused_imports)]
#[cfg(feature = "conformance")]
pub mod conformance;
mod fault;
mod log;
mod store;

pub use fault::JournalError;
pub use log::FileStore;
pub use store::Store;
