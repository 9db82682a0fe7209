//! What `explain` says.

use crate::order::Plug;
use crate::watchdog::within_30s;
use batchyard::*;
use std::time::Duration;

const LONG: Duration = Duration::from_secs(3600);

fn pool(threads: usize) -> Pool {
    Pool::new(ThreadExecutor::new(threads).expect("threads").gpus([0]))
}

fn why(run: &Run, task: TaskId) -> String {
    run.explain(task).expect("known").to_string()
}

#[test]
fn a_task_waits_for_the_nearest_that_has_not_ended() {
    within_30s(|| {
        let pool = pool(1);
        let plug = Plug::new(&pool, Resources::default());
        let mut job = Job::new("chain");
        let first = job.task("first", (), || 1);
        let second = job.task("second", &first, |n: &i32| *n);
        let third = job.task("third", &second, |n: &i32| *n);
        let run = pool.submit(job).expect("submitted");
        assert_eq!(
            why(&run, third.id()),
            "waits for `second`, which has not ended"
        );
        assert_eq!(
            why(&run, second.id()),
            "waits for `first`, which has not ended"
        );
        let ready = why(&run, first.id());
        assert_eq!(
            ready,
            "is ready; asks for 1 slot\nnode 0: in use, it has free 0 of 1 slots"
        );
        drop(plug);
        run.wait().expect("success");
        assert_eq!(why(&run, third.id()), "has succeeded");
    });
}

#[test]
fn a_task_waits_for_its_time_or_its_retry() {
    within_30s(|| {
        let pool = pool(1);
        let mut job = Job::new("time");
        let later = Task::new("later", (), || ()).settings(TaskSettings::new().start_after(LONG));
        let later = job.add(later);
        let again = TaskSettings::new()
            .max_retries(1)
            .backoff(Backoff::constant(LONG));
        let again =
            job.add(Task::new("again", (), fallible(|| Err::<(), _>("no"))).settings(again));
        let run = pool.submit(job).expect("submitted");
        while run.attempts(again.id()).expect("known").is_empty() {
            std::thread::yield_now();
        }
        let words = why(&run, later.id());
        assert!(words.starts_with("may not start yet, but in 3"), "{words}");
        let words = why(&run, again.id());
        assert!(
            words.starts_with("waits for its retry 1, which may start in 3"),
            "{words}"
        );
    });
}

#[test]
fn a_task_is_told_what_is_short_and_who_is_before_it() {
    within_30s(|| {
        let pool = pool(2);
        let gpu = Resources::default().gpus(1);
        let plug = Plug::new(&pool, gpu.clone());
        assert!(why(&plug.run, plug.task).starts_with("is running, attempt 1, for "));
        let mut job = Job::new("short");
        let large = Task::new("large", (), || ()).resources(Resources::slots(2));
        let large = job.add(large.priority(2));
        let gpu = job.add(Task::new("gpu", (), || ()).resources(gpu).priority(1));
        let small = job.task("small", (), || ());
        let run = pool.submit(job).expect("submitted");
        assert_eq!(
            why(&run, large.id()),
            "is ready; asks for 2 slots\nnode 0: in use, it has free 1 of 2 slots"
        );
        assert_eq!(
            why(&run, gpu.id()),
            "is ready; asks for 1 slot, 1 gpus; more urgent tasks of 1 other request are ready\n\
             node 0: in use, it has free 0 of 1 gpus"
        );
        // The node is kept for the large one as soon as a worker has asked.
        let mut words = why(&run, small.id());
        while !words.contains("kept") {
            std::thread::yield_now();
            words = why(&run, small.id());
        }
        assert!(
            words.contains("node 0: kept for more urgent tasks that ask for 2 slots"),
            "{words}"
        );
        drop(plug);
        run.wait().expect("success");
    });
}

#[test]
fn a_task_waits_for_the_limits_of_its_job_and_array() {
    within_30s(|| {
        let pool = pool(4);
        let (release, wait) = std::sync::mpsc::channel::<()>();
        let (began, has_begun) = std::sync::mpsc::channel();
        let wait = std::sync::Mutex::new(wait);
        let mut job = Job::new("limits");
        job.max_parallel_tasks(2);
        let array = job.map("array", 0..3u32, move |_: &u32| {
            let _ = began.send(());
            drop(wait.lock().map(|wait| wait.recv()));
        });
        job.configure(array, TaskSettings::new().max_parallel(1));
        let run = pool.submit(job).expect("submitted");
        has_begun.recv().expect("begun");
        let second = array.at(1).id().expect("in the array");
        assert_eq!(
            why(&run, second),
            "is ready; its array runs 1 task at once, and does"
        );
        let words = why(&run, array.id());
        assert!(
            words.starts_with("waits for its elements; `array[0]` is running"),
            "{words}"
        );
        drop(release);
        run.wait().expect("success");
    });
}

#[test]
fn a_task_that_ended_says_how() {
    let pool = pool(1);
    let mut job = Job::new("ends");
    let failed = job.task("failed", (), fallible(|| Err::<(), _>("no")));
    let skipped = job.task("skipped", &failed, |(): &()| ());
    let run = pool.submit(job).expect("submitted");
    assert!(run.wait().is_err());
    assert!(why(&run, failed.id()).starts_with("has failed (job `ends`, task `failed`: failed"));
    assert!(why(&run, skipped.id()).contains("since `failed` did not succeed"));
    let mut other = Job::new("other");
    let ids = [(); 3].map(|()| other.task((), (), || ()).id());
    assert_eq!(
        run.explain(ids[2]).expect_err("unknown").kind(),
        ErrorKind::UnknownTask
    );
}
