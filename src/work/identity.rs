//! By what a body is known again in another process, or in the same one started anew.

use super::function::{AnyFunction, Fingerprint};
use serde::{Deserialize, Serialize};

/// What a body is. Public only in name, since `Body` mentions it.
#[doc(hidden)]
#[allow(unreachable_pub, reason = "a trait of the public `Body` mentions it")]
#[derive(Serialize, Deserialize, Clone, PartialEq, Eq, Debug)]
pub enum Identity {
    /// Nothing tells it from another: it is a closure, say.
    Unknown,
    Function(Fingerprint),
    /// The parts of a command, each as a hash.
    Command(CommandParts),
    /// A closure whose user says when it changes; it goes by the name of its task.
    Closure(ClosureIdentity),
}

/// A command, in parts: so that it can be said which has changed.
#[doc(hidden)]
#[allow(unreachable_pub, reason = "a trait of the public `Body` mentions it")]
#[derive(Serialize, Deserialize, Clone, Default, PartialEq, Eq, Debug)]
pub struct CommandParts {
    pub program: String,
    pub arguments: u64,
    pub environment: u64,
    pub files: u64,
    pub stdin: u64,
    pub outputs: u64,
}

#[doc(hidden)]
#[allow(unreachable_pub, reason = "a trait of the public `Body` mentions it")]
#[derive(Serialize, Deserialize, Clone, PartialEq, Eq, Debug)]
pub struct ClosureIdentity {
    pub version: u32,
    pub output: String,
}

/// What an element reads that is no other task's output.
pub(crate) enum Item {
    None,
    Encoded,
    /// There is something, beside outputs of other tasks: they can't be told apart.
    Mixed,
}

impl Identity {
    pub(super) fn of_function(function: Option<&'static dyn AnyFunction>) -> Self {
        function.map_or(Identity::Unknown, |function| {
            Identity::Function(function.fingerprint())
        })
    }
}
