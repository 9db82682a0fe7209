//! Contenders taking turns, each in a fresh process.

use crate::case::{Case, Missing, Outcome, Sample};
use crate::options::Options;
use crate::report::Report;
use crate::row::Row;
use std::io;
use std::process::{ChildStdout, Command, ExitCode, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;

/// A child that takes longer has hung.
const PATIENCE: Duration = Duration::from_secs(300);
/// What a child writes before the reason why its contender can't take part.
const MISSING: &str = "missing: ";

/// A benchmark.
#[derive(Debug)]
pub struct Bench {
    /// Its name.
    pub name: &'static str,
    /// All its cases; those of one shape stand together, and their contenders take turns.
    pub cases: fn(&Options) -> Vec<Case>,
    /// One round of one case, in a process of its own.
    pub measure: fn(&Case) -> Outcome,
    /// How its report compares a contender with the limit.
    pub report: fn(json: bool) -> Report,
}

impl Bench {
    /// The whole of a benchmark's `main`.
    pub fn main(&self) -> ExitCode {
        let args: Vec<String> = std::env::args().skip(1).collect();
        match Options::parse(&args) {
            Ok(Options {
                child: Some(case), ..
            }) => self.child(&case),
            Ok(options) => self.parent(&options),
            Err(message) => {
                eprintln!("{message}");
                ExitCode::from(2)
            }
        }
    }

    fn child(&self, case: &Case) -> ExitCode {
        match (self.measure)(case) {
            Ok(sample) => println!("{sample}"),
            Err(Missing(reason)) => println!("{MISSING}{reason}"),
        }
        std::process::exit(0) // without freeing what was built
    }

    fn parent(&self, options: &Options) -> ExitCode {
        let mut cases = (self.cases)(options);
        cases.retain(|case| options.wants(case));
        if cases.is_empty() {
            eprintln!(
                "no case of `{}` has such a shape and contender; --list names them",
                self.name
            );
            return ExitCode::from(2);
        }
        if options.list {
            cases
                .iter()
                .for_each(|case| println!("{} {} {}", case.shape, case.contender, case.tasks));
            return ExitCode::SUCCESS;
        }
        let mut report = (self.report)(options.json);
        for shape in cases.chunk_by(|a, b| a.shape == b.shape) {
            report.shape(self.name, &take_turns(shape, options.rounds()));
        }
        report.finish()
    }
}

/// Measures the cases in rounds; the one that begins changes with every round.
fn take_turns(cases: &[Case], rounds: usize) -> Vec<Row> {
    let mut rows: Vec<Row> = cases.iter().cloned().map(Row::new).collect();
    for round in 0..rounds {
        for turn in 0..rows.len() {
            let at = (round + turn) % cases.len();
            let row = &mut rows[at];
            if row.is_open() {
                row.add(in_child(&row.case));
            }
        }
    }
    rows
}

/// What went on in a child: an outcome, or how it failed.
fn in_child(case: &Case) -> Result<Outcome, String> {
    let text = output_of_child(case).map_err(|error| error.to_string())?;
    let line = text.lines().last().unwrap_or_default();
    match line.strip_prefix(MISSING) {
        Some(reason) => Ok(Err(Missing(reason.into()))),
        None => Ok(Ok(line.parse::<Sample>()?)),
    }
}

fn output_of_child(case: &Case) -> io::Result<String> {
    let mut command = Command::new(std::env::current_exe()?);
    command
        .arg("--child")
        .args(case.to_args())
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    let mut child = command.spawn()?;
    let text = read_patiently(child.stdout.take());
    if text.is_none() {
        child.kill()?;
    }
    let status = child.wait()?;
    match text {
        Some(text) if status.success() => text,
        Some(_) => Err(io::Error::other(status.to_string())),
        None => Err(io::Error::other(format!("not done after {PATIENCE:?}"))),
    }
}

/// All that a child writes, unless it takes too long.
fn read_patiently(stdout: Option<ChildStdout>) -> Option<io::Result<String>> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let text = stdout.map_or(Ok(String::new()), io::read_to_string);
        let _ = sender.send(text); // nobody waits any more when that took too long
    });
    receiver.recv_timeout(PATIENCE).ok()
}
