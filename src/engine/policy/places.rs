//! Which place on a node an attempt has, for people: numbers from 0, the lowest that is free.

use super::placing::NodeKey;
use crate::engine::chronicle::Spot;

/// The places that are taken, a bit each, by the numbers of their nodes.
#[derive(Default)]
pub(super) struct Places(Vec<Vec<u64>>);

impl Places {
    pub(super) fn take(&mut self, node: NodeKey) -> Spot {
        let number = node.number() as usize;
        if self.0.len() <= number {
            self.0.resize_with(number + 1, Vec::new);
        }
        let words = &mut self.0[number];
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
        let words = self.0.get_mut(spot.node.number() as usize);
        let word = words.and_then(|words| words.get_mut((spot.slot / u64::BITS) as usize));
        if let Some(word) = word {
            *word &= !(1 << (spot.slot % u64::BITS));
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
