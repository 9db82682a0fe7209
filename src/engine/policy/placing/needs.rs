//! Requests and nodes as numbers, dimension by dimension.

use super::classes::Gang;
use super::gpus::{Devices, GpuNeed};
use super::names::{Dimension, Names, Shortage};
use crate::model::{Amount, Capacity, Resources};
use std::fmt;

pub(super) const SLOTS: usize = 0;
pub(super) const ASYNC_SLOTS: usize = 1;
pub(super) const CPUS: usize = 2;
pub(super) const MEMORY: usize = 3;
/// Each task takes one, and one that is to run alone takes all.
const SEATS: usize = 4;
/// How many dimensions every node and request has; custom ones have numbers from here on.
pub(super) const FIXED: usize = 5;

/// How many seats a node has: more than can run there.
const ALL_SEATS: i64 = 1 << 40;

/// What a task asks for: its resources, and which kind of slot.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Request {
    resources: Resources,
    waits: bool,
    alone: bool,
}

/// What one task of a class takes of a node.
#[derive(Clone, Debug)]
pub(super) struct Needs {
    fixed: [i64; FIXED],
    custom: Box<[(usize, i64)]>,
    gpus: GpuNeed,
}

/// What there is at a node, or left of it. Below zero where more is in use than there is, as after a resize.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Stock {
    fixed: [i64; FIXED],
    custom: Vec<i64>,
    pub(super) gpus: Devices,
}

impl Request {
    /// For a body that keeps a thread busy.
    pub(crate) fn blocking(resources: Resources) -> Self {
        Request {
            resources,
            waits: false,
            alone: false,
        }
    }

    /// For a body that waits: its slots are those for waiting.
    pub(crate) fn waiting(resources: Resources) -> Self {
        Request {
            resources,
            waits: true,
            alone: false,
        }
    }

    /// For a task beside which nothing else may run on its node.
    pub(crate) fn alone(self) -> Self {
        Request {
            alone: true,
            ..self
        }
    }

    /// The instances that start together, if there are several.
    pub(super) fn gang(&self) -> Option<Gang> {
        let instances = self.resources.instances_asked();
        (instances > 1).then(|| Gang {
            instances,
            packed: self.resources.is_packed(),
        })
    }

    /// How many slots an instance holds, of those that aren't for waiting.
    pub(super) fn slots(&self) -> u32 {
        if self.waits {
            0
        } else {
            self.resources.slots_asked()
        }
    }
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let waits = if self.waits {
            " (for a body that waits)"
        } else {
            ""
        };
        let alone = if self.alone {
            ", alone on its node"
        } else {
            ""
        };
        write!(f, "{}{waits}{alone}", self.resources)
    }
}

impl Needs {
    pub(super) fn new(request: &Request, names: &mut Names) -> Self {
        let asked = &request.resources;
        let mut fixed = [0; FIXED];
        fixed[if request.waits { ASYNC_SLOTS } else { SLOTS }] = asked.slots_asked().into();
        fixed[SEATS] = if request.alone { ALL_SEATS } else { 1 };
        fixed[CPUS] = number(asked.cpus_asked());
        fixed[MEMORY] = clamp(asked.memory_asked());
        let custom = asked
            .custom_asked()
            .map(|(name, amount)| (names.intern(name), number(amount)));
        let gpus = GpuNeed::new(asked.gpus_asked());
        Needs {
            fixed,
            custom: custom.collect(),
            gpus,
        }
    }

    pub(super) fn slots(&self) -> i64 {
        self.fixed[SLOTS]
    }

    pub(super) fn gpus(&self) -> GpuNeed {
        self.gpus
    }

    /// The dimensions that it uses, but for GPUs.
    fn used(&self) -> impl Iterator<Item = (usize, i64)> {
        let fixed = self.fixed.iter().copied().enumerate();
        let all = fixed.chain(self.custom.iter().map(|&(name, need)| (FIXED + name, need)));
        all.filter(|&(_, need)| need > 0)
    }
}

impl Stock {
    pub(super) fn new(capacity: &Capacity, names: &mut Names) -> Self {
        let mut stock = Stock {
            gpus: Devices::new(capacity.gpu_indexes()),
            ..Stock::default()
        };
        stock.fixed[SLOTS] = capacity.slot_count().into();
        stock.fixed[ASYNC_SLOTS] = capacity.async_slot_count().into();
        stock.fixed[SEATS] = ALL_SEATS;
        stock.fixed[CPUS] = number(capacity.cpu_count());
        stock.fixed[MEMORY] = clamp(capacity.memory_bytes());
        for (name, amount) in capacity.custom_amounts() {
            *stock.at_mut(FIXED + names.intern(name)) = number(amount);
        }
        stock
    }

    pub(super) fn slots(&self) -> i64 {
        self.fixed[SLOTS]
    }

    /// Whether nothing at all could run.
    pub(super) fn is_exhausted(&self) -> bool {
        self.fixed[SLOTS] <= 0 && self.fixed[ASYNC_SLOTS] <= 0 || self.fixed[SEATS] <= 0
    }

    pub(super) fn add_slots(&mut self, more: i64) {
        self.fixed[SLOTS] += more;
    }

    /// Slots for those who stand in for bodies that wait: also beside one that runs alone, which may wait for them.
    pub(super) fn lend(&mut self, slots: i64) {
        self.fixed[SLOTS] += slots;
        self.fixed[SEATS] += slots;
    }

    pub(super) fn fits(&self, needs: &Needs) -> bool {
        let fixed = self.fixed.iter().zip(&needs.fixed);
        // What is not asked for does not matter, even when there is less than none of it.
        fixed.fold(true, |fits, (&has, &need)| fits & (need <= has.max(0)))
            && needs
                .custom
                .iter()
                .all(|&(name, need)| need <= self.custom(name).max(0))
            && self.gpus.fits(needs.gpus)
    }

    /// How many tasks fit at once, up to `most`.
    pub(super) fn times(&self, needs: &Needs, most: u32) -> u32 {
        if !self.fits(needs) {
            return 0;
        }
        if most <= 1 {
            return most;
        }
        let times = needs
            .used()
            .map(|(dimension, need)| self.at(dimension).max(0) / need)
            .min();
        let times = times
            .and_then(|times| u32::try_from(times).ok())
            .unwrap_or(most);
        times.min(self.gpus.times(needs.gpus, most)).min(most)
    }

    /// Takes what the tasks need but GPUs, or gives it back (`times` below zero).
    pub(super) fn charge(&mut self, needs: &Needs, times: i64) {
        let fixed = self.fixed.iter_mut().zip(&needs.fixed);
        fixed.for_each(|(has, need)| *has -= need.saturating_mul(times));
        for &(name, need) in &needs.custom {
            *self.at_mut(FIXED + name) -= need.saturating_mul(times);
        }
    }

    /// Sets aside what the tasks need, whether there is enough or not: what is left, others may have.
    pub(super) fn withhold(&mut self, needs: &Needs, times: u32) {
        self.charge(needs, times.into());
        self.gpus.withhold(needs.gpus, times);
    }

    /// How far a task is from fitting: over all dimensions, what is missing as a share of what is asked for. 0 fits.
    pub(super) fn shortfall(&self, needs: &Needs) -> u64 {
        let missing = needs
            .used()
            .map(|(dimension, need)| share(need.saturating_sub(self.at(dimension)), need));
        missing.sum::<u64>() + self.gpus.shortfall(needs.gpus)
    }

    /// The dimensions that are too scarce for a task.
    pub(super) fn shortages(&self, needs: &Needs, names: &Names) -> Vec<Shortage> {
        let short = needs
            .used()
            .filter(|&(dimension, need)| need > self.at(dimension).max(0));
        let short = short.map(|(dimension, need)| match dimension {
            SEATS => Shortage::of_seats(need == ALL_SEATS),
            _ => Shortage {
                dimension: names.dimension(dimension),
                asks: as_amount(dimension, need),
                has: as_amount(dimension, self.at(dimension)),
            },
        });
        let gpus = (!self.gpus.fits(needs.gpus)).then(|| Shortage {
            dimension: Dimension::Gpus,
            asks: needs.gpus.amount(),
            has: self.gpus.most(needs.gpus),
        });
        short.chain(gpus).collect()
    }

    /// Whether all but the GPUs is the same. What is zero need not be there.
    #[cfg(debug_assertions)]
    pub(super) fn agrees_with(&self, other: &Stock) -> bool {
        let dimensions = FIXED + self.custom.len().max(other.custom.len());
        (0..dimensions).all(|dimension| self.at(dimension) == other.at(dimension))
    }

    fn at(&self, dimension: usize) -> i64 {
        match dimension.checked_sub(FIXED) {
            None => self.fixed[dimension],
            Some(name) => self.custom(name),
        }
    }

    fn custom(&self, name: usize) -> i64 {
        self.custom.get(name).copied().unwrap_or(0)
    }

    fn at_mut(&mut self, dimension: usize) -> &mut i64 {
        let Some(name) = dimension.checked_sub(FIXED) else {
            return &mut self.fixed[dimension];
        };
        if self.custom.len() <= name {
            self.custom.resize(name + 1, 0);
        }
        &mut self.custom[name]
    }
}

/// What is missing as a share of what is asked for, in 1/1,024.
pub(super) fn share(missing: i64, asked: i64) -> u64 {
    match missing.cast_unsigned() {
        _ if missing <= 0 => 0,
        // Exact where it can be.
        missing if missing < 1 << 53 => (missing << 10).div_ceil(asked.cast_unsigned()),
        missing => missing / (asked.cast_unsigned() >> 10).max(1),
    }
}

/// What nobody has is kept above what anybody can have.
fn number(amount: Amount) -> i64 {
    if amount.is_valid() {
        clamp(amount.ten_thousandths())
    } else {
        i64::MAX
    }
}

fn clamp(amount: u64) -> i64 {
    i64::try_from(amount).unwrap_or(i64::MAX).min(MOST)
}

/// Far enough from the end that sums of a few don't reach it.
const MOST: i64 = i64::MAX / 8;

fn as_amount(dimension: usize, number: i64) -> Amount {
    let scale = if matches!(dimension, SLOTS | ASYNC_SLOTS | MEMORY) {
        10_000
    } else {
        1
    };
    match u64::try_from(number) {
        Ok(number) if number == i64::MAX.cast_unsigned() => Amount::INVALID,
        Ok(number) => Amount::from_ten_thousandths(number.saturating_mul(scale)).min(Amount::MAX),
        Err(_) => Amount::ZERO,
    }
}
