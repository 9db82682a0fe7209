//! What a journal costs a run.
//!
//! - `added-default`, `added-every-completion`: what is added to the time of a run of no-op tasks on two threads, from its
//!   submission to its end; and, as bytes, the length of the journal. The tasks are single ones that read one source.
//! - `added-array`: the same, for one array.
//! - `reopen`: opening the journal of a run that has ended, until its results are there.
//!
//! The limit writes the same groups to a file, and syncs each. `sqlite` and `redb` keep a row for each task, as many in a
//! transaction as our groups have on average.

use batchyard::journal::Journal;
use batchyard::{Function, Job, Pool, ThreadExecutor};
use batchyard_benches::case::{Case, Missing, Outcome, Sample};
use batchyard_benches::harness::Bench;
use batchyard_benches::options::Options;
use batchyard_benches::report::Report;
use std::fs::File;
use std::io::{Error, Result, Write};
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Of so many runs, the quickest counts.
const RUNS: usize = 3;

static SOURCE: Function<[u8], u64> = Function::new("source", |_: &[u8]| 7);
static NOOP: Function<u64, ()> = Function::new("noop", |_| ());
static ELEMENT: Function<usize, ()> = Function::new("element", |_| ());

fn main() -> ExitCode {
    Bench {
        name: "journal",
        cases,
        measure,
        report: Report::times,
    }
    .main()
}

fn cases(options: &Options) -> Vec<Case> {
    let tasks = options.tasks(1_000_000);
    let all = ["batchyard", "limit", "sqlite", "redb"];
    let added = ["added-default", "added-every-completion", "added-array"];
    let added = added.map(|shape| all.map(|who| Case::new(shape, who, tasks)));
    let reopen = ["batchyard", "limit"].map(|who| Case::new("reopen", who, tasks));
    added.into_iter().flatten().chain(reopen).collect()
}

fn measure(case: &Case) -> Outcome {
    let folder = tempfile::tempdir().map_err(missing)?;
    let path = folder.path().join("run.journal");
    match &*case.contender {
        "batchyard" => batchyard(case, &path),
        other => {
            let (_, written) = durable(case, &path)?;
            let groups = groups(&path).map_err(missing)?;
            let other_path = folder.path().join("other");
            let took = match other {
                "limit" if case.shape == "reopen" => read(&path),
                "limit" => append(&groups, &other_path),
                "sqlite" => sqlite(case.tasks, groups.len(), &other_path).map_err(Error::other),
                _ => redb(case.tasks, groups.len(), &other_path).map_err(Error::other),
            };
            let length = |path: &Path| path.metadata().map_or(written, |meta| meta.len());
            sample(took.map_err(missing)?, length(&other_path))
        }
    }
}

fn batchyard(case: &Case, path: &Path) -> Outcome {
    if case.shape == "reopen" {
        let (_, written) = durable(case, path)?;
        let start = Instant::now();
        run(case, Some(path))?;
        return sample(start.elapsed(), written);
    }
    let mut least = [Duration::MAX; 2];
    let mut written = 0;
    for _ in 0..RUNS {
        least[0] = least[0].min(run(case, None)?);
        let (took, length) = durable(case, path)?;
        (least[1], written) = (least[1].min(took), length);
    }
    sample(least[1].saturating_sub(least[0]), written)
}

/// A run with a journal of its own: how long it took, and how long the journal is.
fn durable(case: &Case, path: &Path) -> std::result::Result<(Duration, u64), Missing> {
    let _ = std::fs::remove_file(path);
    let took = run(case, Some(path))?;
    let written = path.metadata().map_err(missing)?.len();
    Ok((took, written))
}

fn run(case: &Case, path: Option<&Path>) -> std::result::Result<Duration, Missing> {
    let job = job(case).freeze().map_err(missing)?;
    let pool = Pool::new(ThreadExecutor::new(2).map_err(missing)?);
    let start = Instant::now();
    let run = match path {
        None => pool.submit(&job),
        Some(path) => {
            let journal = Journal::open_or_create(path).map_err(missing)?;
            let journal = match &*case.shape {
                "added-every-completion" => journal.every_completion(),
                _ => journal,
            };
            pool.submit_durable(&job, journal)
        }
    };
    run.map_err(missing)?.wait().map_err(missing)?;
    Ok(start.elapsed())
}

fn job(case: &Case) -> Job {
    let mut job = Job::new("noop");
    if case.shape == "added-array" {
        job.array("noop", case.tasks, &ELEMENT);
        return job;
    }
    let nothing = job.map((), Vec::<u8>::new(), &BYTE);
    let source = job.reduce((), &nothing, &SOURCE);
    for _ in 0..case.tasks {
        job.task((), &source, &NOOP);
    }
    job
}

static BYTE: Function<u8, u8> = Function::new("byte", |byte| *byte);

/// The groups of a journal, as they lie in its file.
fn groups(path: &Path) -> Result<Vec<Vec<u8>>> {
    let (bytes, mut at, mut groups) = (std::fs::read(path)?, 32, Vec::new());
    while let Some(head) = bytes.get(at..at + 16) {
        let mut len = [0; 4];
        len.copy_from_slice(&head[8..12]);
        let end = at + 16 + u32::from_le_bytes(len) as usize;
        groups.push(bytes.get(at..end).unwrap_or_default().to_vec());
        at = end;
    }
    Ok(groups)
}

fn append(groups: &[Vec<u8>], path: &Path) -> Result<Duration> {
    let mut file = File::create(path)?;
    let start = Instant::now();
    for group in groups {
        file.write_all(group)?;
        file.sync_data()?;
    }
    Ok(start.elapsed())
}

fn read(path: &Path) -> Result<Duration> {
    let start = Instant::now();
    let bytes = std::fs::read(path)?;
    std::hint::black_box(bytes.iter().fold(0u8, |sum, byte| sum.wrapping_add(*byte)));
    Ok(start.elapsed())
}

fn sqlite(tasks: usize, groups: usize, path: &Path) -> rusqlite::Result<Duration> {
    let mut database = rusqlite::Connection::open(path)?;
    database.pragma_update(None, "journal_mode", "WAL")?;
    database.pragma_update(None, "synchronous", "FULL")?;
    database.execute_batch("CREATE TABLE task (id INTEGER PRIMARY KEY, state INTEGER)")?;
    let start = Instant::now();
    for ids in chunks(tasks, groups) {
        let transaction = database.transaction()?;
        let mut insert = transaction.prepare_cached("INSERT INTO task VALUES (?, 1)")?;
        for id in ids {
            insert.execute([id as i64])?;
        }
        drop(insert);
        transaction.commit()?;
    }
    Ok(start.elapsed())
}

fn redb(tasks: usize, groups: usize, path: &Path) -> std::result::Result<Duration, redb::Error> {
    const TASKS: redb::TableDefinition<'_, u32, u8> = redb::TableDefinition::new("task");
    let database = redb::Database::create(path)?;
    let start = Instant::now();
    for ids in chunks(tasks, groups) {
        let transaction = database.begin_write()?;
        let mut table = transaction.open_table(TASKS)?;
        for id in ids {
            table.insert(id as u32, 1)?;
        }
        drop(table);
        transaction.commit()?;
    }
    Ok(start.elapsed())
}

fn chunks(tasks: usize, groups: usize) -> impl Iterator<Item = std::ops::Range<usize>> {
    let each = tasks.div_ceil(groups.max(1)).max(1);
    (0..tasks)
        .step_by(each)
        .map(move |start| start..(start + each).min(tasks))
}

fn sample(run: Duration, bytes: u64) -> Outcome {
    let build = Duration::ZERO;
    Ok(Sample { build, run, bytes })
}

fn missing(error: impl ToString) -> Missing {
    Missing(error.to_string())
}
