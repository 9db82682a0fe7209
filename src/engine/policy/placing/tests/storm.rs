//! Random storms: 100,000 steps of everything that can happen, against the books.

use super::*;

struct Storm {
    placing: Placing,
    seed: u64,
    nodes: Vec<NodeKey>,
    running: Vec<(NodeKey, Placed)>,
    next: u32,
}

/// S041: whatever is claimed, refused, cancelled, lost or finished, all that is in use is in use by something, and after
/// the storm everything is free.
#[test]
fn nothing_leaks_in_a_storm() {
    let mut storm = Storm {
        placing: Placing::default(),
        seed: 7,
        nodes: Vec::new(),
        running: Vec::new(),
        next: 0,
    };
    storm.join();
    for step in 0..100_000 {
        storm.step();
        if step % 100 == 0 {
            assert!(storm.placing.ready.is_consistent());
        }
    }
    for (node, placed) in storm.running.drain(..) {
        storm.placing.release(node, placed.allocation);
    }
    // Parts of gangs that no node asked for.
    let nodes = std::mem::take(&mut storm.nodes);
    for &node in &nodes {
        while let Some(placed) = storm.placing.floor.pick_up(node) {
            storm.placing.release(node, placed.allocation);
        }
        let state = storm.placing.floor.nodes.get(node).unwrap();
        assert_eq!(state.slots().1, 0);
        assert_eq!(state.free.gpus, state.own.gpus);
    }
    (0..3).for_each(|run| drop(storm.placing.remove_run(RunKey(run))));
    assert_eq!(storm.placing.ready(), ReadyCount::default());
    assert!(storm.placing.ready.heads.iter().next().is_none());
    assert!(nodes.iter().all(|&node| {
        storm
            .placing
            .floor
            .nodes
            .get(node)
            .unwrap()
            .all_reserved()
            .is_empty()
    }));
}

impl Storm {
    fn below(&mut self, bound: u32) -> u32 {
        yard::random(&mut self.seed) as u32 % bound
    }

    fn step(&mut self) {
        match self.below(100) {
            0 => self.leave(),
            1 if self.nodes.len() < 6 => self.join(),
            2 => drop(self.placing.remove_run(RunKey(self.next % 3))),
            3 => {
                let (node, slots) = (self.any_node(), self.below(5));
                self.placing.resize_slots(node, slots);
            }
            4 => {
                let (node, lent) = (self.any_node(), self.below(3));
                self.placing.set_lent(node, lent);
            }
            5..10 => {
                let node = self.any_node();
                let _ = self.placing.set_hungry(node, true);
            }
            10..35 => self.push(),
            35..65 => self.finish(),
            65..70 => self.refuse(),
            _ => self.take(),
        }
    }

    fn any_node(&mut self) -> NodeKey {
        let at = self.below(self.nodes.len() as u32);
        self.nodes[at as usize]
    }

    fn join(&mut self) {
        let gpus = self.below(4);
        let capacity = Capacity::slots(3)
            .async_slots(2)
            .cpus(4)
            .gpus(0..gpus)
            .custom("tag", 1);
        self.nodes.push(self.placing.add_node(&capacity));
    }

    fn leave(&mut self) {
        if self.nodes.len() > 1 {
            let at = self.below(self.nodes.len() as u32);
            let node = self.nodes.swap_remove(at as usize);
            drop(self.placing.remove_node(node));
        }
    }

    fn push(&mut self) {
        let mut resources =
            Resources::slots(1 + self.below(3)).cpus(f64::from(self.below(8)) / 2.0);
        resources = match self.below(6) {
            0 => resources.gpus(1 + self.below(2)),
            1 => resources.gpu_fraction(0.3),
            2 => resources.custom("tag", 1),
            _ => resources,
        };
        resources = match self.below(16) {
            0 => resources.instances(2),
            1 => resources.instances(3).packed(),
            _ => resources,
        };
        let waits = self.below(5) == 0;
        let request = if waits {
            Request::waiting(resources)
        } else {
            Request::blocking(resources)
        };
        let class = self.placing.intern(&request);
        let (priority, run, len) = (
            self.below(3) as i32,
            RunKey(self.below(3)),
            1 + self.below(4),
        );
        let tasks = self.next..self.next + len;
        self.next += len;
        self.placing.push(class, yard::rank(priority), run, tasks);
    }

    fn take(&mut self) {
        let node = self.any_node();
        let room = Room {
            tasks: 1 + self.below(3),
            sequential: self.below(4) == 0,
        };
        let limits = [Limit(self.below(3)), Limit(self.below(2)), Limit::UNLIMITED];
        let before: Vec<_> = self.slots();
        let placed = self
            .placing
            .take(node, room, None, &mut |run| limits[run.0 as usize]);
        for ((used_before, _), (used, total)) in before.into_iter().zip(self.slots()) {
            assert!(used <= total || used == used_before, "over-committed");
        }
        self.running.extend(placed.map(|placed| (node, placed)));
        self.check_gpus();
    }

    fn slots(&self) -> Vec<(u32, u32)> {
        let slots = self
            .nodes
            .iter()
            .map(|&node| self.placing.slots(node).unwrap());
        slots.map(|(total, used)| (used, total)).collect()
    }

    fn finish(&mut self) {
        if let Some((node, placed)) = self.pick() {
            self.placing.release(node, placed.allocation);
        }
    }

    /// The claim is not taken up: what was claimed goes back, and so do the tasks.
    fn refuse(&mut self) {
        if let Some((node, placed)) = self.pick() {
            self.placing.release(node, placed.allocation);
            match placed.part {
                Some(part) => self.placing.withdraw(part.gang),
                None => self.placing.requeue(placed.class, placed.run, placed.spans),
            }
        }
    }

    fn pick(&mut self) -> Option<(NodeKey, Placed)> {
        let at = (!self.running.is_empty()).then(|| self.below(self.running.len() as u32))?;
        Some(self.running.swap_remove(at as usize))
    }

    fn check_gpus(&self) {
        let mut held = std::collections::HashMap::new();
        for (node, placed) in &self.running {
            for share in placed.allocation.gpus() {
                let total = held.entry((*node, share.index)).or_insert(0.0);
                *total += share.amount().as_f64();
                assert!(*total <= 1.0, "a GPU held twice");
            }
        }
    }
}
