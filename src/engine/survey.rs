//! Looks at what of a run has ended since it was looked at last, without stopping it.
//!
//! A task is looked at before those that it waits for: whoever is found to have ended then has all it waited for found,
//! too, since that ended before it began. So what one look finds is closed, and costs those who run the tasks nothing.

use super::Run;
use crate::graph::node_of;
use crate::job::Frozen;
use crate::model::{ELEMENT, TaskId, TaskState};
use std::ops::Range;

/// How a run is looked at.
pub(crate) struct Survey {
    /// The nodes, each behind those that it waits for, if that isn't the order of their numbers.
    order: Option<Box<[u32]>>,
}

/// Tasks, by id, that have ended alike: in an order in which each is behind those that it waited for.
pub(crate) struct Found {
    pub(crate) spans: Vec<(Range<u32>, TaskState)>,
    /// Arrays that have ended as a whole.
    nodes: Vec<u32>,
}

/// What has been found before, a bit a task, and one an array.
#[derive(Default)]
pub(crate) struct Written {
    nodes: Vec<u64>,
    elements: Vec<u64>,
}

const WIDTH: u32 = u64::BITS;

impl Survey {
    pub(crate) fn of(job: &Frozen) -> Self {
        Survey { order: order(job) }
    }

    /// The nodes, each behind those that it waits for.
    pub(crate) fn nodes(&self, job: &Frozen) -> Box<dyn DoubleEndedIterator<Item = u32> + '_> {
        match &self.order {
            Some(order) => Box::new(order.iter().copied()),
            None => Box::new(0..job.units.len() as u32),
        }
    }

    /// What has ended and is not among `written`.
    pub(crate) fn look(&self, run: &Run, written: &Written) -> Found {
        let mut found = Found {
            spans: Vec::new(),
            nodes: Vec::new(),
        };
        match &self.order {
            Some(order) => order
                .iter()
                .rev()
                .for_each(|&node| found.look_at(run, written, node)),
            None => found.look_at_all(run, written),
        }
        found.spans.reverse();
        found
    }
}

impl Found {
    pub(crate) fn is_empty(&self) -> bool {
        self.spans.is_empty() && self.nodes.is_empty()
    }

    /// Nodes by number, sixty-four at a time: most of a large run has been written long ago, or has yet to come.
    fn look_at_all(&mut self, run: &Run, written: &Written) {
        let nodes = run.job().units.len() as u32;
        for (at, &word) in written.nodes.iter().enumerate().rev() {
            let first = at as u32 * WIDTH;
            let mut left = !word;
            if nodes - first < WIDTH {
                left &= (1 << (nodes - first)) - 1;
            }
            while left != 0 {
                let bit = WIDTH - 1 - left.leading_zeros();
                left ^= 1 << bit;
                self.look_at(run, written, first + bit);
            }
        }
    }

    fn look_at(&mut self, run: &Run, written: &Written, node: u32) {
        if written.has(TaskId(node)) {
            return;
        }
        let ended = run.flow().first.word(node).ended();
        match (run.job().array_of_node(node), ended) {
            (None, Some(state)) => self.add(node, state),
            (None, None) => (),
            (Some(array), ended) => {
                // Asked first: all elements are found to have ended, then.
                let is_over = ended.is_some() && run.flow().first.array(array).is_over();
                self.nodes.extend(is_over.then_some(node));
                self.look_at_elements(run, written, array);
            }
        }
    }

    fn look_at_elements(&mut self, run: &Run, written: &Written, array: usize) {
        let (part, flow) = (&run.job().arrays[array], run.flow().first.array(array));
        for at in (0..part.len.div_ceil(WIDTH)).rev() {
            let first = at * WIDTH;
            let known = written.elements_from(part.first + first);
            let mut new = !flow.unfinished_word(at as usize) & !known;
            if part.len - first < WIDTH {
                new &= (1 << (part.len - first)) - 1;
            }
            let succeeded = flow.succeeded_word(at as usize);
            while new != 0 {
                let bit = WIDTH - 1 - new.leading_zeros();
                new ^= 1 << bit;
                let state = match succeeded >> bit & 1 {
                    1 => Some(TaskState::Succeeded),
                    _ => flow.state(first + bit),
                };
                if let Some(state) = state {
                    self.add(ELEMENT | (part.first + first + bit), state);
                }
            }
        }
    }

    /// Ids come in falling order, mostly.
    fn add(&mut self, id: u32, state: TaskState) {
        match self.spans.last_mut() {
            Some((ids, last)) if ids.start == id + 1 && *last == state => ids.start = id,
            _ => self.spans.push((id..id + 1, state)),
        }
    }

    /// They are written down now.
    pub(crate) fn enter(&self, written: &mut Written) {
        for (ids, _) in &self.spans {
            ids.clone().for_each(|id| written.set(TaskId(id), true));
        }
        let nodes = self.nodes.iter();
        nodes.for_each(|&node| written.set(TaskId(node), true));
    }
}

impl Written {
    pub(crate) fn new(job: &Frozen) -> Self {
        let elements = job.arrays.iter().map(|part| part.len).sum::<u32>();
        let words = |tasks: u32| vec![0; tasks.div_ceil(WIDTH) as usize];
        Written {
            nodes: words(job.units.len() as u32),
            elements: words(elements),
        }
    }

    pub(crate) fn has(&self, task: TaskId) -> bool {
        let number = task.number();
        let word = self.words(task).get((number / WIDTH) as usize);
        word.is_some_and(|word| word >> (number % WIDTH) & 1 == 1)
    }

    pub(crate) fn set(&mut self, task: TaskId, written: bool) {
        let number = task.number();
        let words = match task.is_element() {
            true => &mut self.elements,
            false => &mut self.nodes,
        };
        if let Some(word) = words.get_mut((number / WIDTH) as usize) {
            let bit = 1 << (number % WIDTH);
            *word = if written { *word | bit } else { *word & !bit };
        }
    }

    fn words(&self, task: TaskId) -> &[u64] {
        match task.is_element() {
            true => &self.elements,
            false => &self.nodes,
        }
    }

    /// Of sixty-four elements from one on, those that are written.
    fn elements_from(&self, number: u32) -> u64 {
        let (at, shift) = ((number / WIDTH) as usize, number % WIDTH);
        let word = |at: usize| self.elements.get(at).copied().unwrap_or(0);
        match shift {
            0 => word(at),
            _ => word(at) >> shift | word(at + 1) << (WIDTH - shift),
        }
    }
}

/// An order of the nodes in which each is behind those that it waits for; none if that is the order of their numbers.
fn order(job: &Frozen) -> Option<Box<[u32]>> {
    let nodes = job.units.len() as u32;
    let rises = |node: u32| {
        let successors = job.csr.successors(node).iter();
        successors.into_iter().all(|&entry| node_of(entry) > node)
    };
    // Element by element, arrays wait only for those that were added before them.
    if (0..nodes).all(rises) {
        return None;
    }
    let mut waits = vec![0u32; nodes as usize];
    for node in 0..nodes {
        each_after(job, node, |next| waits[next as usize] += 1);
    }
    let mut order: Vec<u32> = Vec::with_capacity(nodes as usize);
    order.extend((0..nodes).filter(|&node| waits[node as usize] == 0));
    let mut at = 0;
    while let Some(&node) = order.get(at) {
        each_after(job, node, |next| {
            waits[next as usize] -= 1;
            if waits[next as usize] == 0 {
                order.push(next);
            }
        });
        at += 1;
    }
    Some(order.into())
}

/// The nodes that wait for a node, as a whole or element by element.
fn each_after(job: &Frozen, node: u32, mut visit: impl FnMut(u32)) {
    let successors = job.csr.successors(node).iter();
    successors.for_each(|&entry| visit(node_of(entry)));
    if let Some(array) = job.array_of_node(node) {
        let after = job.arrays[array].each_to.iter();
        after.for_each(|&to| visit(job.arrays[to as usize].node));
    }
}
