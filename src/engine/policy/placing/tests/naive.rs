//! Against a naive model: a flat list of tasks, looked through from the front for each decision.

use super::*;
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Step {
    Push {
        ask: Ask,
        priority: i32,
        run: u32,
        len: u32,
    },
    Take {
        node: usize,
    },
    End {
        which: usize,
    },
    Pause {
        run: usize,
        paused: bool,
    },
}

/// What a task asks for: slots, half CPUs, quarters of a GPU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Ask {
    slots: u32,
    cpus: u32,
    gpu: u32,
}

/// The same three, of a node: what is free.
#[derive(Clone, PartialEq, Debug)]
struct Free {
    slots: i64,
    cpus: i64,
    gpus: Vec<u32>,
}

struct Ready {
    ask: Ask,
    class: ClassId,
    priority: i32,
    run: u32,
    task: u32,
}

/// Devices, and how many quarters of each.
type Shares = Vec<(usize, u32)>;

struct Model {
    placing: Placing,
    nodes: Vec<(NodeKey, Free, Free)>,
    /// In the order of becoming ready.
    ready: Vec<Ready>,
    running: Vec<(usize, Ask, Shares, Allocation)>,
    paused: [bool; 3],
    next: u32,
}

proptest! {
    #[test]
    fn decides_as_a_list_looked_through_from_the_front(
        nodes in prop::collection::vec((1..6u32, 0..8u32, 0..3u32), 1..4),
        steps in prop::collection::vec(step(), 1..200),
    ) {
        let mut model = Model::new(&nodes);
        steps.into_iter().for_each(|step| model.step(step));
        model.running.drain(..).for_each(|(node, _, _, allocation)| {
            model.placing.release(model.nodes[node].0, allocation);
        });
        for (key, _, whole) in &model.nodes {
            prop_assert_eq!(model.placing.slots(*key), Some((whole.slots as u32, 0)));
        }
    }
}

fn step() -> impl Strategy<Value = Step> {
    let gpu = prop_oneof![3 => Just(0u32), 1 => 1..4u32, 1 => Just(4), 1 => Just(8)];
    let ask = (1..6u32, 0..4u32, gpu).prop_map(|(slots, cpus, gpu)| Ask { slots, cpus, gpu });
    prop_oneof![
        3 => (ask, -1..2, 0..3u32, 1..4u32).prop_map(|(ask, priority, run, len)| Step::Push { ask, priority, run, len }),
        6 => (0..4usize).prop_map(|node| Step::Take { node }),
        4 => any::<prop::sample::Index>().prop_map(|which| Step::End { which: which.index(1 << 20) }),
        1 => (0..3usize, any::<bool>()).prop_map(|(run, paused)| Step::Pause { run, paused }),
    ]
}

impl Model {
    fn new(nodes: &[(u32, u32, u32)]) -> Self {
        let mut placing = Placing::default();
        let nodes = nodes.iter().map(|&(slots, cpus, gpus)| {
            let capacity = Capacity::slots(slots)
                .cpus(f64::from(cpus) / 2.0)
                .gpus(0..gpus);
            let free = Free {
                slots: slots.into(),
                cpus: cpus.into(),
                gpus: vec![4; gpus as usize],
            };
            (placing.add_node(&capacity), free.clone(), free)
        });
        let nodes = nodes.collect();
        Model {
            placing,
            nodes,
            ready: Vec::new(),
            running: Vec::new(),
            paused: [false; 3],
            next: 0,
        }
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Push {
                ask,
                priority,
                run,
                len,
            } => self.push(ask, priority, run, len),
            Step::Take { node } => self.take(node % self.nodes.len()),
            Step::End { which } if !self.running.is_empty() => self.end(which % self.running.len()),
            Step::End { .. } => {}
            Step::Pause { run, paused } => self.paused[run] = paused,
        }
        assert_eq!(self.placing.ready().tasks, self.ready.len() as u64);
    }

    fn push(&mut self, ask: Ask, priority: i32, run: u32, len: u32) {
        let resources = Resources::slots(ask.slots).cpus(f64::from(ask.cpus) / 2.0);
        let resources = match ask.gpu {
            whole if whole >= 4 => resources.gpus(whole / 4),
            part => resources.gpu_fraction(f64::from(part) / 4.0),
        };
        let class = self.placing.intern(&Request::blocking(resources));
        let rank = Rank {
            job_priority: 0,
            task_priority: priority,
            tie: Tie::Interleaved,
        };
        self.placing
            .push(class, rank, RunKey(run), self.next..self.next + len);
        for task in self.next..self.next + len {
            let before = self
                .ready
                .partition_point(|other| other.priority >= priority);
            self.ready.insert(
                before,
                Ready {
                    ask,
                    class,
                    priority,
                    run,
                    task,
                },
            );
        }
        self.next += len;
    }

    fn take(&mut self, node: usize) {
        let paused = self.paused;
        let mut may = |run: RunKey| {
            if paused[run.0 as usize] {
                Limit::NONE
            } else {
                Limit::UNLIMITED
            }
        };
        let room = Room {
            tasks: 1,
            sequential: false,
        };
        let placed = self.placing.take(self.nodes[node].0, room, None, &mut may);
        let expected = self.expected(node);
        assert_eq!(
            placed.as_ref().and_then(|placed| placed.tasks().next()),
            expected.map(|at| self.ready[at].task)
        );
        let (Some(placed), Some(at)) = (placed, expected) else {
            return;
        };
        self.check_reservations(at);
        let started = self.ready.remove(at);
        let shares = self.nodes[node].1.take(started.ask).unwrap();
        let held = placed
            .allocation
            .gpus()
            .iter()
            .map(|share| share.index as usize);
        assert!(held.eq(shares.iter().map(|&(device, _)| device)));
        self.running
            .push((node, started.ask, shares, placed.allocation));
    }

    /// The first task in the list that the node has room for, once it has set aside what is reserved on it for those
    /// before.
    fn expected(&self, node: usize) -> Option<usize> {
        let mut free = self.nodes[node].1.clone();
        let mut blocked = Vec::new();
        for at in 0..self.ready.len() {
            let ready = &self.ready[at];
            if self.paused[ready.run as usize] || blocked.contains(&ready.ask) {
                continue;
            }
            if free.clone().take(ready.ask).is_some() {
                return Some(at);
            }
            blocked.push(ready.ask);
            if self
                .placing
                .floor
                .place_at(self.nodes[node].0, ready.class)
                .is_some()
            {
                free.withhold(ready.ask);
            }
        }
        None
    }

    /// Whatever comes before the one that starts either has room somewhere, never will, or has something reserved.
    fn check_reservations(&self, started: usize) {
        for ready in &self.ready[..started] {
            let has_room = self
                .nodes
                .iter()
                .any(|(_, free, _)| free.clone().take(ready.ask).is_some());
            let could = self
                .nodes
                .iter()
                .any(|(_, _, whole)| whole.clone().take(ready.ask).is_some());
            let reserved = !self
                .placing
                .floor
                .classes
                .get(ready.class)
                .hold
                .places
                .is_empty();
            assert!(
                has_room || !could || reserved || self.paused[ready.run as usize],
                "nothing is kept for {}",
                ready.task
            );
        }
    }

    fn end(&mut self, which: usize) {
        let (node, ask, shares, allocation) = self.running.swap_remove(which);
        let free = &mut self.nodes[node].1;
        free.slots += i64::from(ask.slots);
        free.cpus += i64::from(ask.cpus);
        shares
            .into_iter()
            .for_each(|(device, part)| free.gpus[device] += part);
        self.placing.release(self.nodes[node].0, allocation);
    }
}

impl Free {
    /// The devices taken, and how much of each, if everything is there.
    fn take(&mut self, ask: Ask) -> Option<Shares> {
        let gpus = self.devices(ask.gpu)?;
        let short = |need: u32, free: i64| need > 0 && free < i64::from(need);
        if short(ask.slots, self.slots) || short(ask.cpus, self.cpus) {
            return None;
        }
        self.slots -= i64::from(ask.slots);
        self.cpus -= i64::from(ask.cpus);
        gpus.iter()
            .for_each(|&(device, part)| self.gpus[device] -= part);
        Some(gpus)
    }

    fn withhold(&mut self, ask: Ask) {
        self.slots -= i64::from(ask.slots);
        self.cpus -= i64::from(ask.cpus);
        match self.devices(ask.gpu) {
            Some(gpus) => gpus
                .iter()
                .for_each(|&(device, part)| self.gpus[device] -= part),
            None => self.gpus.fill(0),
        }
    }

    fn devices(&self, quarters: u32) -> Option<Shares> {
        let mut devices: Vec<_> = (0..self.gpus.len()).collect();
        devices.sort_by_key(|&device| self.gpus[device]);
        let (count, part) = if quarters >= 4 {
            (quarters / 4, 4)
        } else {
            (u32::from(quarters > 0), quarters)
        };
        devices.retain(|&device| self.gpus[device] >= part);
        let found = devices.get(..count as usize)?;
        Some(found.iter().map(|&device| (device, part)).collect())
    }
}
