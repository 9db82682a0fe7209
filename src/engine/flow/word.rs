//! A single task's word: how many predecessors it waits for, how it ended, and who wants to know.
//!
//! ```text
//! 31   29 28    27      26 25                                0
//! [state] [free][watched][ predecessors that have not ended  ]
//! ```
//!
//! A predecessor's success decrements the count; the task's own success replaces the whole word. When the engine ends
//! it, the count stays: predecessors that succeed later still come by, and the other elements of an array whose word
//! says that it can't succeed still wait for them. A task with a sole
//! predecessor is never counted down: that predecessor's success is the trigger, and the count stays 1.

use crate::graph::COUNT_BITS;
use crate::model::TaskState;
use crate::sync::atomic::{AtomicU32, Ordering, fence};

/// Somebody waits for this task's end.
pub(crate) const WATCHED: u32 = 1 << COUNT_BITS;

const COUNT: u32 = (1 << COUNT_BITS) - 1;
const STATE: u32 = 7 << 29;
const SUCCEEDED: u32 = 1 << 29;
const FAILED: u32 = 2 << 29;
const SKIPPED: u32 = 3 << 29;
const CANCELLED: u32 = 4 << 29;
/// It has not ended any more: it is to run again, and only the policy starts it. Lanes take it for one that has ended.
const REACTIVATED: u32 = 5 << 29;

/// One atomic word a task: see the module.
#[derive(Debug)]
pub(crate) struct Word(AtomicU32);

impl Word {
    pub(crate) fn new(predecessors: u32) -> Self {
        Word(AtomicU32::new(predecessors))
    }

    /// How the task ended, if it has.
    #[inline]
    pub(crate) fn ended(&self) -> Option<TaskState> {
        match self.0.load(Ordering::Acquire) & STATE {
            SUCCEEDED => Some(TaskState::Succeeded),
            FAILED => Some(TaskState::Failed),
            SKIPPED => Some(TaskState::Skipped),
            CANCELLED => Some(TaskState::Cancelled),
            _ => None,
        }
    }

    /// Whether it has not ended, and is for lanes.
    #[inline]
    pub(crate) fn is_pending(&self) -> bool {
        self.0.load(Ordering::Relaxed) & STATE == 0
    }

    /// The holder's verdict. Returns whether somebody watches. Plain load and store: the holder is the only writer.
    #[inline]
    pub(crate) fn succeed(&self) -> bool {
        let watched = self.0.load(Ordering::Relaxed) & WATCHED != 0;
        self.0.store(SUCCEEDED, Ordering::Release);
        watched
    }

    /// The engine's verdict on a task that no lane can settle meanwhile. Returns whether somebody watches.
    pub(crate) fn end(&self, state: TaskState) -> bool {
        let bits = match state {
            TaskState::Succeeded => SUCCEEDED,
            TaskState::Failed => FAILED,
            TaskState::Skipped => SKIPPED,
            _ => CANCELLED,
        };
        self.put_state(bits) & WATCHED != 0
    }

    /// The engine takes back that a task has ended without success. What it waits for is still counted.
    pub(crate) fn reactivate(&self) {
        self.put_state(REACTIVATED);
    }

    /// It waits for so many of its predecessors, whatever it waited for before. None of them settles meanwhile.
    pub(crate) fn wait_for(&self, predecessors: u32) {
        let count = self.0.load(Ordering::Relaxed) & COUNT;
        // Of the last, the count is not taken down.
        self.0
            .fetch_xor(count ^ predecessors.max(1), Ordering::AcqRel);
    }

    pub(crate) fn is_reactivated(&self) -> bool {
        self.0.load(Ordering::Relaxed) & STATE == REACTIVATED
    }

    /// The state has one writer; the count beside it may be decremented meanwhile.
    fn put_state(&self, state: u32) -> u32 {
        let before = self.0.load(Ordering::Relaxed) & STATE;
        self.0.fetch_xor(before ^ state, Ordering::AcqRel)
    }

    /// One predecessor has succeeded. Returns whether it was the last.
    ///
    /// Nobody else can bring a count of one to zero, so the last needs no read-modify-write.
    #[inline]
    pub(crate) fn arrive(&self) -> bool {
        if self.0.load(Ordering::Relaxed) & COUNT == 1 {
            fence(Ordering::Acquire);
            return true;
        }
        self.0.fetch_sub(1, Ordering::AcqRel) & COUNT == 1
    }

    /// Whether somebody has asked to be told of the end, and it has not ended since.
    pub(crate) fn is_watched(&self) -> bool {
        self.0.load(Ordering::Relaxed) & WATCHED != 0
    }

    /// Asks to be told of the end. The engine calls it with the gate closed.
    pub(crate) fn watch(&self) {
        self.0.fetch_or(WATCHED, Ordering::Relaxed);
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use loom::sync::Arc;
    use loom::sync::atomic::AtomicUsize;

    /// Two predecessors, each with an output of its own; whoever arrives last must see both.
    #[test]
    fn loom_exactly_one_predecessor_is_last_and_sees_what_the_others_did() {
        loom::model(|| {
            let shared = Arc::new((Word::new(2), [AtomicUsize::new(0), AtomicUsize::new(0)]));
            let arrive = |mine: usize| {
                let shared = shared.clone();
                move || {
                    let (word, outputs) = &*shared;
                    outputs[mine].store(1, Ordering::Relaxed);
                    let last = word.arrive();
                    if last {
                        assert!(
                            outputs
                                .iter()
                                .all(|output| output.load(Ordering::Relaxed) == 1)
                        );
                    }
                    last
                }
            };
            let other = loom::thread::spawn(arrive(0));
            let here = arrive(1)();
            assert!(here ^ other.join().expect("predecessor"));
        });
    }
}
