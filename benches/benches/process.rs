//! What a command costs beyond starting its program: `/bin/true` on two slots, with nothing captured to be stored; and
//! `/bin/echo`, whose output goes to a file.
//!
//! The limit is raw `posix_spawn` on two threads, with no directory, no pipe and no environment. `limit-std` is the
//! standard library's way to do the same.
//!
//! And what a function costs in two child processes that are there: `function-noop`, a great many of them with 100 bytes there
//! and back; `function-one`, each waiting for the one before; `function-1mb`, with a megabyte. The limit sends as many bytes
//! through the pipes of two processes that do nothing but give them back; for `function-one`, one piece after another.
//! Python's contenders get chunks of 1000 for `function-noop`.

use batchyard_benches::case::{Case, Missing, Outcome};
use batchyard_benches::harness::Bench;
use batchyard_benches::options::Options;
use batchyard_benches::report::Report;
use batchyard_benches::{functions, processes};
use std::process::ExitCode;

fn main() -> ExitCode {
    if let Err(error) = batchyard::init(functions::registry()) {
        eprintln!("{error}");
        return ExitCode::FAILURE;
    }
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
    let functions = |shape: &str, tasks| {
        let others = ["batchyard", "limit", "futures", "loky"];
        others.map(|who| Case::new(shape, who, options.tasks(tasks)))
    };
    let mut cases = [all("command-true"), all("command-output")].concat();
    cases.extend(functions("function-noop", 1_000_000));
    cases.extend(functions("function-one", 10_000));
    cases.extend(functions("function-1mb", 1_000));
    cases
}

fn measure(case: &Case) -> Outcome {
    match case.shape.strip_prefix("function-") {
        Some(shape) => function(case, shape),
        None => command(case),
    }
}

fn function(case: &Case, shape: &str) -> Outcome {
    let tasks = case.tasks;
    let bytes = if shape == "1mb" { 1 << 20 } else { 100 };
    match case.contender.as_str() {
        "batchyard" if shape == "one" => Ok(functions::one_by_one(tasks)),
        "batchyard" => Ok(functions::array(tasks, bytes)),
        "limit" if shape == "one" => Ok(functions::ping_pong(tasks, bytes)),
        "limit" => Ok(functions::pipes(tasks, bytes)),
        other => functions::python(other, shape, tasks),
    }
}

fn command(case: &Case) -> Outcome {
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
