//! Rows as bytes. Done by the worker that made them, so that what writes has little to do.

use super::append::{Append, Form};
use crate::model::BoxError;
use serde::Serialize;
use std::time::Duration;

/// How rows are to be written; without a form they are only counted.
#[derive(Clone, Debug)]
pub(in crate::scoring) struct Encoder {
    pub(in crate::scoring) form: Option<Form>,
}

/// What a call returned.
#[derive(Debug, Default)]
pub(in crate::scoring) struct Scored {
    pub(in crate::scoring) rows: u64,
    /// Of a CSV, unless there is no row.
    pub(in crate::scoring) columns: Option<Vec<String>>,
    pub(in crate::scoring) bytes: Vec<u8>,
    /// How long the scorer ran, and how much of a CPU it had meanwhile, as far as that is known.
    pub(in crate::scoring) run_time: Duration,
    pub(in crate::scoring) process_time: Duration,
    /// The worker is to be replaced, in good order.
    pub(in crate::scoring) worn: bool,
}

impl Encoder {
    pub(in crate::scoring) fn new(append: Option<&Append>) -> Self {
        Encoder {
            form: append.map(|append| append.form),
        }
    }

    pub(in crate::scoring) fn encode<R: Serialize>(&self, rows: &[R]) -> Result<Scored, BoxError> {
        let (columns, bytes) = match self.form {
            None => (None, Vec::new()),
            Some(Form::Csv) => csv(rows)?,
            Some(Form::JsonLines) => (None, json_lines(rows)?),
            Some(Form::Text) => (None, text(rows)?),
        };
        let rows = rows.len() as u64;
        Ok(Scored {
            rows,
            columns,
            bytes,
            ..Scored::default()
        })
    }
}

fn csv<R: Serialize>(rows: &[R]) -> Result<(Option<Vec<String>>, Vec<u8>), BoxError> {
    let Some(first) = rows.first() else {
        return Ok((None, Vec::new()));
    };
    let mut writer = csv::WriterBuilder::new()
        .has_headers(false)
        .from_writer(Vec::new());
    rows.iter().try_for_each(|row| writer.serialize(row))?;
    Ok((Some(columns(first)?), into_bytes(writer)?))
}

/// The names of a row's fields.
fn columns<R: Serialize>(row: &R) -> Result<Vec<String>, BoxError> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.serialize(row)?;
    let bytes = into_bytes(writer)?;
    let mut records = csv::ReaderBuilder::new()
        .has_headers(false)
        .from_reader(&bytes[..])
        .into_records();
    let first = records.next().transpose()?.unwrap_or_default();
    if records.next().is_some() {
        return Ok(first.iter().map(str::to_owned).collect());
    }
    Ok(match first.len() {
        0 | 1 => vec!["result".into()],
        many => (1..=many).map(|n| format!("result_{n}")).collect(),
    })
}

fn json_lines<R: Serialize>(rows: &[R]) -> Result<Vec<u8>, BoxError> {
    let mut bytes = Vec::new();
    for row in rows {
        serde_json::to_writer(&mut bytes, row)?;
        bytes.push(b'\n');
    }
    Ok(bytes)
}

fn text<R: Serialize>(rows: &[R]) -> Result<Vec<u8>, BoxError> {
    let mut writer = csv::WriterBuilder::new()
        .has_headers(false)
        .delimiter(b' ')
        .quote_style(csv::QuoteStyle::Never)
        .from_writer(Vec::new());
    rows.iter().try_for_each(|row| writer.serialize(row))?;
    into_bytes(writer)
}

fn into_bytes(writer: csv::Writer<Vec<u8>>) -> Result<Vec<u8>, BoxError> {
    writer
        .into_inner()
        .map_err(|error| error.to_string().into())
}
