//! Ready work as it lies in a deque: one task, or a range that can be cut in two.

use crate::model::{ELEMENT, TaskId};
use std::collections::BTreeSet;
use std::ops::Range;

/// Set in the start of a range of sources. Numbers of tasks and elements stay below it.
const SOURCES: u32 = 1 << 30;

/// Eight bytes in a deque.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Item {
    start: u32,
    end: u32,
}

/// What an item means.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Ready {
    /// A single task, or an array to be opened: a node.
    Node(u32),
    /// Nodes without predecessors: positions in the job's list of them.
    Sources(Range<u32>),
    /// Elements, numbered through all arrays of the job.
    Elements(Range<u32>),
}

impl Item {
    #[inline]
    pub(crate) fn node(node: u32) -> Self {
        Item {
            start: node,
            end: node + 1,
        }
    }

    pub(crate) fn sources(range: Range<u32>) -> Self {
        Item {
            start: range.start | SOURCES,
            end: range.end,
        }
    }

    pub(crate) fn elements(range: Range<u32>) -> Self {
        Item {
            start: range.start | ELEMENT,
            end: range.end,
        }
    }

    /// One task, whatever it is.
    pub(crate) fn task(task: TaskId) -> Self {
        Item {
            start: task.0,
            end: task.number() + 1,
        }
    }

    #[inline]
    pub(crate) fn ready(self) -> Ready {
        if self.start & ELEMENT != 0 {
            Ready::Elements(self.start & !ELEMENT..self.end)
        } else if self.start & SOURCES != 0 {
            Ready::Sources(self.start & !SOURCES..self.end)
        } else {
            Ready::Node(self.start)
        }
    }

    /// What tells its segment: its first element, or the node that its first source has the number of.
    pub(super) fn first_task(self) -> TaskId {
        TaskId(self.start & !SOURCES)
    }

    /// How many tasks it begins with: an array to be opened counts as one.
    pub(crate) fn len(self) -> u32 {
        match self.ready() {
            Ready::Node(_) => 1,
            Ready::Sources(range) | Ready::Elements(range) => range.end - range.start,
        }
    }

    /// What is left of it without these tasks. `sources` are those of its segment, ascending, whose first node is called
    /// `base`.
    pub(crate) fn without(self, base: u32, sources: &[u32], tasks: &BTreeSet<TaskId>) -> Vec<Item> {
        let cut = |range: Range<u32>, at: Vec<u32>, item: fn(Range<u32>) -> Item| {
            let starts = std::iter::once(range.start).chain(at.iter().map(|&at| at + 1));
            let ends = at.iter().copied().chain([range.end]);
            let pieces = starts.zip(ends).filter(|(start, end)| start < end);
            pieces.map(|(start, end)| item(start..end)).collect()
        };
        match self.ready() {
            Ready::Node(node) if tasks.contains(&TaskId(node)) => Vec::new(),
            Ready::Node(_) => vec![self],
            Ready::Elements(range) => {
                let among = tasks.range(TaskId(range.start | ELEMENT)..TaskId(range.end | ELEMENT));
                let numbers = among.map(|task| task.number()).collect();
                cut(range, numbers, Item::elements)
            }
            Ready::Sources(range) => {
                let nodes = tasks.iter().filter(|task| !task.is_element());
                let nodes = nodes.filter_map(|task| task.0.checked_sub(base));
                let positions = nodes.filter_map(|node| sources.binary_search(&node).ok());
                let positions = positions
                    .map(|at| base + at as u32)
                    .filter(|at| range.contains(at));
                let positions = positions.collect();
                cut(range, positions, Item::sources)
            }
        }
    }

    /// Cuts off what is after the first `len`.
    pub(crate) fn split_off(&mut self, len: u32) -> Option<Item> {
        if matches!(self.ready(), Ready::Node(_)) || self.len() <= len {
            return None;
        }
        let tag = self.start & (ELEMENT | SOURCES);
        let middle = (self.start & !tag) + len;
        let rest = Item {
            start: middle | tag,
            end: self.end,
        };
        self.end = middle;
        Some(rest)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn an_item_means_what_it_was_made_of() {
        assert_eq!(Item::node(7).ready(), Ready::Node(7));
        assert_eq!(Item::sources(3..9).ready(), Ready::Sources(3..9));
        assert_eq!(Item::elements(0..5).ready(), Ready::Elements(0..5));
    }

    #[test]
    fn a_range_is_cut_and_a_node_is_not() {
        let mut range = Item::elements(10..20);
        assert_eq!(range.split_off(4), Some(Item::elements(14..20)));
        assert_eq!(range, Item::elements(10..14));
        assert_eq!(range.split_off(4), None);
        assert_eq!(Item::node(1).split_off(0), None);
    }

    #[test]
    fn tasks_are_cut_out_of_what_is_ready() {
        let tasks = [3, 5, 5 | ELEMENT, 9 | ELEMENT, 12 | ELEMENT].map(TaskId);
        let (sources, tasks) = ([0, 3, 4, 5], BTreeSet::from(tasks));
        let rest = |item: Item| item.without(0, &sources, &tasks);
        assert_eq!(rest(Item::node(3)), []);
        assert_eq!(rest(Item::node(4)), [Item::node(4)]);
        assert_eq!(
            rest(Item::elements(5..12)),
            [Item::elements(6..9), Item::elements(10..12)]
        );
        assert_eq!(
            rest(Item::sources(0..4)),
            [Item::sources(0..1), Item::sources(2..3)]
        );
        assert_eq!(rest(Item::sources(1..2)), []);
    }
}
