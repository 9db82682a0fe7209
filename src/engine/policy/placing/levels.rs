//! Nodes by how many slots they have free.

/// Finds the fullest or emptiest nodes without looking at the others. Every change costs the same, however many nodes
/// there are.
#[derive(Default)]
pub(super) struct Levels {
    /// The nodes with so many slots free; the last also has those with more.
    buckets: Vec<Vec<u32>>,
    /// Where each node is, by its number.
    places: Vec<Option<Place>>,
    /// One bit a bucket: it isn't empty.
    occupied: Vec<u64>,
}

#[derive(Clone, Copy)]
struct Place {
    level: u32,
    at: u32,
}

/// Above this, nodes are not told apart.
pub(super) const TOP: u32 = 4095;

impl Levels {
    /// Enters a node, or moves it.
    pub(super) fn set(&mut self, node: u32, free: i64) {
        let level = free.clamp(0, TOP.into()) as u32;
        if self.place(node).is_some_and(|place| place.level == level) {
            return;
        }
        self.remove(node);
        self.insert(node, level);
    }

    pub(super) fn remove(&mut self, node: u32) {
        let Some(place) = self.places.get_mut(node as usize).and_then(Option::take) else {
            return;
        };
        let bucket = &mut self.buckets[place.level as usize];
        bucket.swap_remove(place.at as usize);
        if let Some(&moved) = bucket.get(place.at as usize) {
            self.places[moved as usize] = Some(place);
        }
        if self.buckets[place.level as usize].is_empty() {
            self.occupied[place.level as usize / 64] &= !(1 << (place.level % 64));
        }
    }

    pub(super) fn contains(&self, node: u32) -> bool {
        self.place(node).is_some()
    }

    /// The nodes with at least so many slots free, fewest first.
    pub(super) fn ascending(&self, least: i64) -> impl Iterator<Item = u32> + '_ {
        let levels = self.occupied_levels(clamp(least));
        levels.flat_map(|level| self.buckets[level as usize].iter().copied())
    }

    /// The nodes with at least so many slots free, most first, each with its level.
    pub(super) fn descending(&self, least: i64) -> impl Iterator<Item = (u32, u32)> + '_ {
        let levels = self.occupied_levels_down(clamp(least));
        levels.flat_map(|level| {
            self.buckets[level as usize]
                .iter()
                .map(move |&node| (level, node))
        })
    }

    fn place(&self, node: u32) -> Option<Place> {
        self.places.get(node as usize).copied().flatten()
    }

    fn insert(&mut self, node: u32, level: u32) {
        if self.places.len() <= node as usize {
            self.places.resize(node as usize + 1, None);
        }
        if self.buckets.len() <= level as usize {
            self.buckets.resize(level as usize + 1, Vec::new());
            self.occupied.resize(level as usize / 64 + 1, 0);
        }
        let bucket = &mut self.buckets[level as usize];
        self.places[node as usize] = Some(Place {
            level,
            at: bucket.len() as u32,
        });
        bucket.push(node);
        self.occupied[level as usize / 64] |= 1 << (level % 64);
    }

    fn occupied_levels(&self, least: u32) -> impl Iterator<Item = u32> + '_ {
        let mut from = least;
        std::iter::from_fn(move || {
            let mut word = self.occupied.get(from as usize / 64)? & (u64::MAX << (from % 64));
            while word == 0 {
                from = (from / 64 + 1) * 64;
                word = *self.occupied.get(from as usize / 64)?;
            }
            let level = from / 64 * 64 + word.trailing_zeros();
            from = level + 1;
            Some(level)
        })
    }

    fn occupied_levels_down(&self, least: u32) -> impl Iterator<Item = u32> + '_ {
        let mut at = self.occupied.len();
        let mut word = 0;
        let levels = std::iter::from_fn(move || {
            while word == 0 {
                at = at.checked_sub(1)?;
                word = self.occupied[at];
            }
            let bit = word.ilog2();
            word &= !(1 << bit);
            Some(at as u32 * 64 + bit)
        });
        levels.take_while(move |&level| level >= least)
    }
}

/// Whether lacking so many of the slots asked for alone is as much as the shortfall, without dividing.
pub(super) fn is_as_far(lacks: i64, asked: i64, shortfall: u64) -> bool {
    (lacks.max(0).cast_unsigned() << 10) >= shortfall.saturating_mul(asked.cast_unsigned())
}

/// The fewest slots whose lack alone is as much as the shortfall: see [`is_as_far`].
pub(super) fn lacking(asked: i64, shortfall: u64) -> i64 {
    let slots = shortfall
        .saturating_mul(asked.cast_unsigned())
        .div_ceil(1 << 10);
    i64::try_from(slots).unwrap_or(i64::MAX)
}

fn clamp(level: i64) -> u32 {
    level.clamp(0, TOP.into()) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_come_in_order() {
        let mut levels = Levels::default();
        for (node, free) in [(0, 3), (1, 200), (2, 64), (3, -5), (4, 63), (5, 1 << 40)] {
            levels.set(node, free);
        }
        levels.set(2, 2);
        levels.remove(4);
        let up: Vec<_> = levels.ascending(0).collect();
        assert_eq!(up, [3, 2, 0, 1, 5]);
        let down: Vec<_> = levels.descending(3).map(|(_, node)| node).collect();
        assert_eq!(down, [5, 1, 0]);
    }
}
