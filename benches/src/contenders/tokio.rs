//! tokio, with counters written by hand.

use super::limit::{Boxed, bodies};
use super::{Contender, Plan};
use crate::case::{Missing, Outcome, Sample};
use crate::csr::Csr;
use crate::shape::Shape;
use crate::{THREADS, body};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::thread::Thread;
use tokio::runtime::{Builder, Runtime};

/// Every task is spawned when it is ready.
pub struct Spawn;

impl Contender for Spawn {
    fn name(&self) -> &'static str {
        "tokio"
    }

    fn supports(&self, shape: Shape) -> bool {
        super::is_plain(shape)
    }

    fn measure(&self, plan: &Plan) -> Outcome {
        let (graph, runtime) = (plan.graph()?, runtime()?);
        let build = || {
            let (csr, bodies) = (Csr::of(&graph), bodies(&graph, body::empty));
            Arc::new(Job {
                left: AtomicUsize::new(csr.len()),
                csr,
                bodies,
                caller: std::thread::current(),
            })
        };
        Ok(Sample::take(build, |job| run(&runtime, job)))
    }
}

/// A runtime with as many workers as everybody has threads.
pub fn runtime() -> Result<Runtime, Missing> {
    let runtime = Builder::new_multi_thread().worker_threads(THREADS).build();
    runtime.map_err(|error| Missing(error.to_string()))
}

struct Job {
    csr: Csr,
    bodies: Vec<Boxed>,
    left: AtomicUsize,
    caller: Thread,
}

fn run(runtime: &Runtime, job: &Arc<Job>) {
    let root = job.clone();
    runtime.spawn(async move {
        root.csr
            .sources
            .iter()
            .for_each(|&source| spawn(&root, source))
    });
    while job.left.load(Acquire) > 0 {
        std::thread::park();
    }
}

fn spawn(job: &Arc<Job>, task: u32) {
    let job = job.clone();
    tokio::spawn(async move {
        job.bodies[task as usize]();
        job.csr.complete(task, |ready| spawn(&job, ready));
        if job.left.fetch_sub(1, AcqRel) == 1 {
            job.caller.unpark();
        }
    });
}
