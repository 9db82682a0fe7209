//! Who takes part: one file each.

use crate::case::{Case, Missing, Outcome};
use crate::shape::{Graph, Shape};

mod async_dag;
pub mod batchyard;
mod cpp;
mod dag_exec;
mod dagx;
mod limit;
pub mod rayon;
pub mod tokio;

/// Something that runs jobs.
pub trait Contender: Sync {
    /// What it is called in the report.
    fn name(&self) -> &'static str;

    /// Whether it can express tasks of that shape.
    fn supports(&self, shape: Shape) -> bool;

    /// How many tasks it can run in a few seconds.
    fn at_most(&self, _shape: Shape) -> usize {
        usize::MAX
    }

    /// Builds and runs one job.
    fn measure(&self, plan: &Plan) -> Outcome;
}

/// The job of one measurement.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// What it looks like.
    pub shape: Shape,
    /// How many tasks it has.
    pub tasks: usize,
    /// How many turns each body spins; none is an empty body. Only for contenders in [`SPINNERS`].
    pub spins: u64,
}

impl Plan {
    /// The edges, for shapes that have any.
    pub fn graph(&self) -> Result<Graph, Missing> {
        match self.shape {
            Shape::Plain(edges) | Shape::Typed(edges) | Shape::Observed(edges) => {
                Ok(Graph::new(edges, self.tasks))
            }
            Shape::Array | Shape::ArrayEach => Err(Missing("it has no task arrays".into())),
        }
    }
}

/// All, in the order they are printed.
pub const ALL: [&dyn Contender; 12] = [
    &batchyard::Batchyard,
    &limit::Limit,
    &limit::Indexed,
    &limit::Typed,
    &rayon::Best,
    &rayon::Spawn,
    &tokio::Spawn,
    &async_dag::AsyncDag,
    &dag_exec::DagExec,
    &dagx::Dagx,
    &cpp::TASKFLOW,
    &cpp::ONETBB,
];

/// Those that can run bodies which spin.
pub const SPINNERS: [&dyn Contender; 4] = [
    &batchyard::Batchyard,
    &limit::Limit,
    &rayon::Best,
    &rayon::Spawn,
];

/// Measures a case whose shape is `shape`.
pub fn measure(case: &Case, shape: &str) -> Outcome {
    let shape =
        Shape::named(shape).ok_or_else(|| Missing(format!("no shape is called {shape}")))?;
    let contender = ALL
        .into_iter()
        .find(|contender| contender.name() == case.contender);
    let contender = contender.ok_or_else(|| Missing("nobody is called that".into()))?;
    contender.measure(&Plan {
        shape,
        tasks: case.tasks,
        spins: case.spins,
    })
}

/// Single tasks without values, the shapes that everybody has.
fn is_plain(shape: Shape) -> bool {
    matches!(shape, Shape::Plain(_))
}
