//! Batch scoring as a part of a larger job: prepare the images, score them, evaluate what came out.
//!
//!     cargo run --release --example score_pipeline

#[path = "digits/mod.rs"]
mod digits;
#[path = "digits/files.rs"]
mod files;
#[path = "digits/model.rs"]
mod model;

use batchyard::scoring::{Files, Input, MiniBatch, ParallelRun, Report, Scorer, Worker};
use batchyard::{BoxError, Job, Pool, ThreadExecutor, fallible};
use rten::Model;

/// Reads digits with the network. A row: what the image shows, and what was read.
struct Digits;

impl Scorer for Digits {
    type State = Model;
    type Row = (u8, u8);

    fn init(&self, _: &Worker) -> Result<Model, BoxError> {
        model::load()
    }

    fn run(&self, model: &mut Model, batch: &MiniBatch) -> Result<Vec<(u8, u8)>, BoxError> {
        let images = batch
            .paths()
            .iter()
            .map(|path| model::open(path))
            .collect::<Result<Vec<_>, _>>()?;
        let read = model::predict(model, &images)?;
        Ok(images
            .iter()
            .zip(read)
            .map(|(image, read)| (image.label, read.digit))
            .collect())
    }
}

fn main() -> Result<(), BoxError> {
    let folder = std::env::temp_dir().join("batchyard-score-pipeline");
    let (images, predictions) = (folder.join("images"), folder.join("predictions.jsonl"));

    let mut job = Job::new("score pipeline");
    let prepared = job.task(
        "prepare",
        (),
        fallible(move || {
            files::write_test_images(&images)?;
            Ok::<Input, BoxError>(Files::directory(&images)?.into())
        }),
    );
    let scored = ParallelRun::new(Digits)
        .input_from(&prepared)
        .mini_batch_size(MiniBatch::files(16))
        .append_rows_to(predictions)
        .add_to(&mut job)?;
    let confused = job.task("evaluate", &scored, fallible(confused));
    job.keep(scored);

    let pool = Pool::new(ThreadExecutor::all_cores()?);
    let run = pool.submit(job)?;
    println!(
        "{} images were misread (shown, read): {:?}",
        run.output(&confused).wait()?.len(),
        *run.output(&confused).wait()?
    );
    println!("{}", *run.output(&scored).wait()?);
    Ok(())
}

/// The images that were misread, in the order of the input.
fn confused(report: &Report) -> Result<Vec<(u8, u8)>, BoxError> {
    let rows = std::fs::read_to_string(report.output.as_ref().ok_or("no output")?)?;
    let rows = rows
        .lines()
        .map(serde_json::from_str)
        .collect::<Result<Vec<(u8, u8)>, _>>()?;
    Ok(rows
        .into_iter()
        .filter(|(shown, read)| shown != read)
        .collect())
}
