//! Gangs start as a whole or not at all.

use super::*;

#[test]
fn a_gang_goes_to_distinct_nodes_at_once() {
    let mut yard = Yard::new(&vec![Capacity::slots(2); 3]);
    yard.push_gang(Resources::slots(2), 0, 0..3, false);
    let first = yard.take(0, 1).unwrap();
    assert_eq!(first.tasks().count(), 1);
    // All are charged, and wait for their nodes to ask.
    assert!(
        yard.nodes
            .iter()
            .all(|&node| yard.placing.slots(node) == Some((2, 2)))
    );
    let mut tasks: Vec<_> = first
        .tasks()
        .chain(yard.start(1))
        .chain(yard.start(2))
        .collect();
    tasks.sort_unstable();
    assert_eq!(tasks, [0, 1, 2]);
}

#[test]
fn a_gang_waits_until_all_of_it_fits_and_is_not_starved() {
    let mut yard = Yard::new(&vec![Capacity::slots(2); 2]);
    yard.push(Resources::slots(1), 0, 0..4);
    yard.settle(1);
    yard.push_gang(Resources::slots(2), 0, 10..12, false);
    yard.push(Resources::slots(1), 0, 100..200);
    let mut started = Vec::new();
    for _ in 0..4 {
        assert!(started.is_empty());
        yard.end_oldest();
        started.extend((0..2).filter_map(|node| yard.start(node)));
        started.extend((0..2).filter_map(|node| yard.start(node)));
    }
    started.sort_unstable();
    assert_eq!(started, [10, 11]);
}

#[test]
fn a_packed_gang_shares_a_node() {
    // A barrier of 4 on pools of 4 and of 2, also behind other tasks.
    let mut yard = Yard::new(&[Capacity::slots(4)]);
    yard.push(Resources::slots(1), 5, 0..100);
    yard.push_gang(Resources::slots(1), 0, 100..104, true);
    yard.push(Resources::slots(1), -5, 104..110);
    let mut order = Vec::new();
    for _ in 0..300 {
        while let Some(placed) = yard.take(0, 1) {
            order.push(placed.tasks().collect::<Vec<_>>());
            yard.hold(0, placed);
        }
        yard.end_oldest();
    }
    assert_eq!(order[100], [100, 101, 102, 103]);
    assert_eq!(order.len(), 107);

    let class = yard.placing.intern(&Request::blocking(Resources::slots(1)));
    let gang = |tasks, packed| Some(Gang { tasks, packed });
    let offered = [Capacity::slots(4)];
    assert!(
        yard.placing
            .fits_ever(class, gang(4, true), &offered)
            .is_ok()
    );
    assert!(
        yard.placing
            .fits_ever(class, gang(5, true), &offered)
            .is_err()
    );
    let refused = yard
        .placing
        .fits_ever(class, gang(2, false), &offered)
        .unwrap_err();
    let words =
        "asks for 2 tasks at once on distinct nodes, each with 1 slot; the pool can run 1 at once";
    assert_eq!(refused.to_string(), words);
}

#[test]
fn a_gang_needs_its_runs_limit_as_a_whole() {
    let mut yard = Yard::new(&[Capacity::slots(4)]);
    yard.push_gang(Resources::slots(1), 9, 0..3, true);
    yard.push_at(Resources::slots(1), yard::rank(0), RunKey(1), 3..4);
    let room = Room {
        tasks: 1,
        sequential: false,
    };
    let mut may = |run| {
        if run == RunKey(0) {
            Limit(2)
        } else {
            Limit::UNLIMITED
        }
    };
    let placed = yard
        .placing
        .take(yard.nodes[0], room, None, &mut may)
        .unwrap();
    assert_eq!(placed.tasks().collect::<Vec<_>>(), [3]);
    assert!(
        yard.placing
            .take(yard.nodes[0], room, None, &mut may)
            .is_none()
    );
    assert_eq!(yard.take(0, 1).unwrap().tasks().count(), 3);
}

#[test]
fn parts_nobody_asked_for_come_back_when_the_node_leaves() {
    let mut yard = Yard::new(&vec![Capacity::slots(1); 2]);
    yard.push_gang(Resources::slots(1), 0, 0..2, false);
    assert!(yard.start(0).is_some());
    let back = yard.placing.remove_node(yard.nodes[1]);
    assert_eq!(back.len(), 1);
    assert!(!yard.placing.has_ready());
}
