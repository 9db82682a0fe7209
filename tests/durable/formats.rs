//! Journals that earlier versions have written are read, or refused by their number.
//!
//! `BATCHYARD_FIXTURE=v2.journal cargo test --features journal --test durable formats` writes one of the present format: one
//! of each stays in `tests/durable/fixtures` for good.

use crate::yard::{Yard, pool};
use batchyard::journal::{self, Journal};
use batchyard::{Array, Backoff, BoxError, Function, Handle, Job, TaskSettings, TaskState};
use std::path::Path;

static PART: Function<String, u64> =
    Function::fallible("part", |text: &String| text.parse().map_err(BoxError::from));
static TOTAL: Function<[u64], u64> = Function::new("total", |all: &[u64]| all.iter().sum());

fn job() -> (Job, [Array<u64>; 2], Handle<u64>) {
    let mut job = Job::new("fixture");
    job.defaults(TaskSettings::new().max_retries(1).backoff(Backoff::none()));
    let good = job.map("good", ["1", "200", "300000"].map(String::from), &PART);
    let bad = job.map("bad", ["4", "four"].map(String::from), &PART);
    let total = job.reduce("total", &good, &TOTAL);
    job.reduce("never", &bad, &TOTAL);
    (job, [good, bad], total)
}

#[test]
fn every_format_that_was_ever_written_is_read() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/durable/fixtures");
    if let Some(name) = std::env::var_os("BATCHYARD_FIXTURE") {
        let journal = Journal::create(fixtures.join(&name)).unwrap();
        let pool = pool();
        let run = pool.submit_durable(job().0, journal).unwrap();
        assert!(run.wait().is_err());
        drop(run);
        let lock = format!("{}.lock", name.display());
        std::fs::remove_file(fixtures.join(lock)).unwrap();
    }
    let files = std::fs::read_dir(fixtures).unwrap();
    let files: Vec<_> = files.map(|file| file.unwrap().path()).collect();
    assert!(!files.is_empty());
    for file in files {
        let yard = Yard::new();
        std::fs::copy(&file, yard.path()).unwrap();
        assert_eq!(journal::inspect(yard.path()).unwrap().counts().total, 7);
        let pool = pool();
        let (job, [good, bad], total) = job();
        let journal = Journal::open(yard.path()).unwrap();
        let run = pool.submit_durable(job, journal).unwrap();
        assert!(run.has_ended(), "{}", file.display());
        assert_eq!(run.reuse().unwrap().reused, 6, "{}", file.display());
        assert_eq!(run.output(&good).wait().unwrap()[..], [1, 200, 300_000]);
        assert_eq!(*run.output(&total).wait().unwrap(), 300_201);
        assert_eq!(run.state(bad.at(1)).unwrap(), TaskState::Failed);
        assert_eq!(run.attempts(bad.at(1)).unwrap().len(), 2);
        assert_eq!(run.counts().skipped, 1);
    }
}
