//! What a command that is running has written so far.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

/// The last of what a running command has written: see [`Run::tail`](crate::Run::tail).
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Tail {
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
}

impl Tail {
    /// Of its standard output.
    pub fn stdout(&self) -> &[u8] {
        &self.stdout
    }

    /// Of its standard error.
    pub fn stderr(&self) -> &[u8] {
        &self.stderr
    }
}

/// The file that one stream of a command goes to, as others may read it meanwhile.
///
/// Its first part is the stream's beginning. The rest is a ring, once there is more than the file may hold.
#[derive(Debug)]
pub(crate) struct LiveStream {
    pub(crate) path: PathBuf,
    limit: u64,
    len: AtomicU64,
}

impl LiveStream {
    pub(crate) fn new(path: PathBuf, limit: u64) -> Self {
        LiveStream {
            path,
            limit,
            len: AtomicU64::new(0),
        }
    }

    /// How many bytes there have been.
    pub(crate) fn len(&self) -> u64 {
        self.len.load(Ordering::Acquire)
    }

    pub(crate) fn add(&self, bytes: u64) {
        self.len.fetch_add(bytes, Ordering::Release);
    }

    pub(crate) fn limit(&self) -> u64 {
        self.limit
    }

    /// How long the beginning is.
    pub(crate) fn head(&self) -> u64 {
        self.limit - self.limit / 2
    }

    /// How long the ring is.
    pub(crate) fn ring(&self) -> u64 {
        self.limit / 2
    }

    /// Where the byte of this number is, and how many lie from there side by side; `None` if there is no room for it.
    pub(crate) fn place(&self, number: u64) -> Option<(u64, u64)> {
        let (head, ring) = (self.head(), self.ring());
        if number < head {
            return Some((number, head - number));
        }
        let round = (number - head).checked_rem(ring)?;
        Some((head + round, ring - round))
    }

    /// The last bytes, `most` of them at most. What is written meanwhile may be among them.
    pub(crate) fn tail(&self, most: u64) -> io::Result<Vec<u8>> {
        let len = self.len();
        if len == 0 {
            return Ok(Vec::new());
        }
        let kept = if len > self.limit { self.ring() } else { len };
        let mut file = File::open(&self.path)?;
        let (mut next, mut bytes) = (len - kept.min(most), Vec::new());
        while let Some((at, side_by_side)) = self.place(next).filter(|_| next < len) {
            let now = side_by_side.min(len - next);
            file.seek(SeekFrom::Start(at))?;
            Read::by_ref(&mut file).take(now).read_to_end(&mut bytes)?;
            next += now;
        }
        Ok(bytes)
    }
}
