//! How tasks stand for those that depend on them: what keeps others from running, and what lets them pass.

use super::Run;
use super::flow::{Place, Segment};
use crate::job::{Late, Needs};
use crate::model::{TaskId, TaskState};

/// How a task, or an array as a whole, stands for those that depend on it.
#[derive(Clone, Copy, Default)]
pub(super) struct Standing {
    /// All of it has ended.
    pub(super) is_over: bool,
    /// It, or an element of it, has ended without success.
    lost: bool,
    /// Its end, or that of an element, keeps what depends on it from running.
    blocks: bool,
}

impl Standing {
    pub(super) fn of(run: &Run, task: TaskId) -> Self {
        match run.locate(task) {
            Some(place) if task.is_element() => Self::of_task(run, task, place.ended(task)),
            Some(place) => Self::of_node(run, &place.segment, place.node),
            None => Standing::default(),
        }
    }

    /// Of a node of this segment.
    pub(super) fn of_node(run: &Run, segment: &Segment, node: u32) -> Self {
        let state = segment.word(node).ended();
        match segment.job.array_of_node(node) {
            Some(array) => Standing {
                is_over: state.is_some() && segment.array(array).is_over(),
                lost: is_lost(state),
                blocks: segment.array(array).blocks(),
            },
            None => Self::of_task(run, segment.job.task(node), state),
        }
    }

    fn of_task(run: &Run, task: TaskId, state: Option<TaskState>) -> Self {
        Standing {
            is_over: state.is_some(),
            lost: is_lost(state),
            blocks: state.is_some() && is_lost(state) != run.ledger().is_unusual(task),
        }
    }

    /// Whether what needs this of it can't run, as things are.
    pub(super) fn keeps(self, needs: Needs) -> bool {
        (self.lost || self.blocks) && !needs.passes(!self.blocks)
    }

    /// Whether what needs this of it has nothing to wait for.
    pub(super) fn lets_pass(self, needs: Needs) -> bool {
        self.is_over && !self.keeps(needs)
    }
}

/// What waits for what, as things are.
impl Run {
    /// Whether nothing keeps a task from running, and all that it depends on has ended.
    pub(super) fn is_ready(&self, task: TaskId) -> bool {
        self.locate(task).is_some_and(|place| {
            let (segment, node) = (&*place.segment, place.node);
            let mut before = segment.job.nodes_before(node).iter();
            let mut late = segment.job.late_nodes(node);
            let succeeded = |like: TaskId| {
                self.ended_state(like) == Some(TaskState::Succeeded) && !self.is_unusual(like)
            };
            before.all(|&before| self.passes(segment, before, node))
                && late.all(|(at, late)| self.passes_late(segment, at, late))
                && self.like(&place, task).all(succeeded)
        })
    }

    /// What a task, or an array as a whole, depends on that has ended without success: it can't run before that has.
    pub(super) fn obstacle(&self, task: TaskId) -> Option<TaskId> {
        let place = self.locate(task)?;
        let whole = self.lost_before(&place).next();
        whole.or_else(|| self.obstacle_of_element(task))
    }

    /// Of the elements that an element depends on, one that has ended without success.
    pub(super) fn obstacle_of_element(&self, element: TaskId) -> Option<TaskId> {
        let place = self.locate(element)?;
        let keeps = |&like: &TaskId| is_lost(self.ended_state(like)) || self.is_unusual(like);
        self.like(&place, element).find(keeps)
    }

    /// What a node depends on as a whole, and that keeps it from running.
    pub(super) fn lost_before<'a>(
        &'a self,
        place: &'a Place<'_>,
    ) -> impl Iterator<Item = TaskId> + 'a {
        let (segment, node) = (&*place.segment, place.node);
        let before = segment.job.nodes_before(node).iter();
        let before = before.filter(move |&&before| self.keeps(segment, before, node));
        let late = segment.job.late_nodes(node);
        let late = late.filter(move |(at, late)| self.keeps_late(segment, *at, late));
        before
            .map(|&before| segment.job.task(before))
            .chain(late.map(|(_, late)| late.from))
    }

    /// The elements of other arrays that an element waits for: those with its index.
    fn like<'a>(&'a self, place: &'a Place<'_>, task: TaskId) -> impl Iterator<Item = TaskId> + 'a {
        let (job, index) = (&place.segment.job, place.index);
        let array = place.array().filter(|_| task.is_element());
        let from = array
            .into_iter()
            .flat_map(|array| &job.arrays[array].each_from);
        let own =
            from.map(move |&from| TaskId(job.arrays[from as usize].ids(index..index + 1).start));
        let late = job
            .late_of(place.node)
            .iter()
            .filter(move |_| array.is_some());
        let late = late.filter(|late| late.is_each());
        own.chain(late.filter_map(move |late| self.element(late.from, index)))
    }

    /// Whether one node of a segment no longer waits for another that it depends on as a whole.
    pub(super) fn passes(&self, segment: &Segment, before: u32, node: u32) -> bool {
        let standing = Standing::of_node(self, segment, before);
        standing.lets_pass(segment.job.needs(before, node)) || segment.passed.has(before, node)
    }

    fn keeps(&self, segment: &Segment, before: u32, node: u32) -> bool {
        let standing = Standing::of_node(self, segment, before);
        standing.keeps(segment.job.needs(before, node)) && !segment.passed.has(before, node)
    }

    /// Whether what was added no longer waits at this late edge.
    pub(super) fn passes_late(&self, segment: &Segment, at: u32, late: &Late) -> bool {
        segment.is_counted(at) || Standing::of(self, late.from).lets_pass(late.needs)
    }

    fn keeps_late(&self, segment: &Segment, at: u32, late: &Late) -> bool {
        !segment.is_counted(at) && Standing::of(self, late.from).keeps(late.needs)
    }

    /// Whether, as its exit conditions say, a task has failed and satisfies its dependents, or has succeeded and blocks them.
    fn is_unusual(&self, task: TaskId) -> bool {
        self.ended_state(task).is_some() && self.ledger().is_unusual(task)
    }
}

pub(super) fn is_lost(state: Option<TaskState>) -> bool {
    state.is_some_and(|state| state != TaskState::Succeeded)
}
