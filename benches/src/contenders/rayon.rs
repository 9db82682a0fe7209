//! rayon, with counters written by hand.

use super::limit::{Boxed, bodies, boxed_element};
use super::{Contender, Plan};
use crate::case::{Missing, Outcome, Sample};
use crate::csr::Csr;
use crate::shape::{Graph, Shape};
use crate::{THREADS, body};
use rayon::prelude::*;
use rayon::{Scope, ThreadPool, ThreadPoolBuilder};

/// The best that can be written with it: a parallel iterator over the sources, and the first successor that becomes
/// ready continues at once.
pub struct Best;

impl Contender for Best {
    fn name(&self) -> &'static str {
        "rayon-best"
    }

    fn supports(&self, shape: Shape) -> bool {
        super::is_plain(shape) || shape == Shape::Array
    }

    fn measure(&self, plan: &Plan) -> Outcome {
        let pool = pool()?;
        if plan.shape == Shape::Array {
            return Ok(array(&pool, plan.tasks));
        }
        job(plan, |job| {
            pool.scope(|scope| {
                job.csr
                    .sources
                    .par_iter()
                    .for_each(|&source| job.follow(scope, source))
            });
        })
    }
}

/// The obvious way: every task is spawned when it is ready.
pub struct Spawn;

impl Contender for Spawn {
    fn name(&self) -> &'static str {
        "rayon-spawn"
    }

    fn supports(&self, shape: Shape) -> bool {
        super::is_plain(shape)
    }

    fn measure(&self, plan: &Plan) -> Outcome {
        let pool = pool()?;
        job(plan, |job| {
            pool.scope(|scope| {
                job.csr
                    .sources
                    .iter()
                    .for_each(|&source| job.spawn(scope, source))
            })
        })
    }
}

/// A pool with as many threads as everybody has.
pub fn pool() -> Result<ThreadPool, Missing> {
    ThreadPoolBuilder::new()
        .num_threads(THREADS)
        .build()
        .map_err(|error| Missing(error.to_string()))
}

fn array(pool: &ThreadPool, elements: usize) -> Sample {
    let body = boxed_element();
    Sample::take(
        || (),
        |()| pool.install(|| (0..elements as u64).into_par_iter().for_each(&body)),
    )
}

struct Job {
    csr: Csr,
    bodies: Vec<Boxed>,
}

fn job(plan: &Plan, run: impl FnOnce(&Job)) -> Outcome {
    let (graph, spins) = (plan.graph()?, plan.spins);
    if spins == 0 {
        return Ok(Sample::take(
            || Job::new(&graph, body::empty),
            |job| run(job),
        ));
    }
    Ok(Sample::take(
        || Job::new(&graph, |task| body::spinning(spins, task)),
        |job| run(job),
    ))
}

impl Job {
    fn new<F: Fn() + Send + Sync + 'static>(graph: &Graph, body: impl Fn(u32) -> F) -> Self {
        Self {
            csr: Csr::of(graph),
            bodies: bodies(graph, body),
        }
    }

    fn follow<'a>(&'a self, scope: &Scope<'a>, first: u32) {
        let mut next = Some(first);
        while let Some(task) = next {
            self.bodies[task as usize]();
            next = self.csr.complete_and_follow(task, |other| {
                scope.spawn(move |scope| self.follow(scope, other))
            });
        }
    }

    fn spawn<'a>(&'a self, scope: &Scope<'a>, task: u32) {
        scope.spawn(move |scope| {
            self.bodies[task as usize]();
            self.csr.complete(task, |ready| self.spawn(scope, ready));
        });
    }
}
