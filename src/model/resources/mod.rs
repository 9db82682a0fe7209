//! What tasks ask for and nodes have.

mod amount;
mod capacity;
#[cfg(test)]
mod tests;

pub use amount::{Amount, AmountError, IntoAmount};
pub use capacity::Capacity;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// What one task needs of the node it runs on, for as long as it runs; or of several nodes at once, if it has several
/// [instances](Resources::instances). The default is one slot.
///
/// A node that does not declare a resource does not have it; tasks that don't ask for it run there all the same.
///
/// ```
/// use batchyard::Resources;
///
/// let training = Resources::slots(2).cpus(1.5).memory(4 << 30).gpus(1).custom("licence", 1);
/// assert_eq!(training.to_string(), "2 slots, 1.5 cpus, 4294967296 bytes of memory, 1 gpus, 1 licence");
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "data", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Resources {
    #[serde(deserialize_with = "at_least_one")]
    #[cfg_attr(feature = "data", schemars(range(min = 1)))]
    slots: u32,
    cpus: Amount,
    memory: u64,
    #[serde(deserialize_with = "whole_or_fraction")]
    gpus: Amount,
    custom: BTreeMap<String, Amount>,
    #[serde(deserialize_with = "at_least_one")]
    #[cfg_attr(feature = "data", schemars(range(min = 1)))]
    instances: u32,
    packed: bool,
}

impl Resources {
    /// So many slots and nothing else. 0 counts as 1: whatever runs takes at least one.
    pub fn slots(slots: u32) -> Self {
        Resources {
            slots: slots.max(1),
            cpus: Amount::ZERO,
            memory: 0,
            gpus: Amount::ZERO,
            custom: BTreeMap::new(),
            instances: 1,
            packed: false,
        }
    }

    /// CPUs, or part of one.
    pub fn cpus(mut self, cpus: impl IntoAmount) -> Self {
        self.cpus = cpus.into_amount();
        self
    }

    /// Memory, in bytes.
    pub fn memory(mut self, bytes: u64) -> Self {
        self.memory = bytes;
        self
    }

    /// Whole GPUs, which nobody else uses meanwhile. The task is told their indexes.
    pub fn gpus(mut self, gpus: u32) -> Self {
        self.gpus = gpus.into();
        self
    }

    /// Part of one GPU, above 0 and at most 1, shared with others that ask for a part. 1 is a whole one. Replaces what
    /// [`gpus`](Resources::gpus) asked for.
    pub fn gpu_fraction(mut self, fraction: impl IntoAmount) -> Self {
        let fraction = fraction.into_amount();
        self.gpus = if fraction <= Amount::ONE {
            fraction
        } else {
            Amount::INVALID
        };
        self
    }

    /// An amount of something that nodes have under this name, such as licences. 0 asks for none.
    pub fn custom(mut self, name: impl Into<String>, amount: impl IntoAmount) -> Self {
        let (name, amount) = (name.into(), amount.into_amount());
        match amount == Amount::ZERO {
            true => self.custom.remove(&name),
            false => self.custom.insert(name, amount),
        };
        self
    }

    /// All this so many times, at once or not at all: the task becomes a *gang*. 0 counts as 1, which is no gang.
    ///
    /// The body runs once for each instance, all at the same time, each on a node of its own unless they are
    /// [packed](Resources::packed); [`Context::instance`](crate::Context::instance) tells them apart. The task succeeds
    /// when all have, and its output is that of instance 0. When one fails the others are stopped, and another attempt is
    /// one of all of them. Each instance counts as a task against limits of how many may run at once. (Azure Batch:
    /// multi-instance tasks, where the end of the primary also ends the others.)
    ///
    /// A thread executor is one node, so a gang on threads must be packed.
    pub fn instances(mut self, instances: u32) -> Self {
        self.instances = instances.max(1);
        self
    }

    /// Instances may share nodes. Default: each has a node of its own.
    pub fn packed(mut self) -> Self {
        self.packed = true;
        self
    }

    /// How many instances it asks for.
    pub fn instances_asked(&self) -> u32 {
        self.instances
    }

    /// Whether instances may share nodes.
    pub fn is_packed(&self) -> bool {
        self.packed
    }

    /// How many slots it asks for, for each instance.
    pub fn slots_asked(&self) -> u32 {
        self.slots
    }

    /// How many CPUs it asks for.
    pub fn cpus_asked(&self) -> Amount {
        self.cpus
    }

    /// How many bytes of memory it asks for.
    pub fn memory_asked(&self) -> u64 {
        self.memory
    }

    /// How many GPUs it asks for: below 1 a part of one, else whole ones.
    pub fn gpus_asked(&self) -> Amount {
        self.gpus
    }

    /// Whether all amounts are such, and not [`Amount::INVALID`].
    pub(crate) fn is_valid(&self) -> bool {
        let amounts = [self.cpus, self.gpus].into_iter();
        let mut all = amounts.chain(self.custom.values().copied());
        all.all(Amount::is_valid)
    }

    /// What else it asks for, by name.
    pub fn custom_asked(&self) -> impl Iterator<Item = (&str, Amount)> {
        self.custom
            .iter()
            .map(|(name, &amount)| (name.as_str(), amount))
    }
}

impl Default for Resources {
    fn default() -> Self {
        Resources::slots(1)
    }
}

impl fmt::Display for Resources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.instances > 1 {
            write!(f, "{} instances, each with ", self.instances)?;
        }
        write!(
            f,
            "{} slot{}",
            self.slots,
            if self.slots == 1 { "" } else { "s" }
        )?;
        if self.cpus > Amount::ZERO {
            write!(f, ", {} cpus", self.cpus)?;
        }
        if self.memory > 0 {
            write!(f, ", {} bytes of memory", self.memory)?;
        }
        if self.gpus > Amount::ZERO {
            write!(f, ", {} gpus", self.gpus)?;
        }
        self.custom_asked()
            .try_for_each(|(name, amount)| write!(f, ", {amount} {name}"))
    }
}

fn at_least_one<'de, D: Deserializer<'de>>(from: D) -> Result<u32, D::Error> {
    match u32::deserialize(from)? {
        0 => Err(D::Error::custom("a task takes at least one slot")),
        slots => Ok(slots),
    }
}

fn whole_or_fraction<'de, D: Deserializer<'de>>(from: D) -> Result<Amount, D::Error> {
    let gpus = Amount::deserialize(from)?;
    match gpus <= Amount::ONE || gpus.is_whole() {
        true => Ok(gpus),
        false => Err(D::Error::custom(format!(
            "{gpus} gpus: ask for whole ones, or for part of one"
        ))),
    }
}
