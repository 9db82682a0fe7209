//! Additions to open runs: who may add, how late edges are tied, and when no more are taken.

use super::settle::Walk;
use super::{Effects, Policy, Run};
use crate::engine::draft::Adder;
use crate::engine::flow::{Segment, Settled};
use crate::engine::open::{Admits, LateEdge, Open, Waits};
use crate::job::Late;
use crate::model::{Error, ErrorKind, Result, TaskId, TaskState};
use std::sync::Arc;

impl Policy {
    /// Takes an addition in as a whole, or leaves it where it is and says why not.
    pub(in crate::engine) fn take_addition(
        &mut self,
        run: &Run,
        addition: &mut Option<Segment>,
        adder: Adder,
        effects: &mut Effects,
    ) -> Result<()> {
        self.admit(run, adder)?;
        let (Some(open), Some(segment)) = (&run.open, &mut *addition) else {
            return Ok(());
        };
        let offered = open.offer.nodes.as_deref().unwrap_or_default();
        self.refuse_too_large(&segment.job, offered)?;
        let mut state = open.state();
        let entered = state.enter_names(&segment.job);
        entered.map_err(|defects| Error::invalid_job(run.name(), defects))?;
        state.joined += 1;
        segment.number = state.joined;
        drop(state);
        if let Some(segment) = addition.take().map(Arc::new) {
            self.take_in(run, open, &segment, effects);
        }
        Ok(())
    }

    fn take_in(&mut self, run: &Run, open: &Open, segment: &Arc<Segment>, effects: &mut Effects) {
        run.flow().add(segment);
        let Some(group) = self.entry(run).map(|entry| entry.group()) else {
            return;
        };
        let arrays = self.limit_arrays(run.rank(), group, &segment.job);
        if let Some(entry) = self.entry(run) {
            entry.add_arrays(arrays);
        }
        self.set_deadlines(run, segment, effects);
        self.tie_late(run, open, segment, effects);
        self.queue_sources(run, segment, effects);
        self.queue_fired(run, effects);
    }

    /// Whether tasks may be added, by a task or by somebody with a handle.
    pub(in crate::engine) fn admit(&mut self, run: &Run, adder: Adder) -> Result<()> {
        let admits = run.open.as_ref().map(|open| open.state().admits);
        let counts = |(task, attempt): (TaskId, Option<u32>), policy: &mut Self| {
            let current = attempt.is_none_or(|attempt| policy.is_current(run, task, attempt));
            current && run.ended_state(task).is_none()
        };
        let refused = |kind, message| Err(Error::new(kind, message).in_job(run.name()));
        match (admits, adder) {
            _ if self.entry(run).is_none() => refused(
                ErrorKind::Sealed,
                "has ended and takes no more tasks; submit another job",
            ),
            (None, _) => refused(
                ErrorKind::Sealed,
                "was submitted whole and takes no more tasks; make it with `Job::open`",
            ),
            (Some(Admits::Nobody), _) => refused(
                ErrorKind::Sealed,
                "was sealed and takes no more tasks; add them before `seal`",
            ),
            (_, Some(task)) if !counts(task, self) => refused(
                ErrorKind::Cancelled,
                "takes no tasks from one that has ended; ask `Context::is_cancelled`",
            ),
            (_, None) if self.closed => Err(crate::engine::pool_closed().in_job(run.name())),
            (Some(Admits::Tasks), None) => refused(
                ErrorKind::Sealed,
                "takes tasks only from its own, since its handle was dropped; keep the handle",
            ),
            _ => Ok(()),
        }
    }

    /// From now on nobody may add tasks, or only those that run may. The run ends with the last task.
    pub(crate) fn seal(&mut self, run: &Run, admits: Admits, effects: &mut Effects) {
        let Some(open) = &run.open else { return };
        let mut state = open.state();
        if state.admits != Admits::Nobody {
            state.admits = admits;
        }
        drop(state);
        if run.flow().seal() {
            self.end(run, effects);
        }
    }

    /// No handle can add to any run any more.
    pub(super) fn seal_all(&mut self, effects: &mut Effects) {
        let runs: Vec<_> = self.runs.values().map(|entry| entry.run.clone()).collect();
        for run in runs {
            self.seal(&run, Admits::Tasks, effects);
        }
    }
}

/// Late edges.
impl Policy {
    /// Ties an addition to what the run has: counts down what has succeeded, watches what has not ended, and skips what
    /// can't run any more. As if the edges had been there from the start.
    fn tie_late(&mut self, run: &Run, open: &Open, segment: &Segment, effects: &mut Effects) {
        // What is not watched might end without a word while it is looked at.
        let unwatched = |late: &Late| {
            run.locate(late.from)
                .is_some_and(|place| !place.is_watched())
        };
        let is_open = |late: &Late| run.ended_state(late.from).is_none() && unwatched(late);
        if segment.job.late.iter().any(is_open) {
            self.quiesce(run, effects);
        }
        let mut walk = Walk::new(run);
        for late in &segment.job.late {
            match late.each {
                true => self.tie_each(run, open, segment, late, &mut walk),
                false => self.tie_node(run, open, segment, late, &mut walk),
            }
        }
        walk.skip_dependents();
        let skipped = walk.counted();
        self.queue_reached(run, effects);
        self.report(run, skipped, effects);
    }

    fn tie_node(
        &mut self,
        run: &Run,
        open: &Open,
        segment: &Segment,
        late: &Late,
        walk: &mut Walk<'_>,
    ) {
        let (to, ended) = (segment.job.task(late.node), run.ended_state(late.from));
        let waits = Waits::Node(ended.is_none());
        open.state().add_late(late.from, LateEdge { to, waits });
        match ended {
            None => {
                if let Some(place) = run.locate(late.from) {
                    place.watch();
                }
            }
            Some(TaskState::Succeeded) => {
                if let Some(entry) = self.entry(run) {
                    segment.arrive(late.node, entry);
                }
            }
            Some(_) => walk.end(to, TaskState::Skipped),
        }
    }

    fn tie_each(
        &mut self,
        run: &Run,
        open: &Open,
        segment: &Segment,
        late: &Late,
        walk: &mut Walk<'_>,
    ) {
        let to = segment.job.task(late.node);
        let place = run.locate(late.from);
        let from = place
            .as_ref()
            .and_then(|place| Some((place, place.array()?)));
        let (Some((place, from)), Some(array)) = (from, segment.job.array_of_node(late.node))
        else {
            return;
        };
        let len = segment.job.arrays[array].len;
        let states: Vec<_> = (0..len)
            .map(|index| place.segment.array(from).state(index))
            .collect();
        let waits = Waits::Each(states.iter().map(Option::is_none).collect());
        open.state().add_late(late.from, LateEdge { to, waits });
        if states.contains(&None) {
            place.watch();
        }
        for (index, state) in (0..).zip(states) {
            match state {
                None => (),
                Some(TaskState::Succeeded) => {
                    if let Some(entry) = self.entry(run) {
                        segment.elements_advance(array, index..index + 1, entry);
                    }
                }
                Some(_) => walk.end_range(to, index..index + 1, TaskState::Skipped),
            }
        }
    }

    /// A task, element, or array as a whole, has succeeded: what was added and waits for it waits no more.
    pub(in crate::engine) fn fire_late(&mut self, run: &Run, task: TaskId, effects: &mut Effects) {
        let Some(open) = &run.open else { return };
        let mut state = open.state();
        let edges = state.late_of(task).into_iter().flatten();
        let passed = edges.filter_map(|edge| edge.pass().then_some(edge.to));
        let passed: Vec<_> = passed.collect();
        drop(state);
        for place in passed.into_iter().filter_map(|to| run.locate(to)) {
            if let Some(entry) = self.entry(run) {
                place.segment.arrive(place.node, entry);
            }
        }
        self.queue_fired(run, effects);
    }

    /// Elements have succeeded, and perhaps their array with them.
    pub(in crate::engine) fn fire_late_settled(
        &mut self,
        run: &Run,
        settled: &Settled,
        effects: &mut Effects,
    ) {
        let Some(open) = &run.open else { return };
        let node = TaskId(settled.node);
        let mut passed = Vec::new();
        for edge in open.state().late_of(node).into_iter().flatten() {
            let to = edge.to;
            let news = settled
                .elements
                .clone()
                .filter(|&index| edge.pass_element(index));
            passed.extend(news.map(|index| (to, index)));
        }
        for (to, index) in passed {
            let place = run.locate(to);
            let array = place
                .as_ref()
                .and_then(|place| Some((place, place.array()?)));
            if let Some(((place, array), entry)) = array.zip(self.entry(run)) {
                place
                    .segment
                    .elements_advance(array, index..index + 1, entry);
            }
        }
        for element in run.elements(node, &settled.elements) {
            self.fire_late(run, element, effects);
        }
        if settled.completed {
            self.fire_late(run, node, effects);
        }
        self.queue_fired(run, effects);
    }

    fn queue_fired(&mut self, run: &Run, effects: &mut Effects) {
        if let Some(entry) = self.entry(run) {
            effects.wake |= !entry.ready.is_empty();
        }
        self.queue_reached(run, effects);
    }
}
