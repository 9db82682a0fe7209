//! A node's GPUs: each held whole by one task, or in parts by several.

use super::needs::share;
use crate::model::Amount;

/// What one task asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum GpuNeed {
    None,
    Whole(u32),
    /// Part of one device, in ten-thousandths.
    Part(u32),
    Invalid,
}

/// A device, or a part of one, that a task holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct GpuShare {
    /// The node's own number for the device.
    pub(crate) index: u32,
    part: u32,
}

/// What is free of each device.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Devices(Vec<GpuShare>);

/// A whole device.
const WHOLE: u32 = 10_000;

impl GpuNeed {
    pub(super) fn new(asked: Amount) -> Self {
        let whole = u32::try_from(asked.ten_thousandths() / u64::from(WHOLE));
        match whole {
            _ if asked == Amount::ZERO => GpuNeed::None,
            Ok(0) => GpuNeed::Part(asked.ten_thousandths() as u32),
            Ok(whole) if asked.is_whole() => GpuNeed::Whole(whole),
            _ => GpuNeed::Invalid,
        }
    }

    pub(super) fn amount(self) -> Amount {
        match self {
            GpuNeed::None => Amount::ZERO,
            GpuNeed::Whole(devices) => devices.into(),
            GpuNeed::Part(part) => Amount::from_ten_thousandths(part.into()),
            GpuNeed::Invalid => Amount::INVALID,
        }
    }

    /// What a task takes of all devices together.
    #[cfg(debug_assertions)]
    pub(super) fn ten_thousandths(self) -> u64 {
        match self {
            GpuNeed::None | GpuNeed::Invalid => 0,
            GpuNeed::Whole(devices) => u64::from(devices) * u64::from(WHOLE),
            GpuNeed::Part(part) => part.into(),
        }
    }

    /// How many devices a task holds, or parts of one.
    pub(super) fn shares(self) -> usize {
        match self {
            GpuNeed::None | GpuNeed::Invalid => 0,
            GpuNeed::Whole(devices) => devices as usize,
            GpuNeed::Part(_) => 1,
        }
    }
}

#[cfg(test)]
impl GpuShare {
    /// How much of the device: 1 is all of it.
    pub(crate) fn amount(self) -> Amount {
        Amount::from_ten_thousandths(self.part.into())
    }
}

impl Devices {
    pub(super) fn new(indexes: &[u32]) -> Self {
        Devices(
            indexes
                .iter()
                .map(|&index| GpuShare { index, part: WHOLE })
                .collect(),
        )
    }

    pub(super) fn fits(&self, need: GpuNeed) -> bool {
        match need {
            GpuNeed::None => true,
            GpuNeed::Whole(devices) => self.untouched() >= devices,
            GpuNeed::Part(part) => self.0.iter().any(|device| device.part >= part),
            GpuNeed::Invalid => false,
        }
    }

    /// How many tasks fit at once, up to `most`.
    pub(super) fn times(&self, need: GpuNeed, most: u32) -> u32 {
        match need {
            GpuNeed::None => most,
            GpuNeed::Whole(devices) => (self.untouched() / devices).min(most),
            GpuNeed::Part(part) => {
                let times = self.0.iter().map(|device| device.part / part);
                times.fold(0, u32::saturating_add).min(most)
            }
            GpuNeed::Invalid => 0,
        }
    }

    /// Takes one task's devices: the lowest indexes, parts from the device with least to spare. They must fit.
    pub(super) fn charge(&mut self, need: GpuNeed, shares: &mut Vec<GpuShare>) {
        match need {
            GpuNeed::None | GpuNeed::Invalid => {}
            GpuNeed::Whole(devices) => {
                let untouched = self.0.iter_mut().filter(|device| device.part == WHOLE);
                shares.extend(untouched.take(devices as usize).map(take_all));
            }
            GpuNeed::Part(part) => {
                let fitting = self.0.iter_mut().filter(|device| device.part >= part);
                let tightest = fitting.min_by_key(|device| device.part);
                shares.extend(tightest.map(|device| {
                    device.part -= part;
                    GpuShare { part, ..*device }
                }));
            }
        }
    }

    pub(super) fn give_back(&mut self, share: GpuShare) {
        if let Some(device) = self.0.iter_mut().find(|device| device.index == share.index) {
            device.part += share.part;
            debug_assert!(device.part <= WHOLE, "a device given back twice");
        }
    }

    /// Sets aside what the tasks would get; everything, when there is not enough: any use could delay them.
    pub(super) fn withhold(&mut self, need: GpuNeed, times: u32) {
        for _ in 0..times {
            match self.fits(need) {
                true if need == GpuNeed::None => return,
                true => self.charge(need, &mut Vec::new()),
                false => return self.0.clear(),
            }
        }
    }

    pub(super) fn shortfall(&self, need: GpuNeed) -> u64 {
        match need {
            GpuNeed::None => 0,
            GpuNeed::Whole(devices) => share(
                i64::from(devices) - i64::from(self.untouched()),
                devices.into(),
            ),
            GpuNeed::Part(part) => share(i64::from(part) - i64::from(self.largest()), part.into()),
            GpuNeed::Invalid => u64::from(u32::MAX),
        }
    }

    /// The most that a task of this kind could get.
    pub(super) fn most(&self, need: GpuNeed) -> Amount {
        match need {
            GpuNeed::Part(_) => Amount::from_ten_thousandths(self.largest().into()),
            _ => self.untouched().into(),
        }
    }

    /// What is free, in ten-thousandths of a device.
    #[cfg(debug_assertions)]
    pub(super) fn total(&self) -> u64 {
        self.0.iter().map(|device| u64::from(device.part)).sum()
    }

    fn untouched(&self) -> u32 {
        self.0.iter().filter(|device| device.part == WHOLE).count() as u32
    }

    fn largest(&self) -> u32 {
        self.0.iter().map(|device| device.part).max().unwrap_or(0)
    }
}

fn take_all(device: &mut GpuShare) -> GpuShare {
    std::mem::replace(
        device,
        GpuShare {
            index: device.index,
            part: 0,
        },
    )
}
