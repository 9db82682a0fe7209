//! Prints what a journal says of its run: what ended how, what failed and why, and how long attempts took.
//!
//! ```sh
//! cargo run --example inspect_journal --features journal -- nightly.journal
//! ```
//!
//! Without a file, it makes a small journal to look at.

use batchyard::journal::{self, Inspection, Journal};
use batchyard::{BoxError, Function, Job, Pool, ThreadExecutor};
use std::path::{Path, PathBuf};

static PARSE: Function<String, u32> = Function::fallible("parse", |text: &String| {
    text.parse().map_err(BoxError::from)
});

fn main() -> Result<(), BoxError> {
    let folder = tempfile::tempdir()?;
    let path = match std::env::args_os().nth(1) {
        Some(path) => PathBuf::from(path),
        None => sample(folder.path())?,
    };
    print(&journal::inspect(path)?);
    Ok(())
}

fn print(inspection: &Inspection) {
    println!("{inspection}");
    if inspection.openings() > 0 {
        println!("it was gone on with {} times", inspection.openings());
    }
    let tried = inspection.tasks().filter(|task| !task.attempts.is_empty());
    for task in tried {
        println!("\n{} {}", task.label, task.state);
        for attempt in task.attempts {
            let took = attempt.started.map(|started| attempt.ended - started);
            let took = took.map_or_else(String::new, |took| format!(" after {took:?}"));
            println!("  attempt {}{took}: {}", attempt.number, attempt.end);
        }
    }
}

/// A job of four tasks, one of which fails.
fn sample(folder: &Path) -> Result<PathBuf, BoxError> {
    let path = folder.join("sample.journal");
    let mut job = Job::new("sample");
    let texts = ["1", "two", "3"].map(String::from);
    let numbers = job.map("parse", texts, &PARSE);
    job.reduce("sum", &numbers, &SUM);
    let pool = Pool::new(ThreadExecutor::new(2)?);
    let run = pool.submit_durable(job, Journal::create(&path)?)?;
    // Its failure is what there is to look at.
    let _ = run.wait();
    Ok(path)
}

static SUM: Function<[u32], u32> = Function::new("sum", |all: &[u32]| all.iter().sum());
