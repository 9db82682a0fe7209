//! What bodies write to standard output and error.

use crate::children;
use crate::functions::{PRINT, WHO, WORK};
use batchyard::{Job, Pool};

#[test]
fn what_each_attempt_writes_is_kept_and_does_not_disturb_the_protocol() {
    let pool = Pool::new(children(2));
    let mut job = Job::new("print");
    let prints = job.map("print", 0..50u64, &PRINT);
    let run = pool.submit(job).unwrap();
    run.wait().unwrap();
    for n in 0..50u64 {
        let printed = run.printed(prints.at(n as usize)).unwrap();
        assert_eq!(printed.len(), 1, "{n}");
        assert_eq!(printed[0].attempt, 1);
        assert_eq!(
            String::from_utf8_lossy(&printed[0].stdout),
            format!("out {n}\n")
        );
        assert_eq!(
            String::from_utf8_lossy(&printed[0].stderr),
            format!("err {n}")
        );
    }
}

#[test]
fn an_attempt_that_writes_nothing_leaves_nothing() {
    let pool = Pool::new(children(1));
    let mut job = Job::new("silent");
    let silent = job.map("work", 0..100u64, &WORK);
    let run = pool.submit(job).unwrap();
    run.wait().unwrap();
    assert!((0..100).all(|n| run.printed(silent.at(n)).unwrap().is_empty()));
}

#[test]
fn a_body_in_a_child_knows_who_it_is() {
    let pool = Pool::new(children(1));
    let mut job = Job::new("names");
    let named = job.map("named", 0..3u64, &WHO);
    let unnamed = job.map((), 0..1u64, &WHO);
    let run = pool.submit(job).unwrap();
    assert_eq!(
        *run.output(named.at(2)).wait().unwrap(),
        "named[2] of names, 2"
    );
    assert_eq!(
        *run.output(unnamed.at(0)).wait().unwrap(),
        "array 1[0] of names, 0"
    );
}
