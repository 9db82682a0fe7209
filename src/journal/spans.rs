//! Sets of tasks, as ranges or as bits, whichever is shorter.

use serde::{Deserialize, Serialize};
use std::ops::Range;

use super::record::Bytes;

/// Tasks, by number.
#[derive(Serialize, Deserialize, Clone, Debug)]
pub(super) enum Spans {
    /// How many are left out, and how many follow that are in it; again and again. In another order than that of the
    /// numbers, what is left out wraps.
    Ranges(Vec<(u32, u32)>),
    /// From the first number on, a bit each.
    Bits(u32, Bytes),
}

impl Spans {
    /// Of ranges that are not empty.
    pub(super) fn new(ranges: &[Range<u32>]) -> Self {
        match Self::bits(ranges) {
            Some(bits) => bits,
            None => Self::ranges(ranges),
        }
    }

    fn ranges(ranges: &[Range<u32>]) -> Self {
        let mut at = 0u32;
        let gaps = ranges.iter().map(|range| {
            let gap = range.start.wrapping_sub(at);
            at = range.end;
            (gap, range.end - range.start)
        });
        Spans::Ranges(gaps.collect())
    }

    /// If these take less room than ranges of two bytes each, and the ranges are in order.
    fn bits(ranges: &[Range<u32>]) -> Option<Self> {
        let (first, end) = (ranges.first()?.start, ranges.last()?.end);
        let ordered = ranges.windows(2).all(|pair| pair[0].end <= pair[1].start);
        let bytes = end.checked_sub(first)?.div_ceil(8) as usize;
        if !ordered || bytes >= ranges.len() * 2 {
            return None;
        }
        let mut bits = vec![0u8; bytes];
        for task in ranges.iter().cloned().flatten() {
            let at = task - first;
            bits[at as usize / 8] |= 1 << (at % 8);
        }
        Some(Spans::Bits(first, Bytes(bits)))
    }

    /// The ranges, as far as they are ranges of numbers.
    pub(super) fn iter(&self) -> Box<dyn Iterator<Item = Range<u32>> + '_> {
        match self {
            Spans::Ranges(gaps) => {
                let mut at = 0u32;
                Box::new(gaps.iter().filter_map(move |&(gap, len)| {
                    let start = at.wrapping_add(gap);
                    let end = start.checked_add(len)?;
                    at = end;
                    Some(start..end)
                }))
            }
            Spans::Bits(first, bits) => {
                let is_in = |at: u32| bits.0[at as usize / 8] >> (at % 8) & 1 == 1;
                let len = u32::try_from(bits.0.len() * 8).unwrap_or(0);
                let len = len.min(u32::MAX - first);
                let ones = (0..len).filter(move |&at| is_in(at));
                let mut ones = ones.map(move |at| first + at).peekable();
                Box::new(std::iter::from_fn(move || {
                    let start = ones.next()?;
                    let mut end = start + 1;
                    while ones.next_if_eq(&end).is_some() {
                        end += 1;
                    }
                    Some(start..end)
                }))
            }
        }
    }

    #[cfg(test)]
    fn is_bits(&self) -> bool {
        matches!(self, Spans::Bits(..))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_scattered_densely_is_kept_as_bits_and_the_rest_as_ranges() {
        let dense: Vec<_> = (0..1000).map(|n| 5 + 2 * n..6 + 2 * n).collect();
        assert!(Spans::new(&dense).is_bits());
        assert!(!Spans::new(std::slice::from_ref(&(0..1_000_000))).is_bits());
        assert!(!Spans::new(&[0..1, 1000..1001]).is_bits());
    }

    proptest! {
        #[test]
        fn sets_come_back_as_they_were(gaps in proptest::collection::vec((1..20u32, 1..9u32), 0..50), backwards in any::<bool>()) {
            let mut at = 0;
            let mut ranges: Vec<_> = gaps.iter().map(|(gap, len)| {
                at += gap + len;
                at - len..at
            }).collect();
            if backwards {
                ranges.reverse();
            }
            let spans = Spans::new(&ranges);
            prop_assert_eq!(spans.iter().collect::<Vec<_>>(), ranges);
        }
    }
}
