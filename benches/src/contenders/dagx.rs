//! The crate dagx: futures joined by channels, on a runtime of the caller's choice; here tokio.

use super::{Contender, Plan};
use crate::body;
use crate::case::{Outcome, Sample};
use crate::shape::{Graph, Recent, Shape};
use dagx::{DagRunner, Task, TaskHandle, task};

/// Every task is one of four types, by the number of its inputs.
pub struct Dagx;

impl Contender for Dagx {
    fn name(&self) -> &'static str {
        "dagx"
    }

    fn supports(&self, shape: Shape) -> bool {
        super::is_plain(shape)
    }

    fn at_most(&self, _: Shape) -> usize {
        100_000
    }

    fn measure(&self, plan: &Plan) -> Outcome {
        let (graph, runtime) = (plan.graph()?, super::tokio::runtime()?);
        let run = |dag: &mut DagRunner| {
            let spawner = |future| drop(tokio::spawn(future));
            assert!(runtime.block_on(dag.run(spawner)).is_ok(), "a task failed");
        };
        Ok(Sample::take(|| build(&graph), run))
    }
}

fn build(graph: &Graph) -> DagRunner {
    let dag = DagRunner::new();
    let mut recent: Recent<TaskHandle<u32>> = Recent::new(graph);
    for task in 0..graph.len() {
        let of = |pred: u32| recent.get(pred);
        let handle = match *graph.preds(task) {
            [] => dag.add_task(Free(task)).into(),
            [a] => dag.add_task(After1(task)).depends_on(of(a)),
            [a, b] => dag.add_task(After2(task)).depends_on((&of(a), &of(b))),
            [a, b, c] => dag
                .add_task(After3(task))
                .depends_on((&of(a), &of(b), &of(c))),
            _ => unreachable!("no task has more"),
        };
        recent.push(handle);
    }
    dag
}

struct Free(u32);
struct After1(u32);
struct After2(u32);
struct After3(u32);

#[task]
impl Free {
    async fn run(&self) -> u32 {
        call(self.0)
    }
}

#[task]
impl After1 {
    async fn run(&self, _a: &u32) -> u32 {
        call(self.0)
    }
}

#[task]
impl After2 {
    async fn run(&self, _a: &u32, _b: &u32) -> u32 {
        call(self.0)
    }
}

#[task]
impl After3 {
    async fn run(&self, _a: &u32, _b: &u32, _c: &u32) -> u32 {
        call(self.0)
    }
}

/// An output must have a type that can be written, so a task yields its number.
fn call(task: u32) -> u32 {
    body::empty(task)();
    task
}
