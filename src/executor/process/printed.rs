//! What bodies write to standard output and error: files, so that nobody waits for anybody, in which the child notes from
//! where to where an item wrote.

use rustix::fs::{SeekFrom, ftruncate, seek};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;

/// Beyond this, the files begin anew with the next batch.
const LONG: u64 = 1 << 20;

/// How much of what an attempt wrote is kept: the end.
const KEPT: u64 = 16 << 10;

/// From where to where, of standard output and of standard error.
pub(super) type Ranges = [(u64, u64); 2];

/// The child's side: where its two files end.
///
/// Looking after each item would take longer than a small item. So an item is looked at by itself once its function has
/// been seen to write; until then a batch is, as a whole. Functions that write are mostly found out with their first item,
/// which travels alone.
pub(super) struct Prints {
    ends: [u64; 2],
    /// The functions that write.
    writing: Vec<bool>,
}

impl Prints {
    pub(super) fn new(functions: usize) -> Self {
        Prints {
            ends: ends(),
            writing: vec![false; functions],
        }
    }

    /// A batch begins.
    pub(super) fn begin(&mut self) {
        if self.ends.iter().any(|&end| end > LONG) {
            let _ = start_anew(io::stdout());
            let _ = start_anew(io::stderr());
            self.ends = ends();
        }
    }

    /// What the item wrote that has just ended, if its function is one that writes.
    pub(super) fn written_by_item(&mut self, function: u32) -> Option<Ranges> {
        let writes = self.writing.get(function as usize);
        writes
            .is_some_and(|&writes| writes)
            .then(|| self.written_since())?
    }

    /// What the batch wrote that has just ended, and nobody accounts for.
    pub(super) fn written_in_batch(&mut self, function: u32) -> Option<Ranges> {
        let ranges = self.written_since()?;
        if let Some(writes) = self.writing.get_mut(function as usize) {
            *writes = true;
        }
        Some(ranges)
    }

    /// How much there is in all.
    pub(super) fn written(&self) -> [u64; 2] {
        self.ends
    }

    fn written_since(&mut self) -> Option<Ranges> {
        let _ = io::stdout().flush();
        let (before, now) = (std::mem::replace(&mut self.ends, ends()), self.ends);
        let [out, err] = now;
        (before != now).then(|| [(before[0], out), (before[1], err)])
    }
}

fn ends() -> [u64; 2] {
    [end(io::stdout()), end(io::stderr())]
}

fn end(stream: impl AsFd) -> u64 {
    seek(stream, SeekFrom::Current(0)).unwrap_or_default()
}

fn start_anew(stream: impl AsFd) -> io::Result<()> {
    ftruncate(&stream, 0)?;
    seek(&stream, SeekFrom::Start(0))?;
    Ok(())
}

/// The parent's side: the files that one child writes to.
pub(super) struct Streams {
    pub(super) files: [File; 2],
    /// Where what is accounted for ends.
    seen: [u64; 2],
}

impl Streams {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Streams {
            files: [tempfile::tempfile()?, tempfile::tempfile()?],
            seen: [0; 2],
        })
    }

    /// All that has been written up to here is accounted for.
    pub(super) fn set_seen(&mut self, seen: [u64; 2]) {
        self.seen = seen;
    }

    /// What is kept of what was written there.
    pub(super) fn read(&self, ranges: &Ranges) -> [Vec<u8>; 2] {
        let read = |(file, &(from, to)): (&File, &(u64, u64))| {
            let from = from.max(to.saturating_sub(KEPT));
            let mut bytes = vec![0; usize::try_from(to.saturating_sub(from)).unwrap_or_default()];
            let read = file.read_at(&mut bytes, from).unwrap_or_default();
            bytes.truncate(read);
            bytes
        };
        let mut streams = self.files.iter().zip(ranges).map(read);
        [streams.next(), streams.next()].map(Option::unwrap_or_default)
    }

    /// What has been written and is not accounted for.
    pub(super) fn rest(&self) -> [Vec<u8>; 2] {
        let range = |at: usize| {
            let len = self.files[at]
                .metadata()
                .map_or(0, |metadata| metadata.len());
            // The child has begun anew since.
            let from = if self.seen[at] <= len {
                self.seen[at]
            } else {
                0
            };
            (from, len)
        };
        self.read(&[range(0), range(1)])
    }
}
