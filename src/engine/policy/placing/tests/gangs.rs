//! Gangs start as a whole or not at all.

use super::*;

/// Which instance a node is given, of which task.
fn start_part(yard: &mut Yard, node: usize) -> Option<(u32, u32)> {
    let placed = yard.take(node, 1)?;
    let (task, part) = (placed.tasks().next(), placed.part);
    yard.hold(node, placed);
    Some((task?, part?.instance))
}

#[test]
fn a_gang_goes_to_distinct_nodes_at_once() {
    let mut yard = Yard::new(&vec![Capacity::slots(2); 3]);
    yard.push_gang(Resources::slots(2), 3, 0, 7, false);
    let first = start_part(&mut yard, 0);
    // All are charged, and wait for their nodes to ask.
    assert!(
        yard.nodes
            .iter()
            .all(|&node| yard.placing.slots(node) == Some((2, 2)))
    );
    let mut parts: Vec<_> = first
        .into_iter()
        .chain(start_part(&mut yard, 1))
        .chain(start_part(&mut yard, 2))
        .collect();
    parts.sort_unstable();
    assert_eq!(parts, [(7, 0), (7, 1), (7, 2)]);
}

#[test]
fn a_gang_waits_until_all_of_it_fits_and_is_not_starved() {
    let mut yard = Yard::new(&vec![Capacity::slots(2); 2]);
    yard.push(Resources::slots(1), 0, 0..4);
    yard.settle(1);
    yard.push_gang(Resources::slots(2), 2, 0, 10, false);
    yard.push(Resources::slots(1), 0, 100..200);
    let mut started = Vec::new();
    for _ in 0..4 {
        assert!(started.is_empty());
        yard.end_oldest();
        started.extend((0..2).filter_map(|node| yard.start(node)));
        started.extend((0..2).filter_map(|node| yard.start(node)));
    }
    assert_eq!(started, [10, 10]);
}

#[test]
fn a_packed_gang_shares_a_node() {
    // A barrier of 4 on a pool of 4, behind other tasks.
    let mut yard = Yard::new(&[Capacity::slots(4)]);
    yard.push(Resources::slots(1), 5, 0..100);
    yard.push_gang(Resources::slots(1), 4, 0, 100, true);
    yard.push(Resources::slots(1), -5, 104..110);
    assert_eq!(yard.placing.ready().slots, 110);
    let mut order = Vec::new();
    for _ in 0..300 {
        order.extend(std::iter::from_fn(|| yard.start(0)));
        yard.end_oldest();
    }
    assert_eq!(order[99..105], [99, 100, 100, 100, 100, 104]);
    assert_eq!(order.len(), 110);
}

#[test]
fn a_gang_that_can_never_start_is_refused() {
    let mut yard = Yard::new(&[Capacity::slots(4)]);
    let mut fits = |asks: Resources| {
        let class = yard.placing.intern(&Request::blocking(asks));
        yard.placing.fits_ever(class, &[Capacity::slots(4)])
    };
    let gang = |instances| Resources::slots(1).instances(instances);
    assert!(fits(gang(4).packed()).is_ok());
    assert!(fits(gang(5).packed()).is_err());
    let words = "asks for 2 instances, each with 1 slot, at once on distinct nodes; the pool can run 1 at once";
    assert_eq!(fits(gang(2)).unwrap_err().to_string(), words);
}

#[test]
fn a_gang_needs_its_runs_limit_as_a_whole() {
    let mut yard = Yard::new(&[Capacity::slots(4)]);
    yard.push_gang(Resources::slots(1), 3, 9, 0, true);
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
    assert_eq!(std::iter::from_fn(|| yard.start(0)).count(), 3);
}

#[test]
fn parts_nobody_asked_for_come_back_when_the_node_leaves() {
    let mut yard = Yard::new(&vec![Capacity::slots(1); 2]);
    yard.push_gang(Resources::slots(1), 2, 0, 0, false);
    assert!(yard.start(0).is_some());
    let back = yard.placing.remove_node(yard.nodes[1]);
    assert_eq!(back.len(), 1);
    assert!(!yard.placing.has_ready());
}

#[test]
fn parts_nobody_asked_for_are_withdrawn() {
    let mut yard = Yard::new(&vec![Capacity::slots(1); 3]);
    yard.push_gang(Resources::slots(1), 3, 0, 0, false);
    let first = yard.take(0, 1).unwrap();
    yard.placing.withdraw(first.part.unwrap().gang);
    yard.hold(0, first);
    assert_eq!((yard.start(1), yard.start(2)), (None, None));
    yard.release_all();
    yard.push_gang(Resources::slots(1), 3, 0, 1, false);
    assert_eq!(yard.start(0), Some(1));
    drop(yard.placing.remove_run(RunKey(0)));
    assert_eq!(yard.placing.slots(yard.nodes[1]), Some((1, 0)));
}
