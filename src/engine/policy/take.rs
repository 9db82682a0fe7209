//! Who gets what to do next.

use super::super::flow::Ready;
use super::node::{Ask, Charge, NodeKey};
use super::timers::Alarm;
use super::{Effects, Item, Policy, Run, RunRank};
use crate::executor::NodeSpec;
use crate::model::{ELEMENT, TaskId};
use crate::sync::Signal;
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
    Queued(TaskId),
}

impl Policy {
    /// Adds a node; says whether there are others.
    pub(crate) fn join(&mut self, spec: NodeSpec) -> (NodeKey, bool) {
        (self.nodes.join(spec), self.nodes.are_several())
    }

    pub(crate) fn leave(&mut self, node: NodeKey) {
        self.nodes.leave(node);
    }

    /// The node has another number of slots now. What is in use beyond them is given back between tasks.
    pub(crate) fn resize(&mut self, node: NodeKey, slots: u32, effects: &mut Effects) {
        self.nodes.resize(node, slots);
        self.runs
            .values()
            .for_each(|entry| entry.run.flow().gate.raise());
        effects.wake = true;
    }

    /// A worker stands in for a body that waits, or no longer does.
    pub(crate) fn stand_in(&mut self, node: NodeKey, more: bool, effects: &mut Effects) {
        self.nodes.stand_in(node, more);
        if !more {
            self.runs
                .values()
                .for_each(|entry| entry.run.flow().gate.raise());
        }
        effects.wake = true;
    }

    /// The next work for a node: of the most urgent run that has some. `lanes` says that the taker is a lane, which
    /// shares what it takes; others get at most `room` tasks.
    pub(crate) fn take(
        &mut self,
        node: NodeKey,
        room: u32,
        lanes: bool,
        effects: &mut Effects,
    ) -> Option<Taken> {
        let ranks: Vec<_> = self.runs.keys().copied().collect();
        let taken = ranks
            .into_iter()
            .find_map(|rank| self.take_from(rank, node, room, lanes))?;
        // Whoever gets something wakes the next, as long as there is more.
        effects.wake = self.runs.values().any(super::Entry::has_or_shares_work);
        Some(taken)
    }

    fn take_from(&mut self, rank: RunRank, node: NodeKey, room: u32, lanes: bool) -> Option<Taken> {
        self.take_queued(rank, node).or_else(|| {
            if !self.nodes.has_room(node, Ask::Slot) {
                return None;
            }
            let entry = self.runs.get_mut(&rank)?;
            let signal = entry.run.flow().gate.signal();
            let work = match lanes {
                true if !entry.ready.is_empty() => {
                    TakenWork::Shift(entry.ready.drain(..).collect(), signal)
                }
                true if entry.run.flow().has_surplus() => TakenWork::Shift(Vec::new(), signal),
                false if !entry.ready.is_empty() => TakenWork::Tasks(cut(entry, room), signal),
                _ => return None,
            };
            let charge = self.nodes.charge(node, Ask::Slot, &entry.run.clone())?;
            Some(Taken { charge, work })
        })
    }

    fn take_queued(&mut self, rank: RunRank, node: NodeKey) -> Option<Taken> {
        let entry = self.runs.get_mut(&rank)?;
        // Those that have ended meanwhile are passed over.
        while entry
            .queued
            .front()
            .is_some_and(|&task| entry.run.ended_state(task).is_some())
        {
            entry.queued.pop_front();
        }
        let task = *entry.queued.front()?;
        let ask = ask_of(&entry.run, task);
        if !self.nodes.has_room(node, ask) {
            return None;
        }
        entry.queued.pop_front();
        let charge = self.nodes.charge(node, ask, &entry.run.clone())?;
        Some(Taken {
            charge,
            work: TakenWork::Queued(task),
        })
    }

    /// Begins an attempt, unless the task has ended meanwhile.
    pub(crate) fn begin(&mut self, run: &Run, task: TaskId, effects: &mut Effects) -> Option<u32> {
        let settings = run.job().settings_of(task);
        let entry = self
            .runs
            .get_mut(&run.rank())
            .filter(|_| run.ended_state(task).is_none())?;
        let alarm = Alarm::TimeLimit(run.rank(), task, entry.next_attempt(task));
        let timer = settings
            .time_limit
            .map(|limit| self.timers.set(effects.now + limit, alarm));
        effects.retime |= timer.is_some();
        if settings.total_time_limit.is_some() {
            entry.first_starts.entry(task).or_insert(effects.now);
        }
        Some(entry.lease(task, effects.now, timer))
    }

    /// For takers that are no lanes: the tasks that an item stands for. Arrays are opened, what the policy starts is
    /// queued.
    pub(crate) fn expand(&mut self, run: &Run, item: Item, effects: &mut Effects) -> Vec<TaskId> {
        let job = run.job();
        let nodes: Vec<u32> = match item.ready() {
            Ready::Elements(numbers) => {
                return numbers.map(|number| TaskId(number | ELEMENT)).collect();
            }
            Ready::Node(node) => vec![node],
            Ready::Sources(range) => {
                job.csr.sources[range.start as usize..range.end as usize].to_vec()
            }
        };
        let (opened, tasks): (Vec<u32>, Vec<u32>) = nodes
            .into_iter()
            .partition(|&node| job.array_of_node(node).is_some() || is_queued(run, node));
        opened
            .into_iter()
            .for_each(|node| self.queue_node(run, node, effects));
        tasks.into_iter().map(TaskId).collect()
    }

    pub(super) fn charge_again(
        &mut self,
        node: NodeKey,
        ask: Ask,
        run: &Arc<Run>,
    ) -> Option<Arc<Charge>> {
        if self.nodes.has_room(node, ask) {
            self.nodes.charge(node, ask, run)
        } else {
            None
        }
    }

    /// Tasks that were taken and not begun.
    pub(crate) fn give_back_tasks(&mut self, run: &Run, tasks: Vec<TaskId>, effects: &mut Effects) {
        let Some(entry) = self.entry(run) else { return };
        for task in tasks {
            match run.job().locate(task) {
                Some((node, _)) if !is_queued(run, node) && !entry.attempts.contains_key(&task) => {
                    entry.ready.push_back(Item::task(task));
                }
                _ => entry.queued.push_back(task),
            }
        }
        effects.wake = true;
    }

    pub(crate) fn is_leased(&mut self, run: &Run, task: TaskId) -> bool {
        self.entry(run)
            .is_some_and(|entry| entry.leased.contains_key(&task))
    }

    pub(super) fn give_back_charge(&mut self, node: NodeKey, ask: Ask, effects: &mut Effects) {
        self.nodes.give_back(node, ask);
        effects.changed = true;
        effects.wake = self.runs.values().any(super::Entry::has_work);
    }
}

/// At most `room` of the ready tasks.
fn cut(entry: &mut super::Entry, room: u32) -> Vec<Item> {
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

fn ask_of(run: &Run, task: TaskId) -> Ask {
    match run.job().locate(task) {
        Some((node, _)) if run.job().units[node as usize].kind().asynchronous => Ask::AsyncSlot,
        _ => Ask::Slot,
    }
}

fn is_queued(run: &Run, node: u32) -> bool {
    run.job().is_queued(node)
}
