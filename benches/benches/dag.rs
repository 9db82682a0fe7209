//! What one task of a large job costs: time to build it, time to run it, memory. The bodies are empty.
//!
//! `times limit` says how near a contender comes to the boxed-closure limit on the same shape; for the typed shapes,
//! whose edges carry a `u64`, that limit carries none (`limit-typed` does).

use batchyard_benches::case::Case;
use batchyard_benches::contenders;
use batchyard_benches::harness::Bench;
use batchyard_benches::options::Options;
use batchyard_benches::report::Report;
use batchyard_benches::shape::{self, Shape};
use std::process::ExitCode;

fn main() -> ExitCode {
    let measure = |case: &Case| contenders::measure(case, &case.shape);
    Bench {
        name: "dag",
        cases,
        measure,
        report: Report::times,
    }
    .main()
}

fn cases(options: &Options) -> Vec<Case> {
    let tasks = options.tasks(1_000_000);
    let of_shape = |(name, shape)| of_shape(name, shape, tasks);
    shape::ALL.into_iter().flat_map(of_shape).collect()
}

fn of_shape(name: &'static str, shape: Shape, tasks: usize) -> impl Iterator<Item = Case> {
    let able = contenders::ALL
        .into_iter()
        .filter(move |contender| contender.supports(shape));
    able.map(move |contender| {
        Case::new(
            name,
            contender.name(),
            shape.size(tasks.min(contender.at_most(shape))),
        )
    })
}
