//! The job, as it is run.

use super::plan::Input::{One, Same, Whole};
use super::world::{Value, World};
use batchyard::{
    Array, Context, FrozenJob, Handle, Job, TaskId, TaskRef, all, asynchronous, fallible,
};
use std::sync::Arc;

#[derive(Clone, Copy)]
pub(crate) enum Added<V> {
    Single(Handle<V>),
    Array(Array<V>),
}

impl<V: Value> Added<V> {
    fn handle(&self) -> &Handle<V> {
        match self {
            Added::Single(handle) => handle,
            Added::Array(_) => unreachable!("a single task by its plan"),
        }
    }

    fn array(&self) -> &Array<V> {
        match self {
            Added::Array(array) => array,
            Added::Single(_) => unreachable!("an array by its plan"),
        }
    }

    pub(crate) fn task_ref(&self) -> TaskRef {
        match self {
            Added::Single(handle) => handle.into(),
            Added::Array(array) => array.into(),
        }
    }

    pub(crate) fn node_id(&self) -> TaskId {
        match self {
            Added::Single(handle) => handle.id(),
            Added::Array(array) => array.id(),
        }
    }

    pub(crate) fn id(&self, index: usize) -> TaskId {
        match self {
            Added::Single(handle) => handle.id(),
            Added::Array(array) => array.at(index).id().expect("an index of its plan"),
        }
    }
}

fn numbers<V: Value>(values: &[V]) -> impl Iterator<Item = u64> + '_ {
    values.iter().map(Value::number)
}

/// Adds a node; `added` are those before it.
fn add<V: Value>(job: &mut Job, world: &Arc<World>, n: usize, added: &[Added<V>]) -> Added<V> {
    let (node, w) = (&world.plan.nodes[n], world.clone());
    let handle = |node: usize| added[node].handle();
    let array = |node: usize| added[node].array();
    let Some(len) = node.len else {
        return Added::Single(match (node.waits, &node.inputs[..]) {
            (true, []) => job.task(
                (),
                (),
                asynchronous(move || {
                    let w = w.clone();
                    async move { w.body(n, 0, []) }
                }),
            ),
            (true, [One(a)]) => job.task(
                (),
                handle(*a),
                asynchronous(move |a: V| {
                    let w = w.clone();
                    async move { w.body(n, 0, [a.number()]) }
                }),
            ),
            (true, [Whole(a)]) => job.task(
                (),
                array(*a),
                asynchronous(move |a: Vec<V>| {
                    let w = w.clone();
                    async move { w.body(n, 0, numbers(&a)) }
                }),
            ),
            (_, []) => job.task((), (), fallible(move || w.body(n, 0, []))),
            (_, [One(a)]) => job.task(
                (),
                handle(*a),
                fallible(move |a: &V| w.body(n, 0, [a.number()])),
            ),
            (_, [Whole(a)]) => job.task(
                (),
                array(*a),
                fallible(move |a: &[V]| w.body(n, 0, numbers(a))),
            ),
            (_, [One(a), One(b)]) => job.task(
                (),
                (handle(*a), handle(*b)),
                fallible(move |a: &V, b: &V| w.body(n, 0, [a.number(), b.number()])),
            ),
            (_, [One(a), Whole(b)]) => job.task(
                (),
                (handle(*a), array(*b)),
                fallible(move |a: &V, b: &[V]| {
                    w.body(n, 0, [a.number()].into_iter().chain(numbers(b)))
                }),
            ),
            (_, [Whole(a), One(b)]) => job.task(
                (),
                (array(*a), handle(*b)),
                fallible(move |a: &[V], b: &V| w.body(n, 0, numbers(a).chain([b.number()]))),
            ),
            (_, [Whole(a), Whole(b)]) => job.task(
                (),
                (array(*a), array(*b)),
                fallible(move |a: &[V], b: &[V]| w.body(n, 0, numbers(a).chain(numbers(b)))),
            ),
            (_, inputs) => unreachable!("no single task reads {inputs:?}"),
        });
    };
    let items = 0..len as u64;
    Added::Array(match (node.waits, &node.inputs[..]) {
        (true, []) => job.map(
            (),
            items,
            asynchronous(move |cx: Context, _: u64| {
                let w = w.clone();
                async move { w.body(n, cx.index(), []) }
            }),
        ),
        (true, [Same(a)]) => job.each(
            (),
            array(*a),
            asynchronous(move |cx: Context, a: V| {
                let w = w.clone();
                async move { w.body(n, cx.index(), [a.number()]) }
            }),
        ),
        (_, []) => job.map(
            (),
            items,
            fallible(move |i: &u64| w.body(n, *i as usize, [])),
        ),
        (_, [One(a)]) => job.map_with(
            (),
            items,
            handle(*a),
            fallible(move |i: &u64, a: &V| w.body(n, *i as usize, [a.number()])),
        ),
        (_, [Whole(a)]) => job.map_with(
            (),
            items,
            array(*a),
            fallible(move |i: &u64, a: &[V]| w.body(n, *i as usize, numbers(a))),
        ),
        (_, [One(a), Whole(b)]) => job.map_with(
            (),
            items,
            (handle(*a), array(*b)),
            fallible(move |i: &u64, a: &V, b: &[V]| {
                w.body(n, *i as usize, [a.number()].into_iter().chain(numbers(b)))
            }),
        ),
        (_, [Same(a)]) => job.each(
            (),
            array(*a),
            fallible(move |cx: &Context, a: &V| w.body(n, cx.index(), [a.number()])),
        ),
        (_, [Same(a), Same(b)]) => job.each(
            (),
            (array(*a), array(*b)),
            fallible(move |cx: &Context, a: &V, b: &V| {
                w.body(n, cx.index(), [a.number(), b.number()])
            }),
        ),
        (_, [Same(a), One(b)]) => job.each(
            (),
            (array(*a), handle(*b)),
            fallible(move |cx: &Context, a: &V, b: &V| {
                w.body(n, cx.index(), [a.number(), b.number()])
            }),
        ),
        (_, [Same(a), Whole(b)]) => job.each(
            (),
            (array(*a), all(array(*b))),
            fallible(move |cx: &Context, a: &V, b: &[V]| {
                w.body(n, cx.index(), [a.number()].into_iter().chain(numbers(b)))
            }),
        ),
        (_, inputs) => unreachable!("no array reads {inputs:?}"),
    })
}

pub(crate) fn build<V: Value>(world: &Arc<World>) -> (FrozenJob, Vec<Added<V>>) {
    let plan = &world.plan;
    let mut job = Job::new("model");
    job.failure_policy(plan.policy);
    let mut added = Vec::new();
    for node in 0..plan.nodes.len() {
        let new = add(&mut job, world, node, &added);
        added.push(new);
    }
    plan.orders
        .iter()
        .for_each(|&(before, after)| job.order(added[before].task_ref(), added[after].task_ref()));
    plan.keep
        .iter()
        .for_each(|&node| job.keep(added[node].task_ref()));
    (job.freeze().expect("sound by its plan"), added)
}
