//! The log: a file of groups, each with a checksum, that only grows, and now and then is replaced by a shorter one.
//!
//! A group is synced before the next is written. So of what a crash can leave unwritten, torn, or written without what
//! was before it, there is one group at most, and it is the last: bytes at the end that are no group, with no group
//! behind them, are cut off. Anything else that doesn't fit is damage.

mod disk;
mod frame;
mod holder;
#[cfg(all(test, not(loom)))]
mod tests;

pub(crate) use frame::FORMAT;

use super::{JournalError, Store};
use crate::model::{BoxError, Result};
use disk::{Disk, FileDisk};
use frame::{FileId, HEAD, HEADER, Head, Header, MARK};
use holder::Hold;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

/// How much is read at once.
const BUFFER: usize = 1 << 18;

/// A journal's groups in a file, readable by its owner alone. While it is open, nobody else can open it.
///
/// Beside the file `run.journal` there is `run.journal.lock`, which says who has it. It is of no use to anybody once its
/// holder is gone, and in nobody's way: the lock is the system's, and ends with the process.
pub struct FileStore {
    log: Log<FileDisk>,
    path: PathBuf,
    _hold: Hold,
}

impl FileStore {
    /// Makes a store without groups.
    ///
    /// # Errors
    /// [`Journal`](crate::ErrorKind::Journal), with a [`JournalError`] as its cause: [`Exists`](JournalError::Exists) if
    /// there is such a file.
    pub fn create(path: impl Into<PathBuf>) -> Result<Self> {
        let path = path.into();
        let create = || {
            let hold = Hold::take(&path)?;
            FileDisk::clean_up(&path)?;
            let id = FileId::unique();
            let disk = FileDisk::create(&path, &frame::header(id)).map_err(exists)?;
            Ok((Log::begin(disk, id), hold))
        };
        let made: Result<_, JournalError> = create();
        let (log, _hold) = made.map_err(|error| error.at(&path))?;
        Ok(FileStore { log, path, _hold })
    }

    /// Opens a store. What a crash left at its end of a group that had not been written is cut off:
    /// [`warnings`](Store::warnings) tells of it.
    ///
    /// # Errors
    /// [`Journal`](crate::ErrorKind::Journal), with a [`JournalError`] as its cause.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self> {
        let path = path.into();
        let open = || {
            must_exist(&path)?;
            let hold = Hold::take(&path)?;
            FileDisk::clean_up(&path)?;
            Ok((Log::open(FileDisk::open(&path)?)?, hold))
        };
        let opened: Result<_, JournalError> = open();
        let (log, _hold) = opened.map_err(|error| error.at(&path))?;
        Ok(FileStore { log, path, _hold })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Store for FileStore {
    fn read(
        &mut self,
        each: &mut dyn FnMut(&[u8]) -> Result<(), BoxError>,
    ) -> Result<(), BoxError> {
        self.log.read(each)
    }

    fn append(&mut self, group: &[u8]) -> Result<(), BoxError> {
        Ok(self.log.append(group)?)
    }

    fn replace(&mut self, groups: &mut dyn Iterator<Item = Vec<u8>>) -> Result<(), BoxError> {
        Ok(self.log.replace(groups)?)
    }

    fn size(&self) -> u64 {
        self.log.end
    }

    fn warnings(&self) -> Vec<String> {
        let cut = self.log.cut.iter();
        cut.map(|(at, bytes)| {
            format!("{bytes} bytes at its end, from byte {at} on, were no whole group and were cut off: what was being written when the program was stopped")
        })
        .collect()
    }
}

impl std::fmt::Debug for FileStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("FileStore").field(&self.path).finish()
    }
}

fn exists(error: io::Error) -> JournalError {
    match error.kind() {
        io::ErrorKind::AlreadyExists => JournalError::Exists,
        _ => error.into(),
    }
}

/// A log on a disk.
struct Log<D> {
    disk: D,
    id: FileId,
    /// The next frame's number.
    next: u32,
    /// One after the last byte of the last frame.
    end: u64,
    /// Where something was cut off, and how much.
    cut: Option<(u64, u64)>,
    /// A write failed: what is behind `end` is not known.
    broken: bool,
}

impl<D: Disk> Log<D> {
    fn begin(disk: D, id: FileId) -> Self {
        let (next, end) = (0, HEADER as u64);
        Log {
            disk,
            id,
            next,
            end,
            cut: None,
            broken: false,
        }
    }

    fn open(mut disk: D) -> Result<Self, JournalError> {
        let id = read_id(&mut *disk.reader(0)?)?;
        let mut log = Log::begin(disk, id);
        let len = log.disk.len()?;
        let (next, end) = log.scan(&mut |_| Ok(()))?;
        (log.next, log.end) = (next, end);
        if end < len {
            if log.has_frame_after(end)? {
                return Err(JournalError::Damaged { offset: end });
            }
            log.disk.cut(end)?;
            log.cut = Some((end, len - end));
        }
        Ok(log)
    }

    fn read(
        &mut self,
        each: &mut dyn FnMut(&[u8]) -> Result<(), BoxError>,
    ) -> Result<(), BoxError> {
        let mut failed = None;
        let scanned = self.scan(&mut |group| {
            each(group).map_err(|error| {
                failed = Some(error);
                io::Error::other("the reader has had enough")
            })
        });
        let (_, end) = scanned.map_err(|error| failed.take().unwrap_or_else(|| error.into()))?;
        // It was whole when it was opened.
        match end == self.end || self.broken {
            true => Ok(()),
            false => Err(JournalError::Damaged { offset: end }.into()),
        }
    }

    /// Reads frames as long as they are whole. Returns the number and the place of what comes then.
    fn scan(&mut self, each: &mut dyn FnMut(&[u8]) -> io::Result<()>) -> io::Result<(u32, u64)> {
        let (id, len) = (self.id, self.disk.len()?);
        let mut reader = BufReader::with_capacity(BUFFER, self.disk.reader(HEADER as u64)?);
        let (mut next, mut end, mut group) = (0, HEADER as u64, Vec::new());
        while let Some(head) = read_head(&mut reader, len - end)? {
            group.resize(head.len as usize, 0);
            reader.read_exact(&mut group)?;
            if head.number != next || !head.is_of(id, &group) {
                break;
            }
            each(&group)?;
            next = next.wrapping_add(1);
            end += (HEAD + group.len()) as u64;
        }
        Ok((next, end))
    }

    /// Whether there is a whole frame behind a place where none begins.
    fn has_frame_after(&mut self, end: u64) -> io::Result<bool> {
        Ok(!self.frames_after(end)?.is_empty())
    }

    /// All whole frames behind a place where none begins.
    fn frames_after(&mut self, end: u64) -> io::Result<Vec<Vec<u8>>> {
        let mut bytes = Vec::new();
        self.disk.reader(end)?.read_to_end(&mut bytes)?;
        let (mut at, mut found) = (0, Vec::new());
        while let Some(skip) = memchr::memmem::find(&bytes[at..], MARK) {
            at += skip;
            match whole_frame(self.id, &bytes[at..]) {
                Some(group) => {
                    found.push(group.to_vec());
                    at += HEAD + group.len();
                }
                None => at += 1,
            }
        }
        Ok(found)
    }

    fn append(&mut self, group: &[u8]) -> io::Result<()> {
        if self.broken {
            return Err(io::Error::other("nothing is written after a failed write"));
        }
        let bytes = frame::frame(self.id, self.next, group).ok_or_else(too_large)?;
        self.broken = true;
        self.disk.write(self.end, &bytes)?;
        self.disk.sync()?;
        self.broken = false;
        self.end += bytes.len() as u64;
        self.next = self.next.wrapping_add(1);
        Ok(())
    }

    fn replace(&mut self, groups: &mut dyn Iterator<Item = Vec<u8>>) -> io::Result<()> {
        let id = FileId::unique();
        let (mut next, mut end) = (0, HEADER as u64);
        self.disk.replace(&mut |file| {
            file.write_all(&frame::header(id))?;
            for group in &mut *groups {
                let bytes = frame::frame(id, next, &group).ok_or_else(too_large)?;
                file.write_all(&bytes)?;
                next = next.wrapping_add(1);
                end += bytes.len() as u64;
            }
            Ok(())
        })?;
        (self.id, self.next, self.end) = (id, next, end);
        Ok(())
    }
}

impl FileId {
    fn unique() -> Self {
        use std::hash::{BuildHasher, RandomState};
        let random = || {
            RandomState::new()
                .hash_one(std::process::id())
                .to_le_bytes()
        };
        let mut id = [0; 16];
        id[..8].copy_from_slice(&random());
        id[8..].copy_from_slice(&random());
        FileId(id)
    }
}

/// All groups of a file that can be read, whatever is between them; and where the damage begins, if there is any.
pub(super) fn readable(path: &Path) -> Result<(Vec<Vec<u8>>, Option<u64>), JournalError> {
    must_exist(path)?;
    let mut disk = FileDisk::open(path)?;
    let id = read_id(&mut *disk.reader(0)?)?;
    let mut log = Log::begin(disk, id);
    let mut groups = Vec::new();
    let (_, end) = log.scan(&mut |group| {
        groups.push(group.to_vec());
        Ok(())
    })?;
    let damaged = end < log.disk.len()?;
    groups.extend(log.frames_after(end)?);
    Ok((groups, damaged.then_some(end)))
}

fn must_exist(path: &Path) -> Result<(), JournalError> {
    match path.try_exists()? {
        true => Ok(()),
        false => Err(JournalError::Missing),
    }
}

fn read_id(reader: &mut dyn Read) -> Result<FileId, JournalError> {
    let mut header = Vec::with_capacity(HEADER);
    reader.take(HEADER as u64).read_to_end(&mut header)?;
    match frame::read_header(&header) {
        Header::Of(id) => Ok(id),
        Header::Newer(found) => Err(JournalError::NewerFormat {
            found,
            known: FORMAT,
        }),
        Header::Damaged => Err(JournalError::Damaged { offset: 0 }),
        Header::Foreign => Err(JournalError::NotAJournal),
    }
}

/// The head of a frame that fits into what is left.
fn read_head(reader: &mut dyn Read, left: u64) -> io::Result<Option<Head>> {
    let mut bytes = [0; HEAD];
    if left < HEAD as u64 {
        return Ok(None);
    }
    reader.read_exact(&mut bytes)?;
    let head = Head::of(&bytes);
    Ok(head.filter(|head| u64::from(head.len) <= left - HEAD as u64))
}

/// The group of a whole frame at the beginning of these bytes.
fn whole_frame(id: FileId, bytes: &[u8]) -> Option<&[u8]> {
    let head = Head::of(bytes)?;
    let group = bytes.get(HEAD..)?.get(..head.len as usize)?;
    head.is_of(id, group).then_some(group)
}

fn too_large() -> io::Error {
    io::Error::other("a group of more than four gigabytes can't be written")
}
