//! Gangs: instances of a task, which start together or not at all.

use super::classes::Gang;
use super::floor::Floor;
use super::{ClassId, NodeKey, Part, Placed, RunKey, Span};

impl Floor {
    /// Where the gang starts now, if it does. If it can't, nodes are reserved for all of it.
    pub(super) fn consider_gang(
        &mut self,
        node: NodeKey,
        class: ClassId,
        gang: Gang,
    ) -> Option<Vec<(u32, u32)>> {
        let held = self.classes.get(class).hold.places.clone();
        if held.is_empty() && !self.is_hopeless(class) {
            let now = self.places_now(class, gang);
            if now.is_some() {
                return now;
            }
            self.reserve_gang(class, gang);
        } else if self.has_room_on_all(node, class, &held) {
            return Some(held);
        }
        self.withhold_reserved(node, class);
        None
    }

    /// Whether what is reserved, at the visited node among others, is free everywhere.
    fn has_room_on_all(&self, node: NodeKey, class: ClassId, held: &[(u32, u32)]) -> bool {
        held.iter().any(|&(place, _)| place == node.0)
            && held
                .iter()
                .all(|&(place, units)| self.has_room(NodeKey(place), class, units))
    }

    /// The emptiest nodes that have room for all of the gang at once.
    fn places_now(&self, class: ClassId, gang: Gang) -> Option<Vec<(u32, u32)>> {
        let nodes = self
            .nodes
            .levels
            .descending(self.classes.get(class).needs.slots());
        let room =
            nodes.map(|(_, node)| (node, self.room(NodeKey(node), class, gang.on_one_node())));
        fill(gang, room)
    }

    fn reserve_gang(&mut self, class: ClassId, gang: Gang) {
        let needs = &self.classes.get(class).needs;
        let mut nodes: Vec<_> = self
            .nodes
            .iter()
            .filter(|(_, node)| node.own.fits(needs))
            .map(|(key, node)| {
                (
                    !node.all_reserved().is_empty(),
                    node.free.shortfall(needs),
                    key.0,
                    node,
                )
            })
            .collect();
        nodes.sort_unstable_by_key(|&(shared, shortfall, key, _)| (shared, shortfall, key));
        let room = nodes
            .iter()
            .map(|&(.., key, node)| (key, node.own.times(needs, gang.on_one_node())));
        match fill(gang, room) {
            Some(places) => self.hold(class, places, 0),
            None => self.classes.get_mut(class).hold.hopeless = self.nodes.epoch,
        }
    }

    /// Charges all instances. Each node gets its parts when it asks next.
    pub(super) fn start_gang(
        &mut self,
        class: ClassId,
        run: RunKey,
        task: &[Span],
        places: &[(u32, u32)],
    ) {
        self.drop_hold(class);
        self.gangs += 1;
        let instances = places.iter().map(|&(_, units)| units).sum();
        let nodes = places
            .iter()
            .flat_map(|&(node, units)| (0..units).map(move |_| NodeKey(node)));
        for (instance, node) in (0..).zip(nodes) {
            let needs = &self.classes.get(class).needs;
            let allocation = self.nodes.charge(node, class, needs, 1);
            let part = Part {
                gang: self.gangs,
                instance,
                instances,
            };
            self.nodes.await_pick_up(
                node,
                Placed {
                    class,
                    run,
                    spans: task.to_vec(),
                    allocation,
                    part: Some(part),
                },
            );
            self.woken.push(node);
        }
    }

    /// Takes back parts that no node has asked for yet.
    pub(super) fn withdraw(&mut self, which: &mut dyn FnMut(&Placed) -> bool) {
        for (node, part) in self.nodes.withdraw(which) {
            let needs = &self.classes.get(part.class).needs;
            self.nodes.release(node, needs, part.allocation);
        }
    }
}

impl Gang {
    /// The most that one node gets.
    pub(super) fn on_one_node(self) -> u32 {
        if self.packed { self.instances } else { 1 }
    }
}

/// Distributes a gang over nodes that have so much room.
fn fill(gang: Gang, rooms: impl Iterator<Item = (u32, u32)>) -> Option<Vec<(u32, u32)>> {
    let mut left = gang.instances;
    let mut places = Vec::new();
    for (node, room) in rooms.filter(|&(_, room)| room > 0) {
        let units = room.min(left);
        places.push((node, units));
        left -= units;
        if left == 0 {
            return Some(places);
        }
    }
    None
}
