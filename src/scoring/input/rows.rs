//! The rows of a mini-batch.

use super::reader::open_file;
use super::tables::{Format, FormatKind};
use crate::model::{BoxError, Permanent};
use crate::scoring::fault::ScoringError;
use serde::de::DeserializeOwned;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The names of the columns, where a table says them.
pub(in crate::scoring) type Header = Option<Arc<[String]>>;

/// Rows as they stand in their file, decoded.
#[derive(Debug)]
pub(in crate::scoring) struct Rows {
    format: Format,
    /// `None` for JSON lines, and for tables without a header.
    header: Header,
    path: PathBuf,
    first_row: u64,
    rows: u64,
    text: String,
}

/// The rows of a mini-batch, to be read as one likes.
#[derive(Clone, Copy, Debug)]
pub struct Table<'a>(&'a Rows);

impl Rows {
    /// Reads these parts of a file: offsets and lengths.
    pub(super) fn read(
        format: &Format,
        header: Header,
        path: PathBuf,
        parts: &[(u64, u64)],
        rows: u64,
    ) -> io::Result<Self> {
        let mut file = open_file(&path)?;
        let mut text = String::new();
        for &(start, len) in parts {
            let mut bytes = vec![0; len as usize];
            file.seek(SeekFrom::Start(start))?;
            file.read_exact(&mut bytes)?;
            decode(format, bytes, start, &path, &mut text)?;
        }
        Ok(Rows::of(format, header, path, rows, text))
    }

    /// The row that these bytes are; they begin at `start`.
    pub(super) fn one(
        format: &Format,
        header: Header,
        path: PathBuf,
        bytes: Vec<u8>,
        start: u64,
    ) -> io::Result<Self> {
        let mut text = String::new();
        decode(format, bytes, start, &path, &mut text)?;
        Ok(Rows::of(format, header, path, 1, text))
    }

    fn of(format: &Format, header: Header, path: PathBuf, rows: u64, text: String) -> Self {
        Rows {
            format: format.clone(),
            header,
            path,
            first_row: 0,
            rows,
            text,
        }
    }

    pub(super) fn first_row(self, first_row: u64) -> Self {
        Rows { first_row, ..self }
    }

    /// Adds rows of another file of the same tables.
    pub(super) fn append(&mut self, other: &Rows) {
        if !self.text.ends_with(['\n', '\r']) {
            self.text.push('\n');
        }
        self.text.push_str(&other.text);
        self.rows += other.rows;
    }

    pub(in crate::scoring) fn len(&self) -> usize {
        self.rows as usize
    }

    pub(in crate::scoring) fn table(&self) -> Table<'_> {
        Table(self)
    }
}

/// Adds the bytes as text.
fn decode(
    format: &Format,
    bytes: Vec<u8>,
    start: u64,
    path: &Path,
    text: &mut String,
) -> io::Result<()> {
    let broken = |at: Option<usize>| {
        let at = at
            .map(|at| format!(" at byte {}", start + at as u64))
            .unwrap_or_default();
        let name = format.encoding.name();
        let message = format!(
            "{}{at} is not {name}; say the table's `encoding`",
            path.display()
        );
        io::Error::new(io::ErrorKind::InvalidData, message)
    };
    if format.encoding == encoding_rs::UTF_8 {
        let decoded = String::from_utf8(bytes)
            .map_err(|error| broken(Some(error.utf8_error().valid_up_to())))?;
        match text.is_empty() {
            true => *text = decoded,
            false => text.push_str(&decoded),
        }
        return Ok(());
    }
    let (decoded, malformed) = format.encoding.decode_without_bom_handling(&bytes);
    if malformed {
        return Err(broken(None));
    }
    text.push_str(&decoded);
    Ok(())
}

impl<'a> Table<'a> {
    /// The names of the columns; none for JSON lines, and for tables without a header.
    pub fn columns(&self) -> &'a [String] {
        self.0.header.as_deref().unwrap_or_default()
    }

    /// The file that the rows are of; of rows of one partition the first.
    pub fn path(&self) -> &'a Path {
        &self.0.path
    }

    /// The number of the first row in its file, from 0.
    pub fn first_row(&self) -> u64 {
        self.0.first_row
    }

    /// The rows as they stand in the file, without a header.
    pub fn text(&self) -> &'a str {
        &self.0.text
    }

    /// A reader of the csv crate, which knows the columns' names: the quickest way.
    ///
    /// # Errors
    /// If the rows are JSON.
    pub fn csv(&self) -> Result<csv::Reader<&'a [u8]>, BoxError> {
        let FormatKind::Csv { delimiter, .. } = self.0.format.kind else {
            return Err("the rows are JSON lines; read them with `rows`".into());
        };
        let mut reader = csv::ReaderBuilder::new()
            .has_headers(self.0.header.is_some())
            .delimiter(delimiter)
            .from_reader(self.0.text.as_bytes());
        if let Some(header) = &self.0.header {
            reader.set_headers(csv::StringRecord::from(header.to_vec()));
        }
        Ok(reader)
    }

    /// Each row, read into a `T` by the names of its columns, or by their order if `T` is a tuple.
    ///
    /// # Errors
    /// If a row does not fit: no further try will mend that.
    pub fn rows<T: DeserializeOwned>(&self) -> Result<Vec<T>, BoxError> {
        match self.0.format.kind {
            FormatKind::JsonLines => self.json_rows(),
            FormatKind::Csv { .. } => self.csv_rows(),
        }
    }

    fn csv_rows<T: DeserializeOwned>(&self) -> Result<Vec<T>, BoxError> {
        let rows = self.csv()?.into_deserialize();
        rows.enumerate()
            .map(|(row, read)| read.map_err(|error| self.misfit(row, error)))
            .collect()
    }

    fn json_rows<T: DeserializeOwned>(&self) -> Result<Vec<T>, BoxError> {
        let lines = self.0.text.lines().filter(|line| !line.trim().is_empty());
        let read =
            |(row, line)| serde_json::from_str(line).map_err(|error| self.misfit(row, error));
        lines.enumerate().map(read).collect()
    }

    fn misfit(&self, row: usize, error: impl std::fmt::Display) -> BoxError {
        let (path, row) = (self.0.path.display(), self.0.first_row + row as u64);
        Permanent::new(format!("{path}, row {row}: {error}")).into()
    }

    /// The delimiter of a CSV.
    pub(in crate::scoring) fn dialect(&self) -> Option<u8> {
        match self.0.format.kind {
            FormatKind::Csv { delimiter, .. } => Some(delimiter),
            FormatKind::JsonLines => None,
        }
    }

    /// The header as it stands in a file; empty if there is none.
    #[cfg(feature = "python")]
    pub(in crate::scoring) fn header_line(&self) -> String {
        let (Some(header), Some(delimiter)) = (&self.0.header, self.dialect()) else {
            return String::new();
        };
        let mut writer = csv::WriterBuilder::new()
            .delimiter(delimiter)
            .from_writer(Vec::new());
        let _ = writer.write_record(header.iter());
        String::from_utf8(writer.into_inner().unwrap_or_default()).unwrap_or_default()
    }
}

/// The names in a header.
pub(super) fn header_of(
    bytes: &[u8],
    format: &Format,
    path: &Path,
) -> Result<Vec<String>, ScoringError> {
    let mut text = String::new();
    decode(format, bytes.to_vec(), 0, path, &mut text)
        .map_err(|error| ScoringError::Input(error.to_string()))?;
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .delimiter(format.delimiter())
        .from_reader(text.as_bytes());
    let mut names = csv::StringRecord::new();
    let read = reader.read_record(&mut names);
    read.map_err(|error| ScoringError::Input(format!("{}: {error}", path.display())))?;
    Ok(names.iter().map(str::to_owned).collect())
}
