//! Nothing, too much, and what belongs elsewhere.

use crate::pool;
use crate::watchdog::within_30s;
use batchyard::{Array, ErrorKind, Job, TaskState, ThreadExecutor};

#[test]
fn no_threads_are_refused() {
    assert_eq!(
        ThreadExecutor::new(0).unwrap_err().kind(),
        ErrorKind::InvalidSetting
    );
    assert_eq!(
        pool(1).resize(0).unwrap_err().kind(),
        ErrorKind::InvalidSetting
    );
}

#[test]
fn a_job_of_nothing_but_an_empty_array_succeeds_at_once() {
    within_30s(|| {
        let mut job = Job::new("empty");
        let a: Array<i32> = job.map((), Vec::<i32>::new(), |n: &i32| *n);
        let pool = pool(1);
        let run = pool.submit(job).unwrap();
        assert_eq!(run.wait().unwrap().total, 0);
        assert_eq!(run.state(a).unwrap(), TaskState::Succeeded);
        assert!(run.output(&a).wait().unwrap().is_empty());
    });
}

#[test]
fn elements_out_of_range_and_foreign_handles_are_unknown() {
    within_30s(|| {
        let (mut job, mut other) = (Job::new("own"), Job::new("other"));
        let a = job.map((), 0..3, |n: &i32| *n);
        let foreign = other.task((), (), || ());
        let pool = pool(1);
        let run = pool.submit(job).unwrap();
        assert_eq!(
            run.output(a.at(3)).wait().map(drop).unwrap_err().kind(),
            ErrorKind::UnknownTask
        );
        assert_eq!(
            run.output(&foreign).wait().map(drop).unwrap_err().kind(),
            ErrorKind::UnknownTask
        );
    });
}

#[test]
fn two_hundred_thousand_different_tasks_are_added_and_cancelled() {
    within_30s(|| {
        let mut job = Job::new("S047");
        for n in 0..200_000_u32 {
            job.task((), (), move || n);
        }
        let pool = pool(2);
        let run = pool.submit(job).unwrap();
        run.cancel();
        assert_eq!(run.counts().unfinished(), 0);
    });
}
