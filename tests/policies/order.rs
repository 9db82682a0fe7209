//! Which of the ready tasks go first, and how many at once.

use crate::watchdog::within_30s;
use batchyard::*;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};

fn pool(threads: usize) -> Pool {
    Pool::new(ThreadExecutor::new(threads).expect("threads"))
}

/// What has run, in order.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u32>>>);

impl Log {
    fn add(&self, number: u32) {
        self.0.lock().expect("no panic").push(number);
    }

    fn all(&self) -> Vec<u32> {
        self.0.lock().expect("no panic").clone()
    }
}

fn finish(runs: &[Run]) {
    for run in runs {
        run.wait().expect("success");
    }
}

/// How many bodies run at once, and the most that ever did.
#[derive(Clone, Default)]
pub(crate) struct Gauge(Arc<(AtomicUsize, AtomicUsize)>);

impl Gauge {
    pub(crate) fn during(&self, units: usize, body: impl FnOnce()) {
        let now = self.0.0.fetch_add(units, Ordering::SeqCst) + units;
        self.0.1.fetch_max(now, Ordering::SeqCst);
        body();
        self.0.0.fetch_sub(units, Ordering::SeqCst);
    }

    pub(crate) fn most(&self) -> usize {
        self.0.1.load(Ordering::SeqCst)
    }
}

/// Keeps the only worker of a pool busy until it is dropped.
pub(crate) struct Plug {
    _release: mpsc::Sender<()>,
    pub(crate) run: Run,
    pub(crate) task: TaskId,
}

impl Plug {
    pub(crate) fn new(pool: &Pool, resources: Resources) -> Self {
        let (release, wait) = mpsc::channel::<()>();
        let (began, has_begun) = mpsc::channel();
        let wait = Mutex::new(wait);
        let mut job = Job::new("plug");
        let body = move || {
            let _ = began.send(());
            drop(wait.lock().map(|wait| wait.recv()));
        };
        let task = job
            .add(Task::new("plug", (), body).resources(resources))
            .id();
        let run = pool.submit(job).expect("submitted");
        has_begun.recv().expect("begun");
        Plug {
            _release: release,
            run,
            task,
        }
    }
}

#[test]
fn higher_priorities_overtake_and_equals_run_as_they_became_ready() {
    within_30s(|| {
        let (pool, log) = (pool(1), Log::default());
        let plug = Plug::new(&pool, Resources::default());
        let mut job = Job::new("priorities");
        for (number, priority) in [(0, 0), (1, 5), (2, -1), (3, 5), (4, 0)] {
            let log = log.clone();
            job.add(Task::new((), (), move || log.add(number)).priority(priority));
        }
        let plain = log.clone();
        job.task("plain", (), move || plain.add(5));
        let run = pool.submit(job).expect("submitted");
        drop(plug);
        run.wait().expect("success");
        assert_eq!(log.all(), [1, 3, 0, 4, 5, 2]);
    });
}

#[test]
fn a_jobs_priority_counts_before_its_tasks() {
    within_30s(|| {
        let (pool, log) = (pool(1), Log::default());
        let plug = Plug::new(&pool, Resources::default());
        let mut runs = Vec::new();
        for (number, priority, task_priority) in [(0, 0, 9), (1, 1, -9), (2, 0, 9)] {
            let mut job = Job::new("job");
            job.priority(priority);
            let log = log.clone();
            job.add(Task::new("task", (), move || log.add(number)).priority(task_priority));
            runs.push(pool.submit(job).expect("submitted"));
        }
        drop(plug);
        finish(&runs);
        assert_eq!(log.all(), [1, 0, 2]);
    });
}

#[test]
fn plain_jobs_and_queued_ones_take_turns_by_priority_then_submission() {
    within_30s(|| {
        let (pool, log) = (pool(1), Log::default());
        let plug = Plug::new(&pool, Resources::default());
        let mut runs = Vec::new();
        // Job priority, and whether the policy starts its task.
        for (number, (priority, queued)) in
            [(0, false), (0, true), (1, false), (1, true), (0, false)]
                .into_iter()
                .enumerate()
        {
            let mut job = Job::new("job");
            job.priority(priority);
            if queued {
                job.max_parallel_tasks(9);
            }
            let log = log.clone();
            job.task("task", (), move || log.add(number as u32));
            runs.push(pool.submit(job).expect("submitted"));
        }
        drop(plug);
        finish(&runs);
        assert_eq!(log.all(), [2, 3, 0, 1, 4]);
    });
}

#[test]
fn submission_order_is_kept_however_tasks_become_ready() {
    within_30s(|| {
        let (pool, log) = (pool(1), Log::default());
        let mut job = Job::new("order");
        job.task_order(TaskOrder::Submission);
        // Each even one lets the odd one that was added before it run.
        let mut firsts = Vec::new();
        for number in 0..50 {
            let (first, second) = (log.clone(), log.clone());
            let before = job.task((), (), move || first.add(number));
            let after = job.task((), &before, move |(): &()| second.add(100 + number));
            firsts.push((before, after));
        }
        let elements = log.clone();
        job.map("array", 0..50u32, move |number: &u32| {
            elements.add(200 + number)
        });
        let run = pool.submit(job).expect("submitted");
        run.wait().expect("success");
        let pairs = (0..50).flat_map(|number| [number, 100 + number]);
        assert_eq!(log.all(), pairs.chain(200..250).collect::<Vec<_>>());
    });
}

#[test]
fn a_retry_goes_back_to_its_place_in_the_submission_order() {
    within_30s(|| {
        let (pool, log) = (pool(1), Log::default());
        let mut job = Job::new("order");
        job.task_order(TaskOrder::Submission);
        let twice = TaskSettings::new().max_retries(1).backoff(Backoff::none());
        let runs = log.clone();
        let array = job.map(
            "array",
            0..6u32,
            fallible(move |cx: &Context, number: &u32| {
                runs.add(*number);
                if cx.attempt() == 1 && number % 2 == 1 {
                    Err("odd")
                } else {
                    Ok(())
                }
            }),
        );
        job.configure(array, twice);
        pool.submit(job)
            .expect("submitted")
            .wait()
            .expect("success");
        assert_eq!(log.all(), [0, 1, 1, 2, 3, 3, 4, 5, 5]);
    });
}

#[test]
fn jobs_that_interleave_run_as_their_tasks_became_ready() {
    within_30s(|| {
        let (pool, log) = (pool(1), Log::default());
        let plug = Plug::new(&pool, Resources::default());
        let mut runs = Vec::new();
        for number in 0..2 {
            let mut job = Job::new("job");
            job.task_order(TaskOrder::Interleaved);
            for task in 0..2 {
                let log = log.clone();
                job.task((), (), move || log.add(10 * task + number));
            }
            runs.push(pool.submit(job).expect("submitted"));
        }
        drop(plug);
        finish(&runs);
        assert_eq!(log.all().len(), 4);
    });
}

#[test]
fn no_more_of_a_job_run_at_once_than_it_allows() {
    within_30s(|| {
        let (pool, gauge) = (pool(4), Gauge::default());
        let mut job = Job::new("limited");
        job.max_parallel_tasks(2);
        let both = Arc::new(std::sync::Barrier::new(2));
        let (single, of_array) = (gauge.clone(), gauge.clone());
        let array = job.map("array", 0..500u32, move |_: &u32| {
            // Two at once there are, so the limit is not just kept by running one after another.
            of_array.during(1, || {
                both.wait();
            });
        });
        job.reduce("after", &array, move |_: &[()]| single.during(1, || ()));
        pool.submit(job)
            .expect("submitted")
            .wait()
            .expect("success");
        assert_eq!(gauge.most(), 2);
    });
}

#[test]
fn no_more_of_an_array_run_at_once_than_it_allows_while_others_do() {
    within_30s(|| {
        let (pool, limited) = (pool(4), Gauge::default());
        let mut job = Job::new("limited");
        let pairs = std::sync::Barrier::new(2);
        let gauge = limited.clone();
        let few = job.map("few", 0..100u32, move |_: &u32| {
            gauge.during(1, std::thread::yield_now);
        });
        job.configure(few, TaskSettings::new().max_parallel(1));
        // Those of the other array run two at a time all the while.
        let many = job.map("many", 0..300u32, move |_: &u32| {
            pairs.wait();
        });
        job.configure(many, TaskSettings::new().max_parallel(3));
        pool.submit(job)
            .expect("submitted")
            .wait()
            .expect("success");
        assert_eq!(limited.most(), 1);
    });
}

#[test]
fn a_limit_counts_bodies_that_are_past_their_time_limit() {
    within_30s(|| {
        let (pool, gauge) = (pool(2), Gauge::default());
        let mut job = Job::new("late");
        job.max_parallel_tasks(1);
        let (release, wait) = mpsc::channel::<()>();
        let wait = Mutex::new(wait);
        let (stuck, next) = (gauge.clone(), gauge.clone());
        let late = job.add(
            Task::new("late", (), move || {
                stuck.during(1, || drop(wait.lock().map(|wait| wait.recv())));
            })
            .time_limit(std::time::Duration::from_millis(20)),
        );
        job.task("next", (), move || next.during(1, || ()));
        let run = pool.submit(job).expect("submitted");
        let error = run.output(&late).wait().expect_err("past its limit");
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        drop(release);
        assert!(run.wait().is_err());
        assert_eq!(gauge.most(), 1);
    });
}

#[test]
fn a_more_urgent_job_that_comes_in_the_middle_of_many_sources_costs_no_dependent() {
    within_30s(|| {
        let pool = Arc::new(pool(1));
        let mut job = Job::new("many sources");
        let urgent = Arc::downgrade(&pool);
        for number in 0..64 {
            let urgent = urgent.clone();
            let source = job.task((), (), move || {
                if number % 16 == 10 {
                    let mut job = Job::new("urgent");
                    job.priority(1);
                    job.task((), (), || ());
                    urgent.upgrade().unwrap().submit(job).unwrap();
                }
            });
            job.task((), &source, |(): &()| ());
        }
        let counts = pool.submit(job).unwrap().wait().unwrap();
        assert_eq!(counts.succeeded, 128);
    });
}
