//! A visit: what a node that asks can be given.

use super::classes::{Class, Classes, Gang};
use super::heads::Cursor;
use super::levels::is_as_far;
use super::needs::Stock;
use super::nodes::{Allocation, Nodes};
use super::queue::Ready;
use super::rank::Position;
use super::walk::{Candidate, Step, Walk};
use super::{ClassId, Limit, NodeKey, Placed, Room, RunKey};
use crate::model::Capacity;

/// Nodes, classes, and what is reserved where.
#[derive(Default)]
pub(super) struct Floor {
    pub(super) nodes: Nodes,
    pub(super) classes: Classes,
    pub(super) placement: Placement,
    pub(super) woken: Vec<NodeKey>,
    /// Classes for which something was reserved, or no longer is, since the last look.
    pub(super) reheld: Vec<ClassId>,
    /// The candidate that is looked at.
    pub(super) candidate: Position,
    cursors: Vec<Cursor>,
    /// What the visited node has for whoever comes next, once something is reserved there for the more urgent.
    spare: Stock,
    withheld: bool,
}

/// Which node a task goes to, of those that have room for it and wait for work.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Placement {
    /// The fullest one, so that others become empty and can be taken away.
    #[cfg(test)]
    Pack,
    /// The emptiest one, so that tasks disturb each other least. The default, as in Azure Batch.
    #[default]
    Spread,
}

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
    pub(super) tasks: u32,
    /// On which nodes, and how many on each.
    pub(super) places: Vec<(u32, u32)>,
}

/// What a visit comes to for one candidate.
enum Verdict {
    Start(u32),
    StartGang(Vec<(u32, u32)>),
    /// Another node is to have it first.
    StandBack,
    /// No room, here and now.
    Blocked,
}

impl Floor {
    pub(super) fn choose(
        &mut self,
        ready: &Ready,
        node: NodeKey,
        room: Room,
        before: Option<Position>,
        may: &mut dyn FnMut(RunKey) -> Limit,
    ) -> Option<Choice> {
        let mut cursors = std::mem::take(&mut self.cursors);
        let choice = self.walk(ready, node, room, before, may, &mut cursors);
        self.cursors = cursors;
        choice
    }

    fn walk(
        &mut self,
        ready: &Ready,
        node: NodeKey,
        room: Room,
        before: Option<Position>,
        may: &mut dyn FnMut(RunKey) -> Limit,
        cursors: &mut Vec<Cursor>,
    ) -> Option<Choice> {
        self.withheld = false;
        let state = self.nodes.get(node)?;
        if state.free.is_exhausted() {
            return None;
        }
        let reserved = state.reserved().iter().map(|&(class, _)| class);
        let mut walk = Walk::at(ready, state.free.slots(), reserved, cursors);
        loop {
            let candidate = match walk.next(may)? {
                Step::Candidate(candidate) => candidate,
                Step::Paused(class) => {
                    self.drop_hold(class);
                    continue;
                }
            };
            if before.is_some_and(|bound| bound <= candidate.position) {
                return None;
            }
            let (class, run) = (candidate.class, candidate.run);
            self.candidate = candidate.position;
            if self.waits_elsewhere(node, class) {
                continue;
            }
            match self.consider(node, candidate, room) {
                Verdict::Start(tasks) => {
                    let bound = if tasks > 1 {
                        walk.bound(candidate)
                    } else {
                        None
                    };
                    return Some(Choice::Tasks(Tasks {
                        class,
                        run,
                        tasks,
                        bound,
                    }));
                }
                Verdict::StartGang(places) => {
                    let tasks = places.iter().map(|&(_, tasks)| tasks).sum();
                    return Some(Choice::Gang(GangStart {
                        class,
                        run,
                        tasks,
                        places,
                    }));
                }
                Verdict::StandBack => return None,
                Verdict::Blocked if self.withheld && self.spare.is_exhausted() => return None,
                Verdict::Blocked => {}
            }
        }
    }

    fn consider(&mut self, node: NodeKey, candidate: Candidate, room: Room) -> Verdict {
        if let Some(gang) = self.classes.get(candidate.class).gang {
            return self.consider_whole(node, candidate, gang);
        }
        let tasks = if room.sequential {
            room.tasks
        } else {
            room.tasks.min(candidate.limit.0)
        };
        let most = if room.sequential { 1 } else { tasks };
        let needs = &self.classes.get(candidate.class).needs;
        match self
            .left_at(node)
            .map_or(0, |left| left.times(needs, most.max(1)))
        {
            0 => {
                self.blocked(node, candidate.class);
                Verdict::Blocked
            }
            units => match self.share(node, candidate.class, units) {
                0 => Verdict::StandBack,
                _ if room.sequential => Verdict::Start(tasks.max(1)),
                units => Verdict::Start(units),
            },
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

    fn consider_whole(&mut self, node: NodeKey, candidate: Candidate, gang: Gang) -> Verdict {
        if candidate.limit.0 < gang.tasks {
            // It waits for its own run, and nobody is to wait for it.
            self.drop_hold(candidate.class);
            return Verdict::Blocked;
        }
        let places = self.consider_gang(node, candidate.class, gang);
        places.map_or(Verdict::Blocked, Verdict::StartGang)
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

    /// How many of so many tasks the node gets, in view of others that wait for work: 0 when one of them suits better.
    fn share(&mut self, node: NodeKey, class: ClassId, units: u32) -> u32 {
        match self.placement {
            Placement::Spread => self.spread(node, class, units),
            #[cfg(test)]
            Placement::Pack => self.pack(node, class, units),
        }
    }

    #[cfg(test)]
    fn pack(&mut self, node: NodeKey, class: ClassId, units: u32) -> u32 {
        let better = self.fuller(node, class);
        self.woken.extend(better);
        if better.is_some() { 0 } else { units }
    }

    /// Of the nodes that wait for work and have room, one that is fuller.
    #[cfg(test)]
    fn fuller(&self, node: NodeKey, class: ClassId) -> Option<NodeKey> {
        let free = self.nodes.get(node)?.free.slots();
        let least = self.classes.get(class).needs.slots();
        let nodes = self.nodes.hungry.ascending(least).map(NodeKey);
        let fuller = nodes.map_while(|other| Some((other, self.nodes.get(other)?.free.slots())));
        let mut fuller = fuller
            .take_while(|&(_, slots)| slots < free)
            .map(|(other, _)| other);
        fuller.find(|&other| self.has_room(other, class, 1))
    }

    /// So many that the node is not left fuller than the emptiest of the others; none when that one is emptier already.
    fn spread(&mut self, node: NodeKey, class: ClassId, units: u32) -> u32 {
        let (Some(free), Some((other, most))) = (self.free_slots(node), self.emptiest(node, class))
        else {
            return units;
        };
        if most > free {
            self.woken.push(other);
            return 0;
        }
        let each = self.classes.get(class).needs.slots().max(1);
        u32::try_from((free - most) / each)
            .map_or(units, |ahead| units.min(ahead.saturating_add(1)))
    }

    /// Of the other nodes that wait for work and have room, the emptiest.
    fn emptiest(&self, node: NodeKey, class: ClassId) -> Option<(NodeKey, i64)> {
        let least = self.classes.get(class).needs.slots();
        let mut others = self
            .nodes
            .hungry
            .descending(least)
            .map(|(_, other)| NodeKey(other));
        let other = others.find(|&other| other != node && self.has_room(other, class, 1))?;
        Some((other, self.free_slots(other)?))
    }

    fn free_slots(&self, node: NodeKey) -> Option<i64> {
        Some(self.nodes.get(node)?.free.slots())
    }
}

/// Changes.
impl Floor {
    pub(super) fn add_node(&mut self, capacity: &Capacity) -> NodeKey {
        let own = Stock::new(capacity, &mut self.classes.names);
        self.nodes.add(own)
    }

    pub(super) fn remove_node(&mut self, node: NodeKey) -> Vec<Placed> {
        self.drop_holds_at(node);
        let removed = self.nodes.remove(node);
        removed.map(|node| node.awaiting.into()).unwrap_or_default()
    }

    /// A part of a gang that waits for the node to ask.
    pub(super) fn pick_up(&mut self, node: NodeKey) -> Option<Placed> {
        let part = self.nodes.get_mut(node)?.awaiting.pop_front()?;
        self.nodes.set_hungry(node, false);
        Some(part)
    }

    /// Charges tasks of a class to a node. What was reserved there for the class has served.
    pub(super) fn charge(&mut self, node: NodeKey, class: ClassId, units: u32) -> Allocation {
        self.nodes.set_hungry(node, false);
        let held = &self.classes.get(class).hold.places;
        if held.iter().any(|&(held, _)| held == node.0) {
            self.drop_hold(class);
        }
        self.nodes
            .charge(node, class, &self.classes.get(class).needs, units)
    }

    /// In debug builds: the node's books agree.
    #[cfg(debug_assertions)]
    pub(super) fn check(&self, node: NodeKey) {
        debug_assert!(
            self.is_consistent_for(node),
            "the books of {node:?} don't agree"
        );
    }

    #[cfg(not(debug_assertions))]
    pub(super) fn check(&self, _: NodeKey) {}

    #[cfg(debug_assertions)]
    fn is_consistent_for(&self, key: NodeKey) -> bool {
        let Some(node) = self.nodes.get(key) else {
            return true;
        };
        node.is_consistent(|class| &self.classes.get(class).needs)
            && node.all_reserved().iter().all(|&(class, units)| {
                self.classes
                    .get(class)
                    .hold
                    .places
                    .contains(&(key.0, units))
            })
    }
}
