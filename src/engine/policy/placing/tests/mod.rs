//! Tests of the placing as a whole.

mod gangs;
mod large;
mod naive;
mod storm;
mod words;
mod yard;

use super::*;
use crate::model::Resources;
use yard::Yard;

#[test]
fn order_is_by_priority_then_readiness() {
    let mut yard = Yard::new(&[Capacity::slots(1)]);
    for (task, priority) in [(0, 0), (1, 5), (2, 0), (3, 5)] {
        yard.push(Resources::slots(1), priority, task..task + 1);
    }
    assert_eq!(yard.drain(), [1, 3, 0, 2]);
}

#[test]
fn equal_jobs_run_first_job_first_unless_they_interleave() {
    for (interleave, expected) in [(false, [0, 2, 1, 3]), (true, [0, 1, 2, 3])] {
        let mut yard = Yard::new(&[Capacity::slots(1)]);
        for task in 0..4 {
            let job = task % 2;
            let tie = if interleave {
                Tie::Interleaved
            } else {
                Tie::Ready { job }
            };
            let rank = Rank {
                job_priority: 0,
                task_priority: 0,
                tie,
            };
            yard.push_at(Resources::slots(1), rank, RunKey(job), task..task + 1);
        }
        assert_eq!(yard.drain(), expected);
    }
}

#[test]
fn submission_order_is_kept_however_tasks_become_ready() {
    let mut yard = Yard::new(&[Capacity::slots(1)]);
    for task in [3, 0, 2, 1] {
        let tie = Tie::Submission {
            job: 0,
            order: task.into(),
        };
        let rank = Rank {
            job_priority: 0,
            task_priority: 0,
            tie,
        };
        yard.push_at(Resources::slots(1), rank, RunKey(0), task..task + 1);
    }
    assert_eq!(yard.drain(), [0, 1, 2, 3]);
}

#[test]
fn what_goes_back_keeps_its_place() {
    let mut yard = Yard::new(&[Capacity::slots(8)]);
    yard.push(Resources::slots(1), 0, 0..100);
    let mut placed = yard.take(0, 5).unwrap();
    let rest = placed.spans[0].split_off(2);
    assert_eq!((placed.tasks().collect(), rest.tasks()), (vec![0, 1], 2..5));
    yard.placing.requeue(placed.class, placed.run, [rest]);
    let again = yard.take(0, 3).unwrap();
    assert_eq!(again.tasks().collect::<Vec<_>>(), [2, 3, 4]);
    assert_eq!(yard.placing.ready().tasks, 95);
}

#[test]
fn a_range_is_one_entry_and_is_given_out_in_batches() {
    let mut yard = Yard::new(&[Capacity::slots(4)]);
    yard.push(Resources::slots(1), 0, 0..1_000_000);
    let placed = yard.take(0, 100).unwrap();
    assert_eq!(placed.tasks().count(), 4);
    yard.hold(0, placed);
    let room = Room {
        tasks: 100,
        sequential: true,
    };
    yard.release_all();
    let placed = yard
        .placing
        .take(yard.nodes[0], room, None, &mut |_| Limit(1))
        .unwrap();
    assert_eq!(
        (placed.tasks().count(), placed.allocation.units()),
        (100, 1)
    );
}

#[test]
fn a_batch_stops_where_something_else_is_more_urgent() {
    let mut yard = Yard::new(&[Capacity::slots(8)]);
    for task in 0..4 {
        let resources = if task == 2 {
            Resources::slots(2)
        } else {
            Resources::slots(1)
        };
        yard.push(resources, 0, task..task + 1);
    }
    let batches = std::iter::from_fn(|| yard.take(0, 8)).map(|placed| placed.tasks().collect());
    assert_eq!(
        batches.collect::<Vec<Vec<_>>>(),
        [vec![0, 1], vec![2], vec![3]]
    );
}

#[test]
fn runs_at_their_limit_are_passed_over() {
    let mut yard = Yard::new(&[Capacity::slots(8)]);
    let rank = |priority| Rank {
        job_priority: priority,
        task_priority: 0,
        tie: Tie::Interleaved,
    };
    yard.push_at(Resources::slots(1), rank(9), RunKey(0), 0..10);
    yard.push_at(Resources::slots(1), rank(5), RunKey(1), 10..20);
    yard.push_at(Resources::slots(2), rank(7), RunKey(2), 20..30);
    let mut limits = [Limit::NONE, Limit(2), Limit::NONE];
    let room = Room {
        tasks: 8,
        sequential: false,
    };
    let placed = yard
        .placing
        .take(yard.nodes[0], room, None, &mut |run| limits[run.0 as usize])
        .unwrap();
    assert_eq!(placed.tasks().collect::<Vec<_>>(), [10, 11]);
    limits[2] = Limit(1);
    let placed = yard
        .placing
        .take(yard.nodes[0], room, None, &mut |run| limits[run.0 as usize])
        .unwrap();
    assert_eq!(placed.tasks().collect::<Vec<_>>(), [20]);
}

#[test]
fn a_removed_run_is_forgotten() {
    let mut yard = Yard::new(&[Capacity::slots(2)]);
    yard.push(Resources::slots(1), 0, 0..10);
    yard.push(Resources::slots(2), 0, 10..20);
    let rank = Rank {
        job_priority: 0,
        task_priority: 0,
        tie: Tie::Interleaved,
    };
    yard.push_at(Resources::slots(1), rank, RunKey(1), 20..21);
    assert_eq!(
        yard.placing.ready(),
        ReadyCount {
            tasks: 21,
            slots: 31
        }
    );
    drop(yard.placing.remove_run(RunKey(0)));
    assert_eq!(yard.placing.ready(), ReadyCount { tasks: 1, slots: 1 });
    assert_eq!(yard.drain(), [20]);
}

#[test]
fn bodies_that_wait_hold_slots_of_their_own() {
    let mut yard = Yard::new(&[Capacity::slots(1).async_slots(2)]);
    let class = yard.placing.intern(&Request::waiting(Resources::default()));
    let rank = Rank {
        job_priority: 0,
        task_priority: 0,
        tie: Tie::Interleaved,
    };
    yard.placing.push(class, rank, RunKey(0), 0..3);
    yard.push(Resources::slots(1), -1, 3..5);
    let taken: Vec<_> = std::iter::from_fn(|| yard.take(0, 1))
        .flat_map(|placed| placed.tasks().collect::<Vec<_>>())
        .collect();
    assert_eq!(taken, [0, 1, 3]);
}

#[test]
fn gpus_are_exclusive_whole_or_in_parts() {
    let mut yard = Yard::new(&[Capacity::slots(16).gpus([3, 5, 7])]);
    yard.push(Resources::slots(1).gpu_fraction(0.5), 9, 0..3);
    yard.push(Resources::slots(1).gpus(1), 5, 3..9);
    let mut held = Vec::new();
    while let Some(placed) = yard.take(0, 1) {
        held.extend(
            placed
                .allocation
                .gpus()
                .iter()
                .map(|share| (share.index, share.amount().as_f64())),
        );
        yard.hold(0, placed);
    }
    assert_eq!(held, [(3, 0.5), (3, 0.5), (5, 0.5), (7, 1.0)]);
}

#[test]
fn lent_slots_and_smaller_nodes() {
    let mut yard = Yard::new(&[Capacity::slots(2)]);
    yard.push(Resources::slots(1), 0, 0..9);
    assert_eq!(yard.take(0, 9).unwrap().allocation.units(), 2);
    yard.placing.set_lent(yard.nodes[0], 1);
    assert_eq!(yard.take(0, 9).unwrap().allocation.units(), 1);
    yard.placing.set_lent(yard.nodes[0], 0);
    yard.placing.resize_slots(yard.nodes[0], 1);
    assert!(yard.placing.is_over_committed() && yard.take(0, 1).is_none());
    yard.placing.resize_slots(yard.nodes[0], 4);
    assert_eq!(yard.take(0, 9).unwrap().allocation.units(), 1);
}

#[test]
fn spread_goes_to_the_emptiest_that_waits_and_pack_to_the_fullest() {
    for (placement, expected) in [(Placement::Spread, [2, 2]), (Placement::Pack, [4, 0])] {
        let mut yard = Yard::new(&[Capacity::slots(4), Capacity::slots(4)]);
        yard.placing.floor.placement = placement;
        yard.push(Resources::slots(1), 0, 0..4);
        yard.settle(1);
        let used = yard
            .nodes
            .iter()
            .map(|&node| yard.placing.slots(node).unwrap().1);
        assert_eq!(used.collect::<Vec<_>>(), expected);
    }
}

#[test]
fn spread_cuts_batches() {
    let mut yard = Yard::new(&[Capacity::slots(8), Capacity::slots(6)]);
    yard.push(Resources::slots(1), 0, 0..8);
    let _ = yard.placing.set_hungry(yard.nodes[1], true);
    assert_eq!(yard.take(0, 8).unwrap().allocation.units(), 3);
    assert!(yard.take(0, 8).is_none());
    assert_eq!(yard.placing.woken(), [yard.nodes[1]]);
}
