//! What of a run was described together, and how its tasks stand: the job as it was submitted, or an addition.
//!
//! Inside a segment nodes and arrays are counted from 0; tasks and elements have the numbers that they have in the run.

use super::array::ArrayFlow;
use super::passed::PassedEdges;
use super::word::Word;
use super::{ArrayEnd, Item, Nodes, Sink, Verdict, ranges};
use crate::graph::node_of;
use crate::job::{Frozen, LooseEdge};
use crate::model::{TaskId, TaskState};
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::work::Values;
use std::collections::BTreeMap;
use std::ops::{Deref, Range};
use std::sync::{Arc, RwLock};
use std::time::Duration;

/// The state of every task that was described together.
pub(crate) struct Segment {
    pub(crate) job: Arc<Frozen>,
    pub(crate) values: Values,
    /// How many were before it.
    pub(crate) number: u32,
    /// When it came to the pool, as the engine counts time.
    pub(crate) since: Duration,
    pub(super) words: Box<[Word]>,
    pub(super) arrays: Box<[ArrayFlow]>,
    /// Edges of its own.
    pub(crate) passed: PassedEdges,
    /// Of the late edges to its nodes as wholes, by number: those that were counted down.
    counted: Box<[AtomicBool]>,
}

/// A segment of a run, held.
#[derive(Clone)]
pub(crate) enum SegmentRef<'a> {
    First(&'a Segment),
    Added(Arc<Segment>),
}

/// The segments that were added to a run, each under the numbers of its first node and its first element.
#[derive(Default)]
pub(super) struct Added(RwLock<Maps>);

#[derive(Default)]
struct Maps {
    by_node: BTreeMap<u32, Arc<Segment>>,
    by_element: BTreeMap<u32, Arc<Segment>>,
}

impl Segment {
    pub(crate) fn new(job: Arc<Frozen>, values: Values, number: u32, since: Duration) -> Self {
        Segment {
            values,
            number,
            since,
            words: job.take_counts().into_iter().map(Word::new).collect(),
            arrays: job.arrays.iter().map(ArrayFlow::new).collect(),
            passed: PassedEdges::default(),
            counted: job.late.iter().map(|_| AtomicBool::new(false)).collect(),
            job,
        }
    }

    /// What can start at once.
    pub(crate) fn initial(&self) -> Option<Item> {
        let sources = self.job.csr.sources.len() as u32;
        (sources > 0).then(|| self.sources(0..sources))
    }

    /// Sources, as they lie in a deque: numbered like the nodes, which are no fewer.
    pub(crate) fn sources(&self, positions: Range<u32>) -> Item {
        let base = self.job.base;
        Item::sources(base + positions.start..base + positions.end)
    }

    pub(crate) fn word(&self, node: u32) -> &Word {
        &self.words[node as usize]
    }

    pub(crate) fn array(&self, array: usize) -> &ArrayFlow {
        &self.arrays[array]
    }

    /// The nodes, for those who settle one after another.
    pub(super) fn nodes(&self) -> Nodes<'_> {
        Nodes {
            words: &self.words,
            units: &self.job.units,
            successors: self.job.csr.all_successors(),
        }
    }

    /// A node has succeeded: what that makes ready goes to `sink`, by its number in the run.
    pub(crate) fn fire(&self, node: u32, sink: &mut (impl Sink + ?Sized)) {
        match self.passed.is_empty() {
            true => self.nodes().fire(node, &mut Numbered(self.job.base, sink)),
            false => self.fire_again(node, sink),
        }
    }

    /// As well, but it may have ended before, without success, and some of its dependents no longer wait for it.
    fn fire_again(&self, node: u32, sink: &mut (impl Sink + ?Sized)) {
        for &entry in self.job.csr.successors(node) {
            let next = node_of(entry);
            if !self.passed.has(node, next) && self.arrives(next) {
                sink.node(self.job.base + next);
            }
        }
    }

    /// A node waits for one thing less. Returns whether that was the last.
    fn arrives(&self, node: u32) -> bool {
        let sole = self.job.csr.in_degrees[node as usize] == 1;
        sole || self.word(node).arrive()
    }

    /// What a node waits for at a late edge has ended, and lets it pass. That counts once.
    pub(crate) fn arrive_late(&self, at: u32, node: u32, sink: &mut (impl Sink + ?Sized)) {
        if self.set_counted(at, true) && self.arrives(node) {
            sink.node(self.job.base + node);
        }
    }

    /// Whether a late edge was counted down.
    pub(crate) fn is_counted(&self, at: u32) -> bool {
        self.counted[at as usize].load(Ordering::Relaxed)
    }

    /// Makes that so, or not so. Returns whether it was not. Only the policy does.
    pub(crate) fn set_counted(&self, at: u32, counted: bool) -> bool {
        self.counted[at as usize].swap(counted, Ordering::Relaxed) != counted
    }

    /// An array's node has become ready: its elements are, or one of their conditions is met. Returns whether the
    /// array is done with it, which is so for one without elements.
    pub(crate) fn open(&self, array: usize, sink: &mut (impl Sink + ?Sized)) -> bool {
        if self.arrays[array].opened.swap(true, Ordering::AcqRel) {
            return false;
        }
        let part = &self.job.arrays[array];
        self.elements_advance(array, 0..part.len, sink);
        part.len == 0 && self.word(part.node).ended().is_none()
    }

    /// One condition of each of these elements is met.
    pub(crate) fn elements_advance(
        &self,
        array: usize,
        elements: Range<u32>,
        sink: &mut (impl Sink + ?Sized),
    ) {
        let Some(conditions) = &self.arrays[array].conditions else {
            return self.elements_ready(array, elements, sink);
        };
        let mut ready = elements.start..elements.start;
        for index in elements {
            let last = conditions[index as usize].fetch_sub(1, Ordering::AcqRel) == 1;
            if last && ready.end == index {
                ready.end += 1;
            } else {
                self.elements_ready(array, ready, sink);
                ready = index + u32::from(!last)..index + 1;
            }
        }
        self.elements_ready(array, ready, sink);
    }

    fn elements_ready(&self, array: usize, elements: Range<u32>, sink: &mut (impl Sink + ?Sized)) {
        let part = &self.job.arrays[array];
        let numbers = part.first + elements.start..part.first + elements.end;
        match self.arrays[array].reactivated.get() {
            _ if numbers.is_empty() => (),
            _ if part.queued => sink.queue_elements(numbers),
            Some(reactivated) => {
                let of_policy = |number| reactivated.get(number - part.first);
                ranges(numbers.clone(), of_policy).for_each(|range| sink.queue_elements(range));
                let others = ranges(numbers, |number| !of_policy(number));
                others.for_each(|range| sink.ready(Item::elements(range)));
            }
            None => sink.ready(Item::elements(numbers)),
        }
    }

    /// These elements have succeeded. Returns whether all of the array have now ended.
    pub(crate) fn elements_succeeded(
        &self,
        array: usize,
        elements: Range<u32>,
        sink: &mut (impl Sink + ?Sized),
    ) -> bool {
        let state = &self.arrays[array];
        state.succeed(elements.clone());
        for &to in &self.job.arrays[array].each_to {
            self.elements_advance(to as usize, elements.clone(), sink);
        }
        let count = elements.end - elements.start;
        count > 0 && state.have_ended(count)
    }

    /// All elements of an array have ended. If all have succeeded, it is a node that has.
    pub(crate) fn array_ended(&self, array: usize, sink: &mut (impl Sink + ?Sized)) -> ArrayEnd {
        let node = self.job.arrays[array].node;
        let word = self.word(node);
        // The engine ends the word before it counts the element that failed.
        let succeeded = word.ended().is_none();
        if succeeded {
            word.succeed();
        }
        let verdict = self.verdict(array);
        match verdict {
            Verdict::Succeeded => self.fire(node, sink),
            _ => self.pass(node, verdict == Verdict::Satisfies, sink),
        }
        ArrayEnd { verdict, succeeded }
    }

    /// What the end of an array means; or the best that it can mean, if some of its elements have not ended.
    pub(crate) fn verdict(&self, array: usize) -> Verdict {
        let ended = self.word(self.job.arrays[array].node).ended();
        match ended {
            _ if self.arrays[array].blocks() => Verdict::Blocks,
            None | Some(TaskState::Succeeded) => Verdict::Succeeded,
            Some(_) => Verdict::Satisfies,
        }
    }

    /// A node has ended, and not as its dependents would have it: what may run all the same goes to `sink`, by its number
    /// in the run.
    pub(crate) fn pass(&self, node: u32, satisfied: bool, sink: &mut (impl Sink + ?Sized)) {
        let passed = self.job.loose_from(node).iter();
        let is_new = |edge: &&LooseEdge| !self.passed.has(node, edge.to);
        for edge in passed.filter(|edge| edge.passes(satisfied)).filter(is_new) {
            if self.arrives(edge.to) {
                sink.node(self.job.base + edge.to);
            }
        }
    }

    /// Lets go of what a task, or element, that has succeeded has read.
    pub(crate) fn release(&self, node: u32, index: u32) {
        self.job.units[node as usize].release(&self.values, index);
    }

    /// Lets go of what an array as a whole wanted.
    pub(crate) fn finish(&self, array: usize) {
        let node = self.job.arrays[array].node;
        self.job.units[node as usize].finish(&self.values);
    }

    /// Drops the outputs that are left: the run is over.
    pub(crate) fn clear(&self) {
        for &node in &self.job.owners {
            self.job.units[node as usize].clear(&self.values);
        }
    }

    /// Whether ready work is of this segment.
    #[inline]
    pub(super) fn holds(&self, item: Item) -> bool {
        let task = item.first_task();
        match task.is_element() {
            true => self.job.elements.contains(&task.number()),
            false => task.0.wrapping_sub(self.job.base) < self.words.len() as u32,
        }
    }
}

/// Passes on what nodes become ready, by their numbers in the run.
struct Numbered<'a, S: ?Sized>(u32, &'a mut S);

impl<S: Sink + ?Sized> Sink for Numbered<'_, S> {
    fn ready(&mut self, item: Item) {
        self.1.ready(item);
    }

    fn node(&mut self, node: u32) {
        self.1.node(self.0 + node);
    }

    fn queue_elements(&mut self, elements: Range<u32>) {
        self.1.queue_elements(elements);
    }

    fn elements_succeeded(&mut self, elements: Range<u32>) {
        self.1.elements_succeeded(elements);
    }
}

impl Deref for SegmentRef<'_> {
    type Target = Segment;

    fn deref(&self) -> &Segment {
        match self {
            SegmentRef::First(segment) => segment,
            SegmentRef::Added(segment) => segment,
        }
    }
}

impl Added {
    pub(super) fn insert(&self, segment: &Arc<Segment>) {
        let mut maps = crate::sync::write(&self.0);
        maps.by_node.insert(segment.job.base, segment.clone());
        let elements = &segment.job.elements;
        if !elements.is_empty() {
            maps.by_element.insert(elements.start, segment.clone());
        }
    }

    /// The segment that may have the task.
    pub(super) fn find(&self, task: TaskId) -> Option<Arc<Segment>> {
        let maps = crate::sync::read(&self.0);
        let map = match task.is_element() {
            true => &maps.by_element,
            false => &maps.by_node,
        };
        let (_, segment) = map.range(..=task.number()).next_back()?;
        Some(segment.clone())
    }

    pub(super) fn all(&self) -> Vec<Arc<Segment>> {
        let maps = crate::sync::read(&self.0);
        maps.by_node.values().cloned().collect()
    }
}
