//! What people are told.

use super::super::explain::Obstacle;
use super::*;

#[test]
fn a_request_no_node_can_meet_is_refused_naming_the_dimension() {
    let mut yard = Yard::new(&[Capacity::slots(2)]);
    let offered = [Capacity::slots(1), Capacity::slots(4).custom("mem", 8)];
    let mut refused = |resources: Resources, offered: &[Capacity]| {
        let class = yard.placing.intern(&Request::blocking(resources));
        yard.placing
            .fits_ever(class, offered)
            .err()
            .map(|error| error.to_string())
    };
    let words = |text: &str| Some(text.to_owned());
    assert_eq!(
        refused(Resources::slots(6), &offered),
        words("asks for 6 slots; the largest node has 4")
    );
    assert_eq!(
        refused(Resources::slots(1).custom("fpga", 1), &offered),
        words("asks for 1 fpga; the largest node has 0")
    );
    assert_eq!(
        refused(Resources::slots(1).custom("mem", 9), &offered),
        words("asks for 9 mem; the largest node has 8")
    );
    assert_eq!(
        refused(Resources::slots(1).cpus(-1.0), &offered),
        words("asks for an invalid amount cpus; the largest node has 0")
    );
    assert!(refused(Resources::slots(1).gpus(2), &offered).is_some());
    assert!(refused(Resources::slots(1).memory(1), &offered).is_some());
    let growing = [Capacity::slots(8)];
    assert_eq!(refused(Resources::slots(6), &growing), None);
}

#[test]
fn nothing_is_refused_while_nothing_is_known() {
    let mut placing = Placing::default();
    let class = placing.intern(&Request::blocking(Resources::slots(6)));
    assert!(placing.fits_ever(class, &[]).is_ok());
    let offered = [Capacity::slots(4)];
    assert!(placing.fits_ever(class, &offered).is_err());
}

#[test]
fn explains_node_by_node() {
    let mut yard = Yard::new(&[
        Capacity::slots(2),
        Capacity::slots(4).gpus([0]),
        Capacity::slots(4).gpus([0]),
    ]);
    yard.push(Resources::slots(1).gpus(1), 9, 0..1);
    yard.start(1);
    yard.push(Resources::slots(3), 9, 1..2);
    yard.start(2);
    yard.push(Resources::slots(4), 5, 2..3);
    yard.push(Resources::slots(3).gpus(1), 0, 3..4);
    assert_eq!(yard.start(1), None);
    let class = yard
        .placing
        .intern(&Request::blocking(Resources::slots(3).gpus(1)));
    let why = yard
        .placing
        .explain(class, yard::rank(0), &|node| node.to_string());
    assert_eq!(
        why.to_string(),
        "asks for 3 slots, 1 gpus; more urgent tasks of 1 other request are ready\n\
         node 0: too small, it has 2 of 3 slots and 0 of 1 gpus\n\
         node 1: in use, it has free 0 of 1 gpus\n\
         node 2: in use, it has free 1 of 3 slots"
    );
    let small = yard.placing.intern(&Request::blocking(Resources::slots(1)));
    let why = yard
        .placing
        .explain(small, yard::rank(-1), &|node| node.to_string());
    assert!(
        matches!(&why.nodes[1].1, Obstacle::Reserved(requests) if requests.len() == 1),
        "{why}"
    );
    assert_eq!(why.nodes[0].1, Obstacle::None);
}
