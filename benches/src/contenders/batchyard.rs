//! Ours: a job of closures, frozen, run by a pool of threads.

use super::{Contender, Plan};
use crate::case::{Outcome, Sample};
use crate::shape::{Graph, Recent, Shape, last_value};
use crate::{THREADS, body};
use batchyard::{FrozenJob, Handle, Job, Pool, Run, ThreadExecutor};
use std::fmt::Display;

/// The pool is there before the job; building includes freezing.
pub struct Batchyard;

impl Contender for Batchyard {
    fn name(&self) -> &'static str {
        "batchyard"
    }

    fn supports(&self, _: Shape) -> bool {
        true
    }

    fn measure(&self, plan: &Plan) -> Outcome {
        let (pool, spins) = (pool(), plan.spins);
        match plan.shape {
            Shape::Array => Ok(run(&pool, || array(plan.tasks))),
            Shape::ArrayEach => Ok(run(&pool, || array_each(plan.tasks / 2))),
            Shape::Observed(_) => Ok(observed(&pool, &plan.graph()?)),
            Shape::Typed(_) => typed(&pool, &plan.graph()?),
            Shape::Plain(_) => {
                let graph = plan.graph()?;
                Ok(match spins {
                    0 => run(&pool, || plain(&graph, body::empty)),
                    _ => run(&pool, || plain(&graph, |task| body::spinning(spins, task))),
                })
            }
        }
    }
}

/// A pool with as many threads as everybody has.
pub fn pool() -> Pool {
    let executor = ThreadExecutor::new(THREADS).unwrap_or_else(|error| panic!("{error}"));
    Pool::new(executor)
}

/// Builds a job and runs it once.
fn run(pool: &Pool, job: impl FnOnce() -> Job) -> Sample {
    Sample::take(|| freeze(job()), |job| finished(pool.submit(&*job)))
}

/// The tasks of a plain job, with a reader of all that happens on a thread of its own.
fn observed(pool: &Pool, graph: &Graph) -> Sample {
    let events = pool.events();
    // It ends with the pool.
    std::thread::spawn(move || std::hint::black_box(events.blocking().count()));
    run(pool, || plain(graph, body::empty))
}

/// A job that can be run.
pub fn freeze(job: Job) -> FrozenJob {
    job.freeze().unwrap_or_else(|error| panic!("{error}"))
}

/// A run, when all of it has succeeded.
pub fn finished<E: Display>(submitted: Result<Run, E>) -> Run {
    let run = submitted.unwrap_or_else(|error| panic!("{error}"));
    run.wait().unwrap_or_else(|error| panic!("{error}"));
    run
}

/// Tasks in an order, without values.
fn plain<F: Fn() + Send + Sync + 'static>(graph: &Graph, body: impl Fn(u32) -> F) -> Job {
    let mut job = Job::new("plain");
    let mut recent: Recent<Handle<()>> = Recent::new(graph);
    for task in 0..graph.len() {
        let preds = graph.preds(task);
        let after = preds.iter().map(|&pred| recent.get(pred).into());
        let handle = job.task_after((), after, body(task));
        recent.push(handle);
    }
    job
}

/// A `u64` along each edge; the last task's must be right.
fn typed(pool: &Pool, graph: &Graph) -> Outcome {
    let (mut last, mut kept) = (None, None);
    let build = || {
        let (job, handle) = typed_job(graph);
        last = handle;
        freeze(job)
    };
    let sample = Sample::take(build, |job| kept = Some(finished(pool.submit(&*job))));
    let value = last
        .zip(kept)
        .and_then(|(last, run)| run.output(&last).wait().ok().map(|value| *value));
    assert_eq!(
        value,
        Some(last_value(graph)),
        "what the last task computed"
    );
    Ok(sample)
}

fn typed_job(graph: &Graph) -> (Job, Option<Handle<u64>>) {
    let mut job = Job::new("typed");
    let mut recent: Recent<Handle<u64>> = Recent::new(graph);
    let mut last = None;
    for task in 0..graph.len() {
        let (own, of) = (u64::from(task), |pred| recent.get(pred));
        let handle = match *graph.preds(task) {
            [] => job.task((), (), move || own),
            [a] => job.task((), &of(a), move |a: &u64| own.wrapping_add(*a)),
            [a, b] => job.task((), (&of(a), &of(b)), move |a: &u64, b: &u64| {
                own.wrapping_add(*a).wrapping_add(*b)
            }),
            _ => unreachable!("no typed task has more"),
        };
        recent.push(handle);
        last = Some(handle);
    }
    (job, last)
}

fn array(elements: usize) -> Job {
    let mut job = Job::new("array");
    job.array((), elements, |at: &usize| body::element(*at as u64));
    job
}

fn array_each(elements: usize) -> Job {
    let mut job = Job::new("array-each");
    let first = job.array((), elements, |at: &usize| *at as u32);
    job.each((), &first, |item: &u32| body::element(u64::from(*item)));
    job
}
