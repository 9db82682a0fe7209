//! A set of array elements, one bit each.

use crate::sync::atomic::{AtomicU64, Ordering};
use std::ops::Range;

const WIDTH: u32 = u64::BITS;

/// Bits that are set by anyone, and cleared by the engine alone.
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

    pub(crate) fn clear(&self, range: Range<u32>) {
        let mut at = range.start;
        while at < range.end {
            let end = range.end.min((at / WIDTH + 1) * WIDTH);
            let mask = !mask(at % WIDTH, end - at);
            self.0[(at / WIDTH) as usize].fetch_and(mask, Ordering::Release);
            at = end;
        }
    }

    /// The maximal ranges inside `range` whose bits are not set.
    pub(crate) fn unset(&self, range: Range<u32>) -> impl Iterator<Item = Range<u32>> + '_ {
        ranges(range, |index| !self.get(index))
    }

    /// How many times sixty-four bits there are.
    pub(crate) fn words(&self) -> usize {
        self.0.len()
    }

    /// Sixty-four of the bits.
    pub(crate) fn word(&self, at: usize) -> u64 {
        self.0[at].load(Ordering::Acquire)
    }
}

/// The maximal ranges inside `range` of what `is_in`; none of them is empty, also while that changes.
pub(crate) fn ranges(
    range: Range<u32>,
    is_in: impl Fn(u32) -> bool,
) -> impl Iterator<Item = Range<u32>> {
    let mut at = range.start;
    std::iter::from_fn(move || {
        let start = (at..range.end).find(|&index| is_in(index))?;
        // Looked at once: changed meanwhile, it would make the range empty, and hide those after it.
        at = (start + 1..range.end)
            .find(|&index| !is_in(index))
            .unwrap_or(range.end);
        Some(start..at)
    })
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
        bits.clear(60..70);
        assert!(bits.unset(20..100).eq(std::iter::once(60..70)));
    }
}
