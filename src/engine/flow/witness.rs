//! Who hears of what a lane does. Lanes are compiled once for each kind, so that where nobody listens nothing is asked.

use super::Supervisor;
use crate::model::TaskId;
use std::ops::Range;

/// Hears of each task that a lane runs.
pub(crate) trait Witness {
    /// Whether there is anything to tell it.
    const ATTENTIVE: bool = true;
    /// Whether what it is told is written down.
    fn writes(&self) -> bool {
        Self::ATTENTIVE
    }
    /// What is held while a body runs.
    type Inside;
    /// The body is about to be called. The lane is outside the gate.
    fn started(&self, task: TaskId) -> Self::Inside;
    /// These have succeeded.
    fn succeeded(&self, tasks: Range<u32>);
    /// These elements were settled. Those that ran under this witness have been told of.
    fn settled(&self, _: Range<u32>) {}
    /// These, by id, became ready with the success of `by`, if that is known.
    fn ready(&self, tasks: Range<u32>, by: Option<TaskId>);
    /// What was told is about to be seen by others. May be called inside the gate.
    fn publish(&self);
    /// The lane is outside the gate, and may not be back soon.
    fn pause(&self);
}

/// Nobody listens.
pub(super) struct Nobody;

impl Witness for Nobody {
    const ATTENTIVE: bool = false;
    type Inside = ();
    #[inline(always)]
    fn started(&self, _: TaskId) {}
    #[inline(always)]
    fn succeeded(&self, _: Range<u32>) {}
    #[inline(always)]
    fn ready(&self, _: Range<u32>, _: Option<TaskId>) {}
    #[inline(always)]
    fn publish(&self) {}
    #[inline(always)]
    fn pause(&self) {}
}

/// Somebody has begun to listen while a body ran: hears of what the lane settles before it is back with a scribe.
pub(super) struct Late<'a>(pub(super) &'a dyn Supervisor);

impl Witness for Late<'_> {
    type Inside = ();

    fn started(&self, _: TaskId) {}

    fn succeeded(&self, tasks: Range<u32>) {
        self.0.note_succeeded(tasks);
    }

    fn settled(&self, tasks: Range<u32>) {
        self.0.note_succeeded(tasks);
    }

    fn ready(&self, tasks: Range<u32>, by: Option<TaskId>) {
        self.0.note_ready(tasks, by);
    }

    fn publish(&self) {}

    fn pause(&self) {}
}
