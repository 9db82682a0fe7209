//! Closures whose user says when they change.

use crate::yard::Yard;
use batchyard::{ErrorKind, Job, durable, fallible};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

#[test]
fn a_closure_is_known_by_its_name_and_version_and_by_the_order_of_its_inputs() {
    let (yard, calls) = (Yard::new(), Arc::new(AtomicU32::new(0)));
    let job = |version: u32, swapped: bool| {
        let mut job = Job::new("closures");
        let count = |calls: &Arc<AtomicU32>| {
            let calls = calls.clone();
            move || calls.fetch_add(1, Ordering::SeqCst)
        };
        let (one, two, three) = (count(&calls), count(&calls), count(&calls));
        let a = job.task("a", (), durable(1, move || (one(), 10i64).1));
        let b = job.task(
            "b",
            (),
            durable(1, fallible(move || Ok::<_, String>((two(), 3i64).1))),
        );
        let inputs = if swapped { (&b, &a) } else { (&a, &b) };
        let less = job.task(
            "less",
            inputs,
            durable(version, move |a: &i64, b: &i64| (three(), a - b).1),
        );
        (job, less)
    };
    let calls_of = |version, swapped| {
        let (job, less) = job(version, swapped);
        let (_pool, run) = yard.submit(job);
        let value = *run.output(&less).wait().unwrap();
        run.wait().unwrap();
        (value, calls.swap(0, Ordering::SeqCst))
    };
    assert_eq!(calls_of(1, false), (7, 3));
    assert_eq!(calls_of(1, false), (7, 0));
    assert_eq!(calls_of(1, true), (-7, 1), "its inputs are swapped");
    assert_eq!(calls_of(2, true), (-7, 1), "its version is another");
}

#[test]
fn a_closure_without_a_name_is_refused() {
    let yard = Yard::new();
    let mut job = Job::new("closures");
    job.task((), (), durable(1, || 1u8));
    let (_pool, run) = yard.try_submit(job);
    let error = run.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("name"), "{error}");
}
