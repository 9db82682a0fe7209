//! What a program writes, kept in a file: the beginning and the end, if it is too much.

use crate::model::{Captured, LiveStream};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

/// How much is read at once: what a pipe holds.
const CHUNK: usize = 64 << 10;

/// How often a stream is read when its program has ended: a pipe holds no more.
const LAST_READS: usize = 16;

/// One stream of a program: the end of a pipe, which never blocks, and the file that what comes out of it goes to.
///
/// The file is made with the first byte. What went round in its [ring](LiveStream) is put in order at the end.
pub(super) struct Capture {
    from: Option<OwnedFd>,
    to: Arc<LiveStream>,
    file: Option<File>,
    lost: Option<io::Error>,
}

impl Capture {
    pub(super) fn new(from: OwnedFd, to: Arc<LiveStream>) -> Self {
        Capture {
            from: Some(from),
            to,
            file: None,
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
                self.to.add(read as u64);
            }
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => (),
            Err(_) => self.from = None,
        }
    }

    /// Takes all that is there, and what little comes meanwhile.
    pub(super) fn drain(&mut self, buffer: &mut Vec<u8>) {
        for _ in 0..LAST_READS {
            let before = self.to.len();
            self.read(buffer);
            if self.to.len() == before {
                break;
            }
        }
    }

    fn store(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        let mut number = self.to.len();
        while let Some((at, room)) = self.to.place(number).filter(|_| !bytes.is_empty()) {
            let room = usize::try_from(room).unwrap_or(CHUNK);
            let (now, later) = bytes.split_at(bytes.len().min(room));
            self.file()?.write_all_at(now, at)?;
            number += now.len() as u64;
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
                .open(&self.to.path);
            self.file = Some(options?);
        }
        self.file
            .as_mut()
            .ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// What was kept; and why not all that should have been, if it could not be stored.
    pub(super) fn end(mut self) -> (Captured, Option<io::Error>) {
        let dropped = self.to.len().saturating_sub(self.to.limit());
        if dropped > 0
            && let Err(error) = self.put_in_order(dropped)
        {
            self.lost.get_or_insert(error);
        }
        let captured = Captured {
            path: self.file.is_some().then(|| self.to.path.clone()),
            len: self.to.len(),
            dropped,
        };
        (captured, self.lost)
    }

    /// Writes what is in the ring anew, behind a note.
    fn put_in_order(&mut self, dropped: u64) -> io::Result<()> {
        let (to, ring) = (self.to.clone(), self.to.ring());
        let mut end = tempfile::tempfile_in(to.path.parent().unwrap_or(&to.path))?;
        let file = self.file()?;
        let oldest = to.place(to.len());
        for (at, len) in oldest
            .into_iter()
            .flat_map(|(at, len)| [(at, len), (to.head(), ring - len)])
        {
            file.seek(SeekFrom::Start(at))?;
            io::copy(&mut Read::by_ref(file).take(len), &mut end)?;
        }
        file.seek(SeekFrom::Start(to.head()))?;
        write!(file, "\n[... {dropped} bytes are left out here ...]\n")?;
        end.rewind()?;
        io::copy(&mut end, file)?;
        let len = file.stream_position()?;
        file.set_len(len)
    }
}

/// The last words in a file, as text.
pub(super) fn last_words(captured: &Captured, most: u64) -> String {
    let said = captured.path().map(|path| tail(path, 0, most));
    said.and_then(Result::ok).unwrap_or_default()
}

/// The end of what a file has from a place on, as text.
pub(crate) fn tail(path: &Path, from: u64, most: u64) -> io::Result<String> {
    let mut file = File::open(path)?;
    let len = file.metadata()?.len();
    file.seek(SeekFrom::Start(from.max(len.saturating_sub(most))))?;
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).trim().to_owned())
}
