//! What is scored, and how it is cut into mini-batches.

mod files;
mod group;
mod listing;
mod pattern;
mod plan;
mod reader;
mod rows;
mod scan;
mod tables;

pub use files::{Files, LeftOut};
pub use rows::Table;
pub use tables::Tables;

pub(super) use plan::{Cut, Plan, Source};
pub(super) use rows::Rows;

/// What a run scores: [`Files`], or the rows of [`Tables`].
#[derive(Clone, Debug)]
pub struct Input(pub(super) Kind);

#[derive(Clone, Debug)]
pub(super) enum Kind {
    Files(Files),
    Tables(Tables),
}

impl From<Files> for Input {
    fn from(files: Files) -> Self {
        Input(Kind::Files(files))
    }
}

impl From<Tables> for Input {
    fn from(tables: Tables) -> Self {
        Input(Kind::Tables(tables))
    }
}
