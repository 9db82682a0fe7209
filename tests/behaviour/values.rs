//! Outputs: when they are freed, and that they are, once.

use crate::pool;
use crate::watchdog::within_30s;
use batchyard::{Close, ErrorKind, Job};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

#[derive(Clone)]
struct Witness(Arc<()>);

#[test]
fn an_output_is_freed_after_its_last_dependent_unless_it_is_kept() {
    within_30s(|| {
        let (freed, kept) = (Arc::new(()), Arc::new(()));
        let mut job = Job::new("freed");
        let (f, k) = (Witness(freed.clone()), Witness(kept.clone()));
        let a = job.task("a", (), move || f.clone());
        let b = job.task("b", (), move || k.clone());
        job.keep(b);
        job.task("c", (&a, &b), |_: &Witness, _: &Witness| ());
        let pool = pool(2);
        let run = pool.submit(job).unwrap();
        run.wait().unwrap();
        pool.close(Close::Drain, Duration::from_secs(20));
        assert_eq!(
            run.output(&a).wait().map(drop).unwrap_err().kind(),
            ErrorKind::OutputFreed
        );
        assert!(run.output(&b).wait().is_ok());
        let output = run.output(&b).wait().unwrap();
        drop((run, pool));
        assert_eq!(
            Arc::strong_count(&output.0),
            3,
            "an output outlives its run and pool"
        );
        drop(output);
        assert_eq!(
            (Arc::strong_count(&freed), Arc::strong_count(&kept)),
            (1, 1)
        );
    });
}

#[test]
fn values_without_size_are_dropped_as_often_as_they_are_made() {
    static DROPS: AtomicUsize = AtomicUsize::new(0);
    struct Nothing;
    impl Drop for Nothing {
        fn drop(&mut self) {
            DROPS.fetch_add(1, SeqCst);
        }
    }
    within_30s(|| {
        let mut job = Job::new("nothing");
        let a = job.map((), 0..1000, |_: &i32| Nothing);
        job.each((), &a, |_: &Nothing| Nothing);
        let pool = pool(2);
        let run = pool.submit(job).unwrap();
        run.wait().unwrap();
        pool.close(batchyard::Close::Drain, std::time::Duration::from_secs(20));
        drop(run);
    });
    assert_eq!(DROPS.load(SeqCst), 2000);
}

#[test]
fn over_aligned_values_lie_where_they_must() {
    #[repr(align(4096))]
    struct Page(u8);
    within_30s(|| {
        let mut job = Job::new("aligned");
        let a = job.map((), 0..5_u8, |n: &u8| Page(*n));
        let sum = job.reduce((), &a, |all: &[Page]| {
            all.iter()
                .map(|page| usize::from(page.0) + (page as *const Page as usize) % 4096)
                .sum::<usize>()
        });
        assert_eq!(
            *pool(2).submit(job).unwrap().output(&sum).wait().unwrap(),
            10
        );
    });
}

#[test]
fn a_frozen_job_may_run_many_times_at_once() {
    within_30s(|| {
        let mut job = Job::new("again");
        let a = job.map((), 0..100_u64, |n: &u64| vec![*n]);
        let sum = job.reduce((), &a, |all: &[Vec<u64>]| {
            all.iter().map(|v| v[0]).sum::<u64>()
        });
        let job = job.freeze().unwrap();
        let pool = pool(2);
        let runs: Vec<_> = (0..50).map(|_| pool.submit(&job).unwrap()).collect();
        assert!(
            runs.iter()
                .all(|run| *run.output(&sum).wait().unwrap() == 4950)
        );
    });
}
