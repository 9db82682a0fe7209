//! What a function is, in words that another process understands.

use serde::{Deserialize, Serialize};
use std::fmt;

/// What two processes compare to know whether they mean the same function.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Fingerprint {
    /// The function's name.
    pub name: String,
    /// Its version.
    pub version: u32,
    /// The type of its argument, as the compiler calls it.
    pub argument: String,
    /// The type of its output, as the compiler calls it.
    pub output: String,
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Fingerprint {
            name,
            version,
            argument,
            output,
        } = self;
        write!(
            f,
            "`{name}` in version {version}, from `{argument}` to `{output}`"
        )
    }
}
