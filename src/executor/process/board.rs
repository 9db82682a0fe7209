//! The memory that parent and child share: which item the child is in, which it is not to begin, and what came of those
//! that have ended.
//!
//! It outlives the child. So only the item that a dead child was in is charged, and what was finished stays finished.
//!
//! An item is *taken back* by setting a bound below it. The child says which item it is in before it looks at the bound,
//! the parent sets the bound before it looks at the item: so an item after the one that the parent then sees is never begun.

use crate::agent::SharedMemory;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};

use super::protocol::MOST_ITEMS;

/// The item that the child is in, plus one; 0 for none.
const RUNNING: usize = 0;
/// Items from this one on are not begun.
const BOUND: usize = 1;
/// How many words of records there are.
const RECORDED: usize = 2;
/// A bit for each item that was cancelled.
const CANCELLED: usize = 8;
/// The records: a word with the item's number and the length, then as many bytes.
const RECORDS: usize = CANCELLED + MOST_ITEMS / BITS;

const BITS: usize = u64::BITS as usize;

/// How many words there are: 16 MiB, of which the system provides what is used.
const WORDS: usize = (16 << 20) / size_of::<u64>();

#[derive(Debug)]
pub(super) struct Board(SharedMemory);

impl Board {
    /// The parent's.
    pub(super) fn new() -> io::Result<Self> {
        SharedMemory::new(WORDS).map(Board)
    }

    /// The child's.
    pub(super) fn open(memory: OwnedFd) -> io::Result<Self> {
        let memory = SharedMemory::open(memory)?;
        match memory.words().len() == WORDS {
            true => Ok(Board(memory)),
            false => Err(io::ErrorKind::InvalidData.into()),
        }
    }

    /// Has it ready for a batch of so many items. The child is in none.
    pub(super) fn clear(&self, items: usize) {
        self.word(RUNNING).store(0, Ordering::Relaxed);
        self.word(BOUND).store(items as u64, Ordering::Relaxed);
        self.word(RECORDED).store(0, Ordering::Relaxed);
        let bits = &self.0.words()[CANCELLED..RECORDS];
        bits.iter()
            .for_each(|bits| bits.store(0, Ordering::Relaxed));
    }

    /// Says that the child is in an item. Returns whether it is to begin it.
    pub(super) fn enter(&self, item: u32) -> bool {
        let running = u64::from(item) + 1;
        self.word(RUNNING).store(running, Ordering::SeqCst);
        u64::from(item) < self.word(BOUND).load(Ordering::SeqCst) && !self.is_cancelled(item)
    }

    /// The item that the child is in, or was in last.
    pub(super) fn running(&self) -> Option<usize> {
        let running = self.word(RUNNING).load(Ordering::SeqCst);
        usize::try_from(running).ok()?.checked_sub(1)
    }

    /// Takes back what has not been begun. Returns the first item that is surely among it.
    pub(super) fn take_back(&self) -> usize {
        let next = self.running().map_or(0, |running| running + 1);
        self.word(BOUND).store(next as u64, Ordering::SeqCst);
        // It may have gone on meanwhile.
        self.running().map_or(0, |running| running + 1).max(next)
    }

    pub(super) fn cancel(&self, item: usize) {
        if let Some((word, bit)) = self.bit(item) {
            word.fetch_or(bit, Ordering::Release);
        }
    }

    pub(super) fn is_cancelled(&self, item: u32) -> bool {
        let bit = self.bit(item as usize);
        bit.is_some_and(|(word, bit)| word.load(Ordering::Acquire) & bit != 0)
    }

    /// Adds a record; `false` if it has no room.
    pub(super) fn record(&self, item: u32, bytes: &[u8]) -> bool {
        let at = RECORDS + self.recorded();
        let head = u64::from(item) << 32 | bytes.len() as u64;
        let end = at + 1 + bytes.len().div_ceil(size_of::<u64>());
        if end > WORDS || !self.0.write(at + 1, bytes) {
            return false;
        }
        self.word(at).store(head, Ordering::Relaxed);
        self.word(RECORDED)
            .store((end - RECORDS) as u64, Ordering::Release);
        true
    }

    /// The record at this place, added to `to`; whose it is, and the next one's place.
    pub(super) fn read(&self, at: usize, to: &mut Vec<u8>) -> Option<(usize, usize)> {
        if at >= self.recorded() {
            return None;
        }
        let head = self.0.words().get(RECORDS + at)?.load(Ordering::Relaxed);
        let len = (head & u64::from(u32::MAX)) as usize;
        self.0.read(RECORDS + at + 1, len, to);
        let item = (head >> 32) as usize;
        Some((item, at + 1 + len.div_ceil(size_of::<u64>())))
    }

    fn recorded(&self) -> usize {
        let recorded = self.word(RECORDED).load(Ordering::Acquire);
        usize::try_from(recorded)
            .unwrap_or_default()
            .min(WORDS - RECORDS)
    }

    fn word(&self, at: usize) -> &AtomicU64 {
        &self.0.words()[at]
    }

    fn bit(&self, item: usize) -> Option<(&AtomicU64, u64)> {
        (item < MOST_ITEMS).then(|| (self.word(CANCELLED + item / BITS), 1 << (item % BITS)))
    }
}

impl AsFd for Board {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn records_are_read_as_they_were_written_until_there_is_no_room() {
        let board = Board::new().expect("made");
        board.clear(3);
        assert!(board.record(0, b"") && board.record(1, b"more than a word"));
        assert!(!board.record(2, &vec![0; 16 << 20]));
        let mut bytes = Vec::new();
        let (item, next) = board.read(0, &mut bytes).expect("a record");
        assert_eq!((item, bytes.len()), (0, 0));
        let (item, next) = board.read(next, &mut bytes).expect("a record");
        assert_eq!((item, &bytes[..]), (1, &b"more than a word"[..]));
        assert!(board.read(next, &mut bytes).is_none());
    }

    #[test]
    fn what_is_taken_back_or_cancelled_is_not_begun() {
        let board = Board::new().expect("made");
        board.clear(4);
        board.cancel(1);
        assert!(board.enter(0) && !board.enter(1) && board.enter(2));
        assert_eq!((board.take_back(), board.running()), (3, Some(2)));
        assert!(!board.enter(3));
    }
}
