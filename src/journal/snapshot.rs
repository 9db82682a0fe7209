//! A journal that says no more than it has to: what it comes to, as groups.

use super::record::{Bytes, End, Record, write};
use super::state::State;
use super::writer::Group;
use crate::model::ELEMENT;

/// The groups that come to the same state.
pub(super) fn groups(state: &State) -> impl Iterator<Item = Vec<u8>> + use<> {
    let mut groups = Vec::new();
    let Some(submission) = &state.submission else {
        return groups.into_iter();
    };
    groups.push(encoded(&[Record::Submitted(submission.clone())]));
    let nodes = 0..submission.nodes();
    let elements: u32 = submission.arrays.iter().map(|array| array.len).sum();
    let ids = nodes.chain((0..elements).map(|number| ELEMENT | number));
    let tasks = state.tasks.iter();
    let known = tasks.map(|(task, record)| Record::Task(*task, Box::new(record.clone())));
    let mut group = Group::new(known.collect());
    // The order doesn't matter: nobody sees a part of it.
    for id in ids {
        let Some(end) = state.end_of(id) else {
            continue;
        };
        let output = match end {
            End::Succeeded => state.output_of(id),
            _ => &[],
        };
        group.end(id..id + 1, end, output);
        if group.is_full() {
            groups.push(encoded(&group.take()));
        }
    }
    let mut rest = group.take();
    let running = state.running.iter();
    let running = running.filter(|(task, _)| state.end_of(**task).is_none());
    rest.push(Record::Running(
        running.map(|(task, attempt)| (*task, *attempt)).collect(),
    ));
    let checkpoints = state.checkpoints.iter();
    let checkpoints = checkpoints.filter(|(task, _)| state.end_of(**task).is_none());
    rest.extend(checkpoints.map(|(task, bytes)| Record::Checkpoint(*task, Bytes(bytes.clone()))));
    rest.extend(state.finished.clone().map(Record::Finished));
    groups.push(encoded(&rest));
    groups.into_iter()
}

pub(super) fn encoded(records: &[Record]) -> Vec<u8> {
    let mut group = Vec::new();
    for record in records {
        // What was made of bytes before, or of numbers and text, can be made into bytes.
        let _ = write(record, &mut group);
    }
    group
}
