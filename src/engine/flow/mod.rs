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
mod ends;
mod item;
mod lane;
mod pace;
mod passed;
mod pieces;
mod place;
mod segment;
mod shift;
mod sinks;
mod witness;
mod word;

use segment::Added;
use word::Word;

pub(crate) use array::ArrayFlow;
pub(crate) use bits::ranges;
pub(crate) use ends::{ArrayEnd, Settled, Verdict};
pub(crate) use item::{Item, Ready};
pub(crate) use lane::{Lane, LaneShared, Supervisor};
pub(crate) use place::Place;
pub(crate) use segment::{Segment, SegmentRef};
pub(crate) use witness::Witness;

use crate::graph::{SOLE, Successors};
use crate::job::Frozen;
use crate::model::TaskId;
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::{Gate, Mark, Signal, read, write};
use crate::work::{Unit, Values};
use std::ops::Range;
use std::sync::{Arc, RwLock};
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
    /// When tasks were last taken from lanes that were at them.
    recalled: Mark,
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
            recalled: Mark::default(),
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

    /// Whether more tasks may be added.
    pub(crate) fn is_open(&self) -> bool {
        self.held.load(Ordering::Relaxed) > 0
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
        self.locate(task)
            .is_some_and(|place| place.is_for_lanes(task))
    }

    /// Whether the task is to run again, after it had ended without success.
    pub(crate) fn is_reactivated(&self, task: TaskId) -> bool {
        self.locate(task)
            .is_some_and(|place| place.is_reactivated(task))
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

    /// Tasks were taken from lanes that are at them. They may still be among what lanes hold that do not know it.
    pub(crate) fn recall_lanes(&self) {
        self.recalled.set(self.gate.signal());
    }

    /// Whether that was done after this signal.
    pub(crate) fn has_recalled_since(&self, signal: Signal) -> bool {
        self.recalled.is_after(signal)
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
