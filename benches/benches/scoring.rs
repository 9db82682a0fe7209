//! What batch scoring costs beyond the scorer.
//!
//! - `batch-thread`: a task is a mini-batch of one file, which is not read. The limit: threads that take numbers from a
//!   counter, and write the rows under a lock.
//! - `batch-python`: the same in Python processes. The limit: two threads, each with a bare Python loop that answers lines
//!   on a pipe; `pool` is `multiprocessing.Pool`, `joblib` is joblib. The processes' start is not counted.
//! - `csv-linear`: a task is a row: eight numbers, a linear model, a row out. The limit: a loop over the csv crate on each of
//!   two halves of the file.

use batchyard::scoring::{
    Files, MiniBatch, ParallelRun, PythonScorer, Report as Scored, Tables, scorer,
};
use batchyard::{BoxError, Pool, ThreadExecutor};
use batchyard_benches::THREADS;
use batchyard_benches::case::{Case, Missing, Outcome, Sample};
use batchyard_benches::harness::Bench;
use batchyard_benches::options::Options;
use batchyard_benches::report::Report;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Barrier, Mutex};
use std::thread::scope;
use std::time::{Duration, Instant};
use tempfile::TempDir;

const WEIGHTS: [f64; 8] = [0.5, -1.0, 0.25, 2.0, -0.125, 1.5, -0.75, 1.0];

fn main() -> ExitCode {
    Bench {
        name: "scoring",
        cases,
        measure,
        report: Report::times,
    }
    .main()
}

fn cases(options: &Options) -> Vec<Case> {
    let of = |shape: &str, contenders: &[&str], tasks: usize| -> Vec<Case> {
        let case = |contender: &&str| Case::new(shape, contender, options.tasks(tasks));
        contenders.iter().map(case).collect()
    };
    [
        of("batch-thread", &["batchyard", "limit"], 100_000),
        of(
            "batch-python",
            &["batchyard", "limit", "pool", "joblib"],
            20_000,
        ),
        of("csv-linear", &["batchyard", "limit"], 1_000_000),
    ]
    .concat()
}

fn measure(case: &Case) -> Outcome {
    let folder = tempfile::tempdir().map_err(|error| Missing(error.to_string()))?;
    let measured = match (case.shape.as_str(), case.contender.as_str()) {
        ("batch-thread", "batchyard") => threads(case.tasks, &folder),
        ("batch-thread", "limit") => threads_limit(case.tasks, &folder),
        ("batch-python", "batchyard") => python(case.tasks, &folder),
        ("batch-python", "limit") => python_limit(case.tasks),
        ("batch-python", other) => python_other(case.tasks, other),
        ("csv-linear", "batchyard") => linear(case.tasks, &folder),
        ("csv-linear", "limit") => linear_limit(case.tasks, &folder),
        (shape, other) => Err(format!("nobody is called {other} on {shape}").into()),
    };
    measured.map_err(|error| Missing(error.to_string()))
}

fn pool() -> Result<Pool, BoxError> {
    Ok(Pool::new(ThreadExecutor::new(THREADS)?))
}

fn numbers(files: usize) -> Files {
    Files::list((0..files).map(|n| format!("/data/{n:08}")))
}

/// From the first call to the end of the last: what began before is not counted.
fn span(report: &Scored) -> Duration {
    let begun = report.table.iter().map(|batch| batch.started).min();
    let ended = report
        .table
        .iter()
        .map(|batch| batch.started + batch.elapsed)
        .max();
    ended
        .unwrap_or_default()
        .saturating_sub(begun.unwrap_or_default())
}

fn threads(batches: usize, folder: &TempDir) -> Result<Sample, BoxError> {
    let files = numbers(batches);
    let row = scorer(|batch: &MiniBatch| Ok::<_, BoxError>(vec![batch.index()]));
    let (run, pool) = (one_by_one(row, files, folder), pool()?);
    let begun = Instant::now();
    run.run(&pool)?;
    Ok(Sample {
        run: begun.elapsed(),
        ..Sample::default()
    })
}

fn one_by_one<Form>(
    scorer: impl batchyard::scoring::IntoScorer<Form>,
    files: Files,
    folder: &TempDir,
) -> ParallelRun {
    let run = ParallelRun::new(scorer)
        .input(files)
        .mini_batch_size(MiniBatch::files(1));
    run.append_rows_to(folder.path().join("out.csv"))
        .logs(folder.path().join("logs"))
}

fn threads_limit(batches: usize, folder: &TempDir) -> Result<Sample, BoxError> {
    let out = Mutex::new(BufWriter::new(File::create(folder.path().join("out.csv"))?));
    let next = AtomicUsize::new(0);
    let begun = Instant::now();
    scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                while let Some(batch) = Some(next.fetch_add(1, Relaxed)).filter(|&n| n < batches) {
                    let row = format!("{batch}\n");
                    let _ = out.lock().map(|mut out| out.write_all(row.as_bytes()));
                }
            });
        }
    });
    Ok(Sample {
        run: begun.elapsed(),
        ..Sample::default()
    })
}

fn python(batches: usize, folder: &TempDir) -> Result<Sample, BoxError> {
    let script = folder.path().join("echo.py");
    fs::write(&script, "def run(mini_batch):\n    return mini_batch\n")?;
    let run = one_by_one(PythonScorer::entry_script(script), numbers(batches), folder);
    let report = run.error_threshold(0).run(&pool()?)?;
    Ok(Sample {
        run: span(&report),
        ..Sample::default()
    })
}

fn python_limit(batches: usize) -> Result<Sample, BoxError> {
    let next = AtomicUsize::new(0);
    let ready = Barrier::new(THREADS);
    let times = scope(|scope| -> Result<Vec<(Instant, Instant)>, BoxError> {
        let threads: Vec<_> = (0..THREADS)
            .map(|_| scope.spawn(|| answer_lines(&next, batches, &ready)))
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().map_err(|_| "a thread panicked")?)
            .collect()
    })?;
    let begun = times.iter().map(|times| times.0).min();
    let ended = times.iter().map(|times| times.1).max();
    let run = begun
        .zip(ended)
        .map(|(begun, ended)| ended - begun)
        .unwrap_or_default();
    Ok(Sample {
        run,
        ..Sample::default()
    })
}

/// Sends a line to a Python process and waits for it to come back, until there are no batches left.
fn answer_lines(
    next: &AtomicUsize,
    batches: usize,
    ready: &Barrier,
) -> Result<(Instant, Instant), BoxError> {
    const LOOP: &str =
        "import sys\nfor line in sys.stdin:\n    sys.stdout.write(line)\n    sys.stdout.flush()\n";
    let mut python = Command::new("python3")
        .args(["-c", LOOP])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let (Some(mut to), Some(from)) = (python.stdin.take(), python.stdout.take()) else {
        return Err("no pipes".into());
    };
    let (mut from, mut line) = (BufReader::new(from), String::new());
    let mut ask = |n: usize| -> Result<(), BoxError> {
        to.write_all(format!("{n}\n").as_bytes())?;
        line.clear();
        from.read_line(&mut line)?;
        Ok(())
    };
    let warmed = ask(0);
    ready.wait();
    warmed?;
    let begun = Instant::now();
    while let Some(batch) = Some(next.fetch_add(1, Relaxed)).filter(|&n| n < batches) {
        ask(batch)?;
    }
    let ended = Instant::now();
    python.kill()?;
    python.wait()?;
    Ok((begun, ended))
}

/// What Python users would take; they print nanoseconds.
fn python_other(batches: usize, contender: &str) -> Result<Sample, BoxError> {
    let calls = match contender {
        "pool" => {
            "import multiprocessing as m\np = m.Pool(W)\np.map(f, range(W))\nt = time.perf_counter_ns()\np.map(f, range(N), chunksize=1)\n"
        }
        "joblib" => {
            "import joblib\nwith joblib.Parallel(n_jobs=W, batch_size=1) as p:\n  p(joblib.delayed(f)(n) for n in range(W))\n  t = time.perf_counter_ns()\n  p(joblib.delayed(f)(n) for n in range(N))\n"
        }
        other => return Err(format!("nobody is called {other}").into()),
    };
    let program = format!(
        "import time\ndef f(n):\n  return [n]\nW, N = {THREADS}, {batches}\n{calls}print(time.perf_counter_ns() - t)\n"
    );
    let output = Command::new("python3").args(["-c", &program]).output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr)
            .lines()
            .last()
            .unwrap_or_default()
            .into());
    }
    let run = Duration::from_nanos(String::from_utf8_lossy(&output.stdout).trim().parse()?);
    Ok(Sample {
        run,
        ..Sample::default()
    })
}

/// A table of so many rows of eight numbers.
fn table(rows: usize, folder: &TempDir) -> Result<PathBuf, BoxError> {
    let path = folder.path().join("table.csv");
    let mut file = BufWriter::new(File::create(&path)?);
    writeln!(file, "a,b,c,d,e,f,g,h")?;
    for row in 0..rows {
        let value = |column: usize| ((row * 7 + column * 13) % 1000) as f64 / 8.0;
        let values: [String; 8] = std::array::from_fn(|column| value(column).to_string());
        writeln!(file, "{}", values.join(","))?;
    }
    file.flush()?;
    Ok(path)
}

fn score_row(record: &csv::ByteRecord) -> Result<f64, BoxError> {
    let fields = record.iter().zip(WEIGHTS);
    fields
        .map(|(field, weight)| Ok(std::str::from_utf8(field)?.parse::<f64>()? * weight))
        .sum()
}

fn score_all<R: std::io::Read>(reader: &mut csv::Reader<R>) -> Result<Vec<f64>, BoxError> {
    let (mut scores, mut record) = (Vec::new(), csv::ByteRecord::new());
    while reader.read_byte_record(&mut record)? {
        scores.push(score_row(&record)?);
    }
    Ok(scores)
}

fn linear(rows: usize, folder: &TempDir) -> Result<Sample, BoxError> {
    let table = table(rows, folder)?;
    let model = scorer(|batch: &MiniBatch| score_all(&mut batch.table()?.csv()?));
    let run = ParallelRun::new(model)
        .input(Tables::csv(table))
        .append_rows_to(folder.path().join("out.csv"));
    let (run, pool) = (
        run.logs(folder.path().join("logs")).error_threshold(0),
        pool()?,
    );
    let begun = Instant::now();
    run.run(&pool)?;
    Ok(Sample {
        run: begun.elapsed(),
        ..Sample::default()
    })
}

fn linear_limit(rows: usize, folder: &TempDir) -> Result<Sample, BoxError> {
    let table = table(rows, folder)?;
    let begun = Instant::now();
    let (header, bytes) = (16, fs::read(&table)?);
    let body = &bytes[header..];
    let middle = body[body.len() / 2..]
        .iter()
        .position(|&byte| byte == b'\n')
        .map_or(0, |at| at + 1);
    let (first, second) = body.split_at(body.len() / 2 + middle);
    let parts = scope(|scope| {
        let half = |half| move || linear_half(half);
        let threads = [first, second].map(|part| scope.spawn(half(part)));
        threads.map(|thread| {
            thread
                .join()
                .unwrap_or_else(|_| Err("a thread panicked".into()))
        })
    });
    write_all(&folder.path().join("out.csv"), parts)?;
    Ok(Sample {
        run: begun.elapsed(),
        ..Sample::default()
    })
}

fn linear_half(part: &[u8]) -> Result<Vec<u8>, BoxError> {
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .from_reader(part);
    let (mut writer, mut record) = (csv::Writer::from_writer(Vec::new()), csv::ByteRecord::new());
    while reader.read_byte_record(&mut record)? {
        writer.serialize(score_row(&record)?)?;
    }
    Ok(writer.into_inner().map_err(|error| error.to_string())?)
}

fn write_all(path: &Path, parts: [Result<Vec<u8>, BoxError>; 2]) -> Result<(), BoxError> {
    let mut file = File::create(path)?;
    for part in parts {
        file.write_all(&part?)?;
    }
    Ok(file.sync_all()?)
}
