//! What a run knows that takes more tasks while it runs.

use super::Run;
use super::flow::SegmentRef;
use super::late::LateEdges;
use crate::job::{Frozen, Late, Needs, Numbers, Ties};
use crate::model::{Defect, DefectKind, JobTag, MAX_INDEX, Offer, TaskId};
use crate::sync::lock;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard};

/// Beside the run's state, and locked after it: by those who describe an addition for an instant at its beginning and its
/// end, and by the policy.
pub(crate) struct Open {
    /// What the pool's executor could run when the job was submitted.
    pub(super) offer: Offer,
    state: Mutex<State>,
}

/// Who may add tasks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Admits {
    /// Whoever has a handle of the run, and its tasks.
    Everyone,
    /// Tasks that have not ended: nobody else can, or may, any more.
    Tasks,
    /// Nobody: it was sealed.
    Nobody,
}

pub(crate) struct State {
    pub(super) admits: Admits,
    pub(super) joined: u32,
    names: HashMap<Arc<str>, TaskId>,
    pub(super) late: LateEdges,
    nodes: Free,
    elements: Free,
}

/// The numbers that are free, ascending.
///
/// What is being described has half of a range; the other half stays, for whoever begins meanwhile. What was not used goes
/// back. So the numbers of additions that are made one after another follow each other without a gap.
struct Free(Vec<Range<u32>>);

/// Ranges shorter than this are kept for when there is no other.
const SHORT: u32 = 1 << 20;

impl Open {
    pub(super) fn new(job: &Frozen, offer: &Offer) -> Self {
        let name = |(&node, name): (&u32, &Arc<str>)| (name.clone(), TaskId(node));
        let state = State {
            admits: Admits::Everyone,
            joined: 0,
            names: job.labels.iter().map(name).collect(),
            late: LateEdges::default(),
            nodes: Free::from(job.units.len() as u32),
            elements: Free::from(job.elements.end),
        };
        Open {
            offer: offer.clone(),
            state: Mutex::new(state),
        }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// Numbers for what is going to be described.
    pub(super) fn take_numbers(&self) -> Numbers {
        let mut state = self.state();
        Numbers {
            nodes: state.nodes.take(),
            elements: state.elements.take(),
        }
    }

    /// Those of them that were not used.
    pub(super) fn give_back(&self, numbers: Numbers) {
        let mut state = self.state();
        state.nodes.give_back(numbers.nodes);
        state.elements.give_back(numbers.elements);
    }
}

impl State {
    pub(super) fn named(&self, name: &str) -> Option<TaskId> {
        self.names.get(name).copied()
    }

    /// Enters the names of what joins, or says which of them are taken.
    pub(super) fn enter_names(&mut self, job: &Frozen) -> Result<(), Vec<Defect>> {
        let taken: Vec<_> = self.taken_names(job.labels.values()).collect();
        if !taken.is_empty() {
            return Err(taken);
        }
        let own = job.labels.iter();
        self.names
            .extend(own.map(|(&node, name)| (name.clone(), job.task(node))));
        Ok(())
    }

    pub(super) fn taken_names<'a>(
        &'a self,
        names: impl Iterator<Item = &'a Arc<str>>,
    ) -> impl Iterator<Item = Defect> {
        let taken = names.filter(|name| self.names.contains_key(*name));
        taken.map(|name| Defect {
            index: None,
            task: Some(name.to_string()),
            kind: DefectKind::DuplicateName,
        })
    }
}

/// What additions are tied to.
impl Run {
    /// The segment of a task that a handle names, if this run has it.
    pub(super) fn segment_with(&self, tag: JobTag, task: TaskId) -> Option<SegmentRef<'_>> {
        let segment = self.flow().locate(task)?.segment;
        (segment.job.tag == tag).then_some(segment)
    }

    /// The dependencies of an addition on what the run has, by ascending node; or what is wrong with them.
    pub(super) fn resolve(&self, ties: &Ties) -> Result<Vec<Late>, Vec<(u32, DefectKind)>> {
        let state = self.open.as_ref().map(|open| open.state());
        let (mut late, mut defects) = (ties.late.clone(), Vec::new());
        for &Late {
            node, job, from, ..
        } in &ties.late
        {
            if job.is_none_or(|tag| self.segment_with(tag, from).is_none()) {
                defects.push((node, DefectKind::ForeignHandle));
            }
        }
        for (node, name) in &ties.named {
            let found = state.as_ref().and_then(|state| state.named(name));
            match found {
                Some(from) => late.push(Late {
                    node: *node,
                    job: None,
                    from,
                    needs: Needs::Success,
                }),
                None => defects.push((*node, DefectKind::UnknownName(name.clone()))),
            }
        }
        late.sort_by_key(|late| late.node);
        if defects.is_empty() {
            Ok(late)
        } else {
            Err(defects)
        }
    }
}

impl Free {
    fn from(first: u32) -> Self {
        let all = first..MAX_INDEX;
        Free(vec![all])
    }

    /// The first half of the first range that is not short, or else of the longest.
    fn take(&mut self) -> Range<u32> {
        let lengths = || self.0.iter().map(|range| range.end - range.start);
        let long = lengths().position(|len| len >= SHORT);
        let longest = || {
            let indexed = lengths().enumerate();
            indexed.max_by_key(|&(_, len)| len).map(|(at, _)| at)
        };
        let Some(range) = long.or_else(longest).map(|at| &mut self.0[at]) else {
            return 0..0;
        };
        let middle = range.start + (range.end - range.start).div_ceil(2);
        let taken = range.start..middle;
        range.start = middle;
        taken
    }

    fn give_back(&mut self, range: Range<u32>) {
        if range.is_empty() {
            return;
        }
        let at = self.0.partition_point(|free| free.start < range.start);
        self.0.insert(at, range);
        self.0.dedup_by(|next, free| {
            let adjoin = free.end == next.start;
            if adjoin {
                free.end = next.end;
            }
            adjoin
        });
        self.0.retain(|free| !free.is_empty());
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_one_addition_after_another_follow_each_other() {
        let mut free = Free::from(10);
        for first in [10, 13, 16] {
            let taken = free.take();
            assert_eq!(taken.start, first);
            free.give_back(first + 3..taken.end);
        }
        assert_eq!(free.0, vec![19..MAX_INDEX; 1]);
    }

    #[test]
    fn numbers_of_additions_at_the_same_time_differ_and_none_is_lost() {
        let mut free = Free::from(0);
        let taken: Vec<_> = (0..8).map(|_| free.take()).collect();
        for (at, one) in taken.iter().enumerate() {
            assert!(!one.is_empty());
            let apart = |other: &Range<u32>| other.end <= one.start || one.end <= other.start;
            assert!(taken[..at].iter().all(apart));
        }
        taken.into_iter().for_each(|one| free.give_back(one));
        assert_eq!(free.0, vec![0..MAX_INDEX; 1]);
    }
}
