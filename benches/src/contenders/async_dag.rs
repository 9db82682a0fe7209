//! The crate async_dag: one driver polls the futures of all tasks, on one thread.

use super::{Contender, Plan};
use crate::body;
use crate::case::{Outcome, Sample};
use crate::shape::{Graph, Recent, Shape};
use async_dag::{Edge, NodeIndex};

type Dag = async_dag::Graph<'static>;

/// Every task is an async closure with as many `()` parameters as it has predecessors.
pub struct AsyncDag;

impl Contender for AsyncDag {
    fn name(&self) -> &'static str {
        "async_dag"
    }

    fn supports(&self, shape: Shape) -> bool {
        super::is_plain(shape)
    }

    fn measure(&self, plan: &Plan) -> Outcome {
        let (graph, runtime) = (plan.graph()?, super::tokio::runtime()?);
        Ok(Sample::take(
            || build(&graph),
            |dag| runtime.block_on(dag.run()),
        ))
    }
}

fn build(graph: &Graph) -> Dag {
    let mut dag = Dag::new();
    let mut recent = Recent::new(graph);
    for task in 0..graph.len() {
        let preds = graph.preds(task);
        let node = add(&mut dag, task, preds.len());
        for (parameter, &pred) in preds.iter().enumerate() {
            let edge = dag.update_dependency(recent.get(pred), node, parameter as Edge);
            assert!(edge.is_ok(), "an edge of {task}");
        }
        recent.push(node);
    }
    dag
}

fn add(dag: &mut Dag, task: u32, parameters: usize) -> NodeIndex {
    let call = body::empty(task);
    match parameters {
        0 => dag.add_task(move || async move { call() }),
        1 => dag.add_task(move |(): ()| async move { call() }),
        2 => dag.add_task(move |(): (), (): ()| async move { call() }),
        _ => dag.add_task(move |(): (), (): (), (): ()| async move { call() }),
    }
}
