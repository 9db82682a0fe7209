//! One thread's work on one run.
//!
//! A lane has a deque of ready work that other lanes of the run may steal from. It runs a task, settles its success,
//! goes on with the first dependent that became ready, and leaves the others in the deque. It never takes a lock,
//! except when the run's signal changed or something did not succeed.

use super::shift::Shift;
use super::witness::{Nobody, Witness};
use super::{Flow, Item, Segment, SegmentRef, Settled, Sink};
use crate::model::{BoxError, ELEMENT, TaskId};
use crate::sync::atomic::{AtomicU32, Ordering};
use crate::sync::{Bell, SharedSignal, Signal, Turnstile};
use crate::work::{Call, Host, Instance, LanePass};
use crossbeam_deque::{Stealer, Worker};
use crossbeam_utils::CachePadded;
use std::cell::Cell;
use std::ops::Range;
use std::sync::Arc;

/// No job has as many elements.
const NO_TASK: u32 = u32::MAX;

/// What a lane leaves to the engine.
pub(crate) trait Supervisor {
    /// The task's body returned an error or panicked. The lane is outside the gate.
    fn failed(&self, task: TaskId, cause: BoxError);
    /// All elements of an array have succeeded: what it wanted as a whole is let go.
    fn finish(&self, node: u32);
    /// A node is ready that only the policy starts.
    fn queue_node(&self, node: u32);
    /// Elements are ready that only the policy starts.
    fn queue_elements(&self, elements: Range<u32>);
    /// A task that somebody watches has ended.
    fn watched(&self, node: u32);
    /// Elements of an array that somebody watches have ended, or all of it has.
    fn array_settled(&self, settled: Settled);
    /// Nothing is left unfinished.
    fn finished(&self);
    /// Ready work that the lane will not begin.
    fn give_back(&self, items: Vec<Item>);
    /// Whether somebody listens.
    fn is_observed(&self) -> bool;
    /// Tells whoever listens of tasks, by id, that have succeeded. May be called inside the gate.
    fn note_succeeded(&self, tasks: Range<u32>);
    /// As [`note_succeeded`](Self::note_succeeded), of tasks that are ready.
    fn note_ready(&self, tasks: Range<u32>, by: Option<TaskId>);
}

/// A lane, as its own thread sees it. Made once a thread and used for run after run.
pub(crate) struct Lane {
    pub(super) shared: Arc<LaneShared>,
    pub(super) deque: Worker<Item>,
    /// One after the last element to be run without looking up.
    pub(super) end: Cell<u32>,
    /// One after the last element of the piece being run.
    pub(super) piece_end: Cell<u32>,
    /// What the first node of the segment being worked on is called in its run.
    pub(super) base: Cell<u32>,
    /// Sources of the piece being run that have not been begun: positions in the segment's list of them.
    pub(super) sources: Cell<(u32, u32)>,
    /// The node to go on with, counted in the segment.
    pub(super) next: Cell<Option<u32>>,
    /// How many sources make a piece. Each array has its own number of elements.
    pub(super) grain: Cell<u32>,
}

/// A lane, as other threads see it.
pub(crate) struct LaneShared {
    pub(super) stealer: Stealer<Item>,
    pub(super) turnstile: Turnstile,
    pub(super) progress: CachePadded<Progress>,
    /// The signal with which it got its work.
    pub(super) joined: SharedSignal,
}

/// What the lane has done and not yet told: written by it alone, outside the gate or in it; read by the engine with the
/// gate closed, and by the curious at any time.
#[derive(Default)]
pub(super) struct Progress {
    /// The task being run: its node, or its array's first element, by its number in the run.
    pub(super) first: AtomicU32,
    /// The element being run, in its array.
    pub(super) cursor: AtomicU32,
    /// The first element of the piece that is not settled.
    pub(super) settled: AtomicU32,
    /// One more than the array, in its segment, whose elements are being run; 0 for none.
    pub(super) array: AtomicU32,
    /// Successes not reported to the run.
    pub(super) unreported: AtomicU32,
}

impl Progress {
    /// By one inside the gate.
    #[inline]
    pub(super) fn count(&self, succeeded: u32) {
        let before = self.unreported.load(Ordering::Relaxed);
        self.unreported.store(before + succeeded, Ordering::Relaxed);
    }

    /// The elements of the piece that have succeeded and are not settled.
    pub(super) fn unsettled(&self) -> Range<u32> {
        self.settled.load(Ordering::Relaxed)..self.cursor.load(Ordering::Relaxed)
    }

    /// Points at no task.
    fn forget_task(&self) {
        self.first.store(NO_TASK, Ordering::Relaxed);
        self.cursor.store(0, Ordering::Relaxed);
    }

    /// Goes on with this element, as if nothing of the piece before it were left to settle.
    pub(super) fn skip_to(&self, element: u32) {
        self.settled.store(element, Ordering::Relaxed);
        self.cursor.store(element, Ordering::Relaxed);
    }
}

impl Lane {
    pub(crate) fn new() -> Self {
        let deque = Worker::new_lifo();
        let shared = LaneShared {
            stealer: deque.stealer(),
            turnstile: Turnstile::default(),
            progress: CachePadded::new(Progress::default()),
            joined: SharedSignal::default(),
        };
        Lane {
            shared: Arc::new(shared),
            deque,
            end: Cell::new(0),
            piece_end: Cell::new(0),
            base: Cell::new(0),
            sources: Cell::new((0, 0)),
            next: Cell::new(None),
            grain: Cell::new(1),
        }
    }

    pub(crate) fn shared(&self) -> &Arc<LaneShared> {
        &self.shared
    }

    /// Works on a run until neither this lane nor any other of it has ready work, or the engine recalls it.
    pub(crate) fn work(
        &self,
        flow: &Flow,
        host: &Arc<dyn Host>,
        engine: &dyn Supervisor,
        bell: &Bell,
        (items, seen): (impl IntoIterator<Item = Item>, Signal),
        witness: Option<impl Witness>,
    ) {
        // What was quick in the run before says nothing about this one, and what was run last is no task of this one.
        self.grain.set(1);
        self.shared.progress.forget_task();
        self.shared.joined.set(seen);
        flow.join(&self.shared);
        for item in items {
            // One of them keeps this lane busy; the others may be for whoever sleeps.
            if !self.deque.is_empty() {
                bell.ring();
            }
            self.deque.push(item);
        }
        match witness {
            None => self.work_through(flow, host, engine, bell, seen, &Nobody),
            Some(witness) => self.work_through(flow, host, engine, bell, seen, &witness),
        }
        flow.leave(&self.shared);
    }

    /// Until there is nothing: one segment after another.
    fn work_through(
        &self,
        flow: &Flow,
        host: &Arc<dyn Host>,
        engine: &dyn Supervisor,
        bell: &Bell,
        mut seen: Signal,
        witness: &impl Witness,
    ) {
        let mut segment = SegmentRef::First(&flow.first);
        let mut next = None;
        loop {
            let pass = LanePass::new(&flow.gate, &self.shared.turnstile, seen, witness.writes());
            let call = Call {
                host,
                values: &segment.values,
                first: &self.shared.progress.first,
                attempt: 1,
                instance: Instance::ONLY,
                gpus: None,
                lane: Some(pass),
                launcher: None,
                cursor: &self.shared.progress.cursor,
                end: &self.end,
            };
            let shift = Shift::new(self, flow, &segment, call, engine, bell, witness);
            next = shift.run(next);
            let Some(item) = next else { break };
            seen = shift.seen().unwrap_or(seen);
            segment = flow.segment_of(item);
        }
    }

    /// Puts what this thread holds, and has not begun, where other lanes find it: its body is about to wait.
    pub(crate) fn publish(&self) {
        if let Some(next) = self.next.take() {
            self.deque.push(Item::node(self.base.get() + next));
        }
        self.publish_sources();
        let progress = &self.shared.progress;
        if progress.array.load(Ordering::Relaxed) != 0 {
            let next = progress.cursor.load(Ordering::Relaxed) + 1;
            self.publish_elements(next);
            self.end.set(next);
        }
    }

    /// Gives up the sources of the piece that have not been begun.
    pub(super) fn publish_sources(&self) {
        let (start, end) = self.sources.replace((0, 0));
        if start < end {
            let base = self.base.get();
            self.deque.push(Item::sources(base + start..base + end));
        }
    }

    /// Gives up the elements of the piece from `next` on.
    pub(super) fn publish_elements(&self, next: u32) {
        let first = self.shared.progress.first.load(Ordering::Relaxed) & !ELEMENT;
        let end = self.piece_end.replace(next);
        if next < end {
            self.deque.push(Item::elements(first + next..first + end));
        }
    }

    pub(super) fn take_all(&self) -> Vec<Item> {
        self.publish();
        std::iter::from_fn(|| self.deque.pop()).collect()
    }
}

impl LaneShared {
    pub(crate) fn turnstile(&self) -> &Turnstile {
        &self.turnstile
    }

    pub(crate) fn has_surplus(&self) -> bool {
        !self.stealer.is_empty()
    }

    /// The task whose body the lane is in, or was in last.
    pub(crate) fn task(&self) -> TaskId {
        TaskId(
            self.progress.first.load(Ordering::Relaxed)
                + self.progress.cursor.load(Ordering::Relaxed),
        )
    }

    /// The same, if there is one: between two arrays, the lane points at no element.
    pub(crate) fn body(&self) -> Option<TaskId> {
        let in_array = self.progress.array.load(Ordering::Acquire) != 0;
        Some(self.task()).filter(|task| in_array || !task.is_element())
    }

    pub(crate) fn unreported(&self) -> u64 {
        u64::from(self.progress.unreported.load(Ordering::Relaxed))
    }

    /// Takes over the successes that were not reported.
    pub(crate) fn take_unreported(&self) -> u64 {
        u64::from(self.progress.unreported.swap(0, Ordering::Relaxed))
    }

    /// An element of the array that the lane is at, if it is at one.
    pub(super) fn array(&self) -> Option<TaskId> {
        let is_at_one = self.progress.array.load(Ordering::Acquire) != 0;
        is_at_one.then(|| TaskId(self.progress.first.load(Ordering::Relaxed)))
    }

    /// Settles the elements of an array of the segment that the lane has run: the lane inside the gate, or the engine with
    /// it closed. Returns what was settled.
    pub(crate) fn settle(
        &self,
        segment: &Segment,
        sink: &mut (impl Sink + ?Sized),
    ) -> Option<Settled> {
        let array = self.progress.array.load(Ordering::Acquire).checked_sub(1)? as usize;
        let done = self.progress.unsettled();
        if done.is_empty() {
            return None;
        }
        self.progress.settled.store(done.end, Ordering::Relaxed);
        self.progress.count(done.end - done.start);
        let part = &segment.job.arrays[array];
        sink.elements_succeeded(part.first + done.start..part.first + done.end);
        let ended = segment.elements_succeeded(array, done.clone(), sink);
        Some(Settled {
            node: segment.job.base + part.node,
            elements: done,
            end: ended.then(|| segment.array_ended(array, sink)),
        })
    }
}
