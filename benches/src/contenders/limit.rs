//! What the machine can do: flat arrays, atomics, deques and two threads.

use super::{Contender, Plan};
use crate::case::{Outcome, Sample};
use crate::csr::Csr;
use crate::shape::{Graph, Shape, last_value};
use crate::{body, crew};
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering::*};

/// A body of its own for each task, as every library that takes closures must hold it.
pub type Boxed = Box<dyn Fn() + Send + Sync>;

/// One boxed closure a task: what ours is compared with.
pub struct Limit;

impl Contender for Limit {
    fn name(&self) -> &'static str {
        crate::report::LIMIT
    }

    fn supports(&self, _: Shape) -> bool {
        true
    }

    fn measure(&self, plan: &Plan) -> Outcome {
        let spins = plan.spins;
        match plan.shape {
            Shape::Array => Ok(array(plan.tasks)),
            Shape::ArrayEach => Ok(array_each(plan.tasks / 2)),
            _ if spins == 0 => Ok(boxed(&plan.graph()?, body::empty)),
            _ => Ok(boxed(&plan.graph()?, |task| body::spinning(spins, task))),
        }
    }
}

/// No closures: one function that gets the task's number.
pub struct Indexed;

impl Contender for Indexed {
    fn name(&self) -> &'static str {
        "limit-indexed"
    }

    fn supports(&self, shape: Shape) -> bool {
        super::is_plain(shape)
    }

    fn measure(&self, plan: &Plan) -> Outcome {
        let graph = plan.graph()?;
        let call = |task: u32| body::empty(task)();
        Ok(Sample::take(
            || Csr::of(&graph),
            |csr| crew::drive(csr, &call),
        ))
    }
}

/// One boxed closure a task, and a `u64` along each edge.
pub struct Typed;

impl Contender for Typed {
    fn name(&self) -> &'static str {
        "limit-typed"
    }

    fn supports(&self, shape: Shape) -> bool {
        matches!(shape, Shape::Typed(_))
    }

    fn measure(&self, plan: &Plan) -> Outcome {
        let graph = plan.graph()?;
        let mut last = None;
        let sample = Sample::take(
            || typed_job(&graph),
            |(csr, bodies, values)| {
                crew::drive(csr, &|task| bodies[task as usize]());
                last = values.last().map(|value| value.load(Relaxed));
            },
        );
        assert_eq!(
            last,
            Some(last_value(&graph)),
            "what the last task computed"
        );
        Ok(sample)
    }
}

fn typed_job(graph: &Graph) -> (Csr, Vec<Boxed>, &'static [AtomicU64]) {
    let values = zeros(graph.len() as usize).leak();
    let bodies = (0..graph.len()).map(|task| typed(values, graph, task));
    (Csr::of(graph), bodies.collect(), values)
}

fn typed(values: &'static [AtomicU64], graph: &Graph, task: u32) -> Boxed {
    let value = |task: u32| &values[task as usize];
    let (number, own) = (u64::from(task), value(task));
    match *graph.preds(task) {
        [] => Box::new(move || own.store(number, Relaxed)),
        [a] => {
            let a = value(a);
            Box::new(move || own.store(number.wrapping_add(a.load(Relaxed)), Relaxed))
        }
        [a, b] => {
            let (a, b) = (value(a), value(b));
            let sum = move || a.load(Relaxed).wrapping_add(b.load(Relaxed));
            Box::new(move || own.store(number.wrapping_add(sum()), Relaxed))
        }
        _ => unreachable!("no typed task has more"),
    }
}

fn boxed<F: Fn() + Send + Sync + 'static>(graph: &Graph, body: impl Fn(u32) -> F) -> Sample {
    Sample::take(
        || (Csr::of(graph), bodies(graph, body)),
        |(csr, bodies)| crew::drive(csr, &|task| bodies[task as usize]()),
    )
}

/// A box for each task of `graph`.
pub fn bodies<F: Fn() + Send + Sync + 'static>(
    graph: &Graph,
    body: impl Fn(u32) -> F,
) -> Vec<Boxed> {
    (0..graph.len())
        .map(|task| Box::new(body(task)) as Boxed)
        .collect()
}

fn array(elements: usize) -> Sample {
    let body = boxed_element();
    Sample::take(
        || (),
        |()| crew::in_chunks(elements, |chunk| chunk.for_each(|at| body(at as u64))),
    )
}

/// Two boxed functions: what the first yields for an element, the second reads.
fn array_each(elements: usize) -> Sample {
    let first = black_box::<Box<dyn Fn(u64) -> u64 + Sync>>(Box::new(|item| item ^ !item));
    let second = boxed_element();
    Sample::take(
        || zeros(elements),
        |values| {
            crew::in_chunks(elements, |chunk| {
                chunk
                    .clone()
                    .for_each(|at| values[at].store(first(at as u64), Relaxed));
                chunk.for_each(|at| second(values[at].load(Relaxed)));
            });
        },
    )
}

/// What an array calls, in a box that the compiler can't look into.
pub fn boxed_element() -> Box<dyn Fn(u64) + Sync> {
    black_box::<Box<dyn Fn(u64) + Sync>>(Box::new(body::element))
}

fn zeros(len: usize) -> Vec<AtomicU64> {
    (0..len).map(|_| AtomicU64::new(0)).collect()
}
