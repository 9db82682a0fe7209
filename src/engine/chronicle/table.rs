//! How the tasks of an observed run stand, as far as their events tell.

use super::fact::{Fact, TaskSpan};
use crate::job::Frozen;
use crate::model::{AttemptEnd, TaskId, TaskState};
use std::sync::Arc;

/// One run in the book.
pub(super) struct RunTable {
    pub(super) job: Arc<Frozen>,
    /// The event by which the run is known.
    pub(super) submitted: u64,
    pub(super) ended: bool,
    /// It has ended, and with success.
    pub(super) succeeded: bool,
    /// That by which it was ended before all its tasks were.
    stopped: Option<u64>,
    /// That by which it was last disabled.
    disabled: Option<u64>,
    /// That of the task that ended last.
    latest: u64,
    nodes: Column,
    elements: Column,
}

/// Two values a task: nine bytes.
#[derive(Default)]
struct Column {
    /// The last event of each; 0 for none.
    last: Vec<u64>,
    states: Vec<TaskState>,
}

impl Column {
    fn grow(&mut self, len: usize) {
        if self.last.len() < len {
            self.last.resize(len, 0);
            self.states.resize(len, TaskState::Waiting);
        }
    }
}

impl RunTable {
    /// A run of which nothing has begun.
    pub(super) fn new(job: Arc<Frozen>, submitted: u64) -> Self {
        let mut table = RunTable {
            submitted,
            ended: false,
            succeeded: false,
            stopped: None,
            disabled: None,
            latest: submitted,
            nodes: Column::default(),
            elements: Column::default(),
            job,
        };
        let elements = table.job.arrays.last();
        let elements = elements.map_or(0, |last| last.first + last.len);
        table.elements.grow(elements as usize);
        table.nodes.grow(table.job.units.len());
        table
    }

    fn column(&self, task: TaskId) -> &Column {
        match task.is_element() {
            true => &self.elements,
            false => &self.nodes,
        }
    }

    fn column_mut(&mut self, task: TaskId) -> &mut Column {
        match task.is_element() {
            true => &mut self.elements,
            false => &mut self.nodes,
        }
    }

    /// The last event of a task, or of an array; 0 for none.
    fn last(&self, task: TaskId) -> u64 {
        let last = &self.column(task).last;
        last.get(task.number() as usize).copied().unwrap_or(0)
    }

    /// The task stands so now. What has ended stays as it is.
    pub(super) fn set_state(&mut self, task: TaskId, state: TaskState) {
        let at = task.number() as usize;
        let column = self.column_mut(task);
        column.grow(at + 1);
        if !column.states[at].is_final() {
            column.states[at] = state;
        }
    }

    /// Tasks in a row that stand alike, in the order of their ids.
    pub(super) fn spans(&self) -> Vec<(TaskSpan, TaskState)> {
        let mut spans: Vec<(TaskSpan, TaskState)> = Vec::new();
        let mut add = |id: TaskId, state| {
            let last = spans.last_mut().filter(|(_, last)| *last == state);
            if !last.is_some_and(|(span, _)| span.extend(id.into())) {
                spans.push((id.into(), state));
            }
        };
        for (node, &state) in (0..).zip(&self.nodes.states) {
            if self.job.array_of_node(node).is_none() {
                add(TaskId(node), state);
            }
        }
        for (number, &state) in (0..).zip(&self.elements.states) {
            add(TaskId::element(number), state);
        }
        spans
    }

    /// The event that brought this one about; 0 for none.
    pub(super) fn cause(&self, fact: &Fact) -> u64 {
        match fact {
            Fact::RunSubmitted(_) => 0,
            Fact::Ready { tasks, by } => self.cause_of_ready(tasks.last(), *by),
            Fact::Skipped { by, .. } => self.or_submitted(self.last(*by)),
            Fact::Succeeded(span) => self.own(span.last()),
            Fact::Cancelled(span) => self.stopped.unwrap_or_else(|| self.own(span.last())),
            Fact::RunStopped { by, .. } => by.map_or(self.submitted, |by| self.own(by)),
            Fact::RunDisabled | Fact::RunEnded(_) => self.latest,
            Fact::RunEnabled => self.disabled.unwrap_or(self.submitted),
            Fact::Postponed { task, .. } => self.cause_of_ready(*task, None),
            Fact::Started { task, .. }
            | Fact::AttemptEnded { task, .. }
            | Fact::RetryPlanned { task, .. }
            | Fact::Failed { task, .. }
            | Fact::Progress { task, .. }
            | Fact::Stalled { task, .. } => self.own(*task),
            Fact::NodeJoined { .. } | Fact::NodeResized { .. } | Fact::NodeLeft(_) => 0,
        }
    }

    fn or_submitted(&self, event: u64) -> u64 {
        if event == 0 { self.submitted } else { event }
    }

    fn own(&self, task: TaskId) -> u64 {
        self.or_submitted(self.last(task))
    }

    /// What a task was ready for: another try, if it has had events; else the last end of those it waited for.
    fn cause_of_ready(&self, task: TaskId, by: Option<TaskId>) -> u64 {
        let known = by.map_or(0, |by| self.last(by)).max(self.last(task));
        if known != 0 {
            return known;
        }
        let before = self.job.direct_predecessors(task);
        self.or_submitted(before.map(|before| self.last(before)).max().unwrap_or(0))
    }

    /// Whether a fact comes after the end of its task, and tells nothing more. An end may be written down by a lane and by
    /// the engine, and a start when the task has just been cancelled.
    pub(super) fn is_belated(&self, fact: &Fact) -> bool {
        let (first, last) = match fact {
            Fact::Succeeded(tasks) | Fact::Ready { tasks, .. } => (tasks.first, tasks.last()),
            Fact::Started { task, .. } | Fact::Failed { task, .. } => (*task, *task),
            _ => return false,
        };
        self.state(first).is_final() && self.state(last).is_final()
    }

    fn state(&self, task: TaskId) -> TaskState {
        let states = &self.column(task).states;
        let state = states.get(task.number() as usize);
        state.copied().unwrap_or(TaskState::Waiting)
    }

    /// Notes what a fact, which is the event of this id, says of its tasks.
    pub(super) fn note(&mut self, id: u64, fact: &Fact) {
        match fact {
            Fact::Ready { tasks, .. } => self.move_all(id, *tasks, TaskState::Ready),
            Fact::Postponed { task, .. } | Fact::RetryPlanned { task, .. } => {
                self.move_all(id, (*task).into(), TaskState::Waiting);
            }
            Fact::Started { task, .. } => self.advance(id, *task, TaskState::Running),
            Fact::Succeeded(tasks) => self.end(id, *tasks, TaskState::Succeeded),
            Fact::AttemptEnded { task, end, .. } => match **end {
                AttemptEnd::Succeeded => {
                    self.end(id, (*task).into(), TaskState::Succeeded);
                }
                _ => self.advance(id, *task, TaskState::Waiting),
            },
            Fact::Failed { task, .. } => self.end(id, (*task).into(), TaskState::Failed),
            Fact::Skipped { tasks, .. } => self.end(id, *tasks, TaskState::Skipped),
            Fact::Cancelled(tasks) => self.end(id, *tasks, TaskState::Cancelled),
            Fact::RunStopped { .. } => self.stopped = Some(id),
            Fact::RunDisabled => self.disabled = Some(id),
            _ => (),
        }
    }

    fn move_all(&mut self, id: u64, tasks: TaskSpan, state: TaskState) {
        tasks.ids().for_each(|task| self.advance(id, task, state));
    }

    fn advance(&mut self, id: u64, task: TaskId, state: TaskState) {
        self.set_state(task, state);
        self.column_mut(task).last[task.number() as usize] = id;
    }

    fn end(&mut self, id: u64, tasks: TaskSpan, state: TaskState) {
        self.move_all(id, tasks, state);
        self.latest = id;
        // An array ends with its elements: what waits for all of them has the last one's end for its cause.
        if let Some((array, _)) = self
            .job
            .locate(tasks.first)
            .filter(|_| tasks.first.is_element())
        {
            self.nodes.last[array as usize] = id;
        }
    }
}
