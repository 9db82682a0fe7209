//! Where rows are appended, and how.

use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The file that all rows of a run end up in, and how they are written there.
///
/// It appears under its name when all of it is there: until then it is a temporary file in the same folder. If the run ends
/// early, what was written so far is kept beside it, as `NAME.partial`.
///
/// A path stands for CSV, but `.jsonl`, `.ndjson` and `.json` for JSON lines, and `.txt` for Azure ML's text.
///
/// ```
/// use batchyard::scoring::{Append, RowOrder};
///
/// let by_name = Append::from("predictions.csv");
/// let in_full = Append::json_lines("predictions.jsonl").order(RowOrder::AsCompleted);
/// ```
#[derive(Clone, Debug)]
pub struct Append {
    pub(in crate::scoring) path: PathBuf,
    pub(in crate::scoring) form: Form,
    pub(in crate::scoring) order: RowOrder,
    pub(in crate::scoring) columns: Option<Arc<[String]>>,
}

/// How a row is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::scoring) enum Form {
    Csv,
    JsonLines,
    Text,
}

/// In which order the rows of the mini-batches are written. Those of one mini-batch stay together, in the order in which it
/// returned them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum RowOrder {
    /// As in the input. What is finished before its turn is kept, on disk where it is much. The default.
    #[default]
    Input,
    /// As they come. (Azure ML: the only order.)
    AsCompleted,
}

impl Append {
    /// CSV with a header, quoted where a field needs it. The header is the names of a struct's fields or of a frame's
    /// columns; rows without names have a column `result`, or `result_1`, `result_2` and so on.
    pub fn csv(path: impl Into<PathBuf>) -> Self {
        Self::new(path.into(), Form::Csv)
    }

    /// A JSON value in each line. What JSON has no number for, such as NaN, is `null`.
    pub fn json_lines(path: impl Into<PathBuf>) -> Self {
        Self::new(path.into(), Form::JsonLines)
    }

    /// The fields of a row with spaces between them, without header or quotes, as Azure ML writes its
    /// `parallel_run_step.txt`: not to be read back when a field holds a space.
    pub fn text(path: impl Into<PathBuf>) -> Self {
        Self::new(path.into(), Form::Text)
    }

    /// The order of the rows. Default: that of the input.
    pub fn order(mut self, order: RowOrder) -> Self {
        self.order = order;
        self
    }

    /// The header of a CSV, whatever the rows call themselves.
    pub fn columns(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.columns = Some(names.into_iter().map(Into::into).collect());
        self
    }

    fn new(path: PathBuf, form: Form) -> Self {
        Append {
            path,
            form,
            order: RowOrder::default(),
            columns: None,
        }
    }
}

impl<P: AsRef<Path> + ?Sized> From<&P> for Append {
    fn from(path: &P) -> Self {
        let path = path.as_ref();
        let extension = path.extension().unwrap_or_default().to_ascii_lowercase();
        let form = match extension.to_str() {
            Some("jsonl" | "ndjson" | "json") => Form::JsonLines,
            Some("txt") => Form::Text,
            _ => Form::Csv,
        };
        Append::new(path.into(), form)
    }
}

impl From<PathBuf> for Append {
    fn from(path: PathBuf) -> Self {
        Append::from(&path)
    }
}
