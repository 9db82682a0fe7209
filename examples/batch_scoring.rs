//! Scores images with a trained model, in mini-batches, on all cores.
//!
//!     cargo run --release --example batch_scoring
//!
//! The images are handwritten digits that the model has never seen; see `digits/README.md`.

#[path = "digits/mod.rs"]
mod digits;
#[path = "digits/files.rs"]
mod files;
#[path = "digits/model.rs"]
mod model;

use batchyard::scoring::{Files, MiniBatch, ParallelRun, Report, Scorer, Worker};
use batchyard::{BoxError, Pool, ThreadExecutor};
use digits::Image;
use rten::Model;
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::thread::available_parallelism;

/// Small enough to keep every core busy to the end, large enough that a call is worth its start.
const MINI_BATCH: usize = 16;

/// Reads digits with the network.
struct Digits;

/// A row of the output.
#[derive(Serialize, Deserialize)]
struct Row {
    image: String,
    label: u8,
    predicted: u8,
    confidence: f32,
}

impl Scorer for Digits {
    type State = Model;
    type Row = Row;

    fn init(&self, _: &Worker) -> Result<Model, BoxError> {
        model::load()
    }

    fn run(&self, model: &mut Model, batch: &MiniBatch) -> Result<Vec<Row>, BoxError> {
        let images: Vec<Image> = batch
            .paths()
            .iter()
            .map(|path| model::open(path))
            .collect::<Result<_, _>>()?;
        let read = model::predict(model, &images)?;
        let rows = batch.paths().iter().zip(images).zip(read);
        Ok(rows
            .map(|((path, image), read)| Row::new(path, &image, &read))
            .collect())
    }
}

impl Row {
    fn new(path: &Path, image: &Image, read: &model::Prediction) -> Self {
        Row {
            image: path
                .file_stem()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned(),
            label: image.label,
            predicted: read.digit,
            confidence: read.confidence,
        }
    }
}

fn main() -> Result<(), BoxError> {
    let folder = std::env::temp_dir().join("batchyard-digits");
    files::write_test_images(&folder)?;
    let predictions = std::env::temp_dir().join("batchyard-digits.csv");

    let cores = available_parallelism()?.get();
    let all = score(&folder, &predictions, cores)?;
    // The same again, to have something to compare with.
    let alone = score(&folder, &predictions, 1)?;

    println!("accuracy: {:.4}", accuracy(&predictions)?);
    println!("predictions: {}", predictions.display());
    for (workers, report) in [(1, &alone), (cores, &all)] {
        let throughput = report.items.succeeded as f64 / report.wall.as_secs_f64();
        println!(
            "workers: {workers}, wall time: {:.3?}, throughput: {throughput:.0} images/s",
            report.wall
        );
    }
    println!("speed-up: {:.2}", alone.wall.div_duration_f64(all.wall));
    Ok(())
}

fn score(folder: &Path, predictions: &Path, workers: usize) -> Result<Report, BoxError> {
    let pool = Pool::new(ThreadExecutor::new(workers)?);
    let run = ParallelRun::new(Digits)
        .input(Files::glob(folder.join("*.pgm").display().to_string())?)
        .mini_batch_size(MiniBatch::files(MINI_BATCH))
        .error_threshold(0)
        .append_rows_to(predictions);
    Ok(run.run(&pool)?)
}

fn accuracy(predictions: &Path) -> Result<f64, BoxError> {
    let rows: Vec<Row> = csv::Reader::from_path(predictions)?
        .into_deserialize()
        .collect::<Result<_, _>>()?;
    let right = rows.iter().filter(|row| row.label == row.predicted);
    Ok(right.count() as f64 / rows.len() as f64)
}
