//! Mini-batches, as scorers see them.

use super::input::{Rows, Table};
use crate::model::BoxError;
use serde::de::DeserializeOwned;
use std::path::PathBuf;

/// What one call of a scorer is given: some files, or some rows of a table.
///
/// Made anew for each try, so that nothing a scorer does to it is seen by the next.
#[derive(Debug)]
pub struct MiniBatch {
    pub(super) index: u64,
    pub(super) attempt: u32,
    pub(super) partition: Vec<(String, String)>,
    pub(super) items: Items,
}

/// The two kinds of input.
#[derive(Debug)]
pub(super) enum Items {
    Files(Vec<PathBuf>),
    Rows(Rows),
}

/// How large mini-batches are: see [`MiniBatch::files`] and [`MiniBatch::bytes`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MiniBatchSize {
    /// So many files each, whatever their sizes. Default for files: 10.
    Files(usize),
    /// About so many bytes of a table each: a mini-batch ends with the first row that reaches them, or with its file.
    /// Default for tables: 1 MB, which is 1,048,576 bytes.
    Bytes(u64),
}

impl MiniBatchSize {
    pub(super) fn is_zero(self) -> bool {
        matches!(self, MiniBatchSize::Files(0) | MiniBatchSize::Bytes(0))
    }
}

impl MiniBatch {
    /// Mini-batches of so many files.
    pub fn files(count: usize) -> MiniBatchSize {
        MiniBatchSize::Files(count)
    }

    /// Mini-batches of about so many bytes of a table.
    pub fn bytes(count: u64) -> MiniBatchSize {
        MiniBatchSize::Bytes(count)
    }

    /// Its number in the order of the input, from 0.
    pub fn index(&self) -> u64 {
        self.index
    }

    /// Which try this is, from 1.
    pub fn attempt(&self) -> u32 {
        self.attempt
    }

    /// How many items it has: files, or rows.
    pub fn len(&self) -> usize {
        match &self.items {
            Items::Files(files) => files.len(),
            Items::Rows(rows) => rows.len(),
        }
    }

    /// Whether it has none, which does not happen.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Its files, in the order of their paths; none if the input is a table.
    pub fn paths(&self) -> &[PathBuf] {
        match &self.items {
            Items::Files(files) => files,
            Items::Rows(_) => &[],
        }
    }

    /// The values of its partition keys, in the order in which these were named; none if there are no keys.
    pub fn partition(&self) -> &[(String, String)] {
        &self.partition
    }

    /// Its rows.
    ///
    /// # Errors
    /// If the input is files.
    pub fn table(&self) -> Result<Table<'_>, BoxError> {
        match &self.items {
            Items::Rows(rows) => Ok(rows.table()),
            Items::Files(_) => Err("the input is files; a table is read with `Table::csv`".into()),
        }
    }

    /// Its rows, each read into a `T` by the names of its columns.
    ///
    /// # Errors
    /// If the input is files, or a row does not fit; the error names the row.
    pub fn rows<T: DeserializeOwned>(&self) -> Result<Vec<T>, BoxError> {
        self.table()?.rows()
    }
}
