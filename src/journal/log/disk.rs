//! The little that a log asks of a disk, so that a test can be one.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// One file that grows, and that can be replaced as a whole.
pub(super) trait Disk: Send + 'static {
    /// Its content from a place on.
    fn reader(&mut self, from: u64) -> io::Result<Box<dyn Read + '_>>;
    fn len(&self) -> io::Result<u64>;
    /// Writes at a place, which is the end unless bytes behind it are to be overwritten.
    fn write(&mut self, at: u64, bytes: &[u8]) -> io::Result<()>;
    /// What was written outlives a loss of power.
    fn sync(&mut self) -> io::Result<()>;
    /// Cuts off what is behind a place.
    fn cut(&mut self, at: u64) -> io::Result<()>;
    /// Puts a new content in its place: the old one or the new one is there, whatever happens.
    fn replace(
        &mut self,
        write: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<()>;
}

/// A file of the system's. Readable by its owner alone.
pub(super) struct FileDisk {
    path: PathBuf,
    file: File,
}

impl FileDisk {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().read(true).write(true).open(path)?;
        let path = path.to_owned();
        Ok(FileDisk { path, file })
    }

    /// Makes a file with a content, or fails if there is one.
    pub(super) fn create(path: &Path, content: &[u8]) -> io::Result<Self> {
        let write = |file: &mut dyn Write| file.write_all(content);
        let new = written_beside(path, write)?;
        let file = new.persist_noclobber(path).map_err(|error| error.error)?;
        sync_directory(path)?;
        let path = path.to_owned();
        Ok(FileDisk { path, file })
    }

    /// Removes what a replacement left that was cut off.
    pub(super) fn clean_up(path: &Path) -> io::Result<()> {
        let prefix = prefix(path);
        for entry in std::fs::read_dir(directory(path))? {
            let entry = entry?;
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if name.starts_with(&prefix) && name.ends_with(SUFFIX) {
                std::fs::remove_file(entry.path())?;
            }
        }
        Ok(())
    }
}

impl Disk for FileDisk {
    fn reader(&mut self, from: u64) -> io::Result<Box<dyn Read + '_>> {
        self.file.seek(SeekFrom::Start(from))?;
        Ok(Box::new(&self.file))
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    fn write(&mut self, at: u64, bytes: &[u8]) -> io::Result<()> {
        self.file.seek(SeekFrom::Start(at))?;
        self.file.write_all(bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.file.sync_data()
    }

    fn cut(&mut self, at: u64) -> io::Result<()> {
        self.file.set_len(at)?;
        self.file.sync_all()
    }

    fn replace(
        &mut self,
        write: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<()> {
        let new = written_beside(&self.path, write)?;
        self.file = new.persist(&self.path).map_err(|error| error.error)?;
        sync_directory(&self.path)
    }
}

const SUFFIX: &str = ".new";

fn prefix(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    format!(".{name}.")
}

fn directory(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// A file next to another, written and synced, that takes its place when it is renamed.
fn written_beside(
    path: &Path,
    mut write: impl FnMut(&mut dyn Write) -> io::Result<()>,
) -> io::Result<tempfile::NamedTempFile> {
    let prefix = prefix(path);
    let mut builder = tempfile::Builder::new();
    let new = builder.prefix(&prefix).suffix(SUFFIX);
    let mut new = new.tempfile_in(directory(path))?;
    {
        let mut buffered = io::BufWriter::new(new.as_file_mut());
        write(&mut buffered)?;
        buffered.flush()?;
    }
    new.as_file().sync_all()?;
    Ok(new)
}

/// So that the name outlives a loss of power, too.
fn sync_directory(path: &Path) -> io::Result<()> {
    match cfg!(unix) {
        true => File::open(directory(path))?.sync_all(),
        false => Ok(()),
    }
}
