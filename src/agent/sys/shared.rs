//! Memory that two processes share, and that outlives either of them as long as the other is there.
//!
//! This is one of the crate's unsafe files. The memory is a file without a name, sealed so that neither process can make it
//! shorter under the other's feet. It is read and written through atomics alone, so that what one process does can't be
//! undefined behaviour in the other; bytes are passed in words.

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, fstat, ftruncate, memfd_create};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU64, Ordering};

/// How many bytes a word has.
const WORD: usize = size_of::<u64>();

/// Words that another process can see.
#[derive(Debug)]
pub(crate) struct SharedMemory {
    words: NonNull<AtomicU64>,
    len: usize,
    file: OwnedFd,
}

// SAFETY: it is memory that is accessed through atomics alone, by whatever thread.
unsafe impl Send for SharedMemory {}
// SAFETY: as above.
unsafe impl Sync for SharedMemory {}

impl SharedMemory {
    /// So many words of zeroes.
    pub(crate) fn new(words: usize) -> io::Result<Self> {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let file = memfd_create(c"batchyard", flags)?;
        ftruncate(&file, (words * WORD) as u64)?;
        fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
        Self::open(file)
    }

    /// What another process has made.
    pub(crate) fn open(file: OwnedFd) -> io::Result<Self> {
        let bytes = usize::try_from(fstat(&file)?.st_size).unwrap_or_default();
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping, of a file that is as long and can't become shorter; it has no other owner.
        let start = unsafe {
            mmap(
                ptr::null_mut(),
                bytes,
                protection,
                MapFlags::SHARED,
                &file,
                0,
            )?
        };
        let words = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(SharedMemory {
            words,
            len: bytes / WORD,
            file,
        })
    }

    pub(crate) fn words(&self) -> &[AtomicU64] {
        // SAFETY: the mapping is as long, lives as long as `self`, begins at a page, and any bits are a valid word.
        unsafe { std::slice::from_raw_parts(self.words.as_ptr(), self.len) }
    }

    /// Writes bytes from a word on; `false`, and nothing, if there is no room.
    pub(crate) fn write(&self, at: usize, bytes: &[u8]) -> bool {
        let words = self.words().get(at..at + bytes.len().div_ceil(WORD));
        let Some(words) = words else { return false };
        for (word, bytes) in words.iter().zip(bytes.chunks(WORD)) {
            let mut value = [0; WORD];
            value[..bytes.len()].copy_from_slice(bytes);
            word.store(u64::from_ne_bytes(value), Ordering::Relaxed);
        }
        true
    }

    /// Adds so many bytes from a word on, as far as there are as many.
    pub(crate) fn read(&self, at: usize, len: usize, to: &mut Vec<u8>) {
        let end = to.len() + len;
        to.reserve(len.min(self.len * WORD) + WORD);
        let words = self.words().get(at..).unwrap_or_default();
        for word in words.iter().take(len.div_ceil(WORD)) {
            to.extend_from_slice(&word.load(Ordering::Relaxed).to_ne_bytes());
        }
        to.truncate(end);
    }
}

impl AsFd for SharedMemory {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

impl Drop for SharedMemory {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and nobody reads it any more.
        let _ = unsafe { munmap(self.words.as_ptr().cast(), self.len * WORD) };
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn what_one_writes_the_other_reads() {
        let ours = SharedMemory::new(8).expect("made");
        let theirs = SharedMemory::open(ours.file.try_clone().expect("copied")).expect("opened");
        assert!(ours.write(1, b"more than a word"));
        let mut read = b"> ".to_vec();
        theirs.read(1, 16, &mut read);
        assert_eq!(read, b"> more than a word");
        assert!(!ours.write(7, &[0; 9]));
    }
}
