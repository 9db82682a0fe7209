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
    /// Of a CSV, the line with the names of its columns, unless there is no row.
    pub(in crate::scoring) header: Option<String>,
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
        let (header, bytes) = match self.form {
            None => (None, Vec::new()),
            Some(Form::Csv) => csv(rows)?,
            Some(Form::JsonLines) => (None, json_lines(rows)?),
            Some(Form::Text) => (None, text(rows)?),
        };
        let rows = rows.len() as u64;
        Ok(Scored {
            rows,
            header,
            bytes,
            ..Scored::default()
        })
    }
}

fn csv<R: Serialize>(rows: &[R]) -> Result<(Option<String>, Vec<u8>), BoxError> {
    let Some(first) = rows.first() else {
        return Ok((None, Vec::new()));
    };
    let mut writer = csv::WriterBuilder::new()
        .has_headers(false)
        .from_writer(Vec::new());
    rows.iter().try_for_each(|row| writer.serialize(row))?;
    Ok((Some(header_of(first)?), into_bytes(writer)?))
}

/// The line with the names of a row's fields. It is what the csv crate writes before the row; reading that would take
/// longer than most rows take to score.
fn header_of<R: Serialize>(row: &R) -> Result<String, BoxError> {
    let written = |has_headers| {
        let mut writer = csv::WriterBuilder::new()
            .has_headers(has_headers)
            .buffer_capacity(512)
            .from_writer(Vec::new());
        writer.serialize(row)?;
        into_bytes(writer)
    };
    let (mut with, without) = (written(true)?, written(false)?);
    with.truncate(with.len() - without.len());
    if !with.is_empty() {
        return Ok(String::from_utf8(with)?);
    }
    Ok(match fields(&without) {
        1 => "result\n".into(),
        many => header_line((1..=many).map(|n| format!("result_{n}")))?,
    })
}

/// The line with these names.
pub(in crate::scoring) fn header_line(
    names: impl IntoIterator<Item = impl AsRef<[u8]>>,
) -> Result<String, BoxError> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(names)?;
    Ok(String::from_utf8(into_bytes(writer)?)?)
}

/// How many fields a line of a CSV has.
pub(super) fn fields(line: &[u8]) -> usize {
    let mut quoted = false;
    let separators = line.iter().filter(|&&byte| {
        quoted ^= byte == b'"';
        byte == b',' && !quoted
    });
    separators.count() + 1
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
