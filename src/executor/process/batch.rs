//! Attempts that travel to a child together, until each has its outcome.

use super::board::Board;
use super::frames::{self, FrameTooLarge, HEADER};
use super::printed::Streams;
use super::protocol::{BatchHead, ItemHead, MOST_ITEMS, Place, Record, Said};
use crate::engine::{Effects, Policy, Run};
use crate::executor::grant::Grant;
use crate::executor::{Lease, LeaseId, Outcome, elsewhere};
use crate::model::{BoxError, PreProcessingError, ProgressReport, Returned, TaskId};
use crate::work::{Host, encode, take};
use std::sync::Arc;

/// A frame that is as long takes no further item.
const FULL: usize = 256 << 10;

/// One of them.
struct Item {
    task: TaskId,
    attempt: u32,
    /// The task, or its array.
    node: TaskId,
    /// None once it has ended.
    lease: Option<Lease>,
}

/// One batch after another, in the same memory.
#[derive(Default)]
pub(super) struct Batch {
    /// Whose attempts they are.
    run: Option<Arc<Run>>,
    items: Vec<Item>,
    frame: Vec<u8>,
    left: usize,
    /// The node that the last item's name is of.
    named: Option<TaskId>,
    /// Where the next record is.
    next_record: usize,
    /// What was read of them.
    records: Vec<u8>,
    /// Items that were stopped.
    stopped: Vec<usize>,
    next: Option<Grant>,
}

impl Batch {
    /// Begins a new one, with nothing in it.
    pub(super) fn clear(&mut self) {
        self.items.clear();
        self.run = None;
        self.stopped.clear();
        (self.left, self.named, self.next_record) = (0, None, 0);
        frames::begin(&mut self.frame);
    }

    /// Adds an attempt of a function that the child has at this place. One that can't travel fails at once.
    pub(super) fn add(&mut self, lease: Lease, function: u32, limit: u32) {
        let start = self.frame.len();
        match self.put(&lease, function, limit as usize) {
            Ok(node) => {
                self.items.push(Item {
                    task: lease.task_id(),
                    attempt: lease.attempt(),
                    node,
                    lease: Some(lease),
                });
                self.left += 1;
            }
            Err(outcome) => {
                self.frame.truncate(start);
                self.named = None;
                if self.items.is_empty() {
                    self.run = None;
                }
                lease.complete(outcome);
            }
        }
    }

    /// Whether another item should wait for the next batch.
    pub(super) fn is_full(&self) -> bool {
        self.items.len() >= MOST_ITEMS || self.frame.len() >= FULL
    }

    pub(super) fn len(&self) -> usize {
        self.items.len()
    }

    /// How many have no outcome yet.
    pub(super) fn left(&self) -> usize {
        self.left
    }

    /// The frame to send, once it is complete.
    pub(super) fn finish(&mut self, board: &Board) -> Vec<u8> {
        board.clear(self.items.len());
        frames::end(&mut self.frame);
        std::mem::take(&mut self.frame)
    }

    /// Keeps a frame's memory for the next.
    pub(super) fn give_back(&mut self, frame: Vec<u8>) {
        self.frame = frame;
    }

    fn put(&mut self, lease: &Lease, function: u32, limit: usize) -> Result<TaskId, Outcome> {
        let run = lease.engine_run();
        let task = lease.task_id();
        let Some(place) = run.locate(task) else {
            return Err(Outcome::Cancelled);
        };
        let (job, index) = (&place.segment.job, place.index);
        let node = place.task();
        if self.run.is_none() {
            self.run = Some(run.clone());
            self.write(&BatchHead {
                run: run.seq(),
                job: run.name(),
            });
        }
        let name = (self.named != Some(node)).then(|| job.name_of(place.node));
        self.named = Some(node);
        self.write(&ItemHead {
            function,
            task: task.0,
            index,
            attempt: lease.attempt(),
            name: name.as_deref(),
            place: place_of(lease),
        });
        let at = self.frame.len();
        self.frame.extend_from_slice(&[0; HEADER]);
        lease.encode_argument(&mut self.frame)?;
        let len = self.frame.len() - at - HEADER;
        if self.frame.len() - HEADER > limit {
            let what = "an argument";
            return Err(not_begun(FrameTooLarge { what, len, limit }));
        }
        let len = u32::try_from(len).unwrap_or(u32::MAX);
        self.frame[at..at + HEADER].copy_from_slice(&len.to_le_bytes());
        Ok(node)
    }

    fn write(&mut self, head: &impl serde::Serialize) {
        // Nothing in a head could refuse to be written.
        let _ = encode(head, &mut self.frame);
    }

    /// Takes what the child has recorded meanwhile.
    ///
    /// The end of the last of the batch, and what is taken next with `take_next`, are one transition: so no other minder is woken
    /// for what this one goes on with.
    pub(super) fn harvest(&mut self, board: &Board, streams: &Streams, take_next: &TakeNext<'_>) {
        let mut records = std::mem::take(&mut self.records);
        records.clear();
        let mut ends = Vec::new();
        while let Some((item, next)) = board.read(self.next_record, &mut records) {
            self.next_record = next;
            ends.push((item, records.len()));
        }
        let mut start = 0;
        let mut outputs: Vec<(usize, &[u8])> = Vec::with_capacity(ends.len());
        for (item, end) in ends {
            let bytes = &records[start..end];
            start = end;
            match take(bytes) {
                Ok((Record::Succeeded, output)) if self.is_element(item) => {
                    outputs.push((item, output));
                }
                _ => self.take_record(item, bytes, streams, take_next),
            }
        }
        let nodes: Vec<_> = outputs
            .iter()
            .map(|(item, _)| self.items[*item].node)
            .collect();
        let mut rest = &outputs[..];
        for nodes in nodes.chunk_by(TaskId::eq) {
            let (outputs, later) = rest.split_at(nodes.len());
            self.accept(outputs, take_next);
            rest = later;
        }
        self.records = records;
    }

    /// Successes of elements of one array.
    fn accept(&mut self, outputs: &[(usize, &[u8])], take_next: &TakeNext<'_>) {
        let mut leases = Vec::with_capacity(outputs.len());
        let mut bytes = Vec::with_capacity(outputs.len());
        for &(item, output) in outputs {
            if let Some(lease) = self.items.get_mut(item).and_then(|item| item.lease.take()) {
                leases.push(lease);
                bytes.push(output);
            }
        }
        self.left -= leases.len();
        let (is_last, next) = (self.left == 0, &mut self.next);
        let mut then = |policy: &mut Policy, effects: &mut Effects| {
            // One that is there already must not be dropped under the lock.
            if is_last && next.is_none() {
                *next = take_next(policy, effects);
            }
        };
        for (at, lease) in elsewhere::accept_all(leases, &bytes, &mut then) {
            let outcome = lease.accept(bytes[at]);
            lease.complete(outcome);
        }
    }

    fn is_element(&self, item: usize) -> bool {
        self.items
            .get(item)
            .is_some_and(|item| item.task.is_element())
    }

    /// What came of an item.
    pub(super) fn take_record(
        &mut self,
        item: usize,
        bytes: &[u8],
        streams: &Streams,
        take_next: &TakeNext<'_>,
    ) {
        let Ok((record, output)) = take(bytes) else {
            let nonsense = |_: &Lease| Outcome::Failed("sent nonsense".into());
            return self.complete(item, nonsense, take_next);
        };
        match record {
            Record::Succeeded => self.complete(item, |lease| lease.accept(output), take_next),
            Record::Failed(failure) => {
                let failed = |_: &Lease| Outcome::Failed(failure.into_error());
                self.complete(item, failed, take_next);
            }
            Record::Skipped => {
                let stopped = self.stopped.contains(&item);
                self.complete(item, |_| not_run(stopped), take_next);
            }
            Record::Printed { items, ranges } => {
                let first = (item + 1).saturating_sub(items as usize);
                self.keep_printed(first..item + 1, &streams.read(&ranges));
            }
        }
    }

    /// Keeps what attempts wrote.
    pub(super) fn keep_printed(&self, items: std::ops::Range<usize>, printed: &[Vec<u8>; 2]) {
        let items = self.items.get(items).unwrap_or_default();
        if let Some(run) = &self.run {
            for item in items {
                run.live().keep(item.task, item.attempt, printed.clone());
            }
        }
    }

    fn complete(
        &mut self,
        item: usize,
        outcome: impl FnOnce(&Lease) -> Outcome,
        take_next: &TakeNext<'_>,
    ) {
        let item = self.items.get_mut(item);
        if let Some(lease) = item.and_then(|item| item.lease.take()) {
            self.left -= 1;
            let outcome = outcome(&lease);
            match self.left == 0 && self.next.is_none() {
                true => self.next = lease.complete_and(outcome, take_next).flatten(),
                false => lease.complete(outcome),
            }
        }
    }

    /// What was taken with the end of the last.
    pub(super) fn take_next(&mut self) -> Option<Grant> {
        self.next.take()
    }

    /// Gives back, for others, what has surely not been begun.
    pub(super) fn take_back(&mut self, board: &Board) {
        for item in board.take_back()..self.items.len() {
            let stopped = self.stopped.contains(&item);
            self.complete(item, |_| not_run(stopped), &nothing);
        }
    }

    /// The child is no more. `died` makes the outcome of the attempt that it was in.
    pub(super) fn bury(&mut self, running: Option<usize>, mut died: impl FnMut() -> Outcome) {
        for item in 0..self.items.len() {
            let stopped = self.stopped.contains(&item);
            let outcome = |_: &Lease| match Some(item) == running && !stopped {
                true => died(),
                false => not_run(stopped),
            };
            self.complete(item, outcome, &nothing);
        }
    }

    /// Has attempts stopped.
    pub(super) fn stop(&mut self, orders: &[LeaseId], board: &Board) {
        for (item, Item { lease, .. }) in self.items.iter().enumerate() {
            let ours = lease
                .as_ref()
                .is_some_and(|lease| orders.contains(&lease.id()));
            if ours && !self.stopped.contains(&item) {
                board.cancel(item);
                self.stopped.push(item);
            }
        }
    }

    /// Whether an attempt was stopped that has not ended.
    pub(super) fn is_stopping(&self) -> bool {
        self.stopped.iter().any(|&item| self.has(item))
    }

    /// Whether this item was stopped, and has not ended.
    pub(super) fn is_stopped(&self, item: usize) -> bool {
        self.stopped.contains(&item) && self.has(item)
    }

    fn has(&self, item: usize) -> bool {
        let item = self.items.get(item);
        item.is_some_and(|item| item.lease.is_some())
    }

    /// Passes on what a body says about itself.
    pub(super) fn tell(&self, said: Said) {
        match said {
            Said::Progress {
                item,
                fraction,
                message,
            } => {
                if let Some(lease) = self.lease(item) {
                    let (task, attempt) = (lease.task_id(), lease.attempt());
                    let report = ProgressReport { fraction, message };
                    lease.engine_run().report_progress(task, attempt, report);
                }
            }
            Said::Logged {
                item,
                level,
                target,
                message,
            } => {
                if let Some(lease) = self.lease(item) {
                    let span = lease
                        .engine_run()
                        .attempt_span(lease.task_id(), lease.attempt());
                    let _inside = span.enter();
                    super::logging::log(level, &target, &message);
                }
            }
            _ => (),
        }
    }

    fn lease(&self, item: u32) -> Option<&Lease> {
        self.items.get(item as usize)?.lease.as_ref()
    }
}

/// Takes what a minder does next, in a transition that is under way.
pub(super) type TakeNext<'a> = dyn Fn(&mut Policy, &mut Effects) -> Option<Grant> + 'a;

/// For those who will look for it themselves.
pub(super) fn nothing(_: &mut Policy, _: &mut Effects) -> Option<Grant> {
    None
}

fn place_of(lease: &Lease) -> Option<Place> {
    let (instances, gpus) = (lease.instances(), lease.gpus());
    (instances > 1 || !gpus.is_empty()).then(|| Place {
        instance: lease.instance(),
        instances,
        gpus,
    })
}

fn not_run(stopped: bool) -> Outcome {
    match stopped {
        true => Outcome::Cancelled,
        false => Outcome::Returned(Returned::NotBegun),
    }
}

/// A failure before the body: no retry helps.
pub(super) fn not_begun(error: impl Into<BoxError>) -> Outcome {
    Outcome::Failed(PreProcessingError::new(error).into())
}
