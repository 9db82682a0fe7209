//! The shapes of jobs: what depends on what.

use std::ops::Deref;

/// What a job looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Single tasks that only wait for each other.
    Plain(Edges),
    /// The same, but a `u64` goes along each edge.
    Typed(Edges),
    /// As plain ones, while somebody reads every event.
    Observed(Edges),
    /// One task array.
    Array,
    /// A task array whose every element waits for its own element of another, and reads its `u64`.
    ArrayEach,
}

/// Which tasks a task waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edges {
    /// None.
    Wide,
    /// One of half its number.
    Tree,
    /// Its neighbours above and to the left in a square.
    Grid,
    /// The one before it.
    Chain,
    /// One to three of the thousand before it.
    Random,
}

/// Every shape of single tasks and arrays, by name, in the order they are measured.
pub const ALL: [(&str, Shape); 12] = [
    ("wide", Shape::Plain(Edges::Wide)),
    ("tree", Shape::Plain(Edges::Tree)),
    ("grid", Shape::Plain(Edges::Grid)),
    ("chain", Shape::Plain(Edges::Chain)),
    ("random", Shape::Plain(Edges::Random)),
    ("typed", Shape::Typed(Edges::Grid)),
    ("typed-wide", Shape::Typed(Edges::Wide)),
    ("typed-tree", Shape::Typed(Edges::Tree)),
    ("typed-chain", Shape::Typed(Edges::Chain)),
    ("array", Shape::Array),
    ("array-each", Shape::ArrayEach),
    ("observed", Shape::Observed(Edges::Wide)),
];

impl Shape {
    /// The shape of that name.
    pub fn named(name: &str) -> Option<Self> {
        ALL.iter()
            .find(|(known, _)| *known == name)
            .map(|&(_, shape)| shape)
    }

    /// How many tasks it has when about `tasks` are asked for.
    pub fn size(self, tasks: usize) -> usize {
        match self {
            Self::Plain(edges) | Self::Typed(edges) | Self::Observed(edges) => {
                Graph::new(edges, tasks).len() as usize
            }
            Self::Array => tasks,
            Self::ArrayEach => tasks.next_multiple_of(2),
        }
    }
}

/// The edges of a job of a certain size. Predecessors always have smaller numbers.
#[derive(Clone, Copy, Debug)]
pub struct Graph {
    edges: Edges,
    side: u32,
    len: u32,
}

/// How far back a random predecessor may be.
const RANDOM_REACH: u32 = 1000;
const RANDOM_SEED: u64 = 42;

impl Graph {
    /// About `tasks` tasks: a grid is a full square.
    pub fn new(edges: Edges, tasks: usize) -> Self {
        let side = tasks.isqrt() as u32;
        let len = if edges == Edges::Grid {
            side * side
        } else {
            tasks as u32
        };
        Self { edges, side, len }
    }

    /// How many tasks there are.
    #[expect(clippy::len_without_is_empty, reason = "none is empty")]
    pub fn len(&self) -> u32 {
        self.len
    }

    /// What `task` waits for.
    #[inline]
    pub fn preds(&self, task: u32) -> Preds {
        let mut preds = Preds::default();
        match self.edges {
            Edges::Wide => {}
            Edges::Tree if task > 0 => preds.push((task - 1) / 2),
            Edges::Chain if task > 0 => preds.push(task - 1),
            Edges::Random if task > 0 => random(task, &mut preds),
            Edges::Tree | Edges::Chain | Edges::Random => {}
            Edges::Grid => {
                if task >= self.side {
                    preds.push(task - self.side);
                }
                if !task.is_multiple_of(self.side) {
                    preds.push(task - 1);
                }
            }
        }
        preds
    }

    /// How far back a predecessor may be.
    fn reach(&self) -> usize {
        match self.edges {
            Edges::Wide => 0,
            Edges::Chain => 1,
            Edges::Random => RANDOM_REACH as usize,
            Edges::Grid => self.side as usize,
            Edges::Tree => self.len as usize,
        }
    }
}

/// Up to three predecessors.
#[derive(Clone, Copy, Debug, Default)]
pub struct Preds {
    tasks: [u32; 3],
    len: usize,
}

impl Preds {
    fn push(&mut self, task: u32) {
        self.tasks[self.len] = task;
        self.len += 1;
    }
}

impl Deref for Preds {
    type Target = [u32];

    fn deref(&self) -> &[u32] {
        &self.tasks[..self.len]
    }
}

/// One to three different predecessors, always the same for the same task.
fn random(task: u32, preds: &mut Preds) {
    let mut draws = SplitMix(RANDOM_SEED ^ (u64::from(task) << 32));
    let wanted = 1 + draws.below(3);
    for _ in 0..wanted {
        let pred = task - 1 - draws.below(task.min(RANDOM_REACH));
        if !preds.contains(&pred) {
            preds.push(pred);
        }
    }
}

/// Sebastiano Vigna's splitmix64.
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: u32) -> u32 {
        (((self.next() >> 32) * u64::from(bound)) >> 32) as u32
    }
}

/// The handles that a job's builder still needs: those of tasks that a later one may wait for.
#[derive(Debug)]
pub struct Recent<H> {
    ring: Vec<H>,
    mask: usize,
    added: usize,
}

impl<H: Copy> Recent<H> {
    /// For the tasks of `graph`.
    pub fn new(graph: &Graph) -> Self {
        let size = graph.reach().max(1).next_power_of_two();
        Self {
            ring: Vec::with_capacity(size),
            mask: size - 1,
            added: 0,
        }
    }

    /// Adds the next task's.
    pub fn push(&mut self, handle: H) {
        match self.ring.get_mut(self.added & self.mask) {
            Some(old) => *old = handle,
            None => self.ring.push(handle),
        }
        self.added += 1;
    }

    /// That of a task within reach.
    pub fn get(&self, task: u32) -> H {
        self.ring[task as usize & self.mask]
    }
}

/// What the last task of a typed job yields: every task yields the (wrapping) sum of its number and its inputs.
pub fn last_value(graph: &Graph) -> u64 {
    let mut values: Vec<u64> = Vec::new();
    for task in 0..graph.len() {
        let preds = graph.preds(task);
        let inputs = preds.iter().map(|&pred| values[pred as usize]);
        values.push(inputs.fold(u64::from(task), u64::wrapping_add));
    }
    values.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const EDGES: [Edges; 5] = [
        Edges::Wide,
        Edges::Tree,
        Edges::Grid,
        Edges::Chain,
        Edges::Random,
    ];

    #[test]
    fn predecessors_come_before_and_within_reach() {
        for graph in EDGES.map(|edges| Graph::new(edges, 2_500)) {
            let mut recent = Recent::new(&graph);
            for task in 0..graph.len() {
                let preds = graph.preds(task);
                assert!(
                    preds
                        .iter()
                        .all(|&pred| pred < task && recent.get(pred) == pred),
                    "{graph:?} {task}"
                );
                recent.push(task);
            }
        }
    }

    #[test]
    fn a_random_task_has_one_to_three() {
        let graph = Graph::new(Edges::Random, 10_000);
        let count = |of: usize| {
            (1..graph.len())
                .filter(|&task| graph.preds(task).len() == of)
                .count()
        };
        let counts = [count(1), count(2), count(3)];
        assert_eq!(counts.iter().sum::<usize>(), 9_999);
        assert!(counts.iter().all(|&count| count > 3_000), "{counts:?}");
    }

    #[test]
    fn a_grid_is_a_full_square() {
        assert_eq!(Shape::Plain(Edges::Grid).size(1_000), 31 * 31);
        assert_eq!(last_value(&Graph::new(Edges::Grid, 4)), 6);
    }
}
