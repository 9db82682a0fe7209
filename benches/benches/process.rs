//! What a command costs beyond starting its program: `/bin/true` on two slots, with nothing captured to be stored; and
//! `/bin/echo`, whose output goes to a file.
//!
//! The limit is raw `posix_spawn` on two threads, with no directory, no pipe and no environment. `limit-std` is the
//! standard library's way to do the same.

use batchyard_benches::case::{Case, Missing, Outcome};
use batchyard_benches::harness::Bench;
use batchyard_benches::options::Options;
use batchyard_benches::processes;
use batchyard_benches::report::Report;
use std::process::ExitCode;

fn main() -> ExitCode {
    Bench {
        name: "process",
        cases,
        measure,
        report: Report::times,
    }
    .main()
}

fn cases(options: &Options) -> Vec<Case> {
    let tasks = options.tasks(10_000);
    let all =
        |shape: &str| ["batchyard", "limit", "limit-std"].map(|who| Case::new(shape, who, tasks));
    [all("command-true"), all("command-output")].concat()
}

fn measure(case: &Case) -> Outcome {
    let program = match case.shape.as_str() {
        "command-true" => c"/bin/true",
        _ => c"/bin/echo",
    };
    match case.contender.as_str() {
        "batchyard" => Ok(processes::batchyard(program, case.tasks)),
        "limit" => Ok(processes::raw(program, case.tasks)),
        "limit-std" => Ok(processes::standard(program, case.tasks)),
        other => Err(Missing(format!("nobody is called {other}"))),
    }
}
