//! How many of a run's tasks stand where, and which wait.
//!
//! What has ended is counted as it ends. Which of the others wait is looked up when somebody asks, so that tasks pay
//! nothing for it: one pass over the nodes that have not succeeded and their edges, and over elements sixty-four at a
//! time. It takes no lock, and is as of some time during the pass.

use super::Run;
use super::flow::Segment;
use super::policy::Ledger;
use crate::graph::node_of;
use crate::job::ArrayPart;
use crate::model::{Counts, TaskState};

impl Run {
    /// How many tasks stand where.
    pub(crate) fn counts(&self) -> Counts {
        let mut counts = self.counts_of_ended();
        let unfinished = counts.unfinished();
        if unfinished > 0 {
            let segments = self.flow().segments();
            let waiting = segments.map(|segment| Waiting::of(self, &segment).total());
            let waiting = waiting.sum::<u64>();
            let running = self.ask(|policy, _| policy.running(self)).len() as u64;
            counts.running = running.min(unfinished);
            counts.waiting = waiting.min(unfinished - counts.running);
            counts.ready = unfinished - counts.running - counts.waiting;
        }
        counts
    }

    /// What arrays are called, and how their elements stand, the last ones of a lane's perhaps not yet counted.
    pub(crate) fn array_counts(&self) -> Vec<(String, Counts)> {
        let mut counts = Vec::new();
        for segment in self.flow.segments() {
            let arrays = segment.job.arrays.iter().enumerate();
            counts.extend(arrays.map(|(array, part)| {
                let name = segment.job.node_label(part.node);
                (name, self.counts_of(&segment, array))
            }));
        }
        counts
    }

    fn counts_of(&self, segment: &Segment, array: usize) -> Counts {
        let [succeeded, failed, skipped, cancelled] = segment.array(array).ended_counts();
        Counts {
            total: u64::from(segment.job.arrays[array].len),
            succeeded,
            failed,
            skipped,
            cancelled,
            disabled: self.is_disabled() && !self.has_ended(),
            ..Counts::default()
        }
    }

    /// As [`counts`](Self::counts), each task counted as the slots it asks for.
    pub(crate) fn slot_counts(&self) -> Counts {
        let mut segments = self.flow.segments();
        if segments.all(|segment| segment.job.requests.is_empty()) {
            return self.counts_of_ended();
        }
        let mut slots = Counts::default();
        for segment in self.flow.segments() {
            self.count_slots(&segment, &mut slots);
        }
        slots
    }

    fn count_slots(&self, segment: &Segment, slots: &mut Counts) {
        let job = &segment.job;
        for node in 0..job.units.len() as u32 {
            let asks = job.node_settings(node).resources.as_ref();
            let each = asks.map_or(1, |asks| u64::from(asks.slots_asked()));
            match job.array_of_node(node) {
                Some(array) => slots.add_all(&self.counts_of(segment, array), each),
                None => {
                    let state = segment.word(node).ended().unwrap_or(TaskState::Waiting);
                    slots.add(state, each);
                }
            }
        }
    }

    /// How many tasks have ended, and how.
    pub(crate) fn counts_of_ended(&self) -> Counts {
        let ledger = self.ledger();
        let Ledger {
            failed,
            skipped,
            cancelled,
            ..
        } = *ledger;
        let (total, unfinished) = self.flow.counts();
        let ended = total - unfinished;
        Counts {
            total,
            succeeded: ended.saturating_sub(failed + skipped + cancelled),
            failed,
            skipped,
            cancelled,
            disabled: self.is_disabled() && !self.has_ended(),
            ..Counts::default()
        }
    }

    /// How many tasks there are.
    pub(super) fn total(&self) -> u64 {
        self.flow.counts().0
    }
}

/// The nodes of a segment that wait for others, one bit each.
pub(super) struct Waiting<'a> {
    run: &'a Run,
    segment: &'a Segment,
    marks: Vec<u64>,
}

impl<'a> Waiting<'a> {
    pub(super) fn of(run: &'a Run, segment: &'a Segment) -> Self {
        let nodes = segment.job.units.len() as u32;
        let marks = vec![0; (nodes as usize).div_ceil(64)];
        let mut waiting = Waiting {
            run,
            segment,
            marks,
        };
        waiting.mark_behind(nodes);
        waiting.mark_late();
        waiting
    }

    /// What waits for others of the segment.
    fn mark_behind(&mut self, nodes: u32) {
        let (job, segment) = (&self.segment.job, self.segment);
        for node in (0..nodes).filter(|&node| !has_succeeded(segment, node)) {
            let successors = job.csr.successors(node).iter().map(|&entry| node_of(entry));
            for next in successors.filter(|&next| !self.run.passes(segment, node, next)) {
                self.mark(next);
            }
        }
    }

    /// What waits for others of the run.
    fn mark_late(&mut self) {
        let segment = self.segment;
        for (at, late) in (0..)
            .zip(&segment.job.late)
            .filter(|(_, late)| !late.is_each())
        {
            if !self.run.passes_late(segment, at, late) {
                self.mark(late.node);
            }
        }
    }

    fn mark(&mut self, node: u32) {
        self.marks[node as usize / 64] |= 1 << (node % 64);
    }

    pub(super) fn has(&self, node: u32) -> bool {
        self.marks[node as usize / 64] >> (node % 64) & 1 == 1
    }

    fn total(&self) -> u64 {
        let nodes = 0..self.segment.job.units.len() as u32;
        nodes.map(|node| self.count(node).1).sum()
    }

    /// How many tasks of a node have not ended, and how many of these wait.
    pub(super) fn count(&self, node: u32) -> (u64, u64) {
        match self.segment.job.array_of_node(node) {
            Some(array) => self.count_elements(array),
            None => {
                let unfinished = self.segment.word(node).ended().is_none();
                (
                    u64::from(unfinished),
                    u64::from(unfinished && self.has(node)),
                )
            }
        }
    }

    fn count_elements(&self, array: usize) -> (u64, u64) {
        let part = &self.segment.job.arrays[array];
        let (mut unfinished, mut waiting) = (0, 0);
        for at in 0..part.len.div_ceil(64) as usize {
            let left = self.segment.array(array).unfinished_word(at) & in_array(part, at);
            let waits = if self.has(part.node) {
                u64::MAX
            } else {
                self.without_upstream(part, at)
            };
            unfinished += u64::from(left.count_ones());
            waiting += u64::from((left & waits).count_ones());
        }
        (unfinished, waiting)
    }

    /// The elements whose like in another array, which they read, has not succeeded.
    fn without_upstream(&self, part: &ArrayPart, at: usize) -> u64 {
        let from = part.each_from.iter();
        let missing = from.map(|&from| !self.segment.array(from as usize).succeeded_word(at));
        let late = self.segment.job.late_of(part.node).iter();
        let late = late.filter(|late| late.is_each()).map(|late| {
            let place = self.run.locate(late.from);
            let array = place
                .as_ref()
                .and_then(|place| Some((place, place.array()?)));
            array.map_or(u64::MAX, |(place, array)| {
                !place.segment.array(array).succeeded_word(at)
            })
        });
        missing.chain(late).fold(0, |all, some| all | some)
    }
}

/// Whether nothing waits for a node any more, since it has succeeded.
fn has_succeeded(segment: &Segment, node: u32) -> bool {
    segment.word(node).ended() == Some(TaskState::Succeeded) && !segment.job.acts_on_success
}

/// Of 64 bits, those that stand for an element.
fn in_array(part: &ArrayPart, at: usize) -> u64 {
    match part.len - at as u32 * 64 {
        64.. => u64::MAX,
        rest => (1 << rest) - 1,
    }
}
