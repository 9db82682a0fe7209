//! Reads one table from its beginning to its end, in pieces that end where records end.

use super::files::LeftOut;
use super::scan::Scanner;
use super::tables::Format;
use crate::scoring::fault::ScoringError;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// How much is read at once.
const CHUNK: usize = 256 << 10;

/// A table that is being cut.
pub(super) struct Reader {
    pub(super) path: PathBuf,
    file: File,
    buffer: Vec<u8>,
    /// What of the buffer is not cut yet.
    next: usize,
    /// Where in the file that begins.
    at: u64,
    scanner: Scanner,
    first_row: u64,
}

/// Some records of a file, as bytes of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Piece {
    pub(super) start: u64,
    pub(super) len: u64,
    /// The number of its first row in its file, from 0.
    pub(super) first_row: u64,
    pub(super) rows: u64,
}

impl Reader {
    /// Opens a table, and takes off its byte order mark.
    pub(super) fn open(path: PathBuf, format: &Format) -> Result<Self, ScoringError> {
        let file = open_file(&path).map_err(|cause| unreadable(&path, &cause))?;
        let mut reader = Reader {
            path,
            file,
            buffer: Vec::new(),
            next: 0,
            at: 0,
            scanner: format.scanner(),
            first_row: 0,
        };
        reader.fill()?;
        let mark = match &reader.buffer[..] {
            [0xef, 0xbb, 0xbf, ..] => 3,
            [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => {
                let path = reader.path.display();
                return Err(ScoringError::Input(format!(
                    "{path} is in UTF-16; convert it to UTF-8"
                )));
            }
            _ => 0,
        };
        reader.next = mark;
        reader.at = mark as u64;
        Ok(reader)
    }

    /// The bytes of the first record, the header; `None` for an empty file.
    pub(super) fn header(&mut self) -> Result<Option<Vec<u8>>, ScoringError> {
        let header = self.record()?;
        self.first_row = 0;
        Ok(header.map(|(_, bytes)| bytes))
    }

    /// The next record, and its bytes; `None` at the end.
    pub(super) fn record(&mut self) -> Result<Option<(Piece, Vec<u8>)>, ScoringError> {
        let mut bytes = Vec::new();
        let piece = self.cut(1, Some(&mut bytes))?;
        Ok(piece.map(|piece| (piece, bytes)))
    }

    /// The next records, of about so many bytes; `None` at the end.
    pub(super) fn piece(&mut self, bytes: u64) -> Result<Option<Piece>, ScoringError> {
        self.cut(bytes, None)
    }

    /// The table, if it is at its end and has had no row.
    pub(super) fn without_rows(&self) -> Option<LeftOut> {
        let left_out = || LeftOut {
            path: self.path.clone(),
            reason: "no rows".into(),
        };
        (self.first_row == 0).then(left_out)
    }

    fn cut(
        &mut self,
        bytes: u64,
        mut copy: Option<&mut Vec<u8>>,
    ) -> Result<Option<Piece>, ScoringError> {
        let start = self.at;
        let target = start.saturating_add(bytes);
        loop {
            let rest = &self.buffer[self.next..];
            let found = self.scanner.scan(rest, self.at, target);
            let taken = found.unwrap_or(rest.len());
            if let Some(copy) = &mut copy {
                copy.extend_from_slice(&rest[..taken]);
            }
            self.next += taken;
            self.at += taken as u64;
            let at_end = found.is_none() && self.fill()? == 0;
            if at_end {
                self.end()?;
            }
            if at_end || found.is_some() {
                return Ok(self.piece_from(start));
            }
        }
    }

    fn piece_from(&mut self, start: u64) -> Option<Piece> {
        let rows = std::mem::take(&mut self.scanner.records);
        let first_row = self.first_row;
        self.first_row += rows;
        let len = self.at - start;
        (rows > 0).then_some(Piece {
            start,
            len,
            first_row,
            rows,
        })
    }

    fn end(&mut self) -> Result<(), ScoringError> {
        if !self.scanner.may_end() {
            let (path, at) = (self.path.display(), self.scanner.quote_at);
            let message = format!(
                "{path}: the quote at byte {at} is never closed; mend the file, or escape the quote by doubling it"
            );
            return Err(ScoringError::Input(message));
        }
        self.scanner.end();
        Ok(())
    }

    /// Reads on into the buffer, of which everything has been used. Returns how many bytes came: none at the end.
    fn fill(&mut self) -> Result<usize, ScoringError> {
        self.buffer.resize(CHUNK, 0);
        let mut filled = 0;
        // The first bytes must be there together, for the byte order mark.
        while filled < 3 {
            match self.file.read(&mut self.buffer[filled..]) {
                Ok(0) => break,
                Ok(more) => filled += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(cause) => return Err(unreadable(&self.path, &cause)),
            }
        }
        self.buffer.truncate(filled);
        self.next = 0;
        Ok(filled)
    }
}

/// Opens a file, and nothing that reading would wait on for ever.
pub(super) fn open_file(path: &Path) -> io::Result<File> {
    match path.metadata()?.is_file() {
        true => File::open(path),
        false => Err(io::Error::other("not a file")),
    }
}

pub(super) fn unreadable(path: &Path, cause: &io::Error) -> ScoringError {
    ScoringError::Input(format!("can't read {}: {cause}", path.display()))
}
