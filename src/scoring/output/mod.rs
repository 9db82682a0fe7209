//! What comes out: rows, encoded where they are made, and written once.

mod append;
mod encode;
mod sink;

pub use append::{Append, RowOrder};

#[cfg(feature = "python")]
pub(super) use append::Form;
#[cfg(feature = "python")]
pub(super) use encode::header_line;
pub(super) use encode::{Encoder, Scored};
pub(super) use sink::Sink;
