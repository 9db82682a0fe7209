//! Task arrays.

use crate::pool;
use crate::watchdog::within_30s;
use batchyard::{ErrorKind, Job, all, fallible};

#[test]
fn every_element_reads_its_item_and_the_inputs_as_a_whole() {
    within_30s(|| {
        let mut job = Job::new("map_with");
        let factor = job.task((), (), || 10_u64);
        let offsets = job.map((), [1_u64, 2, 3], |n: &u64| *n);
        let scaled = job.map_with(
            (),
            0..1000_u64,
            (&factor, &offsets),
            |n: &u64, factor: &u64, offsets: &[u64]| n * factor + offsets.iter().sum::<u64>(),
        );
        let pool = pool(2);
        let run = pool.submit(job).unwrap();
        let scaled = run.output(&scaled).wait().unwrap();
        assert!(scaled.iter().zip(0..).all(|(&s, n)| s == n * 10 + 6));
    });
}

#[test]
fn elements_read_others_one_by_one_or_all() {
    within_30s(|| {
        let mut job = Job::new("each and all");
        let a = job.map((), 0..500_u64, |n: &u64| *n);
        let b = job.each((), (&a, all(&a)), |n: &u64, all: &[u64]| {
            (*n, all.len() as u64)
        });
        let c = job.each((), (&b, &a), |b: &(u64, u64), a: &u64| b.0 + b.1 + a);
        let pool = pool(2);
        let run = pool.submit(job).unwrap();
        let last = run.output(&c).wait().unwrap();
        assert!(last.iter().zip(0..).all(|(&sum, n)| sum == 2 * n + 500));
    });
}

#[test]
fn the_output_of_an_element_is_there_although_others_fail() {
    within_30s(|| {
        let mut job = Job::new("elements");
        let a = job.map(
            "a",
            0..100_u32,
            fallible(|n: &u32| if n % 10 == 3 { Err("three") } else { Ok(*n) }),
        );
        let b = job.each((), &a, |n: &u32| n + 1);
        let pool = pool(2);
        let run = pool.submit(job).unwrap();
        assert!(run.wait().is_err());
        assert_eq!(*run.output(b.at(4)).wait().unwrap(), 5);
        let kind = |of| run.output(of).wait().map(drop).unwrap_err().kind();
        assert_eq!(kind(a.at(13)), ErrorKind::TaskFailed);
        assert_eq!(kind(b.at(13)), ErrorKind::TaskSkipped);
        let whole = run.output(&a).wait().map(drop).unwrap_err();
        assert_eq!(whole.kind(), ErrorKind::TaskFailed);
        let counts = run.counts();
        assert_eq!(
            (counts.succeeded, counts.failed, counts.skipped),
            (180, 10, 10)
        );
    });
}

#[test]
fn ten_million_elements_without_outputs_take_a_few_bits_each() {
    within_30s(|| {
        let items = if cfg!(debug_assertions) {
            1_000_000
        } else {
            10_000_000
        };
        let mut job = Job::new("long");
        job.map((), 0..items, |_: &u32| ());
        let job = job.freeze().unwrap();
        let pool = pool(2);
        for _ in 0..3 {
            assert_eq!(
                pool.submit(&job).unwrap().wait().unwrap().succeeded,
                u64::from(items)
            );
        }
    });
}
