//! A random graph, cut at random into what is submitted and what is added at random moments, ends as it does in one piece;
//! and what failed in it, mended and reactivated at random moments, as if it had never failed.

use crate::watchdog::within_30s;
use crate::{Door, pool};
use batchyard::{
    Array, DependencyAction, ExitConditions, Handle, Job, Run, Task, TaskRef, TaskSettings,
    TaskState, fallible,
};
use proptest::prelude::*;
use proptest::sample::Index;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// How many elements every array has.
const LEN: u32 = 3;

#[derive(Clone, Debug)]
enum Kind {
    Task,
    /// An array whose elements follow its predecessors as wholes.
    Map,
    /// An array whose elements follow, each, those of its predecessors that are arrays.
    Each,
}

#[derive(Clone, Debug)]
struct Node {
    kind: Kind,
    before: Vec<Index>,
    fails: bool,
    /// Its failures are as good as successes to those who need no value.
    satisfies: bool,
    /// It follows those that it reads nothing of whatever became of them.
    loose: bool,
    retried: bool,
    /// A new piece begins with it.
    cut: bool,
    /// What the piece before it is at then.
    moment: Moment,
    /// What failed so far is reactivated after the piece.
    reactivated: bool,
}

/// What bodies look at.
#[derive(Clone)]
struct World {
    door: Door,
    /// Whether what fails does so.
    broken: Arc<AtomicBool>,
}

impl World {
    fn new(broken: bool) -> Self {
        World {
            door: Door::default(),
            broken: Arc::new(AtomicBool::new(broken)),
        }
    }

    fn mend(&self) {
        self.broken.store(false, Ordering::SeqCst);
    }
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Moment {
    /// None of its bodies has returned.
    Held,
    /// They are returning.
    Running,
    Ended,
}

#[derive(Clone, Copy)]
enum Added {
    Task(Handle<u64>),
    Array(Array<u64>),
}

fn nodes() -> impl Strategy<Value = Vec<Node>> {
    let kind = prop_oneof![3 => Just(Kind::Task), 1 => Just(Kind::Map), 2 => Just(Kind::Each)];
    let before = prop::collection::vec(any::<Index>(), 0..3);
    let flags = (
        prop::bool::weighted(0.2),
        prop::bool::weighted(0.3),
        prop::bool::weighted(0.3),
        prop::bool::weighted(0.2),
        prop::bool::weighted(0.4),
        any::<bool>(),
    );
    let moment = prop_oneof![
        Just(Moment::Held),
        Just(Moment::Running),
        Just(Moment::Ended)
    ];
    let node = (kind, before, flags, moment).prop_map(|(kind, before, flags, moment)| {
        let (fails, satisfies, loose, retried, cut, reactivated) = flags;
        Node {
            kind,
            before,
            fails,
            satisfies,
            loose,
            retried,
            cut,
            moment,
            reactivated,
        }
    });
    prop::collection::vec(node, 1..16)
}

/// Adds a node to a job or an addition. Element 1 of an array that fails is the one that does.
fn describe(job: &mut Job, node: &Node, number: usize, earlier: &[Added], world: &World) -> Added {
    let mut before: Vec<_> = node
        .before
        .iter()
        .filter(|_| number > 0)
        .map(|at| earlier[at.index(number)])
        .collect();
    let (fails, held, broken) = (node.fails, world.door.clone(), world.broken.clone());
    let end = move |value: u64, here: bool| {
        if fails && here && broken.load(Ordering::SeqCst) {
            Err("planned")
        } else {
            Ok(value)
        }
    };
    let reference = |added: &Added| -> TaskRef {
        match added {
            Added::Task(task) => task.into(),
            Added::Array(array) => array.into(),
        }
    };
    let sums: Vec<_> = before.iter().map(|added| added.to_owned()).collect();
    let first_array = before
        .iter()
        .position(|added| matches!(added, Added::Array(_)));
    match (&node.kind, first_array) {
        (Kind::Task, _) => {
            let body = move |sum: u64| {
                held.wait();
                end(sum + 1, true)
            };
            let task = match sums.first() {
                None => Task::new((), (), fallible(move || body(0))),
                Some(Added::Task(a)) => Task::new((), a, fallible(move |a: &u64| body(*a))),
                Some(Added::Array(a)) => {
                    Task::new((), a, fallible(move |a: &[u64]| body(a.iter().sum())))
                }
            };
            let mut task = before
                .iter()
                .skip(1)
                .fold(task, |task, added| match node.loose {
                    true => task.after_any_outcome(reference(added)),
                    false => task.after(reference(added)),
                });
            if node.satisfies {
                task = task.exit_conditions(satisfying());
            }
            if node.retried {
                task = task.max_retries(1);
            }
            Added::Task(job.add(task))
        }
        (Kind::Each, Some(at)) => {
            let Added::Array(lead) = before.remove(at) else {
                unreachable!("it is an array")
            };
            let array = match before.first() {
                Some(Added::Array(other)) => job.each(
                    (),
                    (&lead, other),
                    fallible(move |a: &u64, b: &u64| {
                        held.wait();
                        end(a + b, a % 3 == 1)
                    }),
                ),
                Some(Added::Task(other)) => job.each(
                    (),
                    (&lead, other),
                    fallible(move |a: &u64, b: &u64| {
                        held.wait();
                        end(a + b, a % 3 == 1)
                    }),
                ),
                None => job.each(
                    (),
                    &lead,
                    fallible(move |a: &u64| {
                        held.wait();
                        end(a + 3, a % 3 == 1)
                    }),
                ),
            };
            configured(job, node, array)
        }
        _ => {
            let array = job.map(
                (),
                0..LEN,
                fallible(move |n: &u32| {
                    held.wait();
                    end(u64::from(*n), *n == 1)
                }),
            );
            for added in &before {
                match node.loose {
                    true => job.order_any_outcome(reference(added), array),
                    false => job.order(reference(added), array),
                }
            }
            configured(job, node, array)
        }
    }
}

fn satisfying() -> ExitConditions {
    ExitConditions::new().otherwise(DependencyAction::Satisfy)
}

fn configured(job: &mut Job, node: &Node, array: Array<u64>) -> Added {
    if node.satisfies {
        let settings = TaskSettings::new().exit_conditions(satisfying());
        job.configure(array, settings);
    }
    Added::Array(array)
}

/// How each task and element ended, with its output.
fn ends(run: &Run, added: &[Added]) -> Vec<(TaskState, Option<u64>)> {
    let mut found = Vec::new();
    for added in added {
        match added {
            Added::Task(task) => {
                let value = run.output(task).wait().ok().map(|value| *value);
                found.push((run.state(task).unwrap(), value));
            }
            Added::Array(array) => found.extend((0..array.len()).map(|index| {
                let value = run.output(array.at(index)).wait().ok().map(|value| *value);
                (run.state(array.at(index)).unwrap(), value)
            })),
        }
    }
    found
}

fn whole(nodes: &[Node], broken: bool) -> Vec<(TaskState, Option<u64>)> {
    let (mut job, mut added, world) = (Job::open("whole"), Vec::new(), World::new(broken));
    world.door.open();
    for (number, node) in nodes.iter().enumerate() {
        let one = describe(&mut job, node, number, &added, &world);
        added.push(one);
    }
    let pool = pool(2);
    let run = pool.submit(job).unwrap();
    run.seal();
    let _ = run.wait();
    ends(&run, &added)
}

/// Pieces are added while earlier ones are held at a door, while they run, or once they have ended. If all is `mended` in
/// the course of it, what failed is reactivated now and then, and at the end.
fn in_pieces(nodes: &[Node], mended: Option<usize>) -> Vec<(TaskState, Option<u64>)> {
    let pool = pool(2);
    let run = Arc::new(pool.submit(Job::open("pieces")).unwrap());
    let mut added: Vec<Added> = Vec::new();
    let mut world = World::new(true);
    let mut from = 0;
    while from < nodes.len() {
        let len = 1 + nodes[from + 1..]
            .iter()
            .take_while(|node| !node.cut)
            .count();
        if nodes[from].moment != Moment::Held {
            world.door.open();
            world.door = Door::default();
        }
        if nodes[from].moment == Moment::Ended {
            let _ = ends(&run, &added);
        }
        if mended.is_some_and(|at| (from..from + len).contains(&at)) {
            world.mend();
        }
        let piece = run.add(|more| {
            let mut all = added.clone();
            let piece = nodes.iter().enumerate().skip(from).take(len);
            for (number, node) in piece {
                let one = describe(more, node, number, &all, &world);
                all.push(one);
            }
            all
        });
        added = piece.unwrap();
        if mended.is_some() && nodes[from].reactivated {
            run.reactivate_failed().unwrap();
        }
        from += len;
    }
    world.door.open();
    run.seal();
    let _ = run.wait();
    if mended.is_some() {
        world.mend();
        run.reactivate_all().unwrap();
        run.wait().unwrap();
    }
    let counts = run.counts();
    assert_eq!(counts.ended(), counts.total);
    ends(&run, &added)
}

proptest! {
    #[test]
    fn a_job_in_pieces_ends_as_the_whole_does(nodes in nodes()) {
        let (one, other) = (nodes.clone(), nodes.clone());
        let (whole, pieces) = within_30s(move || (whole(&one, true), in_pieces(&other, None)));
        prop_assert_eq!(whole, pieces);
    }

    #[test]
    fn what_failed_and_is_mended_and_reactivated_ends_as_if_it_had_not(
        nodes in nodes(),
        mended in any::<Index>(),
    ) {
        let (one, other) = (nodes.clone(), nodes.clone());
        let mended = mended.index(nodes.len());
        let (whole, pieces) =
            within_30s(move || (whole(&one, false), in_pieces(&other, Some(mended))));
        prop_assert_eq!(whole, pieces);
    }
}
