//! Ending tasks, and what can't run for it.

use super::super::flow::Sink;
use super::{Effects, Run};
use crate::engine::chronicle::{Fact, TaskSpan};
use crate::graph::node_of;
use crate::model::{TaskId, TaskState};
use std::ops::Range;

/// Ends tasks, and finds those that can't run for it, and those that may run all the same.
pub(super) struct Walk<'a> {
    run: &'a Run,
    lost: Vec<Lost>,
    /// Nodes of which all has ended, and whether that satisfies those who need no value.
    over: Vec<(u32, bool)>,
    counted: Counted,
    /// Of what was ended, the tasks that somebody waits for, by id.
    pub(super) watched: Vec<Range<u32>>,
    /// What was ended, for those who listen.
    facts: Vec<Fact>,
}

/// What its dependents can no longer have.
enum Lost {
    /// The success of a node; with `true`, its end is as good to those who need no value.
    Node(u32, bool),
    Elements(usize, Range<u32>),
}

/// How many tasks were ended, and how.
#[derive(Default)]
struct Counted {
    ended: u64,
    skipped: u64,
    cancelled: u64,
}

impl<'a> Walk<'a> {
    pub(super) fn new(run: &'a Run) -> Self {
        Walk {
            run,
            lost: Vec::new(),
            over: Vec::new(),
            counted: Counted::default(),
            watched: Vec::new(),
            facts: Vec::new(),
        }
    }

    /// Ends a single task, an element, or all elements of an array, as far as they have not ended.
    pub(super) fn end(&mut self, task: TaskId, state: TaskState, satisfied: bool) {
        self.end_for(task, state, satisfied, task);
    }

    /// As [`end`](Self::end), because of `by`.
    fn end_for(&mut self, task: TaskId, state: TaskState, satisfied: bool, by: TaskId) {
        let Some((node, index)) = self.run.job().locate(task) else {
            return;
        };
        match self.run.job().array_of_node(node) {
            None => self.end_node(node, state, satisfied, by),
            Some(array) => {
                let all = 0..self.run.job().arrays[array].len;
                let one = index..index + 1;
                let elements = if task.is_element() { one } else { all };
                self.end_elements(array, elements, state, satisfied, by);
            }
        }
    }

    fn end_node(&mut self, node: u32, state: TaskState, satisfied: bool, by: TaskId) {
        let word = self.run.flow().word(node);
        if word.ended().is_none() {
            if word.end(state) {
                self.watched.push(node..node + 1);
            }
            self.counted.add(state, 1);
            self.tell(TaskId(node).into(), state, by);
            self.lost.push(Lost::Node(node, satisfied));
            self.over.push((node, satisfied));
        }
    }

    /// Ends those of the elements that have not ended. The array as a node ends with the first that does not succeed.
    fn end_elements(
        &mut self,
        array: usize,
        elements: Range<u32>,
        state: TaskState,
        satisfied: bool,
        by: TaskId,
    ) {
        let (flow, part) = (self.run.flow(), &self.run.job().arrays[array]);
        let watched = flow.array(array).is_watched();
        let pending: Vec<_> = flow.array(array).unfinished(elements.clone()).collect();
        let is_open = || elements.is_empty() && flow.word(part.node).ended().is_none();
        if pending.is_empty() && !is_open() {
            return;
        }
        let mut count = 0;
        for range in pending {
            flow.array(array).end(range.clone(), state);
            let ended = TaskSpan::of(part.ids(range.clone()));
            if watched {
                self.watched.push(part.ids(range.clone()));
            }
            self.tell(ended, state, by);
            count += ended.count;
            self.lost.push(Lost::Elements(array, range));
        }
        self.counted.add(state, count.into());
        let first = self.end_array(array, state);
        let first_to_block = !satisfied && flow.array(array).block();
        if first || first_to_block {
            self.lost.push(Lost::Node(part.node, satisfied));
        }
        // Counted last: a lane that ends the last element then finds how the others ended.
        if (count > 0 || first) && flow.array(array).have_ended(count) {
            self.array_is_over(array, state);
        }
    }

    /// The array as a node can no longer succeed. Returns whether it could until now.
    fn end_array(&mut self, array: usize, state: TaskState) -> bool {
        let node = self.run.job().arrays[array].node;
        let ends = state != TaskState::Succeeded && self.run.flow().word(node).ended().is_none();
        if ends {
            self.end_array_node(array, node, state);
        }
        ends
    }

    fn end_array_node(&mut self, array: usize, node: u32, state: TaskState) {
        let flow = self.run.flow();
        flow.word(node).end(state);
        let watched = flow.array(array).is_watched();
        self.watched.extend(watched.then_some(node..node + 1));
    }

    fn array_is_over(&mut self, array: usize, state: TaskState) {
        let (flow, node) = (self.run.flow(), self.run.job().arrays[array].node);
        if flow.word(node).ended().is_none() {
            self.end_array_node(array, node, state);
        }
        self.over.push((node, !flow.array(array).blocks()));
    }

    /// Ends everything that depends on what was ended so far, and can't do without it.
    pub(super) fn skip_dependents(&mut self) {
        if self.run.job().rules.keep_blocked() {
            return self.lost.clear();
        }
        while let Some(lost) = self.lost.pop() {
            match lost {
                Lost::Node(node, satisfied) => self.skip_successors(node, satisfied),
                Lost::Elements(array, range) => {
                    let job = self.run.job();
                    let by = TaskId::element(job.arrays[array].first + range.start);
                    job.arrays[array].each_to.iter().for_each(|&to| {
                        let state = TaskState::Skipped;
                        self.end_elements(to as usize, range.clone(), state, false, by);
                    });
                }
            }
        }
    }

    fn skip_successors(&mut self, node: u32, satisfied: bool) {
        let job = self.run.job();
        let loose = job.loose_from(node);
        let passes = |next: u32| {
            let found = loose.binary_search_by_key(&next, |edge| edge.to);
            found.is_ok_and(|at| loose[at].passes(satisfied))
                || self.run.flow().passed.has(node, next)
        };
        let successors = job.csr.successors(node).iter().map(|&entry| node_of(entry));
        for next in successors.filter(|&next| !passes(next)) {
            self.end_for(TaskId(next), TaskState::Skipped, false, TaskId(node));
        }
    }

    /// What may run all the same, now that all it waits for has ended, goes to `sink`.
    pub(super) fn pass(&mut self, sink: &mut impl Sink) {
        for (node, satisfied) in self.over.drain(..) {
            self.run.flow().pass(node, satisfied, sink);
        }
    }

    /// Enters what was ended in the ledger, and says how much.
    pub(super) fn counted(&mut self, effects: &mut Effects) -> u64 {
        let facts = std::mem::take(&mut self.facts).into_iter();
        facts.for_each(|fact| effects.note(self.run, || fact));
        let mut ledger = self.run.ledger();
        ledger.skipped += self.counted.skipped;
        ledger.cancelled += self.counted.cancelled;
        self.counted.ended
    }

    /// Tells whoever listens. Of failures and successes it has been told with the attempts.
    fn tell(&mut self, tasks: TaskSpan, state: TaskState, by: TaskId) {
        match (state, self.facts.last_mut()) {
            _ if !self.run.is_observed() => (),
            (TaskState::Cancelled, Some(Fact::Cancelled(last))) if last.is_before(tasks) => {
                last.count += tasks.count;
            }
            (TaskState::Cancelled, _) => self.facts.push(Fact::Cancelled(tasks)),
            (TaskState::Skipped, _) => self.facts.push(Fact::Skipped { tasks, by }),
            _ => (),
        }
    }
}

impl Counted {
    fn add(&mut self, state: TaskState, tasks: u64) {
        self.ended += tasks;
        match state {
            TaskState::Skipped => self.skipped += tasks,
            TaskState::Cancelled => self.cancelled += tasks,
            _ => {}
        }
    }
}
