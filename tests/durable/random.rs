//! Random graphs, whose journals end anywhere: what is in them is closed, is not run again, and comes to the same end.

use crate::yard::{Yard, pool};
use batchyard::journal::{self, Journal};
use batchyard::{Handle, Job, TaskState, durable};
use proptest::collection::vec;
use proptest::prelude::*;
use std::collections::HashSet;
use std::sync::{Arc, Mutex};

/// For each task, the two before it that it reads; itself or a later one stands for none.
type Graph = Vec<(usize, usize)>;

fn job(graph: &Graph, calls: &Arc<Mutex<Vec<usize>>>) -> (Job, Vec<Handle<u64>>) {
    let mut job = Job::new("random");
    let mut handles: Vec<Handle<u64>> = Vec::new();
    for (at, &(first, second)) in graph.iter().enumerate() {
        let calls = calls.clone();
        let name = format!("t{at}");
        let call = move |sum: u64| {
            calls.lock().unwrap().push(at);
            sum * 3 + at as u64
        };
        let inputs = [first, second].map(|input| handles.get(input).copied());
        let handle = match inputs {
            [None, None] => job.task(name, (), durable(1, move || call(1))),
            [Some(one), None] | [None, Some(one)] => {
                job.task(name, &one, durable(1, move |one: &u64| call(*one % 1000)))
            }
            [Some(one), Some(two)] => {
                let body = move |one: &u64, two: &u64| call((one % 1000) * 2 + two % 1000);
                job.task(name, (&one, &two), durable(1, body))
            }
        };
        handles.push(handle);
    }
    (job, handles)
}

fn outputs(run: &batchyard::Run, handles: &[Handle<u64>]) -> Vec<u64> {
    let outputs = handles
        .iter()
        .map(|handle| run.output(handle).wait().map(|output| *output));
    outputs.map(|output| output.unwrap_or(u64::MAX)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(
        std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).map_or(16, |cases: u32| cases / 16),
    ))]

    #[test]
    fn wherever_a_journal_ends_what_is_in_it_is_closed_and_the_rest_follows(
        graph in vec((0..12usize, 0..12usize), 1..12),
        cuts in vec(any::<proptest::sample::Index>(), 1..4),
    ) {
        let (yard, calls) = (Yard::new(), Arc::new(Mutex::new(Vec::new())));
        let (whole, handles) = job(&graph, &calls);
        let (pool_of_first, run) = yard.submit(whole);
        run.wait().unwrap();
        let right = outputs(&run, &handles);
        drop((run, pool_of_first));
        let bytes = std::fs::read(yard.path()).unwrap();
        for cut in cuts {
            let len = 32 + cut.index(bytes.len() - 31);
            let other = Yard::new();
            std::fs::write(other.path(), &bytes[..len]).unwrap();
            let inspection = journal::inspect(other.path()).unwrap();
            let ended: HashSet<_> = inspection
                .tasks()
                .filter(|task| task.state == TaskState::Succeeded)
                .map(|task| task.label[1..].parse::<usize>().unwrap())
                .collect();
            for &at in &ended {
                let (first, second) = graph[at];
                for input in [first, second].into_iter().filter(|input| *input < at) {
                    prop_assert!(ended.contains(&input), "{at} has ended before {input}");
                }
            }
            calls.lock().unwrap().clear();
            let (again, handles) = job(&graph, &calls);
            let pool = pool();
            let run = pool.submit_durable(again, Journal::open(other.path()).unwrap()).unwrap();
            run.wait().unwrap();
            let called: HashSet<_> = calls.lock().unwrap().drain(..).collect();
            prop_assert!(called.is_disjoint(&ended), "{called:?} were called, {ended:?} had ended");
            prop_assert_eq!(called.len() + ended.len(), graph.len());
            prop_assert_eq!(outputs(&run, &handles), right.clone());
        }
    }
}
