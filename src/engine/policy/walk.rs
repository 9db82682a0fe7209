//! Ending tasks, and what can't run for it.

use super::super::flow::{ArrayFlow, Place, Sink, Verdict};
use super::{Effects, Run};
use crate::engine::chronicle::{Fact, TaskSpan};
use crate::graph::node_of;
use crate::model::{TaskId, TaskState};
use std::ops::Range;

/// Ends tasks, and finds those that can't run for it, and those that may run all the same.
pub(super) struct Walk<'a> {
    run: &'a Run,
    lost: Vec<Lost>,
    /// Tasks, and arrays of which all has ended, and whether that satisfies those who need no value.
    over: Vec<(TaskId, bool)>,
    counted: Counted,
    /// Of what was ended, the tasks that somebody waits for, by id.
    pub(super) watched: Vec<Range<u32>>,
    /// What was ended, for those who listen.
    facts: Vec<Fact>,
}

/// What its dependents can no longer have. With `true`, its end is as good to those who need no value.
enum Lost {
    /// The success of a node.
    Node(TaskId, bool),
    /// That of elements of the array that a node is, by their indexes.
    Elements(TaskId, Range<u32>, bool),
}

/// How many tasks were ended, and how.
#[derive(Default)]
struct Counted {
    ended: u64,
    skipped: u64,
    cancelled: u64,
}

/// How tasks are ended, and because of which.
#[derive(Clone, Copy)]
struct End {
    state: TaskState,
    satisfied: bool,
    by: TaskId,
}

impl End {
    fn skipped(by: TaskId) -> Self {
        End {
            state: TaskState::Skipped,
            satisfied: false,
            by,
        }
    }
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
        let by = task;
        let end = End {
            state,
            satisfied,
            by,
        };
        self.end_as(task, end);
    }

    /// Skips what can't run because of `by`.
    pub(super) fn skip(&mut self, task: TaskId, by: TaskId) {
        self.end_as(task, End::skipped(by));
    }

    /// Skips elements of the array that a node is, because of `by`.
    pub(super) fn skip_elements(&mut self, node: TaskId, elements: Range<u32>, by: TaskId) {
        let place = self.run.locate(node);
        if let Some((place, array)) = place.and_then(|place| place.array().map(|at| (place, at))) {
            self.end_elements(&place, array, elements, End::skipped(by));
        }
    }

    fn end_as(&mut self, task: TaskId, end: End) {
        let Some(place) = self.run.locate(task) else {
            return;
        };
        match place.array() {
            None => self.end_node(&place, end),
            Some(array) => {
                let all = 0..place.segment.job.arrays[array].len;
                let one = place.index..place.index + 1;
                let elements = if task.is_element() { one } else { all };
                self.end_elements(&place, array, elements, end);
            }
        }
    }

    fn end_node(&mut self, place: &Place<'_>, end: End) {
        let (word, task) = (place.segment.word(place.node), place.task());
        if word.ended().is_none() {
            if word.end(end.state) {
                self.watched.push(task.0..task.0 + 1);
            }
            self.counted.add(end.state, 1);
            self.tell(task.into(), end);
            self.lost.push(Lost::Node(task, end.satisfied));
            self.over.push((task, end.satisfied));
        }
    }

    /// Ends those of the elements that have not ended. The array as a node ends with the first that does not succeed.
    fn end_elements(&mut self, place: &Place<'_>, array: usize, elements: Range<u32>, end: End) {
        let (flow, node) = (place.segment.array(array), place.task());
        let part = &place.segment.job.arrays[array];
        let pending: Vec<_> = flow.unfinished(elements.clone()).collect();
        let is_open = || elements.is_empty() && place.segment.word(place.node).ended().is_none();
        if pending.is_empty() && !is_open() {
            return;
        }
        let mut count = 0;
        for range in pending {
            flow.end(range.clone(), end.state);
            let ended = TaskSpan::of(part.ids(range.clone()));
            if flow.is_watched() {
                self.watched.push(part.ids(range.clone()));
            }
            self.tell(ended, end);
            count += ended.count;
            self.lost.push(Lost::Elements(node, range, end.satisfied));
        }
        self.counted.add(end.state, count.into());
        let first = self.end_array(place, flow, end.state);
        let first_to_block = !end.satisfied && flow.block();
        if first || first_to_block {
            self.lost.push(Lost::Node(node, end.satisfied));
        }
        // Counted last: a lane that ends the last element then finds how the others ended.
        if (count > 0 || first) && flow.have_ended(count) {
            self.array_is_over(place, flow, end.state);
        }
    }

    /// The array as a node can no longer succeed. Returns whether it could until now.
    fn end_array(&mut self, place: &Place<'_>, flow: &ArrayFlow, state: TaskState) -> bool {
        let word = place.segment.word(place.node);
        let ends = state != TaskState::Succeeded && word.ended().is_none();
        if ends {
            self.end_array_node(place, flow, state);
        }
        ends
    }

    fn end_array_node(&mut self, place: &Place<'_>, flow: &ArrayFlow, state: TaskState) {
        place.segment.word(place.node).end(state);
        let node = place.task().0;
        self.watched
            .extend(flow.is_watched().then_some(node..node + 1));
    }

    fn array_is_over(&mut self, place: &Place<'_>, flow: &ArrayFlow, state: TaskState) {
        if place.segment.word(place.node).ended().is_none() {
            self.end_array_node(place, flow, state);
        }
        self.over.push((place.task(), !flow.blocks()));
    }

    /// Ends everything that depends on what was ended so far, and can't do without it.
    pub(super) fn skip_dependents(&mut self) {
        let keeps = self.run.job().rules.keep_blocked();
        while let Some(lost) = self.lost.pop() {
            match lost {
                _ if keeps => self.note_elements(&lost),
                Lost::Node(node, satisfied) => {
                    self.skip_successors(node, satisfied);
                    self.skip_late(node, satisfied);
                }
                Lost::Elements(node, ref range, satisfied) => {
                    self.skip_each(node, range);
                    self.skip_late_each(node, range, satisfied);
                    self.note_elements(&lost);
                }
            }
        }
    }

    fn skip_successors(&mut self, node: TaskId, satisfied: bool) {
        let Some(place) = self.run.locate(node) else {
            return;
        };
        let job = &place.segment.job;
        let loose = job.loose_from(place.node);
        let passes = |next: u32| {
            let found = loose.binary_search_by_key(&next, |edge| edge.to);
            found.is_ok_and(|at| loose[at].passes(satisfied))
                || place.segment.passed.has(place.node, next)
        };
        let successors = job.csr.successors(place.node).iter();
        let successors = successors.map(|&entry| node_of(entry));
        for next in successors.filter(|&next| !passes(next)) {
            self.skip(job.task(next), node);
        }
    }

    /// What waits for single elements.
    fn skip_each(&mut self, node: TaskId, elements: &Range<u32>) {
        let Some(place) = self.run.locate(node) else {
            return;
        };
        let job = &place.segment.job;
        let Some(part) = place.array().map(|array| &job.arrays[array]) else {
            return;
        };
        let by = TaskId::element(part.first + elements.start);
        for &to in &part.each_to {
            let next = job.task(job.arrays[to as usize].node);
            self.skip_elements(next, elements.clone(), by);
        }
    }

    /// What was added to the run, and can't do without the success of a task, or of an array.
    fn skip_late(&mut self, task: TaskId, satisfied: bool) {
        let verdict = Verdict::without_success(satisfied);
        for to in self.run.blocked_late(task, verdict) {
            self.skip(to, task);
        }
    }

    /// What was added to the run, and waits for single elements.
    fn skip_late_each(&mut self, node: TaskId, elements: &Range<u32>, satisfied: bool) {
        let Some(open) = &self.run.open else { return };
        let tasks = self.run.elements(node, elements);
        for to in open.each_dependents(node) {
            let by = tasks.first().copied().unwrap_or(node);
            self.skip_elements(to, elements.clone(), by);
        }
        for task in tasks {
            self.skip_late(task, satisfied);
        }
    }

    /// What was added to the run may wait for the end of single elements, whatever it is.
    fn note_elements(&mut self, lost: &Lost) {
        if let (Lost::Elements(node, range, satisfied), Some(_)) = (lost, &self.run.open) {
            let tasks = self.run.elements(*node, range).into_iter();
            self.over.extend(tasks.map(|task| (task, *satisfied)));
        }
    }

    /// What may run all the same, now that all it waits for has ended, goes to `sink`.
    pub(super) fn pass(&mut self, sink: &mut impl Sink) {
        for (task, satisfied) in self.over.drain(..) {
            if let Some(place) = self.run.locate(task).filter(|_| !task.is_element()) {
                place.segment.pass(place.node, satisfied, sink);
            }
            let verdict = Verdict::without_success(satisfied);
            self.run.pass_late(task, verdict, sink);
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
    fn tell(&mut self, tasks: TaskSpan, end: End) {
        match (end.state, self.facts.last_mut()) {
            _ if !self.run.is_observed() => (),
            (TaskState::Cancelled, Some(Fact::Cancelled(last))) if last.is_before(tasks) => {
                last.count += tasks.count;
            }
            (TaskState::Cancelled, _) => self.facts.push(Fact::Cancelled(tasks)),
            (TaskState::Skipped, _) => {
                let by = end.by;
                self.facts.push(Fact::Skipped { tasks, by });
            }
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
