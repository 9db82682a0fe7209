//! Which of several nodes a task goes to.

use serde::{Deserialize, Serialize};

/// Which node a task goes to, of those that wait for work and have room for it. (Azure Batch: node fill type.)
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Placement {
    /// The one with the fewest free slots, so that others become empty and can be taken away.
    Pack,
    /// The one with the most free slots, so that tasks disturb each other least. The default.
    #[default]
    Spread,
}
