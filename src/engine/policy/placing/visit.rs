//! A visit: what a node that asks can be given.

use super::classes::{Class, Gang};
use super::floor::Floor;
use super::heads::Cursor;
use super::levels::is_as_far;
use super::needs::Stock;
use super::queue::Ready;
use super::rank::Position;
use super::walk::{Candidate, Step, Walk};
use super::{ClassId, Limit, NodeKey, Room, RunKey};

/// What to start.
#[derive(Debug)]
pub(super) enum Choice {
    Tasks(Tasks),
    Gang(GangStart),
}

#[derive(Debug)]
pub(super) struct Tasks {
    pub(super) class: ClassId,
    pub(super) run: RunKey,
    pub(super) tasks: u32,
    /// Only the first entry, and those that come before this.
    pub(super) bound: Option<Position>,
}

#[derive(Debug)]
pub(super) struct GangStart {
    pub(super) class: ClassId,
    pub(super) run: RunKey,
    /// On which nodes, and how many instances on each.
    pub(super) places: Vec<(u32, u32)>,
}

/// What a visit comes to for one candidate.
enum Verdict {
    Start(Choice),
    /// Another node is to have it first.
    StandBack,
    /// No room, here and now.
    Blocked,
}

/// What a node that asks is looked through for.
#[derive(Clone, Copy)]
pub(super) struct Visit {
    pub(super) node: NodeKey,
    pub(super) room: Room,
    /// Only what comes before this place in the order.
    pub(super) before: Option<Position>,
}

impl Visit {
    fn is_for(&self, candidate: Candidate) -> bool {
        self.before.is_none_or(|bound| candidate.position < bound)
    }
}

/// Room for the cursors of a visit, kept from one to the next.
#[derive(Default)]
pub(super) struct Scratch {
    pub(super) near: Vec<Cursor>,
    pub(super) far: Vec<Cursor>,
}

impl Floor {
    /// The most urgent that the node has room for, with reservations made for what comes before it and has room nowhere.
    pub(super) fn choose(
        &mut self,
        ready: &Ready,
        visit: Visit,
        may: &mut dyn FnMut(RunKey) -> Limit,
    ) -> Option<Choice> {
        self.withheld = false;
        let state = self.nodes.get(visit.node)?;
        if state.free.is_exhausted() {
            return None;
        }
        let mut scratch = std::mem::take(&mut self.scratch);
        let reserved = state.reserved().iter().map(|&(class, _)| class);
        let (near, far) = ready
            .heads
            .look(state.free.slots(), reserved, ready, &mut scratch);
        let choice = self.first_to_start(visit, near, far, may);
        self.scratch = scratch;
        choice
    }

    /// `near` are classes that the node may have room for, `far` those that it has no slots for.
    fn first_to_start(
        &mut self,
        visit: Visit,
        mut near: Walk<'_>,
        mut far: Walk<'_>,
        may: &mut dyn FnMut(RunKey) -> Limit,
    ) -> Option<Choice> {
        loop {
            let candidate = match near.next(may) {
                Some(Step::Candidate(candidate)) if visit.is_for(candidate) => candidate,
                Some(Step::Paused(class)) => {
                    self.drop_hold(class);
                    continue;
                }
                // Other work may start here then, which comes behind that place: not with what is kept for these.
                _ => return self.reserve_before(visit.node, visit.before?, &mut far, may),
            };
            if self.has_slots(visit.node, candidate.class) {
                let gang = self.reserve_before(visit.node, candidate.position, &mut far, may);
                if gang.is_some() {
                    return gang;
                }
            }
            self.candidate = candidate.position;
            let next = || [near.lane_behind(candidate), near.peek(), far.peek()];
            let bound = || next().into_iter().flatten().min();
            match self.consider(visit, candidate, bound) {
                Verdict::Start(choice) => return Some(choice),
                Verdict::StandBack => return None,
                Verdict::Blocked => near.limit(self.left_at(visit.node)?.slots(), &mut far),
            }
        }
    }

    /// Reserves something for each class that comes before this place and has room nowhere. A gang among them may be
    /// about to start.
    fn reserve_before(
        &mut self,
        node: NodeKey,
        position: Position,
        far: &mut Walk<'_>,
        may: &mut dyn FnMut(RunKey) -> Limit,
    ) -> Option<Choice> {
        while far.peek().is_some_and(|head| head < position) {
            let candidate = match far.next(may)? {
                Step::Candidate(candidate) => candidate,
                Step::Paused(class) => {
                    self.drop_hold(class);
                    continue;
                }
            };
            // One behind its limit may turn out to come later.
            if candidate.position >= position {
                far.put_back(candidate);
                return None;
            }
            self.candidate = candidate.position;
            match self.classes.get(candidate.class).gang {
                Some(gang) => match self.consider_whole(node, candidate, gang) {
                    Verdict::Start(choice) => return Some(choice),
                    _ => continue,
                },
                None if self.waits_elsewhere(node, candidate.class) => continue,
                None => self.blocked(node, candidate.class),
            }
        }
        None
    }

    fn consider(
        &mut self,
        visit: Visit,
        candidate: Candidate,
        bound: impl Fn() -> Option<Position>,
    ) -> Verdict {
        let (node, room, class) = (visit.node, visit.room, candidate.class);
        if let Some(gang) = self.classes.get(class).gang {
            return self.consider_whole(node, candidate, gang);
        }
        if self.waits_elsewhere(node, class) {
            return Verdict::Blocked;
        }
        let tasks = if room.sequential {
            room.tasks
        } else {
            room.tasks.min(candidate.limit.0)
        };
        let most = if room.sequential { 1 } else { tasks.max(1) };
        let needs = &self.classes.get(class).needs;
        let units = self.left_at(node).map_or(0, |left| left.times(needs, most));
        if units == 0 {
            self.blocked(node, class);
            return Verdict::Blocked;
        }
        let tasks = match self.share(node, class, units) {
            0 => return Verdict::StandBack,
            _ if room.sequential => tasks.max(1),
            units => units,
        };
        Verdict::Start(Choice::Tasks(Tasks {
            class,
            run: candidate.run,
            tasks,
            bound: if tasks > 1 { bound() } else { None },
        }))
    }

    fn consider_whole(&mut self, node: NodeKey, candidate: Candidate, gang: Gang) -> Verdict {
        if candidate.limit.0 < gang.instances {
            // It waits for its own run, and nobody is to wait for it.
            self.drop_hold(candidate.class);
            return Verdict::Blocked;
        }
        let places = self.consider_gang(node, candidate.class, gang);
        match places {
            None => Verdict::Blocked,
            Some(places) => Verdict::Start(Choice::Gang(GangStart {
                class: candidate.class,
                run: candidate.run,
                places,
            })),
        }
    }

    /// Whether the class has no room here, and a reservation elsewhere that is to stay there: what most of a visit to a
    /// busy node comes to, so it is found out without the rest.
    fn waits_elsewhere(&self, key: NodeKey, class: ClassId) -> bool {
        let Some(node) = self.nodes.get(key) else {
            return false;
        };
        let Class {
            needs, gang, hold, ..
        } = self.classes.get(class);
        let left = if self.withheld {
            &self.spare
        } else {
            &node.free
        };
        needs.slots() > left.slots()
            && gang.is_none()
            && matches!(hold.places[..], [(place, _)] if place != key.0)
            && is_as_far(
                needs.slots() - node.free.slots(),
                needs.slots(),
                hold.shortfall,
            )
    }

    /// Whether the node has slots for a task of the class, whatever else it asks for.
    fn has_slots(&self, node: NodeKey, class: ClassId) -> bool {
        let asks = self.classes.get(class).needs.slots();
        self.left_at(node)
            .is_some_and(|left| asks <= left.slots().max(0))
    }

    /// What is left at the visited node for the next in order.
    fn left_at(&self, node: NodeKey) -> Option<&Stock> {
        let state = self.nodes.get(node)?;
        Some(if self.withheld {
            &self.spare
        } else {
            &state.free
        })
    }

    /// Sets aside at the visited node what is reserved there for a class.
    pub(super) fn withhold(&mut self, node: NodeKey, class: ClassId, units: u32) {
        let Some(state) = self.nodes.get(node) else {
            return;
        };
        if !self.withheld {
            self.spare.clone_from(&state.free);
            self.withheld = true;
        }
        self.spare.withhold(&self.classes.get(class).needs, units);
    }
}
