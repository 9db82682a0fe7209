//! How much of two threads is left for the bodies, when each takes 1, 10 or 100 µs.
//!
//! The ideal is `limit`: two threads that call the same bodies from a list, whatever the shape.

use batchyard_benches::body::calibrate;
use batchyard_benches::case::{Case, Outcome};
use batchyard_benches::contenders::{self, Contender};
use batchyard_benches::harness::Bench;
use batchyard_benches::options::Options;
use batchyard_benches::report::{LIMIT, Report};
use batchyard_benches::shape::Shape;
use std::process::ExitCode;
use std::time::Duration;

/// How long a body takes in microseconds, and how many tasks a job then has.
const BODIES: [(u64, usize); 3] = [(1, 160_000), (10, 40_000), (100, 4_900)];

fn main() -> ExitCode {
    Bench {
        name: "efficiency",
        cases,
        measure,
        report: Report::efficiency,
    }
    .main()
}

fn measure(case: &Case) -> Outcome {
    let (shape, _) = case.shape.split_once('-').unwrap_or((&case.shape, ""));
    contenders::measure(
        case,
        if case.contender == LIMIT {
            "wide"
        } else {
            shape
        },
    )
}

fn cases(options: &Options) -> Vec<Case> {
    let spins = calibrate(Duration::from_micros(1));
    let of =
        |shape| BODIES.map(|(us, tasks)| of_shape(shape, us, us * spins, options.tasks(tasks)));
    ["wide", "grid"]
        .into_iter()
        .flat_map(of)
        .flatten()
        .collect()
}

fn of_shape(name: &str, us: u64, spins: u64, tasks: usize) -> Vec<Case> {
    let Some(shape) = Shape::named(name) else {
        return Vec::new();
    };
    let tasks = shape.size(tasks);
    let case =
        |contender: &dyn Contender| Case::new(&format!("{name}-{us}us"), contender.name(), tasks);
    contenders::SPINNERS
        .map(|contender| Case {
            spins,
            ..case(contender)
        })
        .into()
}
