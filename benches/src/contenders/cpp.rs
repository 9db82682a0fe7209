//! Contenders in C++, compiled when their headers are found.

use super::{Contender, Plan};
use crate::case::Outcome;
use crate::cpp::Program;
use crate::csr::Preds;
use crate::shape::Shape;

/// Taskflow: a static graph. `TASKFLOW_INCLUDE` names the folder that holds `taskflow/taskflow.hpp`.
pub const TASKFLOW: Cpp = Cpp(Program {
    name: "taskflow",
    source: include_str!("../../cpp/taskflow.cpp"),
    header: "taskflow/taskflow.hpp",
    include_variable: "TASKFLOW_INCLUDE",
    flags: &["-std=c++20"],
    libraries: &["-pthread"],
});

/// oneTBB: a flow graph of continue nodes. `TBB_INCLUDE` names the folder that holds `tbb/flow_graph.h`.
pub const ONETBB: Cpp = Cpp(Program {
    name: "onetbb",
    source: include_str!("../../cpp/onetbb.cpp"),
    header: "tbb/flow_graph.h",
    include_variable: "TBB_INCLUDE",
    flags: &["-std=c++20"],
    libraries: &["-ltbb", "-pthread"],
});

/// A program that reads a graph and prints a sample.
pub struct Cpp(Program);

impl Contender for Cpp {
    fn name(&self) -> &'static str {
        self.0.name
    }

    fn supports(&self, shape: Shape) -> bool {
        super::is_plain(shape)
    }

    fn measure(&self, plan: &Plan) -> Outcome {
        let program = self.0.compiled()?;
        let preds = Preds::of(&plan.graph()?);
        let words = [&[plan.tasks as u32][..], &preds.offsets, &preds.tasks];
        let input: Vec<u8> = words
            .into_iter()
            .flatten()
            .flat_map(|word| word.to_ne_bytes())
            .collect();
        let line = crate::cpp::run(&program, &input)
            .unwrap_or_else(|error| panic!("{}: {error}", self.name()));
        Ok(line
            .parse()
            .unwrap_or_else(|error| panic!("{}: {error}", self.name())))
    }
}
