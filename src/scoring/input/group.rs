//! Mini-batches by partition keys: one for each combination of their values, in the order of its first item.

use super::Rows;
use super::files::LeftOut;
use super::listing::Listing;
use super::pattern::Keys;
use super::plan::open;
use super::rows::Header;
use super::tables::Tables;
use crate::scoring::fault::ScoringError;
use std::collections::HashMap;
use std::io;

type Values = Vec<(String, String)>;

/// Files that have the same values.
pub(super) struct FileGroup {
    pub(super) values: Values,
    pub(super) files: Vec<u32>,
}

/// Rows that have the same values: which bytes of which files.
#[derive(Debug)]
pub(super) struct RowGroup {
    pub(super) values: Values,
    portions: Vec<Portion>,
}

/// A group's rows in one file: offsets and lengths, and how many they are.
#[derive(Debug)]
struct Portion {
    file: usize,
    parts: Vec<(u64, u64)>,
    rows: u64,
}

/// The groups of tables, and the columns of these.
pub(super) struct RowGroups {
    pub(super) header: Header,
    pub(super) groups: Vec<RowGroup>,
}

/// Items by their values, in the order of the first.
struct Groups<T> {
    places: HashMap<Values, usize>,
    groups: Vec<T>,
}

impl<T> Groups<T> {
    fn new() -> Self {
        Groups {
            places: HashMap::new(),
            groups: Vec::new(),
        }
    }

    fn of(&mut self, values: Values, new: impl FnOnce(Values) -> T) -> &mut T {
        let groups = &mut self.groups;
        let place = *self.places.entry(values.clone()).or_insert_with(|| {
            groups.push(new(values));
            groups.len() - 1
        });
        &mut groups[place]
    }
}

pub(super) fn files(listing: &Listing, keys: &Keys) -> Vec<FileGroup> {
    let mut groups = Groups::new();
    for file in 0..listing.len() {
        let values = keys.of(&listing.path(file));
        let group = groups.of(values, |values| FileGroup {
            values,
            files: Vec::new(),
        });
        group.files.push(file as u32);
    }
    groups.groups
}

/// Reads all tables for the values of these columns; the rows stay where they are.
pub(super) fn rows(
    tables: &Tables,
    keys: &[String],
    left_out: &mut Vec<LeftOut>,
) -> Result<RowGroups, ScoringError> {
    let mut groups = Groups::new();
    let mut header = None;
    for file in 0..tables.files.len() {
        let path = tables.files.listing.path(file);
        let Some(mut reader) = open(tables, path.clone(), &mut header, left_out)? else {
            continue;
        };
        while let Some((piece, bytes)) = reader.record()? {
            let row = Rows::one(
                &tables.format,
                header.clone(),
                path.clone(),
                bytes,
                piece.start,
            )
            .map_err(|error| ScoringError::Input(error.to_string()))?;
            let values = values_of(&row, keys).map_err(|why| {
                ScoringError::Input(format!(
                    "{}, row {}: {why}",
                    path.display(),
                    piece.first_row
                ))
            })?;
            let group = groups.of(values, |values| RowGroup {
                values,
                portions: Vec::new(),
            });
            group.add(file, piece.start, piece.len);
        }
        left_out.extend(reader.without_rows());
    }
    let groups = groups.groups;
    Ok(RowGroups { header, groups })
}

/// The values of these columns in the only row of `row`.
fn values_of(row: &Rows, keys: &[String]) -> Result<Values, String> {
    let table = row.table();
    let missing = |key: &String| format!("there is no column `{key}` to partition by");
    if table.dialect().is_none() {
        let object: Vec<serde_json::Map<String, serde_json::Value>> =
            table.rows().map_err(|e| e.to_string())?;
        let value = |key: &String| {
            let value = object
                .first()
                .and_then(|object| object.get(key))
                .ok_or_else(|| missing(key))?;
            let text = value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned);
            Ok((key.clone(), text))
        };
        return keys.iter().map(value).collect();
    }
    let mut record = csv::StringRecord::new();
    let mut reader = table.csv().map_err(|error| error.to_string())?;
    reader
        .read_record(&mut record)
        .map_err(|error| error.to_string())?;
    let value = |key: &String| {
        let named = table.columns().iter().position(|column| column == key);
        let place = named.or_else(|| key.parse().ok().filter(|_| table.columns().is_empty()));
        let value = place
            .and_then(|place| record.get(place))
            .ok_or_else(|| missing(key))?;
        Ok((key.clone(), value.to_owned()))
    };
    keys.iter().map(value).collect()
}

impl RowGroup {
    fn add(&mut self, file: usize, start: u64, len: u64) {
        let new = |file| Portion {
            file,
            parts: Vec::new(),
            rows: 0,
        };
        let mut portion = self.portions.pop().unwrap_or_else(|| new(file));
        if portion.file != file {
            self.portions
                .push(std::mem::replace(&mut portion, new(file)));
        }
        portion.rows += 1;
        match portion.parts.last_mut() {
            Some((begun, so_far)) if *begun + *so_far == start => *so_far += len,
            _ => portion.parts.push((start, len)),
        }
        self.portions.push(portion);
    }

    pub(super) fn rows(&self) -> u64 {
        self.portions.iter().map(|portion| portion.rows).sum()
    }

    pub(super) fn read(&self, tables: &Tables, header: Header) -> io::Result<Rows> {
        let mut all: Option<Rows> = None;
        for Portion { file, parts, rows } in &self.portions {
            let path = tables.files.listing.path(*file);
            let rows = Rows::read(&tables.format, header.clone(), path, parts, *rows)?;
            match &mut all {
                Some(all) => all.append(&rows),
                None => all = Some(rows),
            }
        }
        all.ok_or_else(|| io::Error::other("a group without rows"))
    }
}
