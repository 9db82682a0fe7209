//! The builder's form of the graph, and the frozen one.

use super::{Graph, GraphSource};

/// Set in an entry of [`Csr::successors`] whose node has no other predecessor: it is ready at once, and its counter
/// need not be touched.
pub(crate) const SOLE: u32 = 1 << 31;

/// The bits above a node's number are for marks, like [`SOLE`].
const MAX_NODES: u32 = (1 << 30) - 1;

/// A node that waits counts down its predecessors in this many bits of its word (`engine/flow/word.rs`).
pub(crate) const COUNT_BITS: u32 = 26;

/// The edges of a job that is being built.
#[derive(Clone, Debug, Default)]
pub(crate) struct Edges {
    /// Where each node's predecessors end in `preds`. They begin where those of the node before end.
    ends: Vec<u32>,
    /// Ascending within a node, each smaller than the node: without late edges there is no cycle.
    preds: Vec<u32>,
    /// `(to, from)` of the edges added later, as they came: in any order and direction, perhaps repeated.
    late: Vec<(u32, u32)>,
    too_many: bool,
}

/// The edges of a frozen job, by predecessor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Csr {
    /// One more than there are nodes: the successors of `n` are those from `offsets[n]` to `offsets[n + 1]`.
    offsets: Box<[u32]>,
    /// Ascending within a node, marked with [`SOLE`].
    successors: Box<[u32]>,
    /// How many predecessors each node has; more, if it waits for others that are no nodes of this graph.
    pub(crate) in_degrees: Box<[u32]>,
    /// The nodes without predecessors, ascending.
    pub(crate) sources: Box<[u32]>,
}

/// Why a graph can't be frozen.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum FreezeError {
    /// More nodes than [`MAX_NODES`], or more edges than a `u32` counts.
    #[error("the graph has too many nodes or edges")]
    TooMany,
    /// A node has more predecessors than [`COUNT_BITS`] count.
    #[error("node {0} of the graph has too many predecessors")]
    Crowded(u32),
    /// Nodes that wait for each other, as [`Graph::find_cycle`] tells them.
    #[error("{} nodes of the graph wait for each other", .0.len())]
    Cycle(Vec<u32>),
}

impl Edges {
    /// Appends a node that waits for `preds`, all of them appended before, and returns its number.
    #[cfg(test)]
    pub(crate) fn push_node(&mut self, preds: impl IntoIterator<Item = u32>) -> u32 {
        self.begin_node();
        preds.into_iter().for_each(|pred| self.follow(pred));
        self.end_node()
    }

    /// Begins a node. One that was begun and not ended is forgotten.
    #[inline]
    pub(crate) fn begin_node(&mut self) {
        self.preds.truncate(self.end());
    }

    /// The node that was begun waits for `pred`, which has ended. Repeated predecessors count once.
    #[inline]
    pub(crate) fn follow(&mut self, pred: u32) {
        self.preds.push(pred);
    }

    /// Ends the node that was begun, and returns its number. One too many is not stored (the number returned is then
    /// that of an existing node): [`freeze`](Self::freeze) reports it.
    #[inline]
    pub(crate) fn end_node(&mut self) -> u32 {
        let start = self.end();
        if !self.preds[start..].is_sorted_by(|before, after| before < after) {
            sort_and_collapse(&mut self.preds, start);
        }
        self.store_node(start)
    }

    /// Where the predecessors of the last node end.
    #[inline]
    fn end(&self) -> usize {
        self.ends.last().map_or(0, |&end| end as usize)
    }

    /// Makes `to` wait for `from` as well. Both are nodes of this graph; repeated edges count once.
    pub(crate) fn add_edge(&mut self, from: u32, to: u32) {
        debug_assert!(
            from < self.len() && to < self.len(),
            "an edge between nodes that were pushed"
        );
        self.late.push((to, from));
    }

    /// Whether `to` was pushed as one that waits for `from`.
    pub(crate) fn had(&self, from: u32, to: u32) -> bool {
        self.predecessors(to).binary_search(&from).is_ok()
    }

    /// The number of nodes.
    #[inline]
    pub(crate) fn len(&self) -> u32 {
        self.ends.len() as u32 // at most `MAX_NODES`
    }

    /// The number of edges, the late ones counted as often as they were added.
    pub(crate) fn edge_count(&self) -> usize {
        self.preds.len() + self.late.len()
    }

    /// Whether there may be a cycle: a late edge that doesn't lead to a higher number, as all others do.
    pub(crate) fn may_have_cycle(&self) -> bool {
        self.late.iter().any(|&(to, from)| from >= to)
    }

    /// Checks the graph and turns its edges around. Each of `held` waits for one thing more, which is no node of this graph.
    pub(crate) fn freeze(&self, held: &[u32]) -> Result<Csr, FreezeError> {
        if self.too_many || u32::try_from(self.edge_count()).is_err() {
            return Err(FreezeError::TooMany);
        }
        if self.may_have_cycle()
            && let Some(path) = Graph::new(self).find_cycle()
        {
            return Err(FreezeError::Cycle(path));
        }
        let csr = self.turn_around(held);
        match crowded(&csr.in_degrees, csr.successors.len()) {
            Some(node) => Err(FreezeError::Crowded(node)),
            None => Ok(csr),
        }
    }

    #[inline]
    fn store_node(&mut self, start: usize) -> u32 {
        let node = self.len();
        match u32::try_from(self.preds.len()) {
            Ok(end) if node < MAX_NODES => {
                debug_assert!(
                    self.preds
                        .get(start..)
                        .and_then(<[u32]>::last)
                        .is_none_or(|&pred| pred < node)
                );
                self.ends.push(end);
                node
            }
            _ => {
                self.preds.truncate(start);
                self.too_many = true;
                node.saturating_sub(1)
            }
        }
    }

    fn predecessors(&self, node: u32) -> &[u32] {
        let node = node as usize;
        let start = node
            .checked_sub(1)
            .map_or(Some(&0), |before| self.ends.get(before));
        slice_between(&self.preds, start, self.ends.get(node))
    }

    /// The late edges as `(to, from)`, ascending, each once, without those that [`push_node`](Self::push_node) knew.
    fn late_edges(&self) -> Vec<(u32, u32)> {
        let is_new = |&(to, from): &(u32, u32)| !self.had(from, to);
        let mut late: Vec<_> = self.late.iter().copied().filter(is_new).collect();
        late.sort_unstable();
        late.dedup();
        late
    }

    /// Calls `visit(to, predecessors)` for every node, ascending: first with those it was pushed with, then with each
    /// of the late ones.
    #[inline(always)]
    fn visit<'a>(&'a self, mut late: &'a [(u32, u32)], mut visit: impl FnMut(u32, &'a [u32])) {
        let mut start = 0;
        for (node, &end) in (0..).zip(&self.ends) {
            let end = end as usize;
            visit(node, self.preds.get(start..end).unwrap_or_default());
            while let [(to, from), rest @ ..] = late
                && *to == node
            {
                visit(node, std::slice::from_ref(from));
                late = rest;
            }
            start = end;
        }
    }

    /// A counting sort by predecessor, whose cursors are the offsets themselves: slot `n + 1` is where the next
    /// successor of `n` goes, and so ends up as where those of `n + 1` begin.
    fn turn_around(&self, held: &[u32]) -> Csr {
        let late = self.late_edges();
        let mut in_degrees = self.in_degrees(&late);
        let mut offsets = zeros(self.ends.len() + 1);
        let later = late.iter().map(|(_, from)| from);
        for &from in self.preds.iter().chain(later) {
            offsets[from as usize + 1] += 1;
        }
        for &node in held {
            in_degrees[node as usize] += 1;
        }
        let mut successors = zeros(counts_to_starts(&mut offsets));
        self.visit(&late, |to, preds| {
            let sole = if in_degrees[to as usize] == 1 {
                SOLE
            } else {
                0
            };
            for &from in preds {
                let cursor = &mut offsets[from as usize + 1];
                successors[*cursor as usize] = to | sole;
                *cursor += 1;
            }
        });
        let sources = sources(&in_degrees);
        Csr {
            offsets,
            successors,
            in_degrees,
            sources,
        }
    }

    /// How many predecessors each node has.
    fn in_degrees(&self, late: &[(u32, u32)]) -> Box<[u32]> {
        let starts = std::iter::once(&0).chain(&self.ends);
        let mut degrees: Box<[u32]> = self
            .ends
            .iter()
            .zip(starts)
            .map(|(end, start)| end - start)
            .collect();
        late.iter().for_each(|&(to, _)| degrees[to as usize] += 1);
        degrees
    }
}

impl GraphSource for Edges {
    fn node_count(&self) -> u32 {
        self.len()
    }

    fn edges(&self, visit: &mut dyn FnMut(u32, u32)) {
        self.visit(&self.late_edges(), |to, preds| {
            preds.iter().for_each(|&from| visit(from, to));
        });
    }
}

/// A frozen graph's successors, a pointer away: for loops that ask for those of one node after another.
#[derive(Clone, Copy)]
pub(crate) struct Successors<'a> {
    offsets: &'a [u32],
    successors: &'a [u32],
}

impl<'a> Successors<'a> {
    /// The node's successors, ascending, marked with [`SOLE`]: [`node_of`] takes the mark off.
    #[inline]
    pub(crate) fn of(&self, node: u32) -> &'a [u32] {
        let node = node as usize;
        slice_between(
            self.successors,
            self.offsets.get(node),
            self.offsets.get(node + 1),
        )
    }
}

impl Csr {
    /// All nodes' successors.
    pub(crate) fn all_successors(&self) -> Successors<'_> {
        Successors {
            offsets: &self.offsets,
            successors: &self.successors,
        }
    }

    /// The node's successors: see [`Successors::of`].
    #[inline]
    pub(crate) fn successors(&self, node: u32) -> &[u32] {
        self.all_successors().of(node)
    }

    /// The number of nodes.
    #[inline]
    pub(crate) fn len(&self) -> u32 {
        self.in_degrees.len() as u32 // at most `MAX_NODES`
    }
}

impl GraphSource for Csr {
    fn node_count(&self) -> u32 {
        self.len()
    }

    fn edges(&self, visit: &mut dyn FnMut(u32, u32)) {
        for from in 0..self.len() {
            self.successors(from)
                .iter()
                .for_each(|&entry| visit(from, node_of(entry)));
        }
    }
}

/// The node of an entry of [`Csr::successors`].
#[inline]
pub(crate) fn node_of(entry: u32) -> u32 {
    entry & !SOLE
}

/// Sorts what begins at `start` and leaves each number there once.
#[cold]
fn sort_and_collapse(list: &mut Vec<u32>, start: usize) {
    let tail = &mut list[start..];
    tail.sort_unstable();
    let mut kept = 0;
    for index in 0..tail.len() {
        if kept == 0 || tail[index] != tail[kept - 1] {
            tail[kept] = tail[index];
            kept += 1;
        }
    }
    list.truncate(start + kept);
}

/// Turns counts, kept one slot late, into the sums of the counts before them, and returns the sum of all.
pub(super) fn counts_to_starts(offsets: &mut [u32]) -> usize {
    let mut sum = 0;
    for offset in offsets.iter_mut().skip(1) {
        let count = std::mem::replace(offset, sum);
        sum += count;
    }
    sum as usize
}

/// The first node that has more predecessors than can be counted down. Few graphs have that many edges.
fn crowded(in_degrees: &[u32], edges: usize) -> Option<u32> {
    let too_many = |degree: usize| degree >= 1 << COUNT_BITS;
    let of = |&degree: &u32| too_many(degree as usize);
    let node = too_many(edges).then(|| in_degrees.iter().position(of))??;
    Some(node as u32)
}

/// Counted first, so that no room is left over: in a wide job every node is one.
fn sources(in_degrees: &[u32]) -> Box<[u32]> {
    let mut sources = Vec::with_capacity(in_degrees.iter().filter(|&&degree| degree == 0).count());
    sources.extend(
        (0..)
            .zip(in_degrees)
            .filter(|&(_, &degree)| degree == 0)
            .map(|(node, _)| node),
    );
    sources.into_boxed_slice()
}

pub(super) fn zeros(len: usize) -> Box<[u32]> {
    vec![0; len].into_boxed_slice()
}

#[inline]
pub(super) fn slice_between<'a, T>(
    list: &'a [T],
    start: Option<&u32>,
    end: Option<&u32>,
) -> &'a [T] {
    let range = start
        .zip(end)
        .map(|(&start, &end)| start as usize..end as usize);
    range.and_then(|range| list.get(range)).unwrap_or_default()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_node_with_more_predecessors_than_can_be_counted_is_found() {
        let most = (1 << COUNT_BITS) - 1;
        assert_eq!(crowded(&[0, most, most], 2 * most as usize), None);
        assert_eq!(crowded(&[0, most, most + 1], 3 * most as usize), Some(2));
    }

    #[test]
    fn repeated_predecessors_count_once() {
        let mut edges = Edges::default();
        for _ in 0..4 {
            edges.push_node([]);
        }
        edges.push_node([3, 1, 3, 0, 1]);
        assert_eq!(edges.predecessors(4), [0, 1, 3]);
        edges.add_edge(3, 4);
        edges.add_edge(2, 4);
        edges.add_edge(2, 4);
        assert_eq!(edges.freeze(&[]).map(|csr| csr.in_degrees[4]), Ok(4));
    }

    #[test]
    fn a_sole_predecessor_is_marked() -> Result<(), FreezeError> {
        let mut edges = Edges::default();
        edges.push_node([]);
        edges.push_node([0]);
        edges.push_node([0, 1]);
        let csr = edges.freeze(&[])?;
        assert_eq!(csr.successors(0), [1 | SOLE, 2]);
        assert_eq!(csr.successors(1), [2]);
        assert_eq!(csr.sources[..], [0]);
        assert_eq!(csr.successors(3), [0; 0], "no such node");
        Ok(())
    }

    #[test]
    fn a_late_edge_may_go_backwards() -> Result<(), FreezeError> {
        let mut edges = Edges::default();
        edges.push_node([]);
        edges.push_node([]);
        edges.add_edge(1, 0);
        let csr = edges.freeze(&[])?;
        assert_eq!(
            (csr.successors(1), &csr.sources[..]),
            (&[SOLE][..], &[1][..])
        );
        Ok(())
    }

    #[test]
    fn an_empty_graph_freezes() {
        let csr = Edges::default().freeze(&[]);
        assert_eq!(csr.map(|csr| (csr.len(), csr.sources.len())), Ok((0, 0)));
    }

    #[test]
    fn a_node_too_many_is_reported_by_freeze() {
        let mut edges = Edges {
            too_many: true,
            ..Edges::default()
        };
        edges.push_node([]);
        assert_eq!(edges.freeze(&[]), Err(FreezeError::TooMany));
    }

    /// A graph and the set of its edges. Late ones may go anywhere.
    pub(crate) fn graphs(late: usize) -> impl Strategy<Value = (Edges, BTreeSet<(u32, u32)>)> {
        let nodes = prop::collection::vec(
            prop::collection::vec(any::<prop::sample::Index>(), 0..4),
            1..20,
        );
        let late = prop::collection::vec(
            any::<(prop::sample::Index, prop::sample::Index)>(),
            0..=late,
        );
        (nodes, late).prop_map(|(nodes, late)| {
            let (mut edges, mut set) = (Edges::default(), BTreeSet::new());
            for (node, preds) in nodes.iter().enumerate() {
                let preds = preds
                    .iter()
                    .filter(|_| node > 0)
                    .map(|pred| pred.index(node) as u32);
                set.extend(preds.clone().map(|pred| (pred, node as u32)));
                edges.push_node(preds);
            }
            for (from, to) in late {
                let edge = (from.index(nodes.len()) as u32, to.index(nodes.len()) as u32);
                edges.add_edge(edge.0, edge.1);
                set.insert(edge);
            }
            (edges, set)
        })
    }

    proptest! {
        #[test]
        fn freezing_keeps_exactly_the_edges((edges, set) in graphs(3)) {
            let Ok(csr) = edges.freeze(&[]) else { return Ok(()) };
            let mut frozen = Vec::new();
            csr.edges(&mut |from, to| frozen.push((from, to)));
            prop_assert_eq!(frozen, set.iter().copied().collect::<Vec<_>>());
            let in_degree = |node| set.iter().filter(|&&(_, to)| to == node).count() as u32;
            for node in 0..csr.len() {
                prop_assert_eq!(csr.in_degrees[node as usize], in_degree(node));
                prop_assert_eq!(csr.sources.contains(&node), in_degree(node) == 0);
                for &entry in csr.successors(node) {
                    prop_assert_eq!(entry & SOLE != 0, in_degree(node_of(entry)) == 1);
                }
            }
        }
    }
}
