//! Functions in child processes: what runs, what dies, and what is left then.

#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "a test that can't go on says where"
)]

mod chaos;
mod children;
mod deaths;
mod ends;
mod functions;
#[cfg(feature = "tracing")]
mod logging;
mod output;
mod refusals;
mod values;

use batchyard::executor::conformance::{self, Options};
use batchyard::{ProcessExecutor, Registry, Result};

batchyard::process_tests!(executor, registry());

fn registry() -> Result<Registry> {
    Registry::new(conformance::functions().chain(functions::ALL))
}

fn children(number: usize) -> ProcessExecutor {
    executor(number).unwrap_or_else(|error| panic!("{error}"))
}

mod one_child {
    use super::*;
    batchyard::executor_conformance!(children, Options::default().slots(1).resizes(true));
}

mod three_children {
    use super::*;
    batchyard::executor_conformance!(children, Options::default().slots(3).resizes(true));
}
