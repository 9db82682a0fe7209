//! What a program writes, kept in a file: the beginning and the end, if it is too much.

use crate::model::Captured;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

/// How much is read at once: what a pipe holds.
const CHUNK: usize = 64 << 10;

/// One stream of a program: the end of a pipe, and the file that what comes out of it goes to.
///
/// The file is made with the first byte. Its second half is a ring once there is more than it may hold; what has gone
/// round is put in order at the end.
pub(super) struct Capture {
    from: Option<OwnedFd>,
    path: PathBuf,
    file: Option<File>,
    limit: u64,
    len: u64,
    lost: Option<io::Error>,
}

impl Capture {
    pub(super) fn new(from: OwnedFd, path: PathBuf, limit: u64) -> Self {
        Capture {
            from: Some(from),
            path,
            file: None,
            limit,
            len: 0,
            lost: None,
        }
    }

    /// The pipe, until all who could write to it have closed it.
    pub(super) fn pipe(&self) -> Option<BorrowedFd<'_>> {
        self.from.as_ref().map(AsFd::as_fd)
    }

    /// Takes what is there. What can't be stored is read none the less: the program must not stand still for it.
    pub(super) fn read(&mut self, buffer: &mut Vec<u8>) {
        buffer.resize(CHUNK, 0);
        let Some(from) = &self.from else { return };
        match rustix::io::read(from, &mut buffer[..]) {
            Ok(0) => self.from = None,
            Ok(read) => {
                if let Err(error) = self.store(&buffer[..read]) {
                    self.lost.get_or_insert(error);
                }
                self.len += read as u64;
            }
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => (),
            Err(_) => self.from = None,
        }
    }

    /// Takes what is there and goes: somebody may still hold the other end.
    pub(super) fn finish(&mut self, buffer: &mut Vec<u8>) {
        let before = |this: &Self| (this.len, this.from.is_some());
        loop {
            let state = before(self);
            self.read(buffer);
            if before(self) == state || self.from.is_none() {
                break;
            }
        }
        self.from = None;
    }

    fn head(&self) -> u64 {
        self.limit - self.limit / 2
    }

    fn tail(&self) -> u64 {
        self.limit / 2
    }

    fn store(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        let (head, tail) = (self.head(), self.tail());
        let mut at = self.len;
        while !bytes.is_empty() {
            let (offset, room) = match at < head {
                true => (at, head - at),
                false if tail == 0 => return Ok(()),
                false => {
                    let round = (at - head) % tail;
                    (head + round, tail - round)
                }
            };
            let (now, later) =
                bytes.split_at(bytes.len().min(usize::try_from(room).unwrap_or(CHUNK)));
            self.file()?.write_all_at(now, offset)?;
            at += now.len() as u64;
            bytes = later;
        }
        Ok(())
    }

    fn file(&mut self) -> io::Result<&mut File> {
        if self.file.is_none() {
            let options = File::options()
                .read(true)
                .write(true)
                .create_new(true)
                .open(&self.path);
            self.file = Some(options?);
        }
        self.file
            .as_mut()
            .ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// What was kept; and why not all that should have been, if it could not be stored.
    pub(super) fn end(mut self) -> (Captured, Option<io::Error>) {
        let dropped = self.len.saturating_sub(self.limit);
        if dropped > 0
            && let Err(error) = self.put_in_order(dropped)
        {
            self.lost.get_or_insert(error);
        }
        let captured = Captured {
            path: self.file.is_some().then_some(self.path),
            len: self.len,
            dropped,
        };
        (captured, self.lost)
    }

    /// Writes the tail anew, behind a note.
    fn put_in_order(&mut self, dropped: u64) -> io::Result<()> {
        let (head, tail) = (self.head(), self.tail());
        let note = format!("\n[... {dropped} bytes are left out here ...]\n");
        let oldest = (self.len - head) % tail.max(1);
        let mut end = tempfile::tempfile_in(self.path.parent().unwrap_or(&self.path))?;
        let file = self.file()?;
        for (start, len) in [(oldest, tail - oldest), (0, oldest)] {
            file.seek(SeekFrom::Start(head + start))?;
            io::copy(&mut Read::by_ref(file).take(len), &mut end)?;
        }
        file.seek(SeekFrom::Start(head))?;
        file.write_all(note.as_bytes())?;
        end.rewind()?;
        io::copy(&mut end, file)?;
        let len = file.stream_position()?;
        file.set_len(len)
    }
}

/// The last words in a file, as text.
pub(super) fn last_words(captured: &Captured, most: u64) -> String {
    let read = |path: &std::path::Path| {
        let mut file = File::open(path)?;
        let len = file.metadata()?.len();
        file.seek(SeekFrom::Start(len.saturating_sub(most)))?;
        let mut bytes = Vec::new();
        file.take(most).read_to_end(&mut bytes)?;
        io::Result::Ok(bytes)
    };
    let bytes = captured
        .path()
        .map(read)
        .and_then(Result::ok)
        .unwrap_or_default();
    String::from_utf8_lossy(&bytes).trim().to_owned()
}
