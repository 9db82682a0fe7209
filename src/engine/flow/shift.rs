//! A lane at work.
//!
//! What is run next is the first that became ready, then what the lane left for itself, then what others left. Ranges
//! are run in pieces, cut so that a piece takes about [`PIECE`], with the rest up for stealing.

use super::lane::{Lane, Progress, Settled, Supervisor};
use super::witness::{Late, Witness};
use super::{Flow, Item, Nodes, Ready, Sink};
use crate::model::{ELEMENT, Panic, TaskId};
use crate::sync::atomic::Ordering;
use crate::sync::{Bell, read};
use crate::work::{Call, Step};
use crossbeam_deque::Steal;
use std::cell::Cell;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A piece of a range should take about this long: short enough to share, long enough not to notice the cutting.
const PIECE: Duration = Duration::from_micros(50);

/// The most tasks in a piece, and the most successes a lane keeps to itself.
const MOST: u32 = 1 << 13;

/// A lane at work on a run.
pub(super) struct Shift<'a, W> {
    lane: &'a Lane,
    flow: &'a Flow,
    nodes: Nodes<'a>,
    progress: &'a Progress,
    call: Call<'a>,
    engine: &'a dyn Supervisor,
    bell: &'a Bell,
    witness: W,
}

impl<'a, W: Witness> Shift<'a, W> {
    pub(super) fn new(
        lane: &'a Lane,
        flow: &'a Flow,
        call: Call<'a>,
        engine: &'a dyn Supervisor,
        bell: &'a Bell,
        witness: W,
    ) -> Self {
        Shift {
            lane,
            flow,
            nodes: flow.nodes(),
            progress: &lane.shared.progress,
            call,
            engine,
            bell,
            witness,
        }
    }

    /// Until nothing is left to run or to steal, or the engine recalls the lane.
    pub(super) fn run(&self) {
        while let Some(item) = self.next_item() {
            match item.ready() {
                Ready::Node(node) => self.lane.next.set(Some(node)),
                Ready::Sources(range) => self.lane.sources.set((range.start, range.end)),
                Ready::Elements(range) => self.elements(range),
            }
            self.nodes();
        }
        self.report();
    }

    /// The next piece of work: one's own latest, or another's oldest.
    fn next_item(&self) -> Option<Item> {
        if self.is_recalled() {
            self.witness.pause();
            let items = self.lane.take_all();
            self.engine.give_back(items);
            return None;
        }
        let item = match self.lane.deque.pop() {
            Some(item) => item,
            None => {
                self.witness.pause();
                self.report();
                self.steal()?
            }
        };
        Some(self.piece(item))
    }

    fn steal(&self) -> Option<Item> {
        let crew = read(&self.flow.crew);
        crew.iter()
            .filter(|other| !Arc::ptr_eq(other, &self.lane.shared))
            .find_map(|other| {
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
            })
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
    fn push(&self, item: Item) {
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
        let tuned = tuned(grain, begun.1 - begun.0, pace.started.elapsed());
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
            let source = self.flow.job.csr.sources[start as usize];
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
        self.progress.first.store(node, Ordering::Relaxed);
        let unit = &self.nodes.units[node as usize];
        let told = W::ATTENTIVE && self.nodes.runs_on_lanes(node);
        let step = {
            let _inside = told.then(|| self.witness.started(TaskId(node)));
            unit.call(&self.call)
        };
        match step {
            Step::Done { release } if self.is_recalled() => self.last_node(node, release),
            Step::Done { release } => {
                self.node_succeeded(node, release, &self.witness);
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
        witness.succeeded(node..node + 1);
        let mut sink = Here {
            shift: self,
            witness,
            by: Some(TaskId(node)),
        };
        self.nodes.fire(node, &mut sink);
        witness.publish();
        self.lane.shared.turnstile.leave();
        if release {
            self.nodes.units[node as usize].release(&self.flow.values, 0);
        }
        if watched {
            self.engine.watched(node);
        }
    }

    /// The lane has been recalled while the body ran: perhaps since somebody began to listen.
    #[cold]
    fn last_node(&self, node: u32, release: bool) {
        match self.is_overheard() {
            true => self.node_succeeded(node, release, &Late(self.engine)),
            false => self.node_succeeded(node, release, &self.witness),
        }
    }

    /// Whether somebody listens to the run that did not when the lane came.
    fn is_overheard(&self) -> bool {
        !W::ATTENTIVE && self.engine.is_observed()
    }

    /// Whether there may be something to open, although the array as a whole has failed. What was reactivated is the
    /// policy's to start.
    #[cold]
    fn is_to_be_opened(&self, node: u32) -> bool {
        let job = &self.flow.job;
        let array = job.array_of_node(node);
        let has_elements = array.is_some_and(|array| job.arrays[array].len > 0);
        if !has_elements && self.flow.word(node).is_reactivated() {
            self.engine.queue_node(node);
        }
        has_elements
    }

    #[cold]
    fn not_done(&self, node: u32, step: Step) {
        self.witness.pause();
        match step {
            Step::Open => self.open(node),
            Step::Queue | Step::Later(_) => self.engine.queue_node(node),
            Step::Failed(cause) => self.engine.failed(TaskId(node), cause),
            Step::Stale | Step::Done { .. } => (),
        }
    }

    fn open(&self, node: u32) {
        let Some(array) = self.flow.job.array_of_node(node) else {
            return;
        };
        let mut queued = Vec::new();
        if self.inside() {
            let empty = self.with_sink(&mut queued, |sink| {
                let empty = self.flow.open(array, sink);
                if empty {
                    self.flow.array_ended(array, sink);
                }
                empty
            });
            self.lane.shared.turnstile.leave();
            self.settled(array, 0..0, empty, queued);
        }
    }

    /// Runs a piece of an array.
    fn elements(&self, numbers: Range<u32>) {
        let Some(array) = self.flow.job.array_of_element(numbers.start) else {
            return;
        };
        let part = &self.flow.job.arrays[array];
        let (lane, progress) = (self.lane, &self.lane.shared.progress);
        let range = numbers.start - part.first..numbers.end - part.first;
        progress
            .first
            .store(part.first | ELEMENT, Ordering::Relaxed);
        progress.skip_to(range.start);
        progress.array.store(array as u32 + 1, Ordering::Release);
        lane.piece_end.set(range.end);
        let started = Instant::now();
        let mut span = 1;
        while !self.is_recalled() && self.select_span(array, span) {
            self.tell_span(array);
            if self.flow.array(array).is_watched() {
                self.settle(array, |_| ());
            }
            if started.elapsed() > PIECE {
                lane.publish_elements(self.call.index());
                self.bell.ring();
            }
            span = span.saturating_mul(2);
        }
        self.settle(array, |progress| progress.array.store(0, Ordering::Relaxed));
        lane.publish_elements(self.call.index());
        let grain = &self.flow.array(array).grain;
        let before = grain.load(Ordering::Relaxed);
        let done = self.call.index() - range.start;
        grain.store(tuned(before, done, started.elapsed()), Ordering::Relaxed);
    }

    /// Runs elements, and tells of them one by one if somebody listens.
    #[inline]
    fn tell_span(&self, array: usize) {
        if !W::ATTENTIVE {
            self.span(array);
            return;
        }
        let task = self.call.task();
        let succeeded = {
            let _inside = self.witness.started(task);
            self.span(array)
        };
        if succeeded {
            self.witness.succeeded(task.0..task.0 + 1);
            self.witness.publish();
        }
    }

    /// Moves to the next elements of the piece that have not ended, at most `span` of them. Returns whether there are any.
    fn select_span(&self, array: usize, span: u32) -> bool {
        let (lane, progress) = (self.lane, &self.lane.shared.progress);
        let state = self.flow.array(array);
        let next = loop {
            let rest = progress.cursor.load(Ordering::Relaxed)..lane.piece_end.get();
            let next = if state.is_touched() {
                state.pending(rest.clone()).next()
            } else {
                Some(rest.clone())
            };
            let Some(next) = next.filter(|next| !next.is_empty()) else {
                lane.piece_end.set(rest.start);
                return false;
            };
            if next.start == rest.start {
                break next;
            }
            // Settling may be the lane's way to the gate's new signal, with which nothing would tell it any more that the
            // engine has ended some of these, too: so it looks again.
            self.settle(array, |progress| progress.skip_to(next.start));
        };
        // Whoever watches or listens hears of each element.
        let alone = W::ATTENTIVE || state.is_watched();
        let span = if alone { 1 } else { span };
        lane.end.set(next.end.min(next.start.saturating_add(span)));
        true
    }

    /// Runs elements up to the first that does not succeed, and deals with that one. Returns whether all did.
    fn span(&self, array: usize) -> bool {
        let unit = &self.flow.job.units[self.flow.job.arrays[array].node as usize];
        let cause = match catch_unwind(AssertUnwindSafe(|| unit.call(&self.call))) {
            Ok(Step::Done { .. } | Step::Open) => return true,
            Ok(Step::Failed(cause)) => Some(cause),
            Ok(Step::Stale | Step::Queue | Step::Later(_)) => None,
            Err(panic) => {
                self.lane.shared.turnstile.leave();
                Some(Panic::from_payload(panic).into())
            }
        };
        let task = self.call.task();
        self.settle(array, |progress| progress.skip_to(self.call.index() + 1));
        if let Some(cause) = cause {
            self.witness.pause();
            self.engine.failed(task, cause);
        }
        false
    }

    /// Settles what the piece has achieved so far, and moves on. Both inside the gate: whoever closes it must not find
    /// the one without the other, and take an element that was passed over for one that has succeeded.
    fn settle(&self, array: usize, move_on: impl FnOnce(&Progress)) {
        let mut queued = Vec::new();
        let inside = self.inside();
        let settled = match inside {
            true => self.settle_inside(&mut queued),
            false => None,
        };
        move_on(&self.lane.shared.progress);
        if inside {
            self.lane.shared.turnstile.leave();
            let completed = settled.as_ref().is_some_and(|settled| settled.completed);
            let elements = settled.map_or(0..0, |settled| settled.elements);
            self.settled(array, elements, completed, queued);
        }
    }

    fn settle_inside(&self, queued: &mut Vec<Range<u32>>) -> Option<Settled> {
        let shared = &self.lane.shared;
        self.with_sink(queued, |sink| shared.settle(self.flow, sink))
    }

    /// Settles with a sink that keeps what the policy must start, and tells whoever listens by now.
    fn with_sink<R>(
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
            let witness = &self.witness;
            let here = Here { shift, witness, by };
            settle(&mut Both { here, queued })
        }
    }

    /// What follows outside the gate when elements have succeeded.
    fn settled(
        &self,
        array: usize,
        elements: Range<u32>,
        completed: bool,
        queued: Vec<Range<u32>>,
    ) {
        self.witness.pause();
        queued
            .into_iter()
            .for_each(|elements| self.engine.queue_elements(elements));
        if completed {
            self.engine.finish(array);
        }
        if self.flow.array(array).is_watched() {
            self.engine.array_settled(array, elements);
        }
    }

    /// Enters the gate with no task at stake. False when the run is over.
    fn inside(&self) -> bool {
        let Some(pass) = &self.call.lane else {
            return false;
        };
        self.flow.gate.enter(pass.turnstile, pass.seen.get()) || self.call.host.admit(pass, None)
    }

    fn is_recalled(&self) -> bool {
        self.call
            .lane
            .as_ref()
            .is_some_and(|pass| pass.recalled.get())
    }

    fn grain_of_elements(&self, number: u32) -> u32 {
        let array = self.flow.job.array_of_element(number);
        array.map_or(1, |array| {
            self.flow.array(array).grain.load(Ordering::Relaxed)
        })
    }

    /// Tells the run what has succeeded; the last one to do so finds it finished.
    fn report(&self) {
        let shared = &*self.lane.shared;
        if shared.unreported() > 0 && self.flow.report_of(std::iter::once(shared)) {
            self.engine.finished();
        }
    }
}

/// How a piece of sources gets on. It looks at the clock after one of them, two, four and so on: a piece was cut for quick
/// ones, and when slow ones follow, others should have the rest.
struct Pace {
    started: Instant,
    done: Cell<u32>,
}

impl Pace {
    fn new() -> Self {
        Pace {
            started: Instant::now(),
            done: Cell::new(0),
        }
    }

    fn is_slow(&self) -> bool {
        let done = self.done.get();
        self.done.set(done + 1);
        done.is_power_of_two() && self.started.elapsed() > PIECE
    }
}

/// Grows pieces while they are short, shrinks them when they are long.
fn tuned(grain: u32, tasks: u32, took: Duration) -> u32 {
    match took {
        short if short < PIECE / 2 && tasks >= grain => (grain * 2).min(MOST),
        long if long > PIECE * 2 => (grain / 2).max(1),
        _ => grain,
    }
}

/// Newly ready work stays with the lane: the first node is next, the rest is up for stealing.
///
/// First, not last: a grid's diagonal stays in step that way, and runs three to four times as fast.
struct Here<'a, 'b, S, W> {
    shift: &'a Shift<'b, S>,
    witness: &'a W,
    by: Option<TaskId>,
}

impl<S: Witness, W: Witness> Here<'_, '_, S, W> {
    /// Whoever steals it must not be heard of first.
    #[inline]
    fn push(&self, item: Item) {
        self.witness.publish();
        self.shift.push(item);
    }
}

impl<S: Witness, W: Witness> Sink for Here<'_, '_, S, W> {
    fn ready(&mut self, item: Item) {
        if let (true, Ready::Elements(numbers)) = (W::ATTENTIVE, item.ready()) {
            let ids = numbers.start | ELEMENT..numbers.end | ELEMENT;
            self.witness.ready(ids, self.by);
        }
        self.push(item);
    }

    #[inline]
    fn node(&mut self, node: u32) {
        if W::ATTENTIVE && self.shift.nodes.runs_on_lanes(node) {
            self.witness.ready(node..node + 1, self.by);
        }
        let next = &self.shift.lane.next;
        match next.get() {
            None => next.set(Some(node)),
            Some(_) => self.push(Item::node(node)),
        }
    }

    fn queue_elements(&mut self, _: Range<u32>) {
        debug_assert!(false, "a node's success makes nodes ready, and no elements");
    }
}

/// As [`Here`], with what the policy must start put aside until the lane is outside the gate: the engine's lock is never
/// taken inside.
struct Both<'a, 'b, 'q, S, W> {
    here: Here<'a, 'b, S, W>,
    queued: &'q mut Vec<Range<u32>>,
}

impl<S: Witness, W: Witness> Sink for Both<'_, '_, '_, S, W> {
    fn ready(&mut self, item: Item) {
        self.here.ready(item);
    }

    fn node(&mut self, node: u32) {
        self.here.node(node);
    }

    fn queue_elements(&mut self, elements: Range<u32>) {
        self.queued.push(elements);
    }

    fn elements_succeeded(&mut self, elements: Range<u32>) {
        let ids = elements.start | ELEMENT..elements.end | ELEMENT;
        self.here.witness.settled(ids);
    }
}
