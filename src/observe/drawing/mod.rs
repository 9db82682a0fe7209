//! Pictures of a job's graph, with how its tasks stand (feature `timeline`).

mod dot;
mod layout;
mod sheet;
mod svg;
mod text;

pub(super) use sheet::Sheet;
pub(super) use svg::Svg;
pub(super) use text::{Clipped, Escaped, STYLE};

use crate::engine::Run;
use crate::graph::Graph;
use crate::job::Frozen;
use crate::model::{Counts, TaskState};
use petgraph::graph::NodeIndex;
use std::fmt;
use std::sync::Arc;

/// A job's graph, and how the tasks of one of its runs stood when it was asked for: see
/// [`Run::drawing`](crate::Run::drawing). A task array is one node, with how many of its elements stand how. It is the job as
/// it was submitted: what was added to a run that is open is left out.
///
/// ```
/// # use batchyard::{Job, Pool, ThreadExecutor};
/// # let pool = Pool::new(ThreadExecutor::new(2)?);
/// let mut job = Job::new("drawn");
/// let squares = job.array("squares", 100, |n: &usize| n * n);
/// job.reduce("sum", &squares, |all: &[usize]| all.iter().sum::<usize>());
/// let run = pool.submit(job)?;
/// run.wait()?;
/// let drawing = run.drawing();
/// assert!(drawing.dot().to_string().starts_with("digraph"));
/// assert!(drawing.svg().to_string().starts_with("<svg"));
/// # Ok::<(), batchyard::Error>(())
/// ```
#[derive(Clone)]
pub struct Drawing {
    job: Arc<Frozen>,
    /// Of each node; of an array, that of the array as a whole.
    states: Vec<TaskState>,
    arrays: Vec<Counts>,
}

impl Drawing {
    pub(crate) fn of(run: &Run) -> Self {
        let job = run.flow().first.job.clone();
        let arrays = run.array_counts().into_iter().take(job.arrays.len());
        let nodes = 0..job.units.len() as u32;
        Drawing {
            states: nodes.map(|node| run.state(crate::TaskId(node))).collect(),
            arrays: arrays.map(|(_, counts)| counts).collect(),
            job,
        }
    }

    /// For [Graphviz](https://graphviz.org): every node, in the colour of its state.
    pub fn dot(&self) -> impl fmt::Display + '_ {
        dot::Dot(self)
    }

    /// An SVG picture by itself, readable in light and dark. A graph of more than 300 nodes is drawn as its layers: each
    /// box stands for all nodes that are equally many steps from the beginning.
    pub fn svg(&self) -> impl fmt::Display + '_ {
        Svg(Sheet::of(self))
    }

    pub(super) fn job(&self) -> &Frozen {
        &self.job
    }

    pub(super) fn sheet(&self) -> Sheet {
        Sheet::of(self)
    }

    fn graph(&self) -> Graph<'_> {
        Graph::new(&*self.job)
    }

    /// How the tasks of a node stand.
    fn counts(&self, node: NodeIndex) -> Counts {
        match self.job.array_of_node(node.index() as u32) {
            Some(array) => self.arrays[array],
            None => {
                let mut counts = Counts::default();
                counts.add(self.states[node.index()], 1);
                counts
            }
        }
    }

    fn state(&self, node: NodeIndex) -> TaskState {
        self.states[node.index()]
    }
}

impl fmt::Debug for Drawing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Drawing")
            .field("job", &self.job.name)
            .finish_non_exhaustive()
    }
}
