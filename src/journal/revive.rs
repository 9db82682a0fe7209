//! Puts what a journal knows into a run that has not begun: outputs into their places, and what is to be told to the engine.

use super::files::Files;
use super::fit::{Differences, Fit};
use super::record::End;
use super::reuse::Reuse;
use super::state::State;
use super::submission::Submission;
use super::told::now;
use crate::engine::{Past, PastEnd, Run, Survey};
use crate::job::Frozen;
use crate::model::{ELEMENT, Panic, TaskId};
use crate::work::Unit;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Fills a run with its past.
pub(super) struct Revival<'a> {
    run: &'a Run,
    job: &'a Frozen,
    state: &'a State,
    fit: &'a Fit,
    files: Option<&'a Files>,
    differences: Option<Differences<'a>>,
    /// Nodes that wait for something that is run again.
    blocked: Vec<bool>,
    /// Of arrays, which elements have ended, by number.
    present: Vec<bool>,
    /// The run as a whole was ended, and is as it was.
    stopped: bool,
    past: Past,
    reuse: Reuse,
}

impl<'a> Revival<'a> {
    pub(super) fn new(
        run: &'a Run,
        (state, files): (&'a State, Option<&'a Files>),
        fit: &'a Fit,
        new: &'a Submission,
    ) -> Self {
        let job = run.job();
        let elements: u32 = job.arrays.iter().map(|part| part.len).sum();
        let old = state.submission.as_deref();
        let changed = old.filter(|_| !fit.is_same());
        let finished = state.finished.as_ref();
        let stopped = finished.is_some_and(|finished| finished.stopped.is_some());
        Revival {
            run,
            job,
            state,
            fit,
            files,
            differences: changed.map(|old| Differences::new(old, new)),
            blocked: vec![false; job.units.len()],
            present: vec![false; elements as usize],
            stopped,
            past: Past::default(),
            reuse: Reuse::default(),
        }
    }

    /// Each node behind those that it waits for. Decodes outputs, which is code of the user's.
    pub(super) fn run(mut self, survey: &Survey) -> (Past, Reuse) {
        for node in survey.nodes(self.job) {
            let whole = match self.job.array_of_node(node) {
                Some(array) => self.array(node, array),
                None => self.single(node),
            };
            if !whole {
                self.block_successors(node);
            }
        }
        self.remember();
        if self.fit.is_same()
            && let Some(finished) = &self.state.finished
        {
            let stopped = finished.stopped.as_ref();
            self.past.stopped = stopped.map(|error| error.error(&self.job.name));
        }
        (self.past, self.reuse)
    }

    /// Returns whether it has ended.
    fn single(&mut self, node: u32) -> bool {
        let Some(old) = self.fit.node(node) else {
            self.note_different(node);
            return false;
        };
        let end = self.state.end_of(old);
        if self.blocked[node as usize] {
            self.note_blocked(node, end.is_some());
            return false;
        }
        end.is_some_and(|end| self.take_over(node, node, 0, old, end))
    }

    /// Returns whether all elements have ended.
    fn array(&mut self, node: u32, array: usize) -> bool {
        let part = &self.job.arrays[array];
        if self.fit.node(node).is_none() {
            self.note_different(node);
            return part.len == 0;
        }
        let blocked = self.blocked[node as usize];
        let (mut begun, mut ended) = (false, 0);
        for index in 0..part.len {
            let old = self.fit.task(ELEMENT | (part.first + index));
            let Some((old, end)) = old.and_then(|old| Some((old, self.state.end_of(old)?))) else {
                continue;
            };
            begun = true;
            let each = part.each_from.iter();
            let mut each = each.map(|&from| self.job.arrays[from as usize].first + index);
            if blocked || !each.all(|number| self.present[number as usize]) {
                continue;
            }
            let id = ELEMENT | (part.first + index);
            if self.take_over(node, id, index, old, end) {
                self.present[(part.first + index) as usize] = true;
                ended += 1;
            }
        }
        if begun && ended == 0 {
            self.note_blocked(node, true);
        }
        ended == part.len && !(blocked && part.len == 0)
    }

    /// A task ended in the same way as before. Returns whether it could.
    fn take_over(&mut self, node: u32, id: u32, index: u32, old: u32, end: End) -> bool {
        let task = TaskId(id);
        match end {
            End::SucceededUnkept => {
                self.reuse.rerun(|| self.job.label(task), NOT_KEPT);
                return false;
            }
            End::Succeeded => {
                if let Err(why) = self.put_output(node, index, old) {
                    self.reuse.rerun(|| self.job.label(task), why);
                    return false;
                }
                self.past.succeeded(id, index);
            }
            End::Failed => {
                let known = self.state.tasks.get(&old);
                let Some((_, error)) = known.and_then(|known| known.failure.as_ref()) else {
                    return false;
                };
                let error = error.error(&self.job.name);
                self.past.ends.push(PastEnd::Failed(task, error));
            }
            // It is skipped with what it was skipped for.
            End::Skipped => return true,
            // The run as a whole was ended: so it is again, or goes on.
            End::Cancelled if self.stopped => return self.fit.is_same(),
            End::Cancelled => self.past.ends.push(PastEnd::Cancelled(task)),
        }
        self.reuse.reused += 1;
        true
    }

    fn put_output(&mut self, node: u32, index: u32, old: u32) -> Result<(), String> {
        let (unit, values) = (
            &*self.job.units[node as usize],
            &self.run.flow().first.values,
        );
        let bytes = self.state.output_of(old);
        let found = match self.files.filter(|_| unit.kind().command) {
            Some(files) => Some(files.find(bytes).map_err(|error| error.to_string())?),
            None => None,
        };
        let bytes = found.as_deref().unwrap_or(bytes);
        let put = || unit.restore(values, index, bytes);
        match catch_unwind(AssertUnwindSafe(put)) {
            Ok(Ok(())) => {
                release(unit, self.run, index);
                Ok(())
            }
            Ok(Err(error)) => Err(format!("its output can't be read: {error}")),
            Err(panic) => Err(format!(
                "its output can't be read: {}",
                Panic::from_payload(panic)
            )),
        }
    }

    fn block_successors(&mut self, node: u32) {
        let blocked = &mut self.blocked;
        let successors = self.job.csr.successors(node).iter();
        let successors = successors.map(|&entry| crate::graph::node_of(entry));
        successors.for_each(|next| blocked[next as usize] = true);
    }

    /// Attempts, counters and times of what has not been changed.
    fn remember(&mut self) {
        let now = now();
        let mut olds: Vec<u32> = self.state.tasks.keys().copied().collect();
        olds.extend(self.state.running.keys());
        if olds.is_empty() {
            return;
        }
        let news = match self.fit {
            Fit::Same => None,
            Fit::Changed(_) => Some(self.inverse()),
        };
        olds.sort_unstable();
        olds.dedup();
        for old in olds {
            let new = match &news {
                None => Some(old),
                Some(news) => news.get(&old).copied(),
            };
            let Some(new) = new.filter(|&new| !self.is_blocked(new)) else {
                continue;
            };
            let record = self.state.tasks.get(&old).cloned().unwrap_or_default();
            let mut known = record.known(&self.job.name, now);
            known.attempt = self.state.last_attempt(old);
            if self.state.end_of(old).is_none() {
                self.reuse.resumed += 1;
            }
            self.past.tasks.push((TaskId(new), known));
        }
    }

    fn is_blocked(&self, id: u32) -> bool {
        let node = self.job.locate(TaskId(id)).map(|(node, _)| node);
        node.is_none_or(|node| self.blocked[node as usize])
    }

    /// New ids by old ones.
    fn inverse(&self) -> rustc_hash::FxHashMap<u32, u32> {
        let nodes = 0..self.job.units.len() as u32;
        let elements = 0..self.present.len() as u32;
        let ids = nodes.chain(elements.map(|number| ELEMENT | number));
        ids.filter_map(|id| Some((self.fit.task(id)?, id)))
            .collect()
    }

    fn note_different(&mut self, node: u32) {
        let Some(differences) = &self.differences else {
            return;
        };
        let name = self.job.labels.get(&node).map(|name| &**name);
        let why = differences.of(node, name);
        self.reuse.rerun(|| self.job.node_label(node), why);
    }

    fn note_blocked(&mut self, node: u32, had_ended: bool) {
        if had_ended {
            self.reuse.rerun(
                || self.job.node_label(node),
                "it waits for a task that is run again",
            );
        }
    }
}

const NOT_KEPT: &str = "its output could not be written down";

/// The output is written down already; and what the task read is let go.
fn release(unit: &dyn Unit, run: &Run, index: u32) {
    unit.let_go(&run.flow().first.values, index);
    unit.release(&run.flow().first.values, index);
}

impl Past {
    /// Elements of one array that follow each other are told of together.
    fn succeeded(&mut self, id: u32, index: u32) {
        match self.ends.last_mut() {
            Some(PastEnd::Succeeded(ids)) if index > 0 && ids.end == id => ids.end += 1,
            _ => self.ends.push(PastEnd::Succeeded(id..id + 1)),
        }
    }

    /// All tasks that have ended, by id, with how they did.
    pub(super) fn ended(&self) -> impl Iterator<Item = (Range<u32>, End)> + '_ {
        self.ends.iter().map(|end| match end {
            PastEnd::Succeeded(ids) => (ids.clone(), End::Succeeded),
            PastEnd::Failed(task, _) => (task.0..task.0 + 1, End::Failed),
            PastEnd::Cancelled(task) => (task.0..task.0 + 1, End::Cancelled),
        })
    }
}
