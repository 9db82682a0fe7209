//! Scores images with a trained model, in mini-batches, on all cores.
//!
//!     cargo run --release --example batch_scoring
//!
//! The images are handwritten digits that the model has never seen; see `digits/README.md`.

#[path = "digits/mod.rs"]
mod digits;
#[path = "digits/model.rs"]
mod model;

use batchyard::{BoxError, FrozenJob, Handle, Job, Pool, ThreadExecutor, fallible};
use digits::Image;
use model::Prediction;
use rten::Model;
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

/// Small enough to keep every core busy to the end, large enough that a task is worth its start.
const MINI_BATCH: usize = 16;

fn main() -> Result<(), BoxError> {
    let (_, images) = digits::load()?;
    let (job, predictions) = scoring(&images)?;

    let cores = available_parallelism()?.get();
    let (scored, time) = run(&job, &predictions, cores)?;
    // The same job again, to have something to compare with.
    let (_, time_alone) = run(&job, &predictions, 1)?;

    let path = std::env::temp_dir().join("batchyard-digits.csv");
    std::fs::write(&path, csv(&images, &scored))?;

    println!("accuracy: {:.4}", accuracy(&images, &scored));
    println!("predictions: {}", path.display());
    for (workers, time) in [(1, time_alone), (cores, time)] {
        let throughput = images.len() as f64 / time.as_secs_f64();
        println!("workers: {workers}, wall time: {time:.3?}, throughput: {throughput:.0} images/s");
    }
    println!("speed-up: {:.2}", time_alone.div_duration_f64(time));
    Ok(())
}

/// The job: one task loads the model, a task array scores the mini-batches with it, one task puts
/// their results together again.
fn scoring(images: &[Image]) -> Result<(FrozenJob, Handle<Vec<Prediction>>), BoxError> {
    let mini_batches = images.chunks(MINI_BATCH).map(<[Image]>::to_vec);

    let mut job = Job::new("digits");
    let model = job.task("load", (), fallible(model::load));
    let scored = job.map_with(
        "score",
        mini_batches,
        &model,
        fallible(|batch: &Vec<Image>, model: &Model| model::predict(model, batch)),
    );
    let all = job.reduce("collect", &scored, |parts: &[Vec<Prediction>]| {
        parts.concat()
    });
    Ok((job.freeze()?, all))
}

fn run(
    job: &FrozenJob,
    output: &Handle<Vec<Prediction>>,
    workers: usize,
) -> Result<(Vec<Prediction>, Duration), BoxError> {
    let pool = Pool::new(ThreadExecutor::new(workers)?);
    let start = Instant::now();
    let scored = pool.submit(job)?.output(output).wait()?.to_vec();
    Ok((scored, start.elapsed()))
}

fn accuracy(images: &[Image], scored: &[Prediction]) -> f64 {
    let pairs = images.iter().zip(scored);
    let right = pairs.filter(|(image, read)| image.label == read.digit);
    right.count() as f64 / images.len() as f64
}

fn csv(images: &[Image], scored: &[Prediction]) -> String {
    let mut rows = String::from("image,label,predicted,confidence\n");
    for (i, (Image { label, .. }, read)) in images.iter().zip(scored).enumerate() {
        let Prediction { digit, confidence } = read;
        rows += &format!("{i},{label},{digit},{confidence:.4}\n");
    }
    rows
}
