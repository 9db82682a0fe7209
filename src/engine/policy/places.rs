//! Which place on a node an attempt has, for people: numbers from 0, the lowest that is free.

use super::placing::NodeKey;
use crate::engine::chronicle::Spot;
use std::collections::BTreeMap;

/// The places that are taken, a bit each.
#[derive(Default)]
pub(super) struct Places(BTreeMap<NodeKey, Vec<u64>>);

impl Places {
    pub(super) fn take(&mut self, node: NodeKey) -> Spot {
        let words = self.0.entry(node).or_default();
        let word = words.iter().position(|&word| word != u64::MAX);
        let word = word.unwrap_or(words.len());
        if word == words.len() {
            words.push(0);
        }
        let bit = words[word].trailing_ones();
        words[word] |= 1 << bit;
        let slot = word as u32 * u64::BITS + bit;
        Spot { node, slot }
    }

    pub(super) fn give_back(&mut self, spot: Spot) {
        let Some(words) = self.0.get_mut(&spot.node) else {
            return;
        };
        if let Some(word) = words.get_mut((spot.slot / u64::BITS) as usize) {
            *word &= !(1 << (spot.slot % u64::BITS));
        }
        if words.iter().all(|&word| word == 0) {
            self.0.remove(&spot.node);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::model::Capacity;

    #[test]
    fn the_lowest_free_place_is_taken() {
        let node = super::super::Policy::default()
            .placing
            .add_node(&Capacity::slots(66));
        let mut places = Places::default();
        let taken: Vec<_> = (0..66).map(|_| places.take(node)).collect();
        assert_eq!(taken.last().map(|spot| spot.slot), Some(65));
        places.give_back(taken[64]);
        places.give_back(taken[7]);
        assert_eq!(places.take(node).slot, 7);
        assert_eq!(places.take(node).slot, 64);
    }
}
