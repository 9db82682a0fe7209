//! The crate dag_exec: threads behind bounded channels, one coordinator.

use super::{Contender, Plan};
use crate::case::{Outcome, Sample};
use crate::shape::{Edges, Graph, Shape};
use crate::{THREADS, body};
use dag_exec::{Dag, DagBuilder, Executor, ExecutorConfig};

/// Tasks keyed by their number; the outputs asked for are those that no other task reads.
pub struct DagExec;

impl Contender for DagExec {
    fn name(&self) -> &'static str {
        "dag_exec"
    }

    fn supports(&self, shape: Shape) -> bool {
        super::is_plain(shape)
    }

    fn at_most(&self, shape: Shape) -> usize {
        if shape == Shape::Plain(Edges::Chain) {
            10_000
        } else {
            100_000
        }
    }

    fn measure(&self, plan: &Plan) -> Outcome {
        let graph = plan.graph()?;
        let executor = Executor::new(ExecutorConfig {
            max_workers: THREADS,
            max_in_flight: 1024,
            worker_queue_cap: 512,
        });
        let sinks = sinks(&graph);
        let run = |dag: &mut Dag<u32, (), ()>| {
            assert!(executor.run_parallel(dag, sinks).is_ok(), "a task failed");
        };
        Ok(Sample::take(|| build(&graph), run))
    }
}

fn build(graph: &Graph) -> Dag<u32, (), ()> {
    let mut dag = DagBuilder::new();
    for task in 0..graph.len() {
        let call = body::empty(task);
        let added = dag.add_task(task, graph.preds(task).to_vec(), move |_| {
            call();
            Ok(())
        });
        assert!(added.is_ok(), "task {task}");
    }
    dag.build()
        .unwrap_or_else(|error| panic!("no job: {error:?}"))
}

/// The tasks that nobody waits for.
fn sinks(graph: &Graph) -> Vec<u32> {
    let mut is_sink = vec![true; graph.len() as usize];
    (0..graph.len()).for_each(|task| {
        graph
            .preds(task)
            .iter()
            .for_each(|&pred| is_sink[pred as usize] = false)
    });
    (0..graph.len())
        .filter(|&task| is_sink[task as usize])
        .collect()
}
