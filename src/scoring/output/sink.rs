//! Writes rows, in the right order, to a file that appears when it is whole.

use super::append::{Append, Form, RowOrder};
use super::encode::{Scored, fields, header_line};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// How many bytes that wait for their turn are kept in memory; more wait on disk.
const IN_MEMORY: usize = 16 << 20;

/// The output of one run.
pub(in crate::scoring) struct Sink {
    append: Append,
    file: BufWriter<NamedTempFile>,
    header: Option<String>,
    header_written: bool,
    waiting: Waiting,
}

/// Mini-batches that are finished before their turn.
#[derive(Default)]
struct Waiting {
    next: u64,
    bytes: BTreeMap<u64, Kept>,
    in_memory: usize,
    spill: Option<File>,
}

enum Kept {
    Here(Vec<u8>),
    OnDisk { start: u64, len: usize },
}

impl Sink {
    /// Begins the file, in the folder that it is to appear in, which is made if it isn't there.
    pub(in crate::scoring) fn begin(append: &Append) -> io::Result<Self> {
        let folder = folder_of(&append.path);
        std::fs::create_dir_all(folder)?;
        if append.path.is_dir() {
            return Err(io::Error::from(io::ErrorKind::IsADirectory));
        }
        let mut temporary = tempfile::Builder::new();
        temporary.prefix(".batchyard-").suffix(".part");
        #[cfg(unix)]
        temporary.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        let file = temporary.tempfile_in(folder)?;
        let given = append.columns.as_ref();
        let given = given.map(|names| header_line(names.iter()).map_err(io::Error::other));
        Ok(Sink {
            header: given.transpose()?,
            append: append.clone(),
            file: BufWriter::with_capacity(256 << 10, file),
            header_written: append.form != Form::Csv,
            waiting: Waiting::default(),
        })
    }

    /// Where the file is to appear.
    pub(in crate::scoring) fn path(&self) -> &Path {
        &self.append.path
    }

    /// Whether rows under this header fit to those before.
    pub(in crate::scoring) fn admit(&mut self, header: &str) -> Result<(), String> {
        let renamed = self.append.columns.is_some();
        let fits = |known: &str| match renamed {
            true => fields(known.as_bytes()) == fields(header.as_bytes()),
            false => known == header,
        };
        match &self.header {
            None => self.header = Some(header.to_owned()),
            Some(known) if fits(known) => {}
            Some(known) => {
                let (new, known) = (header.trim_end(), known.trim_end());
                return Err(format!(
                    "the rows have the columns `{new}`, and those before `{known}`"
                ));
            }
        }
        Ok(())
    }

    /// Writes the rows of a mini-batch, or keeps them until it is their turn. One that failed has none.
    pub(in crate::scoring) fn write(
        &mut self,
        index: u64,
        scored: Option<Scored>,
    ) -> io::Result<()> {
        let bytes = scored.map(|scored| scored.bytes).unwrap_or_default();
        if self.append.order == RowOrder::AsCompleted {
            return self.put(&bytes);
        }
        if index != self.waiting.next {
            return self
                .waiting
                .keep(index, bytes, folder_of(&self.append.path));
        }
        self.put(&bytes)?;
        self.waiting.next += 1;
        while let Some(bytes) = self.waiting.take_next()? {
            self.put(&bytes)?;
        }
        Ok(())
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        if !bytes.is_empty() {
            self.put_header()?;
        }
        self.file.write_all(bytes)
    }

    fn put_header(&mut self) -> io::Result<()> {
        if let Some(header) = self.header.as_ref().filter(|_| !self.header_written) {
            self.file.write_all(header.as_bytes())?;
        }
        self.header_written = true;
        Ok(())
    }

    /// The file is whole: it gets its name.
    pub(in crate::scoring) fn commit(mut self) -> io::Result<PathBuf> {
        self.put_header()?;
        let path = self.append.path.clone();
        self.finish(&path)?;
        Ok(path)
    }

    /// The run ended early: what there is stays under another name. What waited for its turn comes last.
    pub(in crate::scoring) fn keep_partial(mut self) -> io::Result<PathBuf> {
        while let Some((_, kept)) = self.waiting.bytes.pop_first() {
            let bytes = self.waiting.fetch(kept)?;
            self.put(&bytes)?;
        }
        let mut name = self.append.path.clone().into_os_string();
        name.push(".partial");
        let path = PathBuf::from(name);
        self.finish(&path)?;
        Ok(path)
    }

    fn finish(self, path: &Path) -> io::Result<()> {
        let file = self
            .file
            .into_inner()
            .map_err(io::IntoInnerError::into_error)?;
        file.as_file().sync_all()?;
        file.persist(path)?;
        Ok(())
    }
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

impl Waiting {
    fn keep(&mut self, index: u64, bytes: Vec<u8>, folder: &Path) -> io::Result<()> {
        let kept = if self.in_memory + bytes.len() <= IN_MEMORY {
            self.in_memory += bytes.len();
            Kept::Here(bytes)
        } else {
            self.put_on_disk(&bytes, folder)?
        };
        self.bytes.insert(index, kept);
        Ok(())
    }

    fn put_on_disk(&mut self, bytes: &[u8], folder: &Path) -> io::Result<Kept> {
        let spill = match &mut self.spill {
            Some(spill) => spill,
            none => none.insert(tempfile::tempfile_in(folder)?),
        };
        let start = spill.seek(SeekFrom::End(0))?;
        spill.write_all(bytes)?;
        Ok(Kept::OnDisk {
            start,
            len: bytes.len(),
        })
    }

    /// The bytes whose turn it is, if they are there.
    fn take_next(&mut self) -> io::Result<Option<Vec<u8>>> {
        let Some(kept) = self.bytes.remove(&self.next) else {
            return Ok(None);
        };
        self.next += 1;
        self.fetch(kept).map(Some)
    }

    fn fetch(&mut self, kept: Kept) -> io::Result<Vec<u8>> {
        match (kept, &mut self.spill) {
            (Kept::Here(bytes), _) => {
                self.in_memory -= bytes.len();
                Ok(bytes)
            }
            (Kept::OnDisk { start, len }, Some(spill)) => {
                let mut bytes = vec![0; len];
                spill.seek(SeekFrom::Start(start))?;
                spill.read_exact(&mut bytes)?;
                Ok(bytes)
            }
            (Kept::OnDisk { .. }, None) => Err(io::Error::other("rows on a disk that isn't there")),
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn scored(bytes: Vec<u8>) -> Option<Scored> {
        Some(Scored {
            bytes,
            ..Scored::default()
        })
    }

    #[test]
    fn what_comes_early_waits_for_its_turn_also_on_disk() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows.txt");
        let mut sink = Sink::begin(&Append::from(&path)).unwrap();
        let line = |n: u8| vec![b'0' + n; IN_MEMORY / 3];
        for n in (1..=6).rev() {
            sink.write(n.into(), scored(line(n))).unwrap();
        }
        assert!(sink.waiting.spill.is_some());
        sink.write(0, None).unwrap();
        assert!(!path.exists());
        sink.commit().unwrap();
        let all: Vec<u8> = (1..=6).flat_map(line).collect();
        assert!(std::fs::read(&path).unwrap() == all);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
