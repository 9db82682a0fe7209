//! Dimensions, in words.

use super::needs::{ASYNC_SLOTS, CPUS, FIXED, MEMORY, SLOTS};
use crate::model::Amount;
use std::fmt;

/// Something that a node may have too little of.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Dimension {
    Slots,
    AsyncSlots,
    Cpus,
    Memory,
    Gpus,
    /// All of a node; and a place beside what may be there alone.
    WholeNodes,
    Places,
    Custom(String),
}

/// Too little of one thing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Shortage {
    pub(crate) dimension: Dimension,
    pub(crate) asks: Amount,
    pub(crate) has: Amount,
}

/// The names of custom dimensions, as small integers.
#[derive(Clone, Default)]
pub(super) struct Names(Vec<String>);

impl Names {
    pub(super) fn intern(&mut self, name: &str) -> usize {
        self.0
            .iter()
            .position(|known| known == name)
            .unwrap_or_else(|| {
                self.0.push(name.to_owned());
                self.0.len() - 1
            })
    }

    pub(super) fn dimension(&self, number: usize) -> Dimension {
        match number {
            SLOTS => Dimension::Slots,
            ASYNC_SLOTS => Dimension::AsyncSlots,
            CPUS => Dimension::Cpus,
            MEMORY => Dimension::Memory,
            custom => Dimension::Custom(self.0.get(custom - FIXED).cloned().unwrap_or_default()),
        }
    }
}

impl Shortage {
    /// Others are there; or one that is to be alone.
    pub(super) fn of_seats(alone: bool) -> Self {
        Shortage {
            dimension: match alone {
                true => Dimension::WholeNodes,
                false => Dimension::Places,
            },
            asks: Amount::from_ten_thousandths(10_000),
            has: Amount::ZERO,
        }
    }
}

impl fmt::Display for Dimension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Dimension::Slots => "slots",
            Dimension::AsyncSlots => "slots for bodies that wait",
            Dimension::Cpus => "cpus",
            Dimension::Memory => "bytes of memory",
            Dimension::Gpus => "gpus",
            Dimension::WholeNodes => "whole nodes",
            Dimension::Places => "places beside a task that is to run alone",
            Dimension::Custom(name) => name,
        })
    }
}

impl fmt::Display for Shortage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} {}", self.has, self.asks, self.dimension)
    }
}
