//! What tasks ask for and nodes have, as numbers to add up.

use batchyard::Resources;
use batchyard::executor::NodeSpec;
use fastrand::Rng;

/// Slots, CPUs, GPUs and licences.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Asks(pub(crate) [i64; 4]);

impl Asks {
    pub(crate) const ONE_SLOT: Asks = Asks([1, 0, 0, 0]);

    /// Of a task.
    pub(crate) fn random(dice: &mut Rng) -> Self {
        Asks([
            dice.i64(1..=3),
            if dice.bool() { dice.i64(1..=3) } else { 0 },
            if dice.u8(..4) == 0 {
                dice.i64(1..=2)
            } else {
                0
            },
            i64::from(dice.u8(..5) == 0),
        ])
    }

    /// Of a node.
    pub(crate) fn random_node(dice: &mut Rng) -> Self {
        Asks([
            dice.i64(1..=4),
            dice.i64(0..=4),
            dice.i64(0..=2),
            dice.i64(0..=1),
        ])
    }

    /// Of a node that every task fits on.
    pub(crate) const LARGE: Asks = Asks([4, 4, 2, 1]);

    pub(crate) fn resources(self) -> Resources {
        let [slots, cpus, gpus, licences] = self.0.map(|amount| amount as u32);
        let asks = Resources::slots(slots).cpus(cpus).gpus(gpus);
        asks.custom("licence", licences)
    }

    pub(crate) fn node(self) -> NodeSpec {
        let [slots, cpus, gpus, licences] = self.0.map(|amount| amount as u32);
        let node = NodeSpec::new(slots).cpus(cpus).gpus(0..gpus);
        node.custom("licence", licences)
    }

    pub(crate) fn fit(self, room: Asks) -> bool {
        self.0
            .iter()
            .zip(room.0)
            .all(|(&asks, has)| asks == 0 || asks <= has)
    }

    pub(crate) fn without(self, other: Asks) -> Asks {
        let mut left = self;
        left.0
            .iter_mut()
            .zip(other.0)
            .for_each(|(left, other)| *left -= other);
        left
    }
}
