//! Tasks with several instances, which run at once: one attempt is all of them.

use super::entry::{Entry, LeaseKey};
use super::placing::{Part, Placed};
use super::queue::Place;
use super::settle::Ended;
use super::{Effects, Order, Policy, Run};
use crate::model::{Returned, TaskId};

/// The instances of a task that were placed together.
pub(super) struct Muster {
    /// Which gang of the placing it is. Parts of another are of an attempt that is over.
    gang: u64,
    /// Once the first instance was begun.
    attempt: Option<u32>,
    stages: Vec<Stage>,
}

/// How far an instance has come.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Placed,
    Begun,
    Stored,
    Succeeded,
}

/// What the success of an instance means for its task.
pub(super) enum PartEnd {
    /// Others have not ended.
    Wait,
    /// It was the last.
    All,
    /// Nothing was stored: its executor is wrong.
    Nothing,
}

impl Muster {
    fn new(part: Part) -> Self {
        Muster {
            gang: part.gang,
            attempt: None,
            stages: vec![Stage::Placed; part.instances as usize],
        }
    }

    /// Instances whose bodies may be running.
    fn running(&self) -> impl Iterator<Item = u32> {
        let stages = (0..).zip(&self.stages);
        stages
            .filter(|(_, stage)| matches!(stage, Stage::Begun | Stage::Stored))
            .map(|(instance, _)| instance)
    }
}

impl Entry {
    /// An instance was placed. Whether it is not of a gang that is over.
    pub(super) fn muster(&mut self, task: TaskId, part: Part) -> bool {
        let muster = self
            .musters
            .entry(task)
            .or_insert_with(|| Muster::new(part));
        muster.gang == part.gang
    }

    /// Begins an instance: the first begins the attempt. `None` if the gang is over.
    pub(super) fn join(&mut self, task: TaskId, part: Part) -> Option<Option<u32>> {
        let muster = self.musters.get_mut(&task);
        let muster = muster.filter(|muster| muster.gang == part.gang)?;
        muster.stages[part.instance as usize] = Stage::Begun;
        Some(muster.attempt)
    }

    /// The attempt that the first instance began.
    pub(super) fn set_muster_attempt(&mut self, task: TaskId, attempt: u32) {
        if let Some(muster) = self.musters.get_mut(&task) {
            muster.attempt = Some(attempt);
        }
    }

    /// Whether an instance of the current attempt may store its output now, if the task has several.
    pub(super) fn may_store_part(&mut self, task: TaskId, instance: u32) -> Option<bool> {
        let stage = self
            .musters
            .get_mut(&task)?
            .stages
            .get_mut(instance as usize)?;
        let may = *stage == Stage::Begun;
        if may {
            *stage = Stage::Stored;
        }
        Some(may)
    }

    /// An instance of the current attempt has succeeded, if the task has several.
    pub(super) fn part_succeeded(&mut self, task: TaskId, instance: u32) -> Option<PartEnd> {
        let muster = self.musters.get_mut(&task)?;
        let stage = muster.stages.get_mut(instance as usize)?;
        if *stage != Stage::Stored {
            return Some(PartEnd::Nothing);
        }
        *stage = Stage::Succeeded;
        let all = muster.stages.iter().all(|&stage| stage == Stage::Succeeded);
        Some(if all { PartEnd::All } else { PartEnd::Wait })
    }

    /// The holders of a task's current attempt: one, or one for each instance that is running.
    pub(super) fn keys(&self, task: TaskId, attempt: u32) -> Vec<LeaseKey> {
        let key = |instance| self.key(task, attempt, instance);
        match self.musters.get(&task) {
            None => vec![key(0)],
            Some(muster) => muster.running().map(key).collect(),
        }
    }
}

impl Policy {
    /// An attempt is over, whatever of it is still running: it is stopped, and what was not begun is withdrawn. `but` the
    /// instance that has ended by itself. The bodies may go on.
    pub(super) fn stop_attempt(
        &mut self,
        run: &Run,
        task: TaskId,
        attempt: u32,
        but: Option<u32>,
        effects: &mut Effects,
    ) {
        let Some(entry) = self.entry(run) else { return };
        let keys = entry.keys(task, attempt).into_iter();
        let keys: Vec<_> = keys.filter(|key| Some(key.instance) != but).collect();
        entry.leave_strays(task, keys.len() as u32);
        self.disband(run, task);
        keys.into_iter()
            .for_each(|key| self.order(Order::Stop(key), effects));
    }

    /// Takes what the queue gave out: a task, or an instance of one that is no part of a gang that is over.
    pub(super) fn claim(&mut self, run: &Run, place: &Place) -> bool {
        let task = place.task();
        let Some(entry) = self.entry(run).filter(|_| run.ended_state(task).is_none()) else {
            return false;
        };
        let Some(part) = place.part() else {
            return entry.claim(task);
        };
        if entry.musters.contains_key(&task) {
            return entry.muster(task, part);
        }
        let current = entry.claim(task);
        match current {
            true => drop(entry.muster(task, part)),
            false => self.placing.withdraw(part.gang),
        }
        current
    }

    /// A gang is over: none of its instances is begun any more.
    pub(super) fn disband(&mut self, run: &Run, task: TaskId) {
        let muster = self
            .entry(run)
            .and_then(|entry| entry.musters.remove(&task));
        if let Some(muster) = muster {
            self.placing.withdraw(muster.gang);
        }
    }

    /// An instance will not be begun where it was placed: all of them are placed anew.
    pub(super) fn regroup(&mut self, run: &Run, place: &Place, part: Part, effects: &mut Effects) {
        let task = place.task();
        let Some(entry) = self.entry(run) else { return };
        let muster = entry.musters.get(&task);
        match muster
            .filter(|muster| muster.gang == part.gang)
            .map(|muster| muster.attempt)
        {
            None => {}
            Some(None) => {
                self.disband(run, task);
                self.requeue(place, effects);
            }
            Some(Some(attempt)) => {
                let taken_away = Ended::Returned(Returned::TakenAway);
                self.complete(run, task, (attempt, part.instance), taken_away, effects);
            }
        }
    }

    /// A node has left for which instances had been placed that it had not asked for.
    pub(super) fn regroup_all(&mut self, parts: Vec<Placed>, effects: &mut Effects) {
        for placed in parts {
            let rank = self.limits.run_of(placed.run);
            let run = rank
                .and_then(|rank| self.runs.get(&rank))
                .map(|entry| entry.run.clone());
            if let Some(((run, place), part)) = run.zip(Place::of(&placed)).zip(placed.part)
                && run.ended_state(place.task()).is_none()
            {
                // No instance may have been asked for before.
                if let Some(entry) = self.entry(&run) {
                    entry.muster(place.task(), part);
                }
                self.regroup(&run, &place, part, effects);
            }
        }
    }
}
