//! What tasks do: bodies and functions, the values they read and return, and the context they see.
//!
//! Nothing here decides when a body runs.

mod body;
mod call;
#[cfg(feature = "codec")]
mod codec;
#[cfg(feature = "command")]
mod command;
mod context;
#[cfg(feature = "journal")]
mod durable;
mod function;
mod handles;
#[cfg(feature = "journal")]
mod identity;
mod inputs;
mod output;
mod panics;
#[cfg(feature = "process")]
mod printed;
#[cfg(feature = "codec")]
mod travel;
mod unit;
mod values;

/// Nothing leaves the process.
#[cfg(not(feature = "codec"))]
mod travel {
    pub(crate) trait Travels {}
    impl<T> Travels for T {}
}

pub use body::{Asynchronous, Body, Fallible, asynchronous, fallible};
#[cfg(feature = "codec")]
pub use codec::CodecError;
#[cfg(feature = "command")]
pub use command::{Commanded, command};
pub use context::Context;
#[cfg(feature = "journal")]
pub use durable::{Durable, durable};
pub use function::{AnyFunction, Argument, Function, Registry};
pub use handles::{Array, Element, Handle, Selector, TaskRef};
pub use inputs::{All, EachInput, EachInputs, Input, Inputs, all};
pub use output::{Output, OutputOf};

pub(crate) use call::{Call, Host, Instance, LanePass, Launcher, Storage};
#[cfg(feature = "codec")]
#[allow(unused_imports, reason = "not every feature that needs one needs both")]
pub(crate) use codec::{decode, encode, take};
#[cfg(feature = "command")]
pub(crate) use command::{EachItself, Launched, Live, LiveStreams, Swept};
pub(crate) use context::Locals;
#[cfg(all(feature = "command", feature = "journal"))]
pub(crate) use identity::environment;
#[cfg(feature = "journal")]
pub(crate) use identity::{CommandParts, Identity, Item as ItemBytes};
pub(crate) use inputs::{Places, Prepend, Ref, Upstream};
pub(crate) use output::Stored;
pub(crate) use unit::{
    Kind, Later, Queued, Step, Unit, each_unit, index_unit, map_unit, task_unit,
};
pub(crate) use values::{Layout, MAX_IMPORTS, Slot, Values, import};
