//! Readiness and success of one run: the fast path.
//!
//! A success counts down its dependents and hands those that became ready to whoever settled it. No lock, no
//! allocation, no clock; nothing here knows about failure, limits or priorities. Whatever is not a success goes to
//! the [`Supervisor`], which is the engine.
//!
//! Who may write what:
//! - a task's word, and an array's bits, are written by the holder of the task inside the gate, or by the engine with
//!   the gate closed, or by the engine for tasks that nobody holds and that can't become ready (dependents of a
//!   failure);
//! - counts are decremented by anyone whose task succeeded.

mod array;
mod bits;
mod item;
mod lane;
mod passed;
mod shift;
mod witness;
mod word;

use array::ArrayFlow;
use passed::PassedEdges;
use word::Word;

pub(crate) use bits::ranges;
pub(crate) use item::{Item, Ready};
pub(crate) use lane::{Lane, LaneShared, Settled, Supervisor};
pub(crate) use witness::Witness;

use crate::graph::{SOLE, Successors, node_of};
use crate::job::{Frozen, LooseEdge};
use crate::model::TaskId;
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::{Gate, read, write};
use crate::work::{Unit, Values};
use std::ops::Range;
use std::sync::{Arc, RwLock};

/// The state of every task of one run.
pub(crate) struct Flow {
    pub(crate) job: Arc<Frozen>,
    pub(crate) gate: Gate,
    pub(crate) values: Values,
    words: Box<[Word]>,
    arrays: Box<[ArrayFlow]>,
    /// Tasks that have not ended, less what lanes have not yet reported.
    unfinished: AtomicU64,
    pub(crate) passed: PassedEdges,
    crew: RwLock<Vec<Arc<LaneShared>>>,
}

/// What settling a node touches, each a pointer away.
#[derive(Clone, Copy)]
pub(crate) struct Nodes<'a> {
    words: &'a [Word],
    units: &'a [Box<dyn Unit>],
    successors: Successors<'a>,
}

impl Nodes<'_> {
    /// Whether it is a task that lanes start.
    fn runs_on_lanes(&self, node: u32) -> bool {
        let kind = self.units[node as usize].kind();
        !kind.queued && !kind.elements
    }

    /// A node has succeeded: what that makes ready goes to `sink`.
    #[inline]
    pub(crate) fn fire(&self, node: u32, sink: &mut (impl Sink + ?Sized)) {
        for &successor in self.successors.of(node) {
            let next = successor & !SOLE;
            if successor & SOLE != 0 || self.words[next as usize].arrive() {
                sink.node(next);
            }
        }
    }
}

/// Where newly ready work goes: a lane's deque, or the policy's queue.
pub(crate) trait Sink {
    fn ready(&mut self, item: Item);
    /// A node is ready.
    #[inline]
    fn node(&mut self, node: u32) {
        self.ready(Item::node(node));
    }
    /// These elements are ready, of an array that only the policy starts.
    fn queue_elements(&mut self, elements: Range<u32>);
    /// Elements, by number, have succeeded that a lane had run.
    fn elements_succeeded(&mut self, _elements: Range<u32>) {}
}

impl Flow {
    pub(crate) fn new(job: Arc<Frozen>) -> Self {
        Flow {
            gate: Gate::default(),
            values: Values::new(job.layout),
            words: job.take_counts().into_iter().map(Word::new).collect(),
            arrays: job.arrays.iter().map(ArrayFlow::new).collect(),
            unfinished: AtomicU64::new(job.tasks),
            passed: PassedEdges::default(),
            crew: RwLock::default(),
            job,
        }
    }

    /// What can start at once.
    pub(crate) fn initial(&self) -> Option<Item> {
        let sources = self.job.csr.sources.len() as u32;
        (sources > 0).then(|| Item::sources(0..sources))
    }

    pub(crate) fn word(&self, node: u32) -> &Word {
        &self.words[node as usize]
    }

    pub(crate) fn array(&self, array: usize) -> &ArrayFlow {
        &self.arrays[array]
    }

    /// A node has succeeded: what that makes ready goes to `sink`.
    pub(crate) fn fire(&self, node: u32, sink: &mut (impl Sink + ?Sized)) {
        match self.passed.is_empty() {
            true => self.nodes().fire(node, sink),
            false => self.fire_again(node, sink),
        }
    }

    /// As well, but it may have ended before, without success, and some of its dependents no longer wait for it.
    fn fire_again(&self, node: u32, sink: &mut (impl Sink + ?Sized)) {
        for &entry in self.job.csr.successors(node) {
            let next = node_of(entry);
            if !self.passed.has(node, next) && self.arrives(next) {
                sink.node(next);
            }
        }
    }

    /// A node waits for one thing less. Returns whether that was the last.
    fn arrives(&self, node: u32) -> bool {
        let sole = self.job.csr.in_degrees[node as usize] == 1;
        sole || self.word(node).arrive()
    }

    /// The nodes, for those who settle one after another.
    pub(crate) fn nodes(&self) -> Nodes<'_> {
        Nodes {
            words: &self.words,
            units: &self.job.units,
            successors: self.job.csr.all_successors(),
        }
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
    fn elements_advance(
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

    /// All elements of an array have ended. If all have succeeded, it is a node that has. Returns whether that is so.
    pub(crate) fn array_ended(&self, array: usize, sink: &mut (impl Sink + ?Sized)) -> bool {
        let node = self.job.arrays[array].node;
        let (word, blocks) = (self.word(node), self.arrays[array].blocks());
        // The engine ends the word before it counts the element that failed.
        let succeeded = word.ended().is_none();
        if succeeded {
            word.succeed();
        }
        match succeeded && !blocks {
            true => self.fire(node, sink),
            false => self.pass(node, !blocks, sink),
        }
        succeeded
    }

    /// A node has ended, and not as its dependents would have it: what may run all the same goes to `sink`.
    pub(crate) fn pass(&self, node: u32, satisfied: bool, sink: &mut (impl Sink + ?Sized)) {
        let passed = self.job.loose_from(node).iter();
        let is_new = |edge: &&LooseEdge| !self.passed.has(node, edge.to);
        for edge in passed.filter(|edge| edge.passes(satisfied)).filter(is_new) {
            if self.arrives(edge.to) {
                sink.node(edge.to);
            }
        }
    }

    /// Tasks have ended and are reported. Returns whether none is left.
    pub(crate) fn report(&self, ended: u64) -> bool {
        ended > 0 && self.unfinished.fetch_sub(ended, Ordering::AcqRel) == ended
    }

    /// Tasks that had ended have not ended any more.
    pub(crate) fn resume(&self, tasks: u64) {
        self.unfinished.fetch_add(tasks, Ordering::AcqRel);
    }

    /// Whether every task has ended and been reported.
    pub(crate) fn is_through(&self) -> bool {
        self.unfinished.load(Ordering::Acquire) == 0
    }

    /// Whether a lane may settle the task: it has not ended, and was not reactivated.
    pub(crate) fn is_for_lanes(&self, task: TaskId) -> bool {
        match self.element(task) {
            Some((array, index)) => !array.ended.get(index),
            None => self.single(task).is_some_and(Word::is_pending),
        }
    }

    /// Whether the task is to run again, after it had ended without success.
    pub(crate) fn is_reactivated(&self, task: TaskId) -> bool {
        match self.element(task) {
            Some((array, index)) => array.is_reactivated(index),
            None => self.single(task).is_some_and(Word::is_reactivated),
        }
    }

    fn single(&self, node: TaskId) -> Option<&Word> {
        self.words.get(node.0 as usize)
    }

    fn element(&self, task: TaskId) -> Option<(&ArrayFlow, u32)> {
        let number = Some(task).filter(|task| task.is_element())?.number();
        let array = self.job.array_of_element(number)?;
        Some((&self.arrays[array], number - self.job.arrays[array].first))
    }

    /// Takes over what lanes have not reported, and reports it, while nobody counts: see [`unfinished`](Self::unfinished).
    /// Returns whether no task is left.
    pub(crate) fn report_of<'a>(&self, lanes: impl Iterator<Item = &'a LaneShared>) -> bool {
        let _nobody_counts = read(&self.crew);
        self.report(lanes.map(LaneShared::take_unreported).sum())
    }

    /// Tasks that have not ended, to the last one. The lock keeps lanes from reporting between the two looks, which would
    /// have their successes counted twice or not at all.
    pub(crate) fn unfinished(&self) -> u64 {
        let crew = write(&self.crew);
        let unreported: u64 = crew.iter().map(|lane| lane.unreported()).sum();
        self.unfinished
            .load(Ordering::Acquire)
            .saturating_sub(unreported)
    }

    /// A lane begins to work on the run.
    pub(crate) fn join(&self, lane: &Arc<LaneShared>) {
        write(&self.crew).push(lane.clone());
    }

    /// A lane works on the run no more; its deque is empty.
    pub(crate) fn leave(&self, lane: &Arc<LaneShared>) {
        write(&self.crew).retain(|other| !Arc::ptr_eq(other, lane));
    }

    /// Lanes, and the tasks whose bodies they are in, or were in last. While lanes go on, others may be among them.
    pub(crate) fn at_lanes(&self) -> Vec<(usize, TaskId)> {
        let crew = read(&self.crew);
        let bodies = crew
            .iter()
            .map(|lane| (lane.turnstile().number(), lane.body()));
        bodies
            .filter_map(|(lane, body)| Some((lane, body?)))
            .collect()
    }

    /// How many lanes work on the run.
    pub(crate) fn lanes_at_work(&self) -> u64 {
        read(&self.crew).len() as u64
    }

    /// Whether some lane has more than it is running.
    pub(crate) fn has_surplus(&self) -> bool {
        read(&self.crew).iter().any(|lane| lane.has_surplus())
    }

    /// Shuts every lane out, settles what their elements have achieved, and takes over what they have not reported.
    /// Returns what was settled, and whether no task is left. The caller holds the engine's lock; the gate stays shut until
    /// it gives the lock up.
    pub(crate) fn quiesce(&self, sink: &mut (impl Sink + ?Sized)) -> (Vec<Settled>, bool) {
        let mut crew = Vec::new();
        self.gate.close(|| {
            crew.clone_from(&read(&self.crew));
            crew.iter().map(|lane| lane.turnstile())
        });
        let settled = crew
            .iter()
            .filter_map(|lane| lane.settle(self, sink))
            .collect();
        (settled, self.report_of(crew.iter().map(|lane| &**lane)))
    }
}
