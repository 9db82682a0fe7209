//! Entry scripts of the kinds that people have, unmodified. Needs `python3`, and nothing beside it.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "the helpers of tests may panic, too; clippy.toml allows it only in the tests themselves"
)]

#[path = "../common/scoring_cause.rs"]
mod cause;
mod ends;
#[path = "../common/scoring_place.rs"]
mod place;
mod scripts;
#[path = "../common/watchdog.rs"]
mod watchdog;

use batchyard::scoring::{MiniBatch, ParallelRun, PythonScorer, Report};
use batchyard::{Error, Pool, ThreadExecutor};
use cause::cause;
use place::Place;
use std::path::Path;

fn script(name: &str) -> PythonScorer {
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python/scripts");
    PythonScorer::entry_script(scripts.join(name))
}

/// Scores the files of a place two by two, on two workers, into `out.csv`.
fn run(place: &Place, scorer: PythonScorer) -> ParallelRun {
    ParallelRun::new(scorer)
        .input(place.files())
        .mini_batch_size(MiniBatch::files(2))
        .append_rows_to(place.path("out.csv"))
        .logs(place.path("logs"))
}

fn on_two(run: ParallelRun) -> Result<Report, Error> {
    run.run(&Pool::new(ThreadExecutor::new(2).unwrap()))
}
