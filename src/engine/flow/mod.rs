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

mod bits;
mod item;
mod lane;
mod segment;
mod shift;
mod witness;
mod word;

use bits::Bits;
use segment::Added;
use word::Word;

pub(crate) use item::{Item, Ready};
pub(crate) use lane::{Lane, LaneShared, Supervisor};
pub(crate) use segment::{Segment, SegmentRef};
pub(crate) use witness::Witness;

use crate::graph::{SOLE, Successors};
use crate::job::{ArrayPart, Frozen};
use crate::model::{TaskId, TaskState};
use crate::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use crate::sync::{Gate, read, write};
use crate::work::{Unit, Values};
use std::ops::Range;
use std::sync::{Arc, OnceLock, RwLock};
use std::time::Duration;

/// The state of every task of one run.
pub(crate) struct Flow {
    pub(crate) gate: Gate,
    /// The job as it was submitted.
    pub(crate) first: Segment,
    /// What came later, if the job is open.
    added: Option<Box<Added>>,
    total: AtomicU64,
    /// Tasks that have not ended, less what lanes have not yet reported; one more while the run is not sealed.
    unfinished: AtomicU64,
    /// That one.
    held: AtomicU64,
    crew: RwLock<Vec<Arc<LaneShared>>>,
}

/// The state of an array's elements.
pub(crate) struct ArrayFlow {
    /// How many elements make a piece: learnt from those that have run.
    grain: AtomicU32,
    /// Elements that have not ended.
    left: AtomicU32,
    /// The end of some element keeps what depends on the whole array from running.
    blocks: AtomicBool,
    /// What all elements read is kept for some body that may go on although its attempt is over.
    keeps_inputs: AtomicBool,
    /// The engine ended some elements: lanes must look before they run one.
    touched: AtomicBool,
    /// Somebody waits for the array, or for an element of it.
    watched: AtomicBool,
    succeeded: Bits,
    ended: Bits,
    failed: OnceLock<Bits>,
    skipped: OnceLock<Bits>,
    /// What each element still waits for, if it waits for more than one thing.
    conditions: Option<Box<[AtomicU32]>>,
}

/// Where a task of a run is found.
pub(crate) struct Place<'a> {
    pub(crate) segment: SegmentRef<'a>,
    /// Its node, or that of its array, counted from 0 in the segment.
    pub(crate) node: u32,
    /// Its index in its array, or 0.
    pub(crate) index: u32,
}

impl Place<'_> {
    /// The node, by its number in the run.
    pub(crate) fn task(&self) -> TaskId {
        self.segment.job.task(self.node)
    }

    /// Asks to be told of the end of the task, or of the array and each of its elements. The engine calls it with the gate
    /// closed.
    pub(crate) fn watch(&self) {
        match self.array() {
            Some(array) => self.segment.array(array).watch(),
            None => self.segment.word(self.node).watch(),
        }
    }

    pub(crate) fn is_watched(&self) -> bool {
        match self.array() {
            Some(array) => self.segment.array(array).is_watched(),
            None => self.segment.word(self.node).is_watched(),
        }
    }

    /// The array that the node is, if it is one.
    pub(crate) fn array(&self) -> Option<usize> {
        self.segment.job.array_of_node(self.node)
    }

    /// How the task, the element, or the array as a whole, ended.
    pub(crate) fn ended(&self, task: TaskId) -> Option<TaskState> {
        let array = self.array().filter(|_| task.is_element());
        match array {
            Some(array) => self.segment.array(array).state(self.index),
            None => self.segment.word(self.node).ended(),
        }
    }
}

/// Elements of an array that have succeeded.
pub(crate) struct Settled {
    /// The array as a node, by its number in the run.
    pub(crate) node: u32,
    /// By their indexes.
    pub(crate) elements: Range<u32>,
    /// They were the last ones.
    pub(crate) end: Option<ArrayEnd>,
}

/// How an array has ended as a whole.
#[derive(Clone, Copy)]
pub(crate) struct ArrayEnd {
    pub(crate) verdict: Verdict,
    /// What it wanted as a whole can be let go.
    pub(crate) releases: bool,
}

/// What the end of a node means for those that depend on it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    Succeeded,
    /// As good as a success for those who need no value.
    Satisfies,
    Blocks,
}

impl Verdict {
    /// Of an end that is no success.
    pub(crate) fn without_success(satisfied: bool) -> Self {
        match satisfied {
            true => Verdict::Satisfies,
            false => Verdict::Blocks,
        }
    }
}

impl Settled {
    /// What the array wanted as a whole can be let go.
    pub(crate) fn releases(&self) -> bool {
        self.end.is_some_and(|end| end.releases)
    }
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
    /// A node is ready: by its number in the segment for [`Nodes::fire`], elsewhere in the run.
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
    pub(crate) fn new(job: Arc<Frozen>, now: Duration) -> Self {
        let held = u64::from(job.open);
        Flow {
            gate: Gate::default(),
            added: job.open.then(Box::default),
            total: AtomicU64::new(job.tasks),
            unfinished: AtomicU64::new(job.tasks + held),
            held: AtomicU64::new(held),
            crew: RwLock::default(),
            first: Segment::new(job.clone(), Values::new(job.layout), 0, now),
        }
    }

    /// The segment of a task, and the task's node and index there, if the run has it.
    pub(crate) fn locate(&self, task: TaskId) -> Option<Place<'_>> {
        if let Some((node, index)) = self.first.job.locate(task) {
            return Some(Place {
                segment: SegmentRef::First(&self.first),
                node,
                index,
            });
        }
        let segment = self.added.as_ref()?.find(task)?;
        let (node, index) = segment.job.locate(task)?;
        Some(Place {
            segment: SegmentRef::Added(segment),
            node,
            index,
        })
    }

    /// The segment of ready work.
    pub(crate) fn segment_of(&self, item: Item) -> SegmentRef<'_> {
        let added = match &self.added {
            Some(added) if !self.first.holds(item) => added.find(item.first_task()),
            _ => None,
        };
        added.map_or(SegmentRef::First(&self.first), SegmentRef::Added)
    }

    /// All segments; those that were added in the order of their numbers.
    pub(crate) fn segments(&self) -> impl Iterator<Item = SegmentRef<'_>> {
        let added = self.added.as_ref().map(|added| added.all());
        let added = added.into_iter().flatten().map(SegmentRef::Added);
        [SegmentRef::First(&self.first)].into_iter().chain(added)
    }

    /// Takes in an addition whose tasks count from now on. Nothing of it is ready yet.
    pub(crate) fn add(&self, segment: &Arc<Segment>) {
        let Some(added) = &self.added else { return };
        let _nobody_looks = write(&self.crew);
        added.insert(segment);
        self.total.fetch_add(segment.job.tasks, Ordering::Relaxed);
        self.unfinished
            .fetch_add(segment.job.tasks, Ordering::Relaxed);
    }

    /// No more tasks will be added. Returns whether none is left.
    pub(crate) fn seal(&self) -> bool {
        let _nobody_looks = write(&self.crew);
        let held = self.held.swap(0, Ordering::Relaxed);
        self.report(held)
    }

    /// Tasks have ended and are reported. Returns whether none is left.
    pub(crate) fn report(&self, ended: u64) -> bool {
        ended > 0 && self.unfinished.fetch_sub(ended, Ordering::AcqRel) == ended
    }

    /// Takes over what lanes have not reported, and reports it, while nobody counts: see [`unfinished`](Self::unfinished).
    /// Returns whether no task is left.
    pub(crate) fn report_of<'a>(&self, lanes: impl Iterator<Item = &'a LaneShared>) -> bool {
        let _nobody_counts = read(&self.crew);
        self.report(lanes.map(LaneShared::take_unreported).sum())
    }

    /// How many tasks there are, and how many of them have not ended, to the last one. The lock keeps lanes from reporting
    /// between the two looks, which would have their successes counted twice or not at all.
    pub(crate) fn counts(&self) -> (u64, u64) {
        let crew = write(&self.crew);
        let unreported: u64 = crew.iter().map(|lane| lane.unreported()).sum();
        let unfinished = self.unfinished.load(Ordering::Acquire);
        let held = self.held.load(Ordering::Relaxed);
        let total = self.total.load(Ordering::Relaxed);
        (total, unfinished.saturating_sub(unreported + held))
    }

    /// A lane begins to work on the run.
    pub(crate) fn join(&self, lane: &Arc<LaneShared>) {
        write(&self.crew).push(lane.clone());
    }

    /// A lane works on the run no more; its deque is empty.
    pub(crate) fn leave(&self, lane: &Arc<LaneShared>) {
        write(&self.crew).retain(|other| !Arc::ptr_eq(other, lane));
    }

    /// The tasks whose bodies lanes are in, or were in last. While lanes go on, others may be among them.
    pub(crate) fn at_lanes(&self) -> Vec<TaskId> {
        read(&self.crew)
            .iter()
            .filter_map(|lane| lane.body())
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
    /// Returns what that was, and whether no task is left. The caller holds the engine's lock; the gate stays shut until it
    /// gives the lock up.
    pub(crate) fn quiesce(&self, sink: &mut (impl Sink + ?Sized)) -> (Vec<Settled>, bool) {
        let mut crew = Vec::new();
        self.gate.close(|| {
            crew.clone_from(&read(&self.crew));
            crew.iter().map(|lane| lane.turnstile())
        });
        let mut settled = Vec::new();
        for lane in &crew {
            let array = lane.array();
            let place = array.and_then(|element| self.locate(element));
            settled.extend(place.and_then(|place| lane.settle(&place.segment, sink)));
        }
        (settled, self.report_of(crew.iter().map(|lane| &**lane)))
    }
}

impl ArrayFlow {
    fn new(part: &ArrayPart) -> Self {
        let conditions = |count: u32| (0..part.len).map(|_| AtomicU32::new(count)).collect();
        ArrayFlow {
            grain: AtomicU32::new(1),
            left: AtomicU32::new(part.len),
            blocks: AtomicBool::new(false),
            keeps_inputs: AtomicBool::new(false),
            touched: AtomicBool::new(false),
            watched: AtomicBool::new(false),
            succeeded: Bits::new(part.len),
            ended: Bits::new(part.len),
            failed: OnceLock::new(),
            skipped: OnceLock::new(),
            conditions: (part.conditions > 1).then(|| conditions(part.conditions)),
        }
    }

    pub(crate) fn is_touched(&self) -> bool {
        self.touched.load(Ordering::Relaxed)
    }

    pub(crate) fn is_watched(&self) -> bool {
        self.watched.load(Ordering::Relaxed)
    }

    /// Asks to be told when elements end. The engine calls it with the gate closed.
    pub(crate) fn watch(&self) {
        self.watched.store(true, Ordering::Relaxed);
    }

    /// The elements in `range` that have not ended.
    pub(crate) fn pending(&self, range: Range<u32>) -> impl Iterator<Item = Range<u32>> + '_ {
        self.ended.unset(range)
    }

    /// How an element ended, if it has.
    pub(crate) fn state(&self, index: u32) -> Option<TaskState> {
        let among = |bits: &OnceLock<Bits>| bits.get().is_some_and(|bits| bits.get(index));
        match () {
            () if !self.ended.get(index) => None,
            () if self.succeeded.get(index) => Some(TaskState::Succeeded),
            () if among(&self.failed) => Some(TaskState::Failed),
            () if among(&self.skipped) => Some(TaskState::Skipped),
            () => Some(TaskState::Cancelled),
        }
    }

    /// How many elements have succeeded, failed, been skipped and been cancelled.
    pub(crate) fn ended_counts(&self) -> [u64; 4] {
        let count = |bits: &OnceLock<Bits>| bits.get().map_or(0, Bits::count);
        let (succeeded, failed) = (self.succeeded.count(), count(&self.failed));
        let skipped = count(&self.skipped);
        let others = succeeded + failed + skipped;
        let cancelled = self.ended.count().saturating_sub(others);
        [succeeded, failed, skipped, cancelled]
    }

    pub(crate) fn succeed(&self, elements: Range<u32>) {
        self.succeeded.set(elements.clone());
        self.ended.set(elements);
    }

    /// So many more elements have ended, and been written down. Returns whether none is left.
    pub(crate) fn have_ended(&self, count: u32) -> bool {
        self.left.fetch_sub(count, Ordering::AcqRel) == count
    }

    pub(crate) fn keep_inputs(&self) {
        self.keeps_inputs.store(true, Ordering::Relaxed);
    }

    /// Whether all elements have ended.
    pub(crate) fn has_ended(&self) -> bool {
        self.left.load(Ordering::Acquire) == 0
    }

    /// Whether the end of some element keeps what depends on the whole array from running.
    pub(crate) fn blocks(&self) -> bool {
        self.blocks.load(Ordering::Relaxed)
    }

    /// Makes that so. Returns whether it was not.
    pub(crate) fn block(&self) -> bool {
        !self.blocks.swap(true, Ordering::Relaxed)
    }

    /// The engine ends elements that have not ended, in whatever way.
    pub(crate) fn end(&self, elements: Range<u32>, state: TaskState) {
        let len = self.ended.capacity();
        match state {
            TaskState::Succeeded => self.succeeded.set(elements.clone()),
            TaskState::Failed => self
                .failed
                .get_or_init(|| Bits::new(len))
                .set(elements.clone()),
            TaskState::Skipped => self
                .skipped
                .get_or_init(|| Bits::new(len))
                .set(elements.clone()),
            _ => (),
        }
        self.ended.set(elements);
        self.touched.store(true, Ordering::Relaxed);
    }
}
