//! The model: how every task must end.

use super::plan::{Fate, Input, Plan};
use batchyard::{Counts, TaskState};

/// How every task ends if nobody cancels anything, and with which value.
pub(crate) struct Ends {
    pub(crate) states: Vec<Vec<TaskState>>,
    pub(crate) values: Vec<Vec<u64>>,
    /// By node: whether it has succeeded as a whole.
    pub(crate) whole: Vec<bool>,
}

impl Ends {
    pub(crate) fn of(plan: &Plan) -> Self {
        let mut ends = Ends {
            states: Vec::new(),
            values: Vec::new(),
            whole: Vec::new(),
        };
        for (number, node) in plan.nodes.iter().enumerate() {
            let may_begin = plan
                .whole_dependencies(number)
                .all(|before| ends.whole[before]);
            let (mut states, mut values) = (Vec::new(), Vec::new());
            for index in 0..node.len.unwrap_or(1) {
                let elements_succeeded = node.inputs.iter().all(|input| match *input {
                    Input::Same(before) => ends.states[before][index] == TaskState::Succeeded,
                    _ => true,
                });
                states.push(match node.fates[index] {
                    _ if !may_begin || !elements_succeeded => TaskState::Skipped,
                    Fate::Succeeds => TaskState::Succeeded,
                    _ => TaskState::Failed,
                });
                let read = node.inputs.iter().flat_map(|input| match *input {
                    Input::One(before) => vec![ends.values[before][0]],
                    Input::Whole(before) => ends.values[before].clone(),
                    Input::Same(before) => vec![ends.values[before][index]],
                });
                values.push(value_of(number, index, read));
            }
            ends.whole
                .push(may_begin && states.iter().all(|state| *state == TaskState::Succeeded));
            ends.states.push(states);
            ends.values.push(values);
        }
        ends
    }

    pub(crate) fn counts(&self) -> Counts {
        let count = |sought| {
            self.states
                .iter()
                .flatten()
                .filter(|state| **state == sought)
                .count() as u64
        };
        let mut counts = Counts::default();
        counts.succeeded = count(TaskState::Succeeded);
        counts.failed = count(TaskState::Failed);
        counts.skipped = count(TaskState::Skipped);
        counts.total = counts.ended();
        counts
    }
}

pub(crate) fn value_of(node: usize, index: usize, inputs: impl IntoIterator<Item = u64>) -> u64 {
    let start = (node as u64) << 32 | index as u64;
    let mix = |at: u64, next: u64| {
        (at ^ next)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            .rotate_left(17)
    };
    inputs.into_iter().fold(mix(start, 1), mix)
}
