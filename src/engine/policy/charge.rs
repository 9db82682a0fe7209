//! Shares of nodes, and who holds them.

use super::places::Places;
use super::placing::{Allocation, NodeKey, RunKey};
use super::{Effects, Policy, Run, RunRank};
use crate::engine::Engine;
use crate::engine::chronicle::Spot;
use crate::engine::flow::LaneShared;
use crate::model::TaskId;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock, Weak};

/// One worker's share of a node, from a grant until the last of its leases is over.
pub(crate) struct Charge {
    engine: Arc<Engine>,
    run: Arc<Run>,
    number: u64,
    spot: Spot,
    gpus: Option<Arc<[u32]>>,
    /// For tasks that lanes may start, and not for one that the policy started.
    plain: bool,
    /// Its tasks may be wanted back before they are begun: those of lanes, and one that waits in a grant.
    recallable: AtomicBool,
    /// Its share has gone back before its last holder let go.
    returned: AtomicBool,
    /// The task begun last, plus one.
    task: AtomicU32,
    lane: OnceLock<Arc<LaneShared>>,
}

/// What is held.
pub(super) struct Share {
    pub(super) node: NodeKey,
    pub(super) allocation: Allocation,
    /// The group that counts it, for a task that the policy started.
    pub(super) group: Option<RunKey>,
}

/// All charges that are out.
#[derive(Default)]
pub(super) struct Charges {
    out: FxHashMap<u64, Out>,
    /// How many of each run are for tasks that may be wanted back before they are begun.
    recallable: BTreeMap<RunRank, u32>,
    made: u64,
    places: Places,
}

struct Out {
    charge: Weak<Charge>,
    share: Share,
}

impl Charges {
    pub(super) fn make(&mut self, run: &Arc<Run>, share: Share) -> Arc<Charge> {
        self.made += 1;
        if share.group.is_none() {
            self.count_recallable(run.rank());
        }
        let gpus: Vec<_> = share
            .allocation
            .gpus()
            .iter()
            .map(|gpu| gpu.index)
            .collect();
        let charge = Arc::new(Charge {
            engine: run.engine().clone(),
            run: run.clone(),
            number: self.made,
            spot: self.places.take(share.node),
            gpus: (!gpus.is_empty()).then(|| gpus.into()),
            plain: share.group.is_none(),
            recallable: AtomicBool::new(share.group.is_none()),
            returned: AtomicBool::new(false),
            task: AtomicU32::new(0),
            lane: OnceLock::new(),
        });
        let out = Out {
            charge: Arc::downgrade(&charge),
            share,
        };
        self.out.insert(self.made, out);
        charge
    }

    /// A task that the policy started is begun later, and may be wanted back until then.
    pub(super) fn begins_later(&mut self, charge: &Charge) {
        if !charge.recallable.swap(true, Ordering::Relaxed) {
            self.count_recallable(charge.run.rank());
        }
    }

    fn count_recallable(&mut self, rank: RunRank) {
        *self.recallable.entry(rank).or_default() += 1;
    }

    /// A charge for such tasks of the run is back.
    fn end_recallable(&mut self, rank: RunRank) {
        if let Some(count) = self.recallable.get_mut(&rank) {
            *count -= 1;
            if *count == 0 {
                self.recallable.remove(&rank);
            }
        }
    }

    /// The runs that somebody has tasks of which may be wanted back, the more urgent first.
    pub(super) fn recallable_runs(&self) -> impl Iterator<Item = &RunRank> {
        self.recallable.keys()
    }

    pub(super) fn are_all_back(&self) -> bool {
        self.out.is_empty()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = Arc<Charge>> {
        self.out.values().filter_map(|out| out.charge.upgrade())
    }
}

impl Policy {
    /// A lease is over: if it was the last to hold the charge, the share goes back at once, and not when that is dropped.
    pub(crate) fn close_charge(&mut self, charge: &Arc<Charge>, effects: &mut Effects) {
        // Whoever makes another of a weak one has the engine's lock.
        if Arc::strong_count(charge) == 1 {
            self.give_back_charge(charge, effects);
        }
    }

    fn give_back_charge(&mut self, charge: &Charge, effects: &mut Effects) {
        charge.returned.store(true, Ordering::Relaxed);
        let Some(Out { share, .. }) = self.charges.out.remove(&charge.number) else {
            return;
        };
        self.charges.places.give_back(charge.spot);
        self.placing.release(share.node, share.allocation);
        if charge.recallable.load(Ordering::Relaxed) {
            self.charges.end_recallable(charge.run.rank());
        }
        share
            .group
            .into_iter()
            .for_each(|group| self.limits.end(group));
        self.come_to_rest(&charge.run, effects);
        // Only who closes the pool waits for charges.
        effects.changed |= self.closed;
        effects.wake = self.has_work();
    }
}

impl Charge {
    /// One slot more of the same node for the same run, if there is room for it.
    pub(crate) fn again(&self) -> Option<Arc<Charge>> {
        self.engine
            .with(|policy, _| policy.charge_slot(self.spot.node, &self.run))
    }

    pub(crate) fn run(&self) -> &Arc<Run> {
        &self.run
    }

    /// Where its tasks run.
    pub(crate) fn spot(&self) -> Spot {
        self.spot
    }

    /// The GPUs that are held, by index, if any are.
    pub(crate) fn gpus(&self) -> Option<&Arc<[u32]>> {
        self.gpus.as_ref()
    }

    /// A lane works on the charge's account.
    pub(crate) fn set_lane(&self, lane: &Arc<LaneShared>) {
        let _ = self.lane.set(lane.clone());
    }

    /// A lease was begun on the charge's account.
    pub(crate) fn set_task(&self, task: TaskId) {
        self.task.store(task.0 + 1, Ordering::Relaxed);
    }

    /// What may be running on the charge's account without a lease: the task that a lane points at, or nothing in
    /// particular, if what was taken has not been begun.
    pub(super) fn unleased(&self) -> Option<Option<TaskId>> {
        if let Some(lane) = self.lane.get() {
            return Some(Some(lane.task()));
        }
        let begun = self.task.load(Ordering::Relaxed) != 0;
        (self.plain && !begun).then_some(None)
    }

    /// The task that is being run, by job and label.
    pub(crate) fn label(&self) -> Option<String> {
        let lane = self.lane.get().map(|lane| lane.task());
        let task = lane.or_else(|| self.task.load(Ordering::Relaxed).checked_sub(1).map(TaskId))?;
        Some(format!("{}/{}", self.run.name(), self.run.label(task)))
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        if !self.returned.load(Ordering::Relaxed) {
            self.engine
                .with(|policy, effects| policy.give_back_charge(self, effects));
        }
    }
}
