//! ONNX models as scorers, run by rten: no system library, no other process.

use super::mini_batch::MiniBatch;
use super::scorer::{Scorer, Worker};
use crate::model::{BoxError, Permanent};
use crate::sync::lock;
use rten::{Model, RunOptions, ThreadPool, Value};
use serde::Serialize;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

/// Scores with an ONNX model that has one input of floats; a row is what its first output has for one item.
///
/// All workers share the model, and each runs it on its own thread alone: the runtime's threads would only wait for each
/// other. The names of a CSV's columns are `result_1` and so on: see [`Append::columns`](super::Append::columns).
///
/// ```no_run
/// use batchyard::scoring::{OnnxScorer, ParallelRun, Tables};
/// # fn main() -> Result<(), batchyard::Error> {
/// # let pool = batchyard::Pool::new(batchyard::ThreadExecutor::new(2)?);
///
/// let model = OnnxScorer::of_columns("loans.onnx", ["income", "age", "amount"]);
/// let report = ParallelRun::new(model).input(Tables::csv("loans.csv")).append_rows_to("scores.csv").run(&pool)?;
/// # Ok(()) }
/// ```
pub struct OnnxScorer {
    path: PathBuf,
    item_shape: Vec<usize>,
    read: Box<Read>,
    model: Mutex<Option<Arc<Model>>>,
}

type Read = dyn Fn(&MiniBatch) -> Result<Vec<f32>, BoxError> + Send + Sync;

/// What a worker has.
pub struct OnnxWorker {
    model: Arc<Model>,
    threads: Arc<ThreadPool>,
}

/// What the model puts out for one item.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum OnnxRow {
    /// Of an output of floats, such as probabilities.
    Floats(Vec<f32>),
    /// Of an output of integers, such as labels.
    Integers(Vec<i32>),
}

impl OnnxScorer {
    /// A model whose input for one item has this shape: `[1, 8, 8]` for an input of `[batch, 1, 8, 8]`. `read` makes the
    /// numbers of all items of a mini-batch, one item after another.
    pub fn new(
        path: impl Into<PathBuf>,
        item_shape: impl Into<Vec<usize>>,
        read: impl Fn(&MiniBatch) -> Result<Vec<f32>, BoxError> + Send + Sync + 'static,
    ) -> Self {
        OnnxScorer {
            path: path.into(),
            item_shape: item_shape.into(),
            read: Box::new(read),
            model: Mutex::new(None),
        }
    }

    /// A model whose input is `[batch, columns]`: these columns of a CSV, in this order.
    pub fn of_columns(
        path: impl Into<PathBuf>,
        names: impl IntoIterator<Item = impl Into<String>>,
    ) -> Self {
        let names: Vec<String> = names.into_iter().map(Into::into).collect();
        let shape = [names.len()];
        Self::new(path, shape, move |batch| columns(batch, &names))
    }

    fn model(&self) -> Result<Arc<Model>, BoxError> {
        let mut loaded = lock(&self.model);
        if let Some(model) = &*loaded {
            return Ok(model.clone());
        }
        let load = Model::load_file(&self.path);
        let model = load.map_err(|error| format!("can't load {}: {error}", self.path.display()))?;
        Ok(loaded.insert(Arc::new(model)).clone())
    }

    fn input(&self, batch: &MiniBatch) -> Result<Value, BoxError> {
        let numbers = (self.read)(batch)?;
        let shape = [&[batch.len()], &self.item_shape[..]].concat();
        let (given, wanted) = (numbers.len(), shape.iter().product::<usize>());
        if given != wanted {
            let message = format!(
                "the model's input of {shape:?} has {wanted} numbers, and {given} were read"
            );
            return Err(Permanent::new(message).into());
        }
        Ok(Value::from_shape(&shape, numbers)?)
    }
}

impl Scorer for OnnxScorer {
    type State = OnnxWorker;
    type Row = OnnxRow;

    fn init(&self, _: &Worker) -> Result<OnnxWorker, BoxError> {
        Ok(OnnxWorker {
            model: self.model()?,
            threads: Arc::new(ThreadPool::with_num_threads(1)),
        })
    }

    fn run(&self, worker: &mut OnnxWorker, batch: &MiniBatch) -> Result<Vec<OnnxRow>, BoxError> {
        let options = RunOptions::default().with_thread_pool(Some(worker.threads.clone()));
        let output = worker
            .model
            .run_one(self.input(batch)?.into(), Some(options))?;
        rows(output, batch.len())
    }
}

/// The output cut into one part for each item.
fn rows(output: Value, items: usize) -> Result<Vec<OnnxRow>, BoxError> {
    match output {
        Value::FloatTensor(tensor) => {
            let row = |part: &[f32]| OnnxRow::Floats(part.to_vec());
            Ok(parts(&tensor.into_data(), items)?.map(row).collect())
        }
        Value::Int32Tensor(tensor) => {
            let row = |part: &[i32]| OnnxRow::Integers(part.to_vec());
            Ok(parts(&tensor.into_data(), items)?.map(row).collect())
        }
        _ => Err(Permanent::new("the model's first output is neither floats nor integers").into()),
    }
}

fn parts<T>(numbers: &[T], items: usize) -> Result<std::slice::ChunksExact<'_, T>, BoxError> {
    let each = numbers.len() / items.max(1);
    if each == 0 || each * items != numbers.len() {
        let message = format!(
            "the model's output has {} numbers for {items} items",
            numbers.len()
        );
        return Err(Permanent::new(message).into());
    }
    Ok(numbers.chunks_exact(each))
}

/// The numbers in these columns, row by row.
fn columns(batch: &MiniBatch, names: &[String]) -> Result<Vec<f32>, BoxError> {
    let table = batch.table()?;
    let place = |name: &String| {
        let place = table.columns().iter().position(|column| column == name);
        place.ok_or_else(|| Permanent::new(format!("there is no column `{name}`")))
    };
    let places = names.iter().map(place).collect::<Result<Vec<_>, _>>()?;
    let (mut numbers, mut record) = (Vec::new(), csv::StringRecord::new());
    let mut reader = table.csv()?;
    while reader.read_record(&mut record)? {
        for (&place, name) in places.iter().zip(names) {
            let field = record.get(place).unwrap_or_default();
            let number = field.trim().parse();
            numbers.push(number.map_err(|_| {
                Permanent::new(format!("`{field}` in the column `{name}` is no number"))
            })?);
        }
    }
    Ok(numbers)
}

impl fmt::Debug for OnnxScorer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OnnxScorer")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for OnnxWorker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OnnxWorker(..)")
    }
}
