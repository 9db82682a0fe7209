//! What a node has.

use super::{Amount, IntoAmount};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a node has for tasks. What is not declared is not there.
///
/// ```
/// use batchyard::Capacity;
///
/// let node = Capacity::slots(8).async_slots(1000).cpus(8).memory(64 << 30).gpus([0, 1]).custom("licence", 2);
/// assert_eq!(node.gpu_indexes(), [0, 1]);
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Capacity {
    slots: u32,
    async_slots: u32,
    cpus: Amount,
    memory: u64,
    gpus: Vec<u32>,
    custom: BTreeMap<String, Amount>,
}

impl Capacity {
    /// So many slots and nothing else.
    pub fn slots(slots: u32) -> Self {
        Capacity {
            slots,
            ..Capacity::default()
        }
    }

    /// Slots for bodies that wait; they hold these instead of the others.
    pub fn async_slots(mut self, async_slots: u32) -> Self {
        self.async_slots = async_slots;
        self
    }

    /// CPUs. A float that is no [`Amount`] counts as none.
    pub fn cpus(mut self, cpus: impl IntoAmount) -> Self {
        self.cpus = valid(cpus);
        self
    }

    /// Memory, in bytes.
    pub fn memory(mut self, bytes: u64) -> Self {
        self.memory = bytes;
        self
    }

    /// GPUs, by index. An index counts once.
    pub fn gpus(mut self, indexes: impl IntoIterator<Item = u32>) -> Self {
        self.gpus = indexes.into_iter().collect();
        self.gpus.sort_unstable();
        self.gpus.dedup();
        self
    }

    /// An amount of something that tasks may ask for under this name. A float that is no [`Amount`] counts as none.
    pub fn custom(mut self, name: impl Into<String>, amount: impl IntoAmount) -> Self {
        self.custom.insert(name.into(), valid(amount));
        self
    }

    /// How many slots it has.
    pub fn slot_count(&self) -> u32 {
        self.slots
    }

    /// How many slots it has for bodies that wait.
    pub fn async_slot_count(&self) -> u32 {
        self.async_slots
    }

    /// How many CPUs it has.
    pub fn cpu_count(&self) -> Amount {
        self.cpus
    }

    /// How many bytes of memory it has.
    pub fn memory_bytes(&self) -> u64 {
        self.memory
    }

    /// The indexes of its GPUs.
    pub fn gpu_indexes(&self) -> &[u32] {
        &self.gpus
    }

    /// What else it has, by name.
    pub fn custom_amounts(&self) -> impl Iterator<Item = (&str, Amount)> {
        self.custom
            .iter()
            .map(|(name, &amount)| (name.as_str(), amount))
    }
}

fn valid(amount: impl IntoAmount) -> Amount {
    let amount = amount.into_amount();
    if amount.is_valid() {
        amount
    } else {
        Amount::ZERO
    }
}
