//! Sweeps the parameters of a model: a task for each combination, then one that picks the best.
//!
//!     cargo run --release --example sweep
//!
//! The model tells which digit an image shows by a vote among the training images nearest to it.
//! The parameters are chosen on the training half alone; the test half is only for the last figure.

mod digits;

use batchyard::{BoxError, Job, Pool, ThreadExecutor, fallible};
use digits::{Halves, Image};

/// How many neighbours vote, and the power that a pixel's difference is raised to.
#[derive(Clone, Copy, Debug)]
struct Parameters {
    neighbours: usize,
    power: i32,
}

#[derive(Clone, Copy)]
struct Tried {
    parameters: Parameters,
    accuracy: f64,
}

fn main() -> Result<(), BoxError> {
    let neighbours = [1, 3, 5, 9];
    let grid =
        (1..=4).flat_map(|power| neighbours.map(|neighbours| Parameters { neighbours, power }));

    let mut job = Job::new("sweep");
    let images = job.task("load", (), fallible(digits::load));
    let tried = job.map_with(
        "try",
        grid,
        &images,
        |parameters: &Parameters, (train, _): &Halves| Tried {
            parameters: *parameters,
            accuracy: leave_one_out(*parameters, train),
        },
    );
    let best = job.reduce("best", &tried, |all: &[Tried]| {
        all.iter()
            .copied()
            .max_by(|a, b| a.accuracy.total_cmp(&b.accuracy))
    });
    let test = job.task(
        "test",
        (&best, &images),
        |best: &Option<Tried>, (train, test): &Halves| {
            best.map(|best| accuracy(test, |image| vote(best.parameters, image, train.iter())))
        },
    );
    job.keep(best);

    let pool = Pool::new(ThreadExecutor::all_cores()?);
    let run = pool.submit(job)?;
    if let (Some(best), Some(test)) = (*run.output(&best).wait()?, *run.output(&test).wait()?) {
        println!("best of {}: {:?}", tried.len(), best.parameters);
        println!(
            "accuracy in training: {:.4}, in the test: {test:.4}",
            best.accuracy
        );
    }
    Ok(())
}

/// How often the other training images are right about each.
fn leave_one_out(parameters: Parameters, train: &[Image]) -> f64 {
    accuracy(train, |image| {
        let others = train.iter().filter(|other| !std::ptr::eq(*other, image));
        vote(parameters, image, others)
    })
}

fn accuracy(images: &[Image], read: impl Fn(&Image) -> u8) -> f64 {
    let right = images.iter().filter(|image| read(image) == image.label);
    right.count() as f64 / images.len() as f64
}

/// The label that most of the nearest images have; the nearer, the more it counts.
fn vote<'a>(by: Parameters, image: &Image, others: impl Iterator<Item = &'a Image>) -> u8 {
    let distance = |other: &Image| -> f32 {
        let pixels = image.pixels.iter().zip(&other.pixels);
        pixels.map(|(a, b)| (a - b).abs().powi(by.power)).sum()
    };
    let mut nearest: Vec<_> = others.map(|other| (distance(other), other.label)).collect();
    nearest.sort_unstable_by(|(a, _), (b, _)| a.total_cmp(b));

    let mut votes = [0.0; 10];
    for (distance, label) in nearest.iter().take(by.neighbours) {
        votes[usize::from(*label)] += 1.0 / (1.0 + distance);
    }
    let count = |label: u8| votes[usize::from(label)];
    (0..10)
        .max_by(|&a, &b| count(a).total_cmp(&count(b)))
        .unwrap_or(0)
}
