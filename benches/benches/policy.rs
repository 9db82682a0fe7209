//! What the policy costs: tasks that it starts one by one, since they have priorities and ask for resources.
//!
//! - `queued`: a job on two threads, from submission to its end, through the public interface.
//! - `decisions`: which of the ready tasks starts next on a node, with 1,000 nodes of 100 slots kept full by an executor
//!   that has nothing else to do. One thread; from the first decision to the last.
//! - `memory`: what the pool keeps of tasks that are ready, over and above the frozen job.
//!
//! The limit keeps tasks in buckets by priority, and counters of what is free, and knows nothing of fairness.

use batchyard_benches::case::{Case, Missing, Outcome};
use batchyard_benches::harness::Bench;
use batchyard_benches::options::Options;
use batchyard_benches::placing::{batchyard, limit};
use batchyard_benches::report::Report;
use std::process::ExitCode;

/// Fewer tasks as well, to see whether a decision costs more among many.
const FEWER: usize = 100;

fn main() -> ExitCode {
    Bench {
        name: "policy",
        cases,
        measure,
        report: Report::times,
    }
    .main()
}

fn cases(options: &Options) -> Vec<Case> {
    let tasks = options.tasks(1_000_000);
    let both =
        |shape: &str, tasks: usize| ["batchyard", "limit"].map(|who| Case::new(shape, who, tasks));
    [
        both("queued", tasks),
        both("decisions", tasks),
        both("decisions-few", (tasks / FEWER).max(1)),
        both("memory", tasks),
    ]
    .concat()
}

fn measure(case: &Case) -> Outcome {
    let tasks = case.tasks;
    match (case.shape.as_str(), case.contender.as_str()) {
        ("queued", "batchyard") => Ok(batchyard::queued(tasks)),
        ("queued", "limit") => Ok(limit::queued(tasks)),
        ("memory", "batchyard") => Ok(batchyard::memory(tasks)),
        ("memory", "limit") => Ok(limit::memory(tasks)),
        (_, "batchyard") => Ok(batchyard::decisions(tasks)),
        (_, "limit") => Ok(limit::decisions(tasks)),
        (_, other) => Err(Missing(format!("nobody is called {other}"))),
    }
}
