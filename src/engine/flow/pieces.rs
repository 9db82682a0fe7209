//! A lane at the elements of an array.

use super::Settled;
use super::lane::Progress;
use super::pace::{PIECE, tuned};
use super::shift::Shift;
use super::witness::Witness;
use crate::model::{ELEMENT, Panic};
use crate::sync::atomic::Ordering;
use crate::work::Step;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

impl<W: Witness> Shift<'_, W> {
    /// Runs a piece of an array.
    pub(super) fn elements(&self, numbers: Range<u32>) {
        let Some(array) = self.segment.job.array_of_element(numbers.start) else {
            return;
        };
        let part = &self.segment.job.arrays[array];
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
            if self.segment.array(array).is_watched() {
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
        let grain = &self.segment.array(array).grain;
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
        let state = self.segment.array(array);
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
            // engine has ended some of these, too, or taken them away: so it looks again.
            self.settle(array, |progress| progress.skip_to(next.start));
            if self.is_recalled() {
                return false;
            }
        };
        // Whoever watches or listens hears of each element.
        let alone = W::ATTENTIVE || state.is_watched();
        let span = if alone { 1 } else { span };
        lane.end.set(next.end.min(next.start.saturating_add(span)));
        true
    }

    /// Runs elements up to the first that does not succeed, and deals with that one. Returns whether all did.
    fn span(&self, array: usize) -> bool {
        let unit = &self.segment.job.units[self.segment.job.arrays[array].node as usize];
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
            self.settled(array, settled, queued);
        }
    }

    fn settle_inside(&self, queued: &mut Vec<Range<u32>>) -> Option<Settled> {
        let shared = &self.lane.shared;
        self.with_sink(queued, |sink| shared.settle(self.segment, sink))
    }

    /// How many elements make a piece.
    pub(super) fn grain_of_elements(&self, number: u32) -> u32 {
        let array = self.segment.job.array_of_element(number);
        array.map_or(1, |array| {
            self.segment.array(array).grain.load(Ordering::Relaxed)
        })
    }
}
