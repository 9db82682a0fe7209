//! Additions to open runs: who may add, how late edges are tied, and when no more are taken.

use super::walk::Walk;
use super::{Effects, Policy, Run};
use crate::engine::draft::Adder;
use crate::engine::flow::{Segment, Settled, Verdict};
use crate::engine::late::{EachEdge, LateEdge};
use crate::engine::open::{Admits, Open};
use crate::engine::standing::Standing;
use crate::job::Late;
use crate::model::{Error, ErrorKind, Result, TaskId};
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
        let Some(group) = self.entry(run).map(|entry| entry.whole_group()) else {
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
        // An array that can't succeed any more may have elements that go on.
        let is_open = |late: &Late| !Standing::of(run, late.from).is_over && unwatched(late);
        if segment.job.late.iter().any(is_open) {
            self.quiesce(run, effects);
        }
        let mut walk = Walk::new(run);
        for (at, late) in (0..).zip(&segment.job.late) {
            match late.is_each() {
                true => self.tie_each(run, open, segment, late, &mut walk),
                false => self.tie_node(run, open, segment, (at, late), &mut walk),
            }
        }
        let skipped = self.finish_walk(run, walk, effects);
        self.report(run, skipped, effects);
    }

    fn tie_node(
        &mut self,
        run: &Run,
        open: &Open,
        segment: &Segment,
        (at, late): (u32, &Late),
        walk: &mut Walk<'_>,
    ) {
        let Some(place) = run.locate(late.from) else {
            return;
        };
        let (to, needs) = (segment.job.task(late.node), late.needs);
        let standing = Standing::of(run, late.from);
        open.state().late.add(late.from, LateEdge { to, needs, at });
        if !standing.is_over {
            place.watch();
        }
        if standing.lets_pass(needs)
            && let Some(entry) = self.entry(run)
        {
            segment.arrive_late(at, late.node, entry);
        }
        if standing.keeps(needs) && !run.job().rules.keep_blocked() {
            walk.skip(to, late.from);
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
        let first = place.segment.job.arrays[from].first;
        let len = segment.job.arrays[array].len;
        let ends: Vec<_> = (0..len)
            .map(|index| {
                let ended = place.segment.array(from).state(index);
                ended.map(|_| run.verdict(TaskId::element(first + index)))
            })
            .collect();
        let passed = |end: &Option<Verdict>| *end == Some(Verdict::Succeeded);
        let waits = ends.iter().map(|end| !passed(end)).collect();
        open.state()
            .late
            .add_each(late.from, EachEdge { to, waits });
        if ends.contains(&None) {
            place.watch();
        }
        for (index, end) in (0..).zip(ends) {
            match end {
                None => (),
                Some(Verdict::Succeeded) => {
                    if let Some(entry) = self.entry(run) {
                        segment.elements_advance(array, index..index + 1, entry);
                    }
                }
                Some(_) if run.job().rules.keep_blocked() => (),
                Some(_) => {
                    let by = TaskId::element(first + index);
                    walk.skip_elements(to, index..index + 1, by);
                }
            }
        }
    }

    /// A task, element, or array as a whole, has ended: what was added and waits for it waits no more, if it may go on.
    pub(in crate::engine) fn fire_late(
        &mut self,
        run: &Run,
        task: TaskId,
        verdict: Verdict,
        effects: &mut Effects,
    ) {
        if let Some(entry) = self.entry(run) {
            run.pass_late(task, verdict, entry);
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
        for (to, index) in open.take_each(node, &settled.elements) {
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
            self.fire_late(run, element, Verdict::Succeeded, effects);
        }
        if let Some(end) = settled.end {
            self.fire_late(run, node, end.verdict, effects);
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
