//! Random plans.

use super::plan::{Cancel, Fate, Input, Node, Plan, What};
use batchyard::FailurePolicy;
use proptest::prelude::*;
use proptest::sample::Index;

/// A node before it is known what it can read.
#[derive(Clone, Debug)]
struct Seed {
    shape: u8,
    len: usize,
    inputs: Vec<(u8, Index)>,
    waits: bool,
    fates: Vec<u8>,
    order: Option<Index>,
    keep: bool,
}

fn seeds() -> impl Strategy<Value = Seed> {
    let len = prop_oneof![8 => 0..6_usize, 1 => 60..200_usize];
    let inputs = proptest::collection::vec((any::<u8>(), any::<Index>()), 0..=2);
    let fates = proptest::collection::vec(any::<u8>(), 1..8);
    let waits = proptest::bool::weighted(0.15);
    let order = proptest::option::weighted(0.2, any::<Index>());
    let keep = proptest::bool::weighted(0.1);
    (any::<u8>(), len, inputs, waits, fates, order, keep).prop_map(
        |(shape, len, inputs, waits, fates, order, keep)| Seed {
            shape,
            len,
            inputs,
            waits,
            fates,
            order,
            keep,
        },
    )
}

/// Grows a node on those before it.
fn grow(nodes: &[Node], seed: &Seed, trouble: u8) -> Node {
    let pick = |sort: fn(&Node) -> bool, index: &Index| {
        let fitting: Vec<usize> = (0..nodes.len())
            .filter(|&node| sort(&nodes[node]))
            .collect();
        (!fitting.is_empty()).then(|| *index.get(&fitting))
    };
    let single = |index: &Index| pick(|node| node.len.is_none(), index).map(Input::One);
    let array = |index: &Index| pick(|node| node.len.is_some(), index).map(Input::Whole);
    let either = |(which, index): &(u8, Index)| {
        if which % 2 == 0 {
            single(index)
        } else {
            array(index)
        }
    };
    let mut inputs: Vec<Input> = Vec::new();
    let mut len = None;
    match seed.shape % 4 {
        0 | 1 => inputs.extend(seed.inputs.iter().filter_map(either)),
        2 => {
            len = Some(seed.len);
            inputs.extend(seed.inputs.first().and_then(either));
            let second = seed.inputs.get(1).and_then(|(_, index)| array(index));
            inputs.extend(second.filter(|_| matches!(inputs[..], [Input::One(_)])));
        }
        _ => {
            len = Some(seed.len);
            if let Some(first) = seed.inputs.first().and_then(|(_, index)| array(index)) {
                let first = first.node();
                len = nodes[first].len;
                inputs.push(Input::Same(first));
                let same_len = |other: &Input| nodes[other.node()].len == len;
                inputs.extend(seed.inputs.get(1).and_then(|(which, index)| {
                    match which % 3 {
                        0 => single(index),
                        1 => array(index),
                        _ => array(index)
                            .filter(same_len)
                            .map(|other| Input::Same(other.node())),
                    }
                }));
            }
        }
    }
    let waits = seed.waits
        && (inputs.is_empty()
            || inputs.len() == 1 && (len.is_none() || matches!(inputs[0], Input::Same(_))));
    let fate = |index: usize| match seed.fates[index % seed.fates.len()] {
        fate if fate >= trouble => Fate::Succeeds,
        fate if fate % 2 == 0 => Fate::Fails,
        _ => Fate::Panics,
    };
    let fates = (0..len.unwrap_or(1)).map(fate).collect();
    Node {
        len,
        inputs,
        waits,
        fates,
    }
}

pub(crate) fn plans(with_cancels: bool) -> impl Strategy<Value = Plan> {
    let policy = prop_oneof![
        3 => Just(FailurePolicy::Continue),
        1 => Just(FailurePolicy::FailFast),
        1 => (0..3_u64).prop_map(FailurePolicy::MaxFailures),
    ];
    let cancel = (
        1..40_usize,
        any::<bool>(),
        any::<u8>(),
        any::<Index>(),
        any::<Index>(),
    );
    let cancels = proptest::collection::vec(cancel, if with_cancels { 1..=3 } else { 0..=0 });
    let trouble = prop_oneof![1 => Just(0_u8), 2 => Just(8), 1 => Just(40)];
    (
        proptest::collection::vec(seeds(), 1..14),
        policy,
        1..=3_usize,
        cancels,
        trouble,
    )
        .prop_map(|(seeds, policy, threads, cancels, trouble)| {
            let mut nodes: Vec<Node> = Vec::new();
            let (mut orders, mut keep) = (Vec::new(), Vec::new());
            for (number, seed) in seeds.iter().enumerate() {
                nodes.push(grow(&nodes, seed, trouble));
                let before = seed
                    .order
                    .filter(|_| number > 0)
                    .map(|index| index.index(number));
                orders.extend(before.map(|before| (before, number)));
                keep.extend(seed.keep.then_some(number));
            }
            let mut plan = Plan {
                nodes,
                orders,
                policy,
                threads,
                cancels: Vec::new(),
                keep,
            };
            let tasks: Vec<_> = plan.tasks().collect();
            for (after, held, what, node, task) in cancels {
                let node = node.index(plan.nodes.len());
                let task = (!tasks.is_empty()).then(|| *task.get(&tasks));
                let what = match (what % 7, task) {
                    (0..=2, Some((node, index))) => What::Task(node, index),
                    (3..=4, Some((node, index))) => What::Subtree(node, index),
                    // One without elements has no state to compare.
                    (5, _) if plan.nodes[node].len != Some(0) => What::Node(node),
                    _ => What::Run,
                };
                plan.cancels.push(Cancel { after, held, what });
            }
            plan
        })
}
