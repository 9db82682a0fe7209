//! Large requests among small ones.

use super::yard::random;
use super::*;

#[test]
fn a_large_request_is_not_starved_by_a_stream_of_small_ones() {
    for nodes in [1, 3] {
        let mut yard = Yard::new(&vec![Capacity::slots(4); nodes]);
        yard.push(Resources::slots(1), 0, 1..50);
        yard.settle(1);
        yard.push(Resources::slots(4), 0, 1000..1001);
        yard.push(Resources::slots(1), 0, 2000..3000);
        let started = (0..200).position(|step| {
            yard.end_oldest();
            let node = step % nodes;
            std::iter::from_fn(|| yard.start(node)).any(|task| task == 1000)
        });
        // The 49 before it, and what runs on its node then.
        assert!(
            started.is_some_and(|step| step < 49 + 8 * nodes),
            "{started:?}"
        );
    }
}

#[test]
fn the_less_urgent_runs_where_it_delays_nobody() {
    // The reserved node lends only what the large request does not use: HyperQueue #848.
    let mut yard = Yard::new(&[Capacity::slots(8).gpus([0]), Capacity::slots(2)]);
    yard.push(Resources::slots(1).gpus(1), 9, 0..2);
    assert_eq!(yard.start(0), Some(0));
    yard.push(Resources::slots(1), 0, 10..30);
    let on_first = std::iter::from_fn(|| yard.start(0)).count();
    let on_second = std::iter::from_fn(|| yard.start(1)).count();
    assert_eq!((on_first, on_second), (6, 2));
    yard.end_oldest();
    assert_eq!(yard.start(0), Some(1));
}

#[test]
fn only_one_node_is_kept_for_a_large_request() {
    let mut yard = Yard::new(&vec![Capacity::slots(4); 3]);
    yard.push(Resources::slots(2), 0, 0..3);
    (0..3).for_each(|node| assert!(yard.start(node).is_some()));
    yard.push(Resources::slots(4), 5, 100..101);
    yard.push(Resources::slots(1), 0, 200..300);
    let started: Vec<_> = (0..3)
        .map(|node| std::iter::from_fn(|| yard.start(node)).count())
        .collect();
    assert_eq!(started.iter().sum::<usize>(), 4, "{started:?}");
    assert!(started.contains(&0));
}

#[test]
fn paused_and_removed_runs_keep_nothing() {
    let mut yard = Yard::new(&[Capacity::slots(4)]);
    yard.push(Resources::slots(1), 9, 0..1);
    yard.start(0);
    let rank = Rank {
        job_priority: 5,
        task_priority: 0,
        tie: Tie::Interleaved,
    };
    yard.push_at(Resources::slots(4), rank, RunKey(1), 1..2);
    yard.push(Resources::slots(1), 0, 2..9);
    assert_eq!(yard.start(0), None);
    let room = Room {
        tasks: 1,
        sequential: false,
    };
    let mut may = |run| {
        if run == RunKey(1) {
            Limit::NONE
        } else {
            Limit::UNLIMITED
        }
    };
    let placed = yard
        .placing
        .take(yard.nodes[0], room, None, &mut may)
        .unwrap();
    assert_eq!(placed.tasks().collect::<Vec<_>>(), [2]);
    assert_eq!(yard.start(0), None);
    drop(yard.placing.remove_run(RunKey(1)));
    assert_eq!(yard.start(0), Some(3));
}

#[test]
fn a_reservation_follows_its_node() {
    let mut yard = Yard::new(&vec![Capacity::slots(4); 2]);
    yard.push(Resources::slots(2), 0, 0..2);
    (0..2).for_each(|node| assert!(yard.start(node).is_some()));
    yard.push(Resources::slots(4), 5, 100..101);
    yard.push(Resources::slots(1), 0, 200..300);
    assert_eq!(
        yard.take(0, 1).is_none() as u32 + yard.take(1, 1).is_none() as u32,
        1
    );
    let kept = yard.nodes.iter().position(|&node| {
        !yard
            .placing
            .floor
            .nodes
            .get(node)
            .unwrap()
            .all_reserved()
            .is_empty()
    });
    let kept = yard.nodes.remove(kept.unwrap());
    assert!(yard.placing.remove_node(kept).is_empty());
    // Now it is the other one that is kept.
    assert!(yard.start(0).is_none());
}

#[test]
fn requests_no_node_can_meet_hold_nobody_up() {
    let mut yard = Yard::new(&[Capacity::slots(4).custom("mem", 8)]);
    yard.push(Resources::slots(6), 9, 0..1);
    yard.push(Resources::slots(1).custom("fpga", 1), 9, 1..2);
    yard.push(Resources::slots(1).custom("mem", 9), 9, 2..3);
    yard.push(Resources::slots(1), 0, 3..103);
    assert_eq!(yard.drain(), (3..103).collect::<Vec<_>>());
    // A node comes that can.
    yard.nodes[0] = yard.placing.add_node(&Capacity::slots(6).custom("mem", 9));
    assert_eq!(yard.drain(), [0, 2]);
}

/// What a class lacks on the node kept for it never grows when something less urgent starts, and everything starts in
/// the end.
#[test]
fn less_urgent_never_delays_more_urgent() {
    for first_seed in 0..60 {
        let mut seed = first_seed;
        let nodes: Vec<_> = (0..1 + random(&mut seed) % 4)
            .map(|_| {
                Capacity::slots(2 + random(&mut seed) as u32 % 6)
                    .cpus(8)
                    .gpus(0..random(&mut seed) as u32 % 3)
            })
            .collect();
        let mut yard = Yard::new(&nodes);
        let mut started = 0;
        let mut pushed = 0;
        for step in 0..2000u32 {
            if step < 1000 && random(&mut seed).is_multiple_of(2) {
                let resources = Resources::slots(1 + random(&mut seed) as u32 % 7)
                    .cpus(random(&mut seed) as u32 % 3)
                    .gpus((random(&mut seed) as u32 % 4).saturating_sub(1));
                let class = yard.placing.intern(&Request::blocking(resources.clone()));
                if yard.placing.fits_ever(class, &nodes).is_ok() {
                    yard.push(resources, random(&mut seed) as i32 % 3, step..step + 1);
                    pushed += 1;
                }
            }
            if random(&mut seed).is_multiple_of(2) {
                yard.end_oldest();
            }
            let node = random(&mut seed) as usize % nodes.len();
            started += u32::from(start_checked(&mut yard, node).is_some());
        }
        // With nothing more coming, all of it runs.
        for step in 0..4 * pushed as usize {
            yard.end_oldest();
            (0..nodes.len()).for_each(|node| {
                while start_checked(&mut yard, (node + step) % nodes.len()).is_some() {
                    started += 1;
                }
            });
        }
        assert_eq!(started, pushed, "seed {first_seed}");
    }
}

fn start_checked(yard: &mut Yard, node: usize) -> Option<u32> {
    let before = lacks(yard);
    let placed = yard.take(node, 1)?;
    let position = placed.spans[0].position;
    for (class, head, node, lacked) in before {
        let floor = &yard.placing.floor;
        let hold = &floor.classes.get(class).hold.places;
        if head < position && hold.first().is_some_and(|&(held, _)| held == node) {
            let lacks = floor
                .nodes
                .get(NodeKey(node))
                .unwrap()
                .free
                .shortfall(&floor.classes.get(class).needs);
            assert!(lacks <= lacked, "delayed by less urgent work");
        }
    }
    let task = placed.tasks().next();
    yard.hold(node, placed);
    task
}

/// The classes with reservations: their first tasks' positions, where, and what is lacking there.
fn lacks(yard: &Yard) -> Vec<(ClassId, Position, u32, u64)> {
    let floor = &yard.placing.floor;
    let heads = yard.placing.ready.heads.iter().filter_map(|(head, id, _)| {
        let class = floor.classes.get(id);
        let &(node, _) = class.hold.places.first()?;
        Some((
            id,
            head,
            node,
            floor.nodes.get(NodeKey(node))?.free.shortfall(&class.needs),
        ))
    });
    heads.collect()
}
