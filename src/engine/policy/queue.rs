//! What the policy starts itself: how it becomes ready, and its place in the order.

use super::placing::{ClassId, Part, Placed, Position, Rank, Request, RunKey, Span, Tie};
use super::{Effects, Policy, Run, RunRank, Time};
use crate::engine::chronicle::{Fact, TaskSpan};
use crate::engine::flow::{self, Segment, Settled, ranges};
use crate::job::QueuedNodes;
use crate::model::{ELEMENT, TaskId, TaskOrder};
use std::ops::Range;

/// A task that was taken, and where it was in the order: until it is begun, it can go back there.
pub(crate) struct Place {
    class: ClassId,
    group: RunKey,
    span: Span,
    part: Option<Part>,
}

impl Place {
    pub(super) fn of(placed: &Placed) -> Option<Self> {
        let (class, group) = (placed.class, placed.run);
        let &span = placed.spans.first()?;
        let part = placed.part;
        Some(Place {
            class,
            group,
            span,
            part,
        })
    }

    /// Which of the task's instances it is, if there are several.
    pub(crate) fn part(&self) -> Option<Part> {
        self.part
    }

    pub(crate) fn task(&self) -> TaskId {
        TaskId(self.span.tasks().start)
    }
}

impl RunRank {
    /// Of the run's plain tasks: behind those of its tasks that are queued.
    pub(super) fn plain(self) -> Rank {
        Rank {
            job_priority: self.priority(),
            task_priority: 0,
            tie: Tie::Ready { job: self.number() },
        }
    }
}

impl Policy {
    /// What of a segment is ready at its start: plain tasks for lanes, the others for the policy.
    pub(super) fn queue_sources(&mut self, run: &Run, segment: &Segment, effects: &mut Effects) {
        let Some(entry) = self.entry(run) else { return };
        let job = &segment.job;
        if job.queued == QueuedNodes::None {
            entry.ready.extend(segment.initial());
            self.offer(run);
            return note_sources(run, segment, effects);
        }
        for (at, &node) in (0..).zip(&job.csr.sources) {
            match job.is_queued(node) {
                true => entry.reached.push(job.task(node).0),
                false => entry.ready.push_back(segment.sources(at..at + 1)),
            }
        }
        note_sources(run, segment, effects);
        self.queue_reached(run, effects);
    }

    /// A node is ready that lanes don't start: a task, or an array's elements.
    pub(crate) fn queue_node(&mut self, run: &Run, node: u32, effects: &mut Effects) {
        let Some(entry) = self.entry(run) else { return };
        entry.reached.push(node);
        self.queue_reached(run, effects);
    }

    /// Nodes and elements that became ready while the flow had the entry for a sink, and that lanes don't start.
    pub(super) fn queue_reached(&mut self, run: &Run, effects: &mut Effects) {
        while let Some(entry) = self.entry(run) {
            let nodes = std::mem::take(&mut entry.reached);
            let opened = std::mem::take(&mut entry.opened);
            let succeeded = std::mem::take(&mut entry.succeeded);
            let readied = std::mem::take(&mut entry.readied);
            for tasks in succeeded {
                effects.note(run, || Fact::Succeeded(tasks));
            }
            for tasks in readied {
                effects.note(run, || Fact::Ready { tasks, by: None });
            }
            if nodes.is_empty() && opened.is_empty() {
                return self.offer(run);
            }
            for elements in opened {
                self.queue_elements(run, elements, effects);
            }
            for node in nodes {
                self.reach(run, node, effects);
            }
        }
    }

    /// Queues a task; opens an array.
    fn reach(&mut self, run: &Run, node: u32, effects: &mut Effects) {
        let Some(place) = run.locate(TaskId(node)) else {
            return;
        };
        let Some(array) = place.array() else {
            return self.queue(run, node..node + 1, effects);
        };
        let Some(entry) = self.entry(run) else { return };
        if place.segment.open(array, entry) {
            let settled = Settled {
                node,
                elements: 0..0,
                end: Some(place.segment.array_ended(array, entry)),
            };
            let run = entry.run.clone();
            self.elements_settled(&run, settled, effects);
        }
        effects.wake = true;
    }

    /// Elements of one array are ready that lanes don't start.
    pub(crate) fn queue_elements(&mut self, run: &Run, numbers: Range<u32>, effects: &mut Effects) {
        self.queue(run, numbers.start | ELEMENT..numbers.end | ELEMENT, effects);
    }

    /// Tasks, by id, are ready that lanes don't start: one task, or elements of one array.
    pub(super) fn queue(&mut self, run: &Run, tasks: Range<u32>, effects: &mut Effects) {
        let Some(entry) = self.entry(run) else { return };
        if !entry.reactivated {
            return self.queue_new(run, tasks, effects);
        }
        // Of what was reactivated, what is queued, or was begun, comes by once more from before.
        let is_new = |task: u32| !entry.ready_again.contains_key(&TaskId(task));
        let new: Vec<_> = ranges(tasks, is_new).collect();
        new.into_iter()
            .for_each(|tasks| self.queue_new(run, tasks, effects));
    }

    fn queue_new(&mut self, run: &Run, tasks: Range<u32>, effects: &mut Effects) {
        let Some(place) = run.locate(TaskId(tasks.start)) else {
            return;
        };
        let settings = place.segment.job.settings_of(TaskId(tasks.start));
        let start = settings.start_after;
        let start = start.map(|after| run.after(&place.segment, after));
        if self.waits_from_before(run, tasks.clone()) {
            let start = start.unwrap_or_default();
            return tasks.for_each(|task| self.queue_late(run, TaskId(task), start, effects));
        }
        let Some(start) = start.filter(|&start| effects.now() < start) else {
            return self.push(run, tasks, effects);
        };
        // What was cancelled before it became ready has nothing to wait for.
        let pending = |task: &TaskId| run.ended_state(*task).is_none();
        for task in tasks.map(TaskId).filter(pending) {
            effects.note(run, || Fact::Postponed { task, until: start });
            self.ready_at(run, task, start, effects);
        }
    }

    /// Whether some of these may not start yet for what happened in an earlier life of the run.
    fn waits_from_before(&mut self, run: &Run, mut tasks: Range<u32>) -> bool {
        let not_before = self.entry(run).map(|entry| &entry.not_before);
        not_before.is_some_and(|times| {
            !times.is_empty() && tasks.any(|task| times.contains_key(&TaskId(task)))
        })
    }

    fn queue_late(&mut self, run: &Run, task: TaskId, start: Time, effects: &mut Effects) {
        let before = self
            .entry(run)
            .and_then(|entry| entry.not_before.remove(&task));
        let start = before.map_or(start, |before| before.max(start));
        if run.ended_state(task).is_none() {
            self.ready_at(run, task, start, effects);
        }
    }

    /// The task may start as soon as there is room for it.
    pub(super) fn enqueue(&mut self, run: &Run, task: TaskId, effects: &mut Effects) {
        self.push(run, task.0..task.0 + 1, effects);
    }

    fn push(&mut self, run: &Run, tasks: Range<u32>, effects: &mut Effects) {
        let task = TaskId(tasks.start);
        let Some((class, rank, group)) = self.rank(run, task) else {
            return;
        };
        self.note_ready_again(run, tasks.clone());
        effects.note(run, || Fact::Ready {
            tasks: TaskSpan::of(tasks.clone()),
            by: None,
        });
        self.placing.push(class, rank, group, tasks);
        if self.placing.holds_slots(class) {
            self.overtake(Position::before(rank));
        }
        effects.wake = true;
    }

    fn note_ready_again(&mut self, run: &Run, tasks: Range<u32>) {
        if let Some(entry) = self.entry(run).filter(|entry| entry.reactivated) {
            tasks.for_each(|task| entry.note_ready_again(TaskId(task), true));
        }
    }

    /// What a task asks for, how urgent it is, and in which group it is counted.
    pub(super) fn rank(&mut self, run: &Run, task: TaskId) -> Option<(ClassId, Rank, RunKey)> {
        let place = run.locate(task)?;
        let entry = self.entry(run)?;
        let group = entry.group_of(place.task().0);
        let class = match entry.suspects.contains(&task) {
            true => self.placing.intern(&request(&place).alone()),
            false => self.class_of(run, &place)?,
        };
        let settings = place.segment.job.node_settings(place.node);
        let rank = Rank {
            task_priority: settings.priority.unwrap_or_default(),
            tie: tie(run, &place),
            ..run.rank().plain()
        };
        Some((class, rank, group))
    }

    /// The class of a node's tasks: looked up once for all nodes with the same settings.
    fn class_of(&mut self, run: &Run, place: &flow::Place<'_>) -> Option<ClassId> {
        let (job, node) = (&place.segment.job, place.node);
        let waits = job.is_asynchronous(node);
        let kind = (place.segment.number, job.settings.kind(node), waits);
        let entry = self.runs.get_mut(&run.rank())?;
        if let Some(&class) = entry.classes.get(&kind) {
            return Some(class);
        }
        let class = self.placing.intern(&request(place));
        entry.classes.insert(kind, class);
        Some(class)
    }

    /// Lanes that are at something less urgent are asked to look: see `wants_back`.
    pub(super) fn overtake(&self, position: Position) {
        self.recall(|rank| position < Position::before(rank.plain()));
    }

    /// A task that was taken will not be begun now.
    pub(crate) fn give_back_place(&mut self, run: &Run, place: &Place, effects: &mut Effects) {
        match place.part {
            Some(part) => self.regroup(run, place, part, effects),
            None => self.requeue(place, effects),
        }
    }

    pub(super) fn requeue(&mut self, place: &Place, effects: &mut Effects) {
        if let Some(rank) = self.limits.run_of(place.group) {
            if let Some(entry) = self.runs.get_mut(&rank) {
                entry.note_ready_again(place.task(), true);
            }
            self.placing.requeue(place.class, place.group, [place.span]);
            effects.wake = true;
        }
    }
}

/// Tasks that lanes start and that wait for nothing are ready from the start.
fn note_sources(run: &Run, segment: &Segment, effects: &mut Effects) {
    if !run.is_observed() {
        return;
    }
    let job = &segment.job;
    let sources = job.csr.sources.iter().copied();
    let plain = sources.filter(|&node| !job.is_queued(node) && !job.is_array(node));
    for tasks in TaskSpan::all(plain.map(|node| job.task(node))) {
        effects.note(run, || Fact::Ready { tasks, by: None });
    }
}

/// What each task of a node asks for.
fn request(place: &flow::Place<'_>) -> Request {
    let (job, node) = (&place.segment.job, place.node);
    let resources = job.node_settings(node).resources.clone();
    match job.is_asynchronous(node) {
        true => Request::waiting(resources.unwrap_or_default()),
        false => Request::blocking(resources.unwrap_or_default()),
    }
}

/// The order among equals.
fn tie(run: &Run, place: &flow::Place<'_>) -> Tie {
    let job = run.rank().number();
    match run.job().task_order {
        TaskOrder::Ready => Tie::Ready { job },
        TaskOrder::Interleaved => Tie::Interleaved,
        TaskOrder::Submission => Tie::Submission {
            job,
            // The elements of an array go by their own numbers, as the ends of their entries.
            order: u64::from(place.segment.number) << 32 | u64::from(place.node),
        },
    }
}
