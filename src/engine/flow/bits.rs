//! A set of array elements, one bit each.

use crate::sync::atomic::{AtomicU64, Ordering};
use std::ops::Range;

const WIDTH: u32 = u64::BITS;

/// Bits that are only ever set.
#[derive(Debug)]
pub(crate) struct Bits(Box<[AtomicU64]>);

impl Bits {
    pub(crate) fn new(len: u32) -> Self {
        Bits(
            (0..len.div_ceil(WIDTH))
                .map(|_| AtomicU64::new(0))
                .collect(),
        )
    }

    /// How many elements it has room for.
    pub(crate) fn capacity(&self) -> u32 {
        self.0.len() as u32 * WIDTH
    }

    pub(crate) fn get(&self, index: u32) -> bool {
        let word = self.0.get((index / WIDTH) as usize);
        word.is_some_and(|word| word.load(Ordering::Acquire) >> (index % WIDTH) & 1 == 1)
    }

    /// How many are set.
    pub(crate) fn count(&self) -> u64 {
        let words = self.0.iter();
        words
            .map(|word| u64::from(word.load(Ordering::Acquire).count_ones()))
            .sum()
    }

    /// Sets a range: one atomic operation for each 64 elements.
    pub(crate) fn set(&self, range: Range<u32>) {
        let mut at = range.start;
        while at < range.end {
            let end = range.end.min((at / WIDTH + 1) * WIDTH);
            self.0[(at / WIDTH) as usize].fetch_or(mask(at % WIDTH, end - at), Ordering::Release);
            at = end;
        }
    }

    /// The maximal ranges inside `range` whose bits are not set; none of them is empty, also while bits are being set.
    pub(crate) fn unset(&self, range: Range<u32>) -> impl Iterator<Item = Range<u32>> + '_ {
        let mut at = range.start;
        std::iter::from_fn(move || {
            let start = (at..range.end).find(|&index| !self.get(index))?;
            // Looked at once: set meanwhile, its bit would make the range empty, and hide those after it.
            at = (start + 1..range.end)
                .find(|&index| self.get(index))
                .unwrap_or(range.end);
            Some(start..at)
        })
    }
}

fn mask(first: u32, len: u32) -> u64 {
    (u64::MAX >> (WIDTH - len)) << first
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn ranges_across_words_are_set_and_the_gaps_are_found() {
        let bits = Bits::new(200);
        bits.set(10..130);
        bits.set(150..151);
        assert!(!bits.get(9) && bits.get(10) && bits.get(129) && !bits.get(130));
        assert_eq!(
            bits.unset(0..200).collect::<Vec<_>>(),
            [0..10, 130..150, 151..200]
        );
        assert_eq!(bits.unset(20..100).count(), 0);
    }
}
