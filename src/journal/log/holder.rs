//! Who has a journal: a lock of the system's, which ends with its process, and a note that says who that is.

use crate::journal::JournalError;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Holds a journal until it is dropped, or its process ends however it does.
pub(crate) struct Hold {
    _file: File,
}

impl Hold {
    /// The lock is on a file beside the journal, since the journal is replaced when it is compacted.
    pub(crate) fn take(journal: &Path) -> Result<Self, JournalError> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(beside(journal))?;
        match file.try_lock() {
            Ok(()) => (),
            Err(TryLockError::WouldBlock) => return Err(held(&mut file)),
            Err(TryLockError::Error(error)) => return Err(error.into()),
        }
        file.set_len(0)?;
        file.rewind()?;
        file.write_all(note().as_bytes())?;
        Ok(Hold { _file: file })
    }
}

/// The lock's file. It stays when nobody holds it: removing it would let two have it.
fn beside(journal: &Path) -> PathBuf {
    let mut name = journal.file_name().unwrap_or_default().to_owned();
    name.push(".lock");
    journal.with_file_name(name)
}

fn held(file: &mut File) -> JournalError {
    let mut holder = String::new();
    let read = file.read_to_string(&mut holder);
    let known = read.is_ok() && !holder.is_empty();
    let holder = match known {
        true => holder,
        false => "another process".to_owned(),
    };
    JournalError::Held { holder }
}

fn note() -> String {
    let program = std::env::current_exe().ok();
    let program = program.as_deref().and_then(Path::file_name);
    let program = program.map_or_else(|| "?".into(), |name| name.to_string_lossy());
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let mut note = format!("process {} (`{program}`)", std::process::id());
    if !host.trim().is_empty() {
        note.push_str(&format!(" on {}", host.trim()));
    }
    note.push_str(&format!(
        ", since {} seconds after 1970",
        since.unwrap_or_default().as_secs()
    ));
    note
}
