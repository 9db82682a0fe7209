//! Who gets what to do next.

use super::super::flow::Ready;
use super::charge::{Charge, Share};
use super::entry::Entry;
use super::placing::{NodeKey, Part, Placed, Position, Room};
use super::queue::Place;
use super::timers::Alarm;
use super::{Effects, Item, Policy, Run, RunRank};
use crate::engine::chronicle::{Fact, Spot};
use crate::model::{ELEMENT, TaskId};
use crate::sync::Signal;
use std::ops::Range;
use std::sync::Arc;

/// What a worker was given to do, and the share of its node that it was given for it.
pub(crate) struct Taken {
    pub(crate) charge: Arc<Charge>,
    pub(crate) work: TakenWork,
}

pub(crate) enum TakenWork {
    /// For a lane: ready work of the run, or none to begin with and the right to steal; and the gate's signal.
    Shift(Vec<Item>, Signal),
    /// Tasks that may be begun, one after another.
    Tasks(Vec<Item>, Signal),
    /// One task that the policy started.
    Queued(Place),
    /// Such a task, which is begun: what the worker of a lane takes, so that it need not ask again.
    Begun(Begun),
}

/// An attempt that is begun, or one instance of it.
pub(crate) struct Begun {
    pub(crate) task: TaskId,
    pub(crate) part: Option<Part>,
    pub(crate) attempt: u32,
}

/// What a worker takes of what the policy starts.
const ONE: Room = Room {
    tasks: 1,
    sequential: false,
};

impl Policy {
    /// The next work for a node, the most urgent first. `lanes` says that the taker is a lane, which shares what it
    /// takes; others get at most `room` plain tasks. A run's plain tasks are behind its queued ones.
    pub(crate) fn take(
        &mut self,
        node: NodeKey,
        room: u32,
        lanes: bool,
        effects: &mut Effects,
    ) -> Option<Taken> {
        self.discard_ended();
        let taken = match self.first_plain(lanes) {
            None => self.take_queued(node, None),
            Some(rank) => self
                .take_queued(node, Some(Position::behind(rank.plain())))
                .or_else(|| self.take_plain(rank, node, room, lanes))
                .or_else(|| self.take_queued(node, None)),
        };
        effects.wake_all |= !self.placing.woken().is_empty();
        let taken = taken?;
        // Whoever gets something wakes the next, as long as there is more.
        effects.wake = self.has_or_shares_work();
        Some(match lanes {
            true => self.begin_taken(taken, effects),
            false => {
                self.charges.begins_later(&taken.charge);
                taken
            }
        })
    }

    /// The worker of a lane begins a task at once that the policy started.
    fn begin_taken(&mut self, taken: Taken, effects: &mut Effects) -> Taken {
        let Taken { charge, work } = taken;
        let begun = match &work {
            TakenWork::Queued(place) => {
                self.begin_on(&charge, place.task(), true, place.part(), effects)
            }
            _ => None,
        };
        let work = begun.map_or(work, TakenWork::Begun);
        Taken { charge, work }
    }

    /// Begins an attempt on a charge's account, or one instance of it, unless the task is over meanwhile; `queued` as for
    /// [`begin`](Self::begin).
    pub(crate) fn begin_on(
        &mut self,
        charge: &Charge,
        task: TaskId,
        queued: bool,
        part: Option<Part>,
        effects: &mut Effects,
    ) -> Option<Begun> {
        let (run, spot) = (charge.run(), charge.spot());
        let attempt = match part {
            Some(part) => self.begin_part(run, task, part, spot, effects),
            None => self.begin(run, task, queued, spot, effects),
        }?;
        charge.set_task(task);
        Some(Begun {
            task,
            part,
            attempt,
        })
    }

    /// Nothing is kept for tasks that have ended.
    fn discard_ended(&mut self) {
        if self.has_stale() {
            let (runs, limits) = (&self.runs, &self.limits);
            self.placing.discard_heads(&mut |group, task| {
                let entry = limits.run_of(group).and_then(|rank| runs.get(&rank));
                entry.is_some_and(|entry| entry.run.ended_state(TaskId(task)).is_some())
            });
        }
    }

    fn take_plain(
        &mut self,
        rank: RunRank,
        node: NodeKey,
        room: u32,
        lanes: bool,
    ) -> Option<Taken> {
        let run = self.runs.get(&rank)?.run.clone();
        let charge = self.charge_slot(node, &run)?;
        let entry = self.runs.get_mut(&rank)?;
        let signal = run.flow().gate.signal();
        let work = match lanes {
            true => TakenWork::Shift(entry.ready.drain(..).collect(), signal),
            false => TakenWork::Tasks(cut(entry, room), signal),
        };
        self.offer_taken(rank);
        Some(Taken { charge, work })
    }

    /// A slot for a worker on plain tasks of a run.
    pub(super) fn charge_slot(&mut self, node: NodeKey, run: &Arc<Run>) -> Option<Arc<Charge>> {
        let allocation = self.placing.charge_slot(node, run.rank().plain())?;
        let share = Share {
            node,
            allocation,
            group: None,
        };
        Some(self.charges.make(run, share))
    }

    fn take_queued(&mut self, node: NodeKey, before: Option<Position>) -> Option<Taken> {
        loop {
            let limits = &self.limits;
            let mut may = |group| limits.room(group);
            let placed = self.placing.take(node, ONE, before, &mut may)?;
            if let Some(taken) = self.charge_placed(node, placed) {
                return Some(taken);
            }
        }
    }

    /// Tasks that have ended meanwhile are passed over.
    fn charge_placed(&mut self, node: NodeKey, placed: Placed) -> Option<Taken> {
        let (place, group) = (Place::of(&placed), placed.run);
        let rank = self.limits.run_of(group);
        let run = rank.and_then(|rank| self.runs.get(&rank));
        let run = run.map(|entry| entry.run.clone());
        let started = place.zip(run).filter(|(place, run)| self.claim(run, place));
        let Some((place, run)) = started else {
            self.placing.release(node, placed.allocation);
            return None;
        };
        self.limits.begin(group);
        let share = Share {
            node,
            allocation: placed.allocation,
            group: Some(group),
        };
        Some(Taken {
            charge: self.charges.make(&run, share),
            work: TakenWork::Queued(place),
        })
    }

    /// Begins an instance of a task, unless what was placed with it is over meanwhile: with the first, an attempt begins.
    fn begin_part(
        &mut self,
        run: &Run,
        task: TaskId,
        part: Part,
        spot: Spot,
        effects: &mut Effects,
    ) -> Option<u32> {
        let begun = self.entry(run)?.join(task, part)?;
        let attempt = begun.or_else(|| self.begin(run, task, true, spot, effects))?;
        self.entry(run)?.set_muster_attempt(task, attempt);
        Some(attempt)
    }

    /// Begins an attempt, unless the task has ended, or its run was disabled, meanwhile. `queued` says that it was in the
    /// policy's queue; otherwise it is one that lanes may run.
    fn begin(
        &mut self,
        run: &Run,
        task: TaskId,
        queued: bool,
        spot: Spot,
        effects: &mut Effects,
    ) -> Option<u32> {
        if run.is_disabled() {
            self.put_back(run, task, queued, effects);
            return None;
        }
        let place = run.locate(task)?;
        let job = &place.segment.job;
        let settings = job.settings_of(task);
        // A command's executor keeps the limit, so that the attempt is over when its processes are.
        let time_limit = settings.time_limit.filter(|_| !job.is_command(task));
        let is_free = |entry: &mut Entry| match queued {
            true => place.ended(task).is_none() && entry.may_begin(task),
            false => place.is_for_lanes(task),
        };
        let entry = self.runs.get_mut(&run.rank())?;
        if !is_free(entry) {
            return None;
        }
        let alarm = Alarm::TimeLimit(run.rank(), task, entry.next_attempt(task));
        let timer = time_limit.map(|limit| self.timers.set(effects.now() + limit, alarm));
        effects.retime |= timer.is_some();
        if let Some(limit) = settings.total_time_limit {
            let until = effects.now() + limit;
            entry.attempts_until.entry(task).or_insert(until);
        }
        let attempt = entry.lease(task, effects.now(), timer);
        if settings.stalled_after.is_some() {
            self.watch_attempt(run, task, attempt, effects);
        }
        effects.note(run, || Fact::Started {
            task,
            attempt,
            spot,
        });
        Some(attempt)
    }

    /// For takers that are no lanes: the tasks that an item stands for. Arrays are opened, what the policy starts is
    /// queued.
    pub(crate) fn expand(&mut self, run: &Run, item: Item, effects: &mut Effects) -> Vec<TaskId> {
        let nodes: Vec<u32> = match item.ready() {
            Ready::Elements(numbers) => {
                return numbers.map(|number| TaskId(number | ELEMENT)).collect();
            }
            Ready::Node(node) => vec![node],
            Ready::Sources(range) => run.sources(range),
        };
        let (opened, tasks): (Vec<u32>, Vec<u32>) = nodes
            .into_iter()
            .partition(|&node| run.is_array(node) || run.is_queued(node));
        opened
            .into_iter()
            .for_each(|node| self.queue_node(run, node, effects));
        tasks.into_iter().map(TaskId).collect()
    }

    /// Plain tasks that were taken and not begun.
    pub(crate) fn give_back_tasks(&mut self, run: &Run, tasks: Vec<TaskId>, effects: &mut Effects) {
        let items = tasks.into_iter().map(Item::task).collect();
        self.give_back(run, items, effects);
    }

    /// How many of a run's attempts an executor has been given one by one.
    pub(crate) fn leases_of(&mut self, run: &Run) -> u64 {
        self.entry(run).map_or(0, |entry| entry.leased.len() as u64)
    }
}

/// At most `room` of the ready tasks.
fn cut(entry: &mut Entry, room: u32) -> Vec<Item> {
    let mut left = room.max(1);
    let mut items = Vec::new();
    while left > 0 {
        let Some(mut item) = entry.ready.pop_front() else {
            break;
        };
        entry.ready.extend(item.split_off(left));
        left -= item.len().min(left);
        items.push(item);
    }
    items
}

impl Run {
    /// Whether only the policy starts a node.
    pub(super) fn is_queued(&self, node: u32) -> bool {
        let place = self.locate(TaskId(node));
        place.is_some_and(|place| {
            place.segment.job.is_queued(place.node)
                || place.segment.word(place.node).is_reactivated()
        })
    }

    pub(in crate::engine) fn is_array(&self, node: u32) -> bool {
        let place = self.locate(TaskId(node));
        place.is_some_and(|place| place.array().is_some())
    }

    /// The nodes that an item of sources stands for.
    fn sources(&self, positions: Range<u32>) -> Vec<u32> {
        let Some(place) = self.locate(TaskId(positions.start)) else {
            return Vec::new();
        };
        let job = &place.segment.job;
        let positions = (positions.start - job.base) as usize..(positions.end - job.base) as usize;
        let sources = job.csr.sources[positions].iter();
        sources.map(|&node| job.task(node).0).collect()
    }
}
