//! A job that stands in a file: read, run, and written as JSON.
//!
//! ```sh
//! cargo run --features data --example job_file -- examples/job_file/report.toml
//! ```

use batchyard::{CommandOutput, Job, Pool, ThreadExecutor};

/// The file that is run if none is named.
const REPORT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/job_file/report.toml");

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).unwrap_or_else(|| REPORT.into());
    let text = std::fs::read_to_string(&path)?;

    // What is wrong with the file is told with its place in it, and its line.
    let job = Job::from_toml(&text)?;
    println!("{} has {} tasks", job.name(), job.len());
    if let Err(error) = Job::from_toml(&text.replace("\"30s\"", "30")) {
        println!("\nif the time limit had no unit:\n  {error}\n");
    }

    // Any job of commands can be written, also one that was made by code.
    let json = job.to_json()?;
    println!("as JSON it has {} lines", json.lines().count());

    // Its tasks are known by their names.
    let average = job.find::<CommandOutput>("average");
    let pool = Pool::new(ThreadExecutor::new(2)?);
    let run = pool.submit(job)?;
    if let Ok(average) = average {
        print!("{}", run.output(&average).wait()?.stdout().text()?);
    }
    println!("{} tasks succeeded", run.wait()?.succeeded);
    Ok(())
}
