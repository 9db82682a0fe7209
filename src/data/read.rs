//! From text to a form, and back.

use super::problem::{Problem, Step};
use crate::model::{Error, ErrorKind, Result};
use serde::de::{DeserializeOwned, Deserializer};
use serde::{Deserialize, Serialize};
use std::fmt;
use toml::de::{DeTable, DeValue};

/// What a document is about.
#[derive(Clone, Copy)]
pub(super) enum Subject {
    Job,
    Settings,
}

/// The most bytes that a document may have.
const LONGEST: usize = 16 << 20;

pub(super) fn json<F: DeserializeOwned>(text: &str, subject: Subject) -> Result<F> {
    check_len(text, subject)?;
    let mut from = serde_json::Deserializer::from_str(text);
    let (found, _) = follow(&mut from, |error| error.to_string());
    let form = found.and_then(|form| {
        let end = from.end();
        end.map_err(|error| Problem::new(error.to_string()))?;
        Ok(form)
    });
    form.map_err(|problem| {
        let head = serde_json::from_str(text).ok();
        later_version(head, subject).unwrap_or_else(|| problem.unread(subject, None))
    })
}

pub(super) fn toml<F: DeserializeOwned>(text: &str, subject: Subject) -> Result<F> {
    check_len(text, subject)?;
    let broken = |error: toml::de::Error| {
        let line = error.span().map(|span| line_of(text, span.start));
        Problem::new(error.message()).unread(subject, line)
    };
    let from = toml::Deserializer::parse(text).map_err(broken)?;
    let (found, span) = follow(from, |error| error.message().to_owned());
    found.map_err(|problem| {
        let head = toml::from_str(text).ok();
        let line = span.map(|start| line_of(text, start));
        let line = line.or_else(|| toml_line(text, &problem));
        later_version(head, subject).unwrap_or_else(|| problem.unread(subject, line))
    })
}

pub(super) fn to_json(form: &impl Serialize) -> Result<String> {
    serde_json::to_string_pretty(form).map_err(|error| {
        Error::new(ErrorKind::Unsupported, "can't be written as JSON").caused_by(error)
    })
}

/// The line, from 1, of the innermost thing around a problem that the document has.
pub(super) fn toml_line(text: &str, problem: &Problem) -> Option<usize> {
    let document = DeTable::parse(text).ok()?;
    let mut place = document.span().start;
    let mut value = DeValue::Table(document.into_inner());
    for step in problem.steps() {
        let Some(found) = step_into(value, step) else {
            break;
        };
        place = found.span().start;
        value = found.into_inner();
    }
    Some(line_of(text, place))
}

fn step_into<'a>(value: DeValue<'a>, step: &Step) -> Option<toml::Spanned<DeValue<'a>>> {
    match (value, step) {
        (DeValue::Table(mut table), Step::Key(key)) => table.remove(key.as_str()),
        (DeValue::Array(array), Step::Index(index)) => array.into_iter().nth(*index),
        _ => None,
    }
}

fn line_of(text: &str, at: usize) -> usize {
    let before = text.bytes().take(at);
    1 + before.filter(|&byte| byte == b'\n').count()
}

/// Reads a form, and remembers where it was when something was wrong.
fn follow<'de, F, D>(
    from: D,
    message: fn(&D::Error) -> String,
) -> (Result<F, Problem>, Option<usize>)
where
    F: Deserialize<'de>,
    D: Deserializer<'de>,
    D::Error: Spanned,
{
    match serde_path_to_error::deserialize(from) {
        Ok(form) => (Ok(form), None),
        Err(error) => {
            let inner = error.inner();
            let problem = Problem::at(error.path(), message(inner));
            (Err(problem), inner.start())
        }
    }
}

/// Errors that may know where they are.
trait Spanned {
    fn start(&self) -> Option<usize>;
}

impl Spanned for serde_json::Error {
    /// Its message says it.
    fn start(&self) -> Option<usize> {
        None
    }
}

impl Spanned for toml::de::Error {
    fn start(&self) -> Option<usize> {
        self.span().map(|span| span.start)
    }
}

fn check_len(text: &str, subject: Subject) -> Result<()> {
    match text.len() {
        0..=LONGEST => Ok(()),
        len => {
            let message =
                format!("it has {len} bytes, and may have {LONGEST}; split it into several");
            Err(Problem::new(message).unread(subject, None))
        }
    }
}

/// What is looked at before all else when a document can't be read: its version may be why.
#[derive(Deserialize)]
struct Head {
    version: u64,
}

fn later_version(head: Option<Head>, subject: Subject) -> Option<Error> {
    let version = head.filter(|_| matches!(subject, Subject::Job))?.version;
    let is_later = version > u64::from(super::job::VERSION);
    is_later.then(|| {
        super::job::unknown_version(version)
            .inside("version")
            .unread(subject, None)
    })
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Subject::Job => "the job's document",
            Subject::Settings => "the settings' document",
        })
    }
}
