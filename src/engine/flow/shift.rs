//! A lane at work.
//!
//! What is run next is the first that became ready, then what the lane left for itself, then what others left. Ranges
//! are run in pieces, cut so that a piece takes about [`PIECE`](super::pace::PIECE), with the rest up for stealing.

use super::lane::{Lane, LaneShared, Progress, Supervisor};
use super::pace::{Pace, tuned};
use super::sinks::{Both, Here};
use super::witness::{Late, Witness};
use super::{Flow, Item, Nodes, Ready, Segment, Settled, Sink};
use crate::model::{Panic, TaskId};
use crate::sync::atomic::Ordering;
use crate::sync::{Bell, Signal, read};
use crate::work::{Call, Step};
use crossbeam_deque::Steal;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// What a lane has taken from another.
enum Stolen {
    Clean(Item),
    /// There may be tasks in it that were taken from lanes, which the other has not heard of. Whoever got its own work later
    /// would not be told in time: the engine looks it through.
    Tainted(Item),
}

/// A lane at work on a run.
pub(super) struct Shift<'a, W> {
    pub(super) lane: &'a Lane,
    pub(super) flow: &'a Flow,
    pub(super) segment: &'a Segment,
    /// What the segment's first node is called in the run.
    pub(super) base: u32,
    pub(super) nodes: Nodes<'a>,
    pub(super) progress: &'a Progress,
    pub(super) call: Call<'a>,
    pub(super) engine: &'a dyn Supervisor,
    pub(super) bell: &'a Bell,
    pub(super) witness: &'a W,
}

impl<'a, W: Witness> Shift<'a, W> {
    pub(super) fn new(
        lane: &'a Lane,
        flow: &'a Flow,
        segment: &'a Segment,
        call: Call<'a>,
        engine: &'a dyn Supervisor,
        bell: &'a Bell,
        witness: &'a W,
    ) -> Self {
        lane.base.set(segment.job.base);
        Shift {
            lane,
            flow,
            segment,
            base: segment.job.base,
            nodes: segment.nodes(),
            progress: &lane.shared.progress,
            call,
            engine,
            bell,
            witness,
        }
    }

    /// Until nothing is left to run or to steal, or the engine recalls the lane. Returns work of another segment, if that
    /// is next.
    pub(super) fn run(&self, first: Option<Item>) -> Option<Item> {
        let mut next = first;
        while let Some(item) = next.take().or_else(|| self.next_item()) {
            if !self.segment.holds(item) {
                return Some(item);
            }
            match item.ready() {
                Ready::Node(node) => self.lane.next.set(Some(node - self.base)),
                Ready::Sources(range) => {
                    let (start, end) = (range.start - self.base, range.end - self.base);
                    self.lane.sources.set((start, end));
                }
                Ready::Elements(range) => self.elements(range),
            }
            self.nodes();
        }
        self.report();
        None
    }

    /// The signal that the lane knows by now.
    pub(super) fn seen(&self) -> Option<Signal> {
        self.call.lane.as_ref().map(|pass| pass.seen.get())
    }

    /// The next piece of work: one's own latest, or another's oldest.
    fn next_item(&self) -> Option<Item> {
        if self.is_recalled() {
            return self.give_back(None);
        }
        let item = match self.lane.deque.pop() {
            Some(item) => item,
            None => {
                self.witness.pause();
                self.report();
                match self.steal()? {
                    Stolen::Clean(item) => item,
                    Stolen::Tainted(item) => return self.give_back(Some(item)),
                }
            }
        };
        Some(self.piece(item))
    }

    /// Leaves what the lane holds to the engine.
    #[cold]
    fn give_back(&self, last: Option<Item>) -> Option<Item> {
        self.witness.pause();
        let mut items = self.lane.take_all();
        items.extend(last);
        self.engine.give_back(items);
        None
    }

    fn steal(&self) -> Option<Stolen> {
        let crew = read(&self.flow.crew);
        crew.iter()
            .filter(|other| !Arc::ptr_eq(other, &self.lane.shared))
            .find_map(|other| {
                // Asked first: of what is done later, this lane hears before it settles anything.
                let tainted = self.flow.has_recalled_since(other.joined.get());
                let item = self.steal_from(other)?;
                Some(match tainted {
                    true => Stolen::Tainted(item),
                    false => Stolen::Clean(item),
                })
            })
    }

    fn steal_from(&self, other: &LaneShared) -> Option<Item> {
        loop {
            match other.stealer.steal_batch_and_pop(&self.lane.deque) {
                Steal::Success(item) => {
                    // What came along was in neither deque for an instant: whoever looked then sleeps now.
                    if !self.lane.deque.is_empty() {
                        self.bell.ring();
                    }
                    return Some(item);
                }
                Steal::Empty => return None,
                Steal::Retry => std::hint::spin_loop(),
            }
        }
    }

    /// Halves an item until it is small, leaving the halves for others to steal: the largest is the oldest.
    fn piece(&self, mut item: Item) -> Item {
        let grain = match item.ready() {
            Ready::Elements(numbers) => self.grain_of_elements(numbers.start),
            Ready::Node(_) | Ready::Sources(_) => self.lane.grain.get(),
        };
        while item.len() > grain {
            match item.split_off((item.len() / 2).max(grain)) {
                Some(rest) => self.push(rest),
                None => break,
            }
        }
        item
    }

    #[inline]
    pub(super) fn push(&self, item: Item) {
        self.lane.deque.push(item);
        self.bell.ring();
    }

    /// Runs nodes until there is none to go on with and no source is left in the piece.
    fn nodes(&self) {
        let begun = self.lane.sources.get();
        if begun.0 == begun.1 {
            return self.guarded(|| self.chain());
        }
        let pace = Pace::new();
        self.guarded(|| self.chains(&pace));
        let grain = self.lane.grain.get();
        let tuned = tuned(grain, begun.1 - begun.0, pace.elapsed());
        self.lane.grain.set(tuned);
    }

    /// Runs `work`; a panic in it is the failure of the task it was in, and `work` is run again for the rest.
    fn guarded(&self, mut work: impl FnMut()) {
        while let Err(panic) = catch_unwind(AssertUnwindSafe(&mut work)) {
            self.lane.shared.turnstile.leave();
            self.witness.pause();
            self.engine
                .failed(self.call.task(), Panic::from_payload(panic).into());
        }
    }

    /// Runs the sources of the piece, each with what follows from it.
    fn chains(&self, pace: &Pace) {
        while !self.is_recalled() {
            self.chain();
            let (start, end) = self.lane.sources.get();
            // A lane that has been recalled leaves the chain with its next node still to be given back.
            if start == end || self.is_recalled() {
                return;
            }
            if pace.is_slow() {
                self.lane.publish_sources();
                self.bell.ring();
                return;
            }
            self.lane.sources.set((start + 1, end));
            let source = self.segment.job.csr.sources[start as usize];
            self.lane.next.set(Some(source));
        }
    }

    /// Runs a node, and then the first that it made ready, until none is.
    fn chain(&self) {
        self.select_nodes();
        while let Some(node) = self.lane.next.take() {
            if !self.node(node) {
                return;
            }
        }
    }

    /// From here on the lane runs nodes, not elements.
    fn select_nodes(&self) {
        self.lane.end.set(0);
        self.lane.shared.progress.cursor.store(0, Ordering::Relaxed);
    }

    /// Returns whether the lane may go on.
    #[inline]
    fn node(&self, node: u32) -> bool {
        let word = &self.nodes.words[node as usize];
        if !word.is_pending() && !self.is_to_be_opened(node) {
            return !self.is_recalled();
        }
        self.progress
            .first
            .store(self.base + node, Ordering::Relaxed);
        let unit = &self.nodes.units[node as usize];
        let told = W::ATTENTIVE && self.nodes.runs_on_lanes(node);
        let step = {
            let _inside = told.then(|| self.witness.started(TaskId(self.base + node)));
            unit.call(&self.call)
        };
        match step {
            Step::Done { release } if self.is_recalled() => self.last_node(node, release),
            Step::Done { release } => {
                self.node_succeeded(node, release, self.witness);
                return true;
            }
            other => self.not_done(node, other),
        }
        !self.is_recalled()
    }

    /// The lane is inside the gate.
    #[inline(always)]
    fn node_succeeded(&self, node: u32, release: bool, witness: &impl Witness) {
        // Counted first: whoever sees that the task has ended finds it counted.
        self.progress.count(1);
        let watched = self.nodes.words[node as usize].succeed();
        let id = self.base + node;
        witness.succeeded(id..id + 1);
        let mut sink = Here {
            shift: self,
            witness,
            by: Some(TaskId(id)),
        };
        self.nodes.fire(node, &mut sink);
        witness.publish();
        self.lane.shared.turnstile.leave();
        if release {
            self.nodes.units[node as usize].release(&self.segment.values, 0);
        }
        if watched {
            self.engine.watched(id);
        }
    }

    /// The lane has been recalled while the body ran: perhaps since somebody began to listen.
    #[cold]
    fn last_node(&self, node: u32, release: bool) {
        match self.is_overheard() {
            true => self.node_succeeded(node, release, &Late(self.engine)),
            false => self.node_succeeded(node, release, self.witness),
        }
    }

    /// Whether somebody listens to the run that did not when the lane came.
    pub(super) fn is_overheard(&self) -> bool {
        !W::ATTENTIVE && self.engine.is_observed()
    }

    /// Whether there may be something to open, although the array as a whole has failed. What was reactivated is the
    /// policy's to start.
    #[cold]
    fn is_to_be_opened(&self, node: u32) -> bool {
        let job = &self.segment.job;
        let array = job.array_of_node(node);
        let has_elements = array.is_some_and(|array| job.arrays[array].len > 0);
        if !has_elements && self.segment.word(node).is_reactivated() {
            self.engine.queue_node(self.base + node);
        }
        has_elements
    }

    #[cold]
    fn not_done(&self, node: u32, step: Step) {
        self.witness.pause();
        match step {
            Step::Open => self.open(node),
            Step::Queue | Step::Later(_) => self.engine.queue_node(self.base + node),
            Step::Failed(cause) => self.engine.failed(TaskId(self.base + node), cause),
            Step::Stale | Step::Done { .. } => (),
        }
    }

    fn open(&self, node: u32) {
        let Some(array) = self.segment.job.array_of_node(node) else {
            return;
        };
        let mut queued = Vec::new();
        if self.inside() {
            let end = self.with_sink(&mut queued, |sink| {
                let empty = self.segment.open(array, sink);
                empty.then(|| self.segment.array_ended(array, sink))
            });
            self.lane.shared.turnstile.leave();
            let settled = Settled {
                node: self.base + node,
                elements: 0..0,
                end,
            };
            self.settled(array, Some(settled), queued);
        }
    }

    /// Settles with a sink that keeps what the policy must start, and tells whoever listens by now.
    pub(super) fn with_sink<R>(
        &self,
        queued: &mut Vec<Range<u32>>,
        settle: impl FnOnce(&mut dyn Sink) -> R,
    ) -> R {
        let late = Late(self.engine);
        let (shift, by) = (self, None);
        if self.is_overheard() {
            let witness = &late;
            let here = Here { shift, witness, by };
            settle(&mut Both { here, queued })
        } else {
            let witness = self.witness;
            let here = Here { shift, witness, by };
            settle(&mut Both { here, queued })
        }
    }

    /// What follows outside the gate when elements have succeeded.
    pub(super) fn settled(&self, array: usize, settled: Option<Settled>, queued: Vec<Range<u32>>) {
        self.witness.pause();
        queued
            .into_iter()
            .for_each(|elements| self.engine.queue_elements(elements));
        let Some(settled) = settled else { return };
        if settled.releases() {
            self.engine.finish(settled.node);
        }
        if self.segment.array(array).is_watched() {
            self.engine.array_settled(settled);
        }
    }

    /// Enters the gate with no task at stake. False when the run is over.
    pub(super) fn inside(&self) -> bool {
        let Some(pass) = &self.call.lane else {
            return false;
        };
        self.flow.gate.enter(pass.turnstile, pass.seen.get()) || self.call.host.admit(pass, None)
    }

    pub(super) fn is_recalled(&self) -> bool {
        self.call
            .lane
            .as_ref()
            .is_some_and(|pass| pass.recalled.get())
    }

    /// Tells the run what has succeeded; the last one to do so finds it finished.
    fn report(&self) {
        let shared = &*self.lane.shared;
        if shared.unreported() > 0 && self.flow.report_of(std::iter::once(shared)) {
            self.engine.finished();
        }
    }
}
