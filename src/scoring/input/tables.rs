//! Tables as input: the rows of files.

use super::Files;
use super::scan::Scanner;
use crate::model::{Error, ErrorKind, Result};
use encoding_rs::Encoding;

/// The rows of CSV files, or of JSON lines. A mini-batch never crosses from one file to the next.
///
/// Rows are read while others are scored; only what is being scored is in memory. A byte order mark is taken off. Files
/// without rows, empty or with nothing but a header, contribute none, and are named in the report.
///
/// ```
/// # fn main() -> Result<(), batchyard::Error> {
/// use batchyard::scoring::{Files, Tables};
///
/// let one = Tables::csv("loans.csv").delimiter(b';').encoding("windows-1252")?;
/// let many = Tables::json_lines(Files::list(["a.jsonl", "b.jsonl"]));
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct Tables {
    pub(super) files: Files,
    pub(super) format: Format,
}

/// How rows are written in the files.
#[derive(Clone, Debug)]
pub(super) struct Format {
    pub(super) kind: FormatKind,
    pub(super) encoding: &'static Encoding,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum FormatKind {
    Csv { delimiter: u8, header: bool },
    JsonLines,
}

impl Tables {
    /// CSV files, each with the same header, in UTF-8, with commas. Quoted fields may hold line ends; lines end with `\n`,
    /// `\r\n` or `\r`; blank ones are skipped.
    pub fn csv(files: impl Into<Files>) -> Self {
        Self::new(
            files.into(),
            FormatKind::Csv {
                delimiter: b',',
                header: true,
            },
        )
    }

    /// Files with a JSON object in each line. Blank lines are skipped.
    pub fn json_lines(files: impl Into<Files>) -> Self {
        Self::new(files.into(), FormatKind::JsonLines)
    }

    fn new(files: Files, kind: FormatKind) -> Self {
        let encoding = encoding_rs::UTF_8;
        Tables {
            files,
            format: Format { kind, encoding },
        }
    }

    /// What separates the fields of a CSV file. Default: a comma.
    pub fn delimiter(mut self, byte: u8) -> Self {
        if let FormatKind::Csv { delimiter, .. } = &mut self.format.kind {
            *delimiter = byte;
        }
        self
    }

    /// The CSV files have no header: their columns are called `0`, `1` and so on.
    pub fn without_header(mut self) -> Self {
        if let FormatKind::Csv { header, .. } = &mut self.format.kind {
            *header = false;
        }
        self
    }

    /// How the text is encoded, by a name of the WHATWG's list, such as `windows-1252` or `shift_jis`. Default: UTF-8, and
    /// what is not is refused with its offset. UTF-16 is not read.
    ///
    /// # Errors
    /// [`InvalidSetting`](ErrorKind::InvalidSetting) for a name that is none, or of an encoding that is no superset of ASCII.
    pub fn encoding(mut self, label: &str) -> Result<Self> {
        let known =
            Encoding::for_label(label.as_bytes()).filter(|encoding| encoding.is_ascii_compatible());
        self.format.encoding = known.ok_or_else(|| {
            let message = format!(
                "`{label}` is no encoding that a table can have; convert the files to UTF-8"
            );
            Error::new(ErrorKind::InvalidSetting, message)
        })?;
        Ok(self)
    }
}

impl Format {
    pub(super) fn scanner(&self) -> Scanner {
        match self.kind {
            FormatKind::Csv { delimiter, .. } => Scanner::csv(delimiter),
            FormatKind::JsonLines => Scanner::json_lines(),
        }
    }

    pub(super) fn has_header(&self) -> bool {
        matches!(self.kind, FormatKind::Csv { header: true, .. })
    }

    pub(super) fn delimiter(&self) -> u8 {
        match self.kind {
            FormatKind::Csv { delimiter, .. } => delimiter,
            FormatKind::JsonLines => b'\n',
        }
    }
}
