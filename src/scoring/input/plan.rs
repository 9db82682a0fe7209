//! Cuts the input into mini-batches, one after another, as they are asked for.

use super::files::LeftOut;
use super::group::{FileGroup, RowGroup};
use super::listing::Listing;
use super::pattern::Keys;
use super::reader::{Piece, Reader};
use super::rows::{Header, Rows, header_of};
use super::tables::Tables;
use super::{Input, Kind, group};
use crate::model::{Error, ErrorKind, Result};
use crate::scoring::fault::ScoringError;
use crate::scoring::mini_batch::{Items, MiniBatchSize};
use crate::scoring::settings::{BYTES, FILES, Settings};
use std::io;
use std::sync::Arc;

/// How an input is to be cut. Shared by all runs of a job.
#[derive(Clone)]
pub(in crate::scoring) struct Plan {
    how: How,
    left_out: Vec<LeftOut>,
}

#[derive(Clone)]
enum How {
    Files {
        listing: Arc<Listing>,
        size: usize,
        keys: Keys,
    },
    FileGroups {
        listing: Arc<Listing>,
        groups: Arc<[FileGroup]>,
    },
    Rows {
        tables: Tables,
        bytes: u64,
    },
    RowGroups {
        tables: Tables,
        keys: Vec<String>,
    },
}

/// One mini-batch, as small as it can be told: where to read it.
#[derive(Clone, Debug)]
pub(in crate::scoring) struct Cut {
    pub(in crate::scoring) index: u64,
    pub(in crate::scoring) items: u64,
    part: Part,
}

#[derive(Clone, Debug)]
enum Part {
    /// From the file of this number on.
    Files(usize),
    FileGroup(usize),
    Rows {
        file: usize,
        piece: Piece,
    },
    RowGroup(Arc<RowGroup>),
}

impl Plan {
    /// # Errors
    /// [`InvalidSetting`](ErrorKind::InvalidSetting) for a size of the other kind of input, or a key that there isn't.
    pub(in crate::scoring) fn new(input: &Input, settings: &Settings) -> Result<Self> {
        let keys = &settings.partition_keys;
        let (how, left_out) = match (&input.0, settings.size) {
            (Kind::Files(_), Some(MiniBatchSize::Bytes(_))) => {
                return Err(wrong_size("files are counted: use `MiniBatch::files`"));
            }
            (Kind::Tables(_), Some(MiniBatchSize::Files(_))) => {
                return Err(wrong_size("tables are cut by size: use `MiniBatch::bytes`"));
            }
            (Kind::Files(files), _) if !keys.is_empty() => {
                let groups = group::files(&files.listing, &files.keys.choose(keys)?).into();
                (
                    How::FileGroups {
                        listing: files.listing.clone(),
                        groups,
                    },
                    &files.left_out,
                )
            }
            (Kind::Files(files), size) => {
                let size = match size {
                    Some(MiniBatchSize::Files(count)) => count,
                    _ => FILES,
                };
                let (listing, keys) = (files.listing.clone(), files.keys.clone());
                (
                    How::Files {
                        listing,
                        size,
                        keys,
                    },
                    &files.left_out,
                )
            }
            (Kind::Tables(tables), _) if !keys.is_empty() => (
                How::RowGroups {
                    tables: tables.clone(),
                    keys: keys.clone(),
                },
                &tables.files.left_out,
            ),
            (Kind::Tables(tables), size) => {
                let bytes = match size {
                    Some(MiniBatchSize::Bytes(bytes)) => bytes,
                    _ => BYTES,
                };
                (
                    How::Rows {
                        tables: tables.clone(),
                        bytes,
                    },
                    &tables.files.left_out,
                )
            }
        };
        Ok(Plan {
            how,
            left_out: left_out.clone(),
        })
    }

    /// How many mini-batches there will be: exactly, but for tables, of which there may be fewer.
    ///
    /// # Errors
    /// [`InvalidInput`](ErrorKind::InvalidInput) if a table isn't there.
    pub(in crate::scoring) fn at_most(&self) -> Result<u64> {
        match &self.how {
            How::Files { listing, size, .. } => Ok(listing.len().div_ceil(*size) as u64),
            How::FileGroups { groups, .. } => Ok(groups.len() as u64),
            How::Rows { tables, bytes } => sizes(tables)
                .map(|size| Ok(size?.div_ceil(*bytes).max(1)))
                .sum(),
            How::RowGroups { tables, keys } => match group::rows(tables, keys, &mut Vec::new()) {
                Ok(found) => Ok(found.groups.len() as u64),
                Err(error) => Err(Error::new(ErrorKind::InvalidInput, error.to_string())),
            },
        }
    }

    pub(in crate::scoring) fn source(&self) -> Source {
        Source {
            plan: self.clone(),
            next: 0,
            file: 0,
            reader: None,
            header: None,
            groups: None,
            left_out: self.left_out.clone(),
        }
    }
}

fn wrong_size(message: &str) -> Error {
    Error::new(ErrorKind::InvalidSetting, message)
}

/// The sizes of the files of tables.
fn sizes(tables: &Tables) -> impl Iterator<Item = Result<u64>> {
    let listing = tables.files.listing.clone();
    (0..listing.len()).map(move |file| {
        let path = listing.path(file);
        let size = path.metadata().map(|data| data.len());
        size.map_err(|cause| {
            let message = format!("can't read {}", path.display());
            Error::new(ErrorKind::InvalidInput, message).caused_by(cause)
        })
    })
}

/// Gives out the mini-batches of one run, each once, in the order of the input.
pub(in crate::scoring) struct Source {
    plan: Plan,
    next: u64,
    file: usize,
    reader: Option<Reader>,
    /// Of the first table that has one; all others must have the same.
    header: Header,
    groups: Option<std::vec::IntoIter<RowGroup>>,
    pub(in crate::scoring) left_out: Vec<LeftOut>,
}

impl Source {
    /// The next mini-batch; `None` after the last.
    pub(in crate::scoring) fn next(&mut self) -> Result<Option<Cut>, ScoringError> {
        let at = self.next as usize;
        let part = match &self.plan.how {
            How::Files { listing, size, .. } => {
                let first = at * size;
                let items = listing.len().saturating_sub(first).min(*size);
                (items > 0).then_some((items as u64, Part::Files(first)))
            }
            How::FileGroups { groups, .. } => groups
                .get(at)
                .map(|group| (group.files.len() as u64, Part::FileGroup(at))),
            How::Rows { .. } => self.next_piece()?,
            How::RowGroups { .. } => self.next_group()?,
        };
        let index = self.next;
        self.next += u64::from(part.is_some());
        Ok(part.map(|(items, part)| Cut { index, items, part }))
    }

    fn next_piece(&mut self) -> Result<Option<(u64, Part)>, ScoringError> {
        let How::Rows { tables, bytes } = &self.plan.how else {
            return Ok(None);
        };
        loop {
            if let Some(reader) = &mut self.reader {
                if let Some(piece) = reader.piece(*bytes)? {
                    return Ok(Some((
                        piece.rows,
                        Part::Rows {
                            file: self.file - 1,
                            piece,
                        },
                    )));
                }
                self.left_out.extend(reader.without_rows());
                self.reader = None;
            }
            if self.file == tables.files.len() {
                return Ok(None);
            }
            let path = tables.files.listing.path(self.file);
            self.file += 1;
            self.reader = open(tables, path, &mut self.header, &mut self.left_out)?;
        }
    }

    fn next_group(&mut self) -> Result<Option<(u64, Part)>, ScoringError> {
        if let (None, How::RowGroups { tables, keys }) = (&self.groups, &self.plan.how) {
            let found = group::rows(tables, keys, &mut self.left_out)?;
            self.header = found.header;
            self.groups = Some(found.groups.into_iter());
        }
        let group = self.groups.as_mut().and_then(Iterator::next);
        Ok(group.map(|group| (group.rows(), Part::RowGroup(Arc::new(group)))))
    }

    /// The columns of its tables, as far as these have been read.
    pub(in crate::scoring) fn header(&self) -> Header {
        self.header.clone()
    }
}

/// Opens a table, and reads its header, which must be the one of the tables before. `None` for a table without rows.
pub(super) fn open(
    tables: &Tables,
    path: std::path::PathBuf,
    known: &mut Header,
    left_out: &mut Vec<LeftOut>,
) -> Result<Option<Reader>, ScoringError> {
    let mut reader = Reader::open(path, &tables.format)?;
    if tables.format.has_header() {
        let Some(header) = reader.header()? else {
            left_out.extend(reader.without_rows());
            return Ok(None);
        };
        let header = header_of(&header, &tables.format, &reader.path)?;
        match known {
            Some(known) if **known != *header => {
                let path = reader.path.display();
                let message = format!(
                    "the columns of {path} are {header:?}, and those of the first table {known:?}; give tables of one kind"
                );
                return Err(ScoringError::Input(message));
            }
            Some(_) => {}
            None => *known = Some(header.into()),
        }
    }
    Ok(Some(reader))
}

impl Cut {
    /// Reads the mini-batch.
    pub(in crate::scoring) fn load(
        &self,
        plan: &Plan,
        header: Header,
    ) -> io::Result<(Items, Vec<(String, String)>)> {
        let loaded = match (&plan.how, &self.part) {
            (How::Files { listing, keys, .. }, Part::Files(first)) => {
                let range = *first..first + self.items as usize;
                let files: Vec<_> = range.map(|file| listing.path(file)).collect();
                let partition = shared_keys(keys, &files);
                (Items::Files(files), partition)
            }
            (How::FileGroups { listing, groups }, Part::FileGroup(at)) => {
                let group = &groups[*at];
                let files = group
                    .files
                    .iter()
                    .map(|&file| listing.path(file as usize))
                    .collect();
                (Items::Files(files), group.values.clone())
            }
            (How::Rows { tables, .. }, Part::Rows { file, piece }) => {
                let path = tables.files.listing.path(*file);
                let rows = Rows::read(
                    &tables.format,
                    header,
                    path,
                    &[(piece.start, piece.len)],
                    piece.rows,
                )?;
                (Items::Rows(rows.first_row(piece.first_row)), Vec::new())
            }
            (How::RowGroups { tables, .. }, Part::RowGroup(group)) => {
                let rows = group.read(tables, header)?;
                (Items::Rows(rows), group.values.clone())
            }
            _ => return Err(io::Error::other("the mini-batch is of another input")),
        };
        Ok(loaded)
    }
}

impl Cut {
    /// Where it comes from, for people.
    pub(in crate::scoring) fn origin(&self, plan: &Plan) -> String {
        const NAMED: usize = 10;
        let listed = |listing: &Listing, files: &mut dyn Iterator<Item = usize>| {
            let names: Vec<_> = files
                .take(NAMED)
                .map(|file| listing.path(file).display().to_string())
                .collect();
            let more = (self.items as usize).saturating_sub(NAMED);
            let more = if more > 0 {
                format!(" and {more} more")
            } else {
                String::new()
            };
            format!("{}{more}", names.join(", "))
        };
        match (&plan.how, &self.part) {
            (How::Files { listing, .. }, Part::Files(first)) => {
                listed(listing, &mut (*first..first + self.items as usize))
            }
            (How::FileGroups { listing, groups }, Part::FileGroup(at)) => listed(
                listing,
                &mut groups[*at].files.iter().map(|&file| file as usize),
            ),
            (How::Rows { tables, .. }, Part::Rows { file, piece }) => {
                let (path, first) = (tables.files.listing.path(*file), piece.first_row);
                format!(
                    "{}, rows {first} to {}",
                    path.display(),
                    first + piece.rows - 1
                )
            }
            (_, Part::RowGroup(group)) => format!("the rows with {:?}", group.values),
            _ => String::new(),
        }
    }
}

/// The keys that all of these files have in common.
fn shared_keys(keys: &Keys, files: &[std::path::PathBuf]) -> Vec<(String, String)> {
    if keys.is_empty() {
        return Vec::new();
    }
    let mut shared = files.first().map(|file| keys.of(file)).unwrap_or_default();
    for file in files {
        let own = keys.of(file);
        shared.retain(|key| own.contains(key));
    }
    shared
}
