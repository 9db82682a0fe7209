//! What a journal comes to: its records, one after the other, and what is known of each task in the end.

use super::fit::Fit;
use super::record::{End, Ended, Finished, Millis, Record, TaskRecord, read};
use super::submission::Submission;
use super::told::now;
use super::{JournalError, Store};
use crate::engine::Past;
use crate::model::{BoxError, ELEMENT};
use std::collections::{BTreeMap, HashMap};

/// All that is known of a run.
#[derive(Default, Debug)]
pub(super) struct State {
    pub(super) submission: Option<Box<Submission>>,
    /// How often it was opened again, and when last.
    pub(super) openings: u32,
    pub(super) opened: Option<Millis>,
    /// By [slot](State::slot): one more than the number of [`End`], or 0.
    ends: Vec<u8>,
    /// Of tasks whose output is not empty, where it lies.
    places: Vec<(u64, u32)>,
    outputs: Vec<u8>,
    pub(super) tasks: BTreeMap<u32, TaskRecord>,
    pub(super) running: HashMap<u32, u32>,
    pub(super) checkpoints: HashMap<u32, Vec<u8>>,
    pub(super) finished: Option<Box<Finished>>,
    /// How many bytes of groups were read.
    pub(super) read: u64,
}

impl State {
    /// What a store has.
    pub(super) fn load(store: &mut dyn Store) -> Result<Self, BoxError> {
        let mut state = State::default();
        store.read(&mut |group| state.add(group))?;
        Ok(state)
    }

    /// Goes on by a group.
    pub(super) fn add(&mut self, group: &[u8]) -> Result<(), BoxError> {
        self.read += group.len() as u64;
        read(group, |record| Ok(self.note(record)?))
    }

    fn note(&mut self, record: Record) -> Result<(), JournalError> {
        match record {
            Record::Submitted(submission) => self.begin(submission),
            Record::Opened(at) => {
                self.openings += 1;
                self.opened = Some(at);
            }
            Record::Ended(ended) => return self.end(&ended),
            Record::Task(task, record) => {
                self.slot(task)?;
                self.tasks.insert(task, *record);
            }
            Record::Running(attempts) => self.running.extend(attempts),
            Record::Again(spans) => {
                for task in spans.iter().flatten() {
                    let slot = self.slot(task)?;
                    self.ends[slot] = 0;
                }
                self.finished = None;
            }
            Record::Finished(finished) => self.finished = Some(finished),
            Record::GoesOn => self.finished = None,
            Record::Checkpoint(task, bytes) => {
                self.slot(task)?;
                match bytes.0.is_empty() {
                    true => self.checkpoints.remove(&task),
                    false => self.checkpoints.insert(task, bytes.0),
                };
            }
        }
        Ok(())
    }

    fn begin(&mut self, submission: Box<Submission>) {
        *self = State {
            ends: vec![0; submission.tasks() as usize],
            read: self.read,
            submission: Some(submission),
            ..State::default()
        };
    }

    fn end(&mut self, ended: &Ended) -> Result<(), JournalError> {
        let mut lengths = Lengths::new(&ended.lengths);
        let mut at = 0usize;
        for task in ended.tasks.iter().flatten() {
            let slot = self.slot(task)?;
            self.ends[slot] = ended.end as u8 + 1;
            let len = lengths.next();
            let output = ended.outputs.0.get(at..at + len as usize);
            let output =
                output.ok_or_else(|| nonsense("outputs are shorter than they should be"))?;
            at += len as usize;
            if ended.end == End::Succeeded {
                self.set_output(slot, output);
            }
        }
        Ok(())
    }

    fn set_output(&mut self, slot: usize, output: &[u8]) {
        if output.is_empty() && self.places.is_empty() {
            return;
        }
        if self.places.is_empty() {
            self.places = vec![(0, 0); self.ends.len()];
        }
        self.places[slot] = (self.outputs.len() as u64, output.len() as u32);
        self.outputs.extend_from_slice(output);
    }

    /// Where a task stands among all: single tasks first, then elements.
    pub(super) fn slot(&self, task: u32) -> Result<usize, JournalError> {
        let submission = self.submission.as_ref();
        let submission = submission.ok_or_else(|| nonsense("tasks come before their job"))?;
        let slot = match task & ELEMENT {
            0 => task as usize,
            _ => submission.nodes() as usize + (task & !ELEMENT) as usize,
        };
        match slot < self.ends.len() {
            true => Ok(slot),
            false => Err(nonsense("there is no such task in its job")),
        }
    }

    /// How a task ended, if it has.
    pub(super) fn end_of(&self, task: u32) -> Option<End> {
        const ENDS: [End; 5] = [
            End::Succeeded,
            End::SucceededUnkept,
            End::Failed,
            End::Skipped,
            End::Cancelled,
        ];
        let slot = self.slot(task).ok()?;
        ENDS.get(usize::from(self.ends[slot].checked_sub(1)?))
            .copied()
    }

    /// The bytes of a task's output.
    pub(super) fn output_of(&self, task: u32) -> &[u8] {
        let place = self.slot(task).ok().and_then(|slot| self.places.get(slot));
        let (at, len) = place.copied().unwrap_or_default();
        &self.outputs[at as usize..at as usize + len as usize]
    }

    /// The last attempt of a task that is known to have begun.
    pub(super) fn last_attempt(&self, task: u32) -> u32 {
        let running = self.running.get(&task).copied().unwrap_or(0);
        self.tasks
            .get(&task)
            .map_or(running, |known| running.max(known.attempt))
    }

    /// The state of a run of another job, as far as its tasks were this one's.
    pub(super) fn moved(&self, submission: Submission, fit: &Fit, past: &Past) -> Self {
        let mut moved = State::default();
        moved.begin(Box::new(submission));
        for (id, end) in past
            .ended()
            .flat_map(|(ids, end)| ids.map(move |id| (id, end)))
        {
            let Ok(slot) = moved.slot(id) else { continue };
            moved.ends[slot] = end as u8 + 1;
            if let (End::Succeeded, Some(old)) = (end, fit.task(id)) {
                moved.set_output(slot, self.output_of(old));
            }
        }
        for (task, known) in &past.tasks {
            moved.tasks.insert(task.0, TaskRecord::of(known, now()));
            let saved = fit.task(task.0).and_then(|old| self.checkpoints.get(&old));
            moved
                .checkpoints
                .extend(saved.map(|saved| (task.0, saved.clone())));
        }
        moved
    }

    /// How many bytes of it matter, about.
    pub(super) fn live(&self) -> u64 {
        let outputs: u64 = self.places.iter().map(|(_, len)| u64::from(*len)).sum();
        let checkpoints: usize = self.checkpoints.values().map(Vec::len).sum();
        outputs + checkpoints as u64 + 16 * self.ends.len() as u64 + 256 * self.tasks.len() as u64
    }
}

/// How long outputs are, one after the other.
struct Lengths<'a> {
    lengths: &'a [u32],
    at: usize,
}

impl<'a> Lengths<'a> {
    fn new(lengths: &'a [u32]) -> Self {
        Lengths { lengths, at: 0 }
    }

    fn next(&mut self) -> u32 {
        match self.lengths {
            [] => 0,
            [all] => *all,
            each => {
                self.at += 1;
                each.get(self.at - 1).copied().unwrap_or(u32::MAX)
            }
        }
    }
}

pub(super) fn nonsense(what: &str) -> JournalError {
    JournalError::Nonsense(what.to_owned())
}
