//! How the elements of an array stand.

use super::bits::{Bits, ranges};
use crate::job::ArrayPart;
use crate::model::TaskState;
use crate::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::ops::Range;
use std::sync::OnceLock;

/// The state of an array's elements.
pub(crate) struct ArrayFlow {
    /// How many elements make a piece: learnt from those that have run.
    pub(super) grain: AtomicU32,
    /// Elements that have not ended.
    pub(super) left: AtomicU32,
    /// Its node has become ready, and the elements have been told. That happens once, whatever is queued meanwhile.
    pub(super) opened: AtomicBool,
    /// The end of some element keeps what depends on the whole array from running.
    pub(super) blocks: AtomicBool,
    /// The engine ended some elements: lanes must look before they run one.
    pub(super) touched: AtomicBool,
    /// Somebody waits for the array, or for an element of it.
    pub(super) watched: AtomicBool,
    pub(super) succeeded: Bits,
    pub(super) ended: Bits,
    pub(super) failed: OnceLock<Bits>,
    pub(super) skipped: OnceLock<Bits>,
    /// Elements that have not ended any more: they are to run again, and only the policy starts them. Lanes take them for
    /// ended.
    pub(super) reactivated: OnceLock<Bits>,
    /// What each element still waits for, if it waits for more than one thing.
    pub(super) conditions: Option<Box<[AtomicU32]>>,
}

impl ArrayFlow {
    pub(super) fn new(part: &ArrayPart) -> Self {
        let conditions = |count: u32| (0..part.len).map(|_| AtomicU32::new(count)).collect();
        ArrayFlow {
            grain: AtomicU32::new(1),
            left: AtomicU32::new(part.len),
            opened: AtomicBool::new(false),
            blocks: AtomicBool::new(false),
            touched: AtomicBool::new(false),
            watched: AtomicBool::new(false),
            succeeded: Bits::new(part.len),
            ended: Bits::new(part.len),
            failed: OnceLock::new(),
            skipped: OnceLock::new(),
            reactivated: OnceLock::new(),
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

    /// The elements in `range` that lanes may run.
    pub(crate) fn pending(&self, range: Range<u32>) -> impl Iterator<Item = Range<u32>> + '_ {
        self.ended.unset(range)
    }

    /// The elements in `range` that have not ended.
    pub(crate) fn unfinished(&self, range: Range<u32>) -> impl Iterator<Item = Range<u32>> + '_ {
        ranges(range, |index| {
            !self.ended.get(index) || self.is_reactivated(index)
        })
    }

    /// How an element ended, if it has.
    pub(crate) fn state(&self, index: u32) -> Option<TaskState> {
        let among = |bits: &OnceLock<Bits>| bits.get().is_some_and(|bits| bits.get(index));
        match () {
            () if !self.ended.get(index) || self.is_reactivated(index) => None,
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
        let others = succeeded + failed + skipped + count(&self.reactivated);
        let cancelled = self.ended.count().saturating_sub(others);
        [succeeded, failed, skipped, cancelled]
    }

    pub(super) fn succeed(&self, elements: Range<u32>) {
        self.succeeded.set(elements.clone());
        self.ended.set(elements.clone());
        self.no_longer_reactivated(elements);
    }

    /// So many more elements have ended, and been written down. Returns whether none is left.
    pub(crate) fn have_ended(&self, count: u32) -> bool {
        self.left.fetch_sub(count, Ordering::AcqRel) == count
    }

    /// Whether all elements have ended.
    pub(crate) fn is_over(&self) -> bool {
        self.left.load(Ordering::Acquire) == 0
    }

    /// Whether its node has become ready once.
    pub(crate) fn was_opened(&self) -> bool {
        self.opened.load(Ordering::Acquire)
    }

    /// Whether the end of some element keeps what depends on the whole array from running.
    pub(crate) fn blocks(&self) -> bool {
        self.blocks.load(Ordering::Relaxed)
    }

    /// None of them does any more.
    pub(crate) fn unblock(&self) {
        self.blocks.store(false, Ordering::Relaxed);
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
        self.ended.set(elements.clone());
        self.touched.store(true, Ordering::Relaxed);
        self.no_longer_reactivated(elements);
    }

    /// The engine takes back that elements have ended without success.
    pub(crate) fn reactivate(&self, elements: Range<u32>) {
        let reactivated = self
            .reactivated
            .get_or_init(|| Bits::new(self.ended.capacity()));
        reactivated.set(elements.clone());
        self.left
            .fetch_add(elements.end - elements.start, Ordering::AcqRel);
        let marks = [&self.failed, &self.skipped]
            .into_iter()
            .filter_map(OnceLock::get);
        marks.for_each(|bits| bits.clear(elements.clone()));
    }

    /// They have ended again.
    fn no_longer_reactivated(&self, elements: Range<u32>) {
        if let Some(reactivated) = self.reactivated.get() {
            reactivated.clear(elements);
        }
    }

    /// Of elements that have not ended: only the policy starts them, and lanes take them for ended.
    #[cfg(feature = "journal")]
    pub(crate) fn set_aside(&self, elements: Range<u32>) {
        let reactivated = self
            .reactivated
            .get_or_init(|| Bits::new(self.ended.capacity()));
        reactivated.set(elements.clone());
        self.ended.set(elements);
        self.touch();
    }

    /// Lanes must look before they run an element.
    #[cfg(feature = "journal")]
    pub(crate) fn touch(&self) {
        self.touched.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_reactivated(&self, index: u32) -> bool {
        self.reactivated.get().is_some_and(|bits| bits.get(index))
    }

    /// Of 64 elements, those that have not ended; beyond the last, anything.
    pub(crate) fn unfinished_word(&self, at: usize) -> u64 {
        let reactivated = self.reactivated.get().map_or(0, |bits| bits.word(at));
        !self.ended.word(at) | reactivated
    }

    /// Of 64 elements, those that have succeeded.
    pub(crate) fn succeeded_word(&self, at: usize) -> u64 {
        self.succeeded.word(at)
    }

    /// How the array ends as a whole for those elements that have ended without success, if any have.
    pub(crate) fn loss(&self) -> Option<TaskState> {
        let word = |bits: &OnceLock<Bits>, at| bits.get().map_or(0, |bits| bits.word(at));
        let lost =
            |at| self.ended.word(at) & !self.succeeded.word(at) & !word(&self.reactivated, at);
        let any = |is_in: &dyn Fn(usize) -> u64| {
            (0..self.ended.words()).any(|at| lost(at) & is_in(at) != 0)
        };
        match () {
            () if any(&|at| word(&self.failed, at)) => Some(TaskState::Failed),
            () if any(&|at| !word(&self.skipped, at)) => Some(TaskState::Cancelled),
            () => any(&|_| u64::MAX).then_some(TaskState::Skipped),
        }
    }
}
