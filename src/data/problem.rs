//! What is wrong with a document, and where in it.

use super::read::Subject;
use crate::model::{Error, ErrorKind};
use serde_path_to_error::Segment;
use std::fmt;

/// Something wrong. Where is told from the inside out: each form adds its own step to those of the forms in it.
#[derive(Debug)]
pub(super) struct Problem {
    message: String,
    inside_out: Vec<Step>,
}

#[derive(Debug)]
pub(super) enum Step {
    Key(String),
    Index(usize),
}

impl Problem {
    pub(super) fn new(message: impl Into<String>) -> Self {
        Problem {
            message: message.into(),
            inside_out: Vec::new(),
        }
    }

    /// Found by serde.
    pub(super) fn at(path: &serde_path_to_error::Path, message: impl Into<String>) -> Self {
        let mut steps: Vec<_> = path.iter().filter_map(Step::of).collect();
        steps.reverse();
        Problem {
            inside_out: steps,
            ..Problem::new(message)
        }
    }

    pub(super) fn inside(mut self, key: &str) -> Self {
        self.inside_out.push(Step::Key(key.to_owned()));
        self
    }

    pub(super) fn in_item(mut self, index: usize) -> Self {
        self.inside_out.push(Step::Index(index));
        self
    }

    /// From the top of the document.
    pub(super) fn steps(&self) -> impl Iterator<Item = &Step> {
        self.inside_out.iter().rev()
    }

    /// Of a document that was read.
    pub(super) fn unread(&self, subject: Subject, line: Option<usize>) -> Error {
        let place = Place(self);
        let line = line.map_or_else(String::new, |line| format!(", line {line}"));
        let message = cut(&self.message, LONGEST_MESSAGE);
        let message = format!("{subject}, at `{place}`{line}: {message}");
        Error::new(ErrorKind::InvalidInput, message)
    }

    /// Of a job that was to be written.
    pub(super) fn unwritten(&self, job: &str) -> Error {
        self.unwritten_settings().in_job(job)
    }

    /// Of settings that were to be written.
    pub(super) fn unwritten_settings(&self) -> Error {
        let message = match self.inside_out.is_empty() {
            true => format!("can't be written: {}", self.message),
            false => format!(
                "can't be written, for its `{}`: {}",
                Place(self),
                self.message
            ),
        };
        Error::new(ErrorKind::Unsupported, message)
    }
}

/// A document may be a megabyte of one word.
const LONGEST_MESSAGE: usize = 600;
const LONGEST_KEY: usize = 60;

/// The beginning of a text.
fn cut(text: &str, longest: usize) -> String {
    match text.char_indices().nth(longest) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

impl Step {
    fn of(segment: &Segment) -> Option<Self> {
        match segment {
            Segment::Seq { index } => Some(Step::Index(*index)),
            Segment::Map { key } => Some(Step::Key(key.clone())),
            Segment::Enum { variant } => Some(Step::Key(variant.clone())),
            Segment::Unknown => None,
        }
    }
}

/// `tasks[2].settings.time_limit`; a dot alone for the document as a whole.
struct Place<'a>(&'a Problem);

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.inside_out.is_empty() {
            return f.write_str(".");
        }
        self.0
            .steps()
            .enumerate()
            .try_for_each(|(at, step)| match step {
                Step::Index(index) => write!(f, "[{index}]"),
                Step::Key(key) => {
                    let dot = if at == 0 { "" } else { "." };
                    write!(f, "{dot}{}", cut(key, LONGEST_KEY))
                }
            })
    }
}
