//! Several jobs in one pool, and its end.

use crate::pool;
use crate::watchdog::within_30s;
use batchyard::{Close, Context, ErrorKind, Job, TaskState};
use futures::executor::block_on;
use std::panic::panic_any;
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

#[test]
fn a_more_urgent_job_overtakes_within_one_task_of_each_worker() {
    within_30s(|| {
        let (begun, order) = mpsc::channel();
        let job = |name: &'static str, priority, go: mpsc::Receiver<()>| {
            let (begun, go) = (begun.clone(), Mutex::new(go));
            let mut job = Job::new(name);
            job.priority(priority);
            job.map((), 0..20, move |_: &i32| {
                begun.send(name).unwrap();
                let _ = go.lock().unwrap().recv();
            });
            job
        };
        let ((low_go, low), (high_go, high)) = (mpsc::channel(), mpsc::channel());
        let pool = pool(2);
        let first = pool.submit(job("low", 0, low)).unwrap();
        assert_eq!([order.recv().unwrap(), order.recv().unwrap()], ["low"; 2]);
        let second = pool.submit(job("high", 1, high)).unwrap();
        low_go.send(()).unwrap();
        assert_eq!(order.recv().unwrap(), "high");
        low_go.send(()).unwrap();
        assert_eq!(
            order.recv().unwrap(),
            "high",
            "the second worker overtakes, too"
        );
        drop((low_go, high_go));
        second.wait().unwrap();
        first.wait().unwrap();
    });
}

#[test]
fn closing_names_the_bodies_that_still_run() {
    within_30s(|| {
        let ((go, gate), (begin, begun)) = (mpsc::channel::<()>(), mpsc::channel());
        let gate = Mutex::new(gate);
        let mut job = Job::new("stuck");
        job.task("body", (), move || {
            begin.send(()).unwrap();
            let _ = gate.lock().unwrap().recv();
        });
        let pool = pool(1);
        let run = pool.submit(job).unwrap();
        begun.recv().unwrap();
        assert_eq!(pool.close(Close::Drain, Duration::ZERO), ["stuck/body"]);
        assert!(run.wait().is_err());
        drop(go);
        assert_eq!(pool.close(Close::Drain, Duration::from_secs(20)), [""; 0]);
    });
}

#[test]
fn closing_while_bodies_return_does_not_lock_up() {
    for _ in 0..200 {
        within_30s(|| {
            let mut job = Job::new("returning");
            job.map((), 0..2000_u32, |n: &u32| *n);
            let pool = pool(2);
            let _run = pool.submit(job).unwrap();
            pool.close(Close::Cancel, Duration::ZERO);
        });
    }
}

#[test]
fn a_panic_whose_payload_panics_when_dropped_costs_no_worker() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("again");
        }
    }
    within_30s(|| {
        let mut job = Job::new("bombs");
        job.map((), 0..4, |_: &i32| -> () { panic_any(Bomb) });
        let pool = pool(1);
        let run = pool.submit(job).unwrap();
        assert!(run.wait().is_err());
        assert_eq!(run.counts().failed, 4);
        let mut next = Job::new("next");
        next.task((), (), || ());
        pool.submit(next).unwrap().wait().unwrap();
    });
}

#[test]
fn closing_may_be_awaited() {
    within_30s(|| {
        let mut job = Job::new("drained");
        let all = job.map((), 0..5000_u32, |n: &u32| *n);
        let pool = pool(2);
        let run = pool.submit(job).unwrap();
        let closed = pool.close_async(Close::Drain, Duration::from_secs(20));
        assert_eq!(block_on(closed), [""; 0]);
        assert!(run.has_ended());
        assert_eq!(run.output(&all).wait().unwrap().len(), 5000);
    });
}

#[test]
fn a_pool_is_closed_although_nobody_awaits_it() {
    within_30s(|| {
        let (tell, told) = mpsc::channel::<()>();
        let mut job = Job::new("unawaited");
        job.task((), (), move || tell.send(()));
        let pool = pool(1);
        let run = pool.submit(job).unwrap();
        drop(pool.close_async(Close::Drain, Duration::from_secs(20)));
        run.wait().unwrap();
        assert_eq!(told.recv(), Ok(()));
    });
}

#[test]
fn dropping_a_pool_does_not_wait_for_a_body_that_goes_on() {
    within_30s(|| {
        let ((go, gate), (begin, begun)) = (mpsc::channel::<()>(), mpsc::channel());
        let gate = Mutex::new(gate);
        let mut job = Job::new("goes on");
        let body = job.task((), (), move || {
            begin.send(()).unwrap();
            let _ = gate.lock().unwrap().recv();
        });
        let pool = pool(1);
        let run = pool.submit(job).unwrap();
        begun.recv().unwrap();
        drop(pool);
        assert_eq!(run.state(body).unwrap(), TaskState::Cancelled);
        assert_eq!(run.wait().unwrap_err().kind(), ErrorKind::PoolClosed);
        drop(go);
    });
}

#[test]
fn a_body_may_drop_its_own_pool() {
    within_30s(|| {
        let ((give, given), (tell, told)) = (mpsc::channel::<batchyard::Pool>(), mpsc::channel());
        let given = Mutex::new(given);
        let mut job = Job::new("drops");
        job.task((), (), move || {
            drop(given.lock().unwrap().recv().unwrap());
            tell.send(()).unwrap();
        });
        let pool = pool(1);
        let run = pool.submit(job).unwrap();
        give.send(pool).unwrap();
        told.recv().unwrap();
        assert_eq!(run.wait().unwrap_err().kind(), ErrorKind::PoolClosed);
    });
}

#[test]
fn a_job_may_hold_the_last_of_its_pool() {
    within_30s(|| {
        let (tell, told) = mpsc::channel();
        let pool = Arc::new(pool(1));
        let held = pool.clone();
        let mut job = Job::new("holds");
        job.task((), (), move || {
            tell.send(held.resize(1).is_ok()).unwrap();
        });
        drop(pool.submit(job).unwrap());
        drop(pool);
        assert!(told.recv().unwrap());
        assert!(
            told.recv().is_err(),
            "the body is dropped, and the pool with it"
        );
    });
}

#[test]
fn a_pool_is_resized_up_and_down_under_load() {
    within_30s(|| {
        let mut job = Job::new("load");
        let all = job.map((), 0..200_000_u32, |n: &u32| n.rotate_left(3));
        job.reduce((), &all, |all: &[u32]| all.len());
        let pool = pool(2);
        let run = pool.submit(job).unwrap();
        let mut sizes = (1..=7).chain((2..7).rev()).cycle();
        while !run.has_ended() {
            pool.resize(sizes.next().unwrap()).unwrap();
        }
        assert_eq!(run.wait().unwrap().succeeded, 200_001);
        pool.resize(3).unwrap();
        let meeting = Arc::new(std::sync::Barrier::new(3));
        let mut meet = Job::new("meet");
        meet.map((), 0..3, move |_: &i32| meeting.wait().is_leader());
        pool.submit(meet).unwrap().wait().unwrap();
    });
}

#[test]
fn a_pool_is_resized_while_bodies_wait() {
    within_30s(|| {
        let pool = Arc::new(pool(2));
        let inner = Arc::downgrade(&pool);
        let mut job = Job::new("waits");
        job.map((), 0..300_u32, move |n: &u32| {
            let pool = inner.upgrade().expect("open");
            pool.resize(1 + *n as usize % 4).unwrap();
            let mut job = Job::new("inner");
            let answer = job.task((), (), || 1);
            *pool.submit(job).unwrap().output(&answer).wait().unwrap()
        });
        assert_eq!(pool.submit(job).unwrap().wait().unwrap().succeeded, 300);
    });
}

#[test]
fn jobs_are_submitted_from_many_threads_while_the_pool_closes() {
    for how in [Close::Drain, Close::Cancel].repeat(20) {
        within_30s(move || {
            let pool = pool(2);
            std::thread::scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(|| {
                        for _ in 0..50 {
                            let mut job = Job::new("late");
                            job.map((), 0..20_u32, |n: &u32| *n);
                            match pool.submit(job) {
                                Ok(run) => {
                                    let _ = run.wait();
                                    assert_eq!(run.counts().unfinished(), 0);
                                }
                                Err(error) => assert_eq!(error.kind(), ErrorKind::PoolClosed),
                            }
                        }
                    });
                }
                scope.spawn(|| assert_eq!(pool.close(how, Duration::from_secs(20)), [""; 0]));
            });
        });
    }
}

#[test]
fn counts_never_run_ahead() {
    within_30s(|| {
        let pool = pool(2);
        for _ in 0..20 {
            let mut job = Job::new("counts");
            job.map((), 0..50_000_u32, |n: &u32| *n);
            let run = pool.submit(job).unwrap();
            loop {
                let counts = run.counts();
                if counts.unfinished() == 0 {
                    break;
                }
            }
            assert!(run.ended().wait().is_ok());
        }
    });
}

/// A state of a worker, as told when it is made and dropped.
struct State(mpsc::Sender<&'static str>);

impl State {
    fn new(tell: &mpsc::Sender<&'static str>) -> Self {
        tell.send("made").unwrap();
        State(tell.clone())
    }
}

impl Drop for State {
    fn drop(&mut self) {
        let _ = self.0.send("dropped");
    }
}

#[test]
fn worker_local_state_is_made_once_for_each_worker_and_run_and_dropped_at_its_end() {
    within_30s(|| {
        let (tell, told) = mpsc::channel();
        let mut job = Job::new("local");
        job.map((), 0..1000, move |cx: &Context, _: &i32| {
            cx.worker_local(|| State::new(&tell), |_| ());
        });
        let job = job.freeze().unwrap();
        let pool = pool(2);
        for _ in 0..20 {
            let run = pool.submit(&job).unwrap();
            run.wait().unwrap();
            // The run and its job are still held: it is the run's end that drops the states.
            let (mut made, mut alive) = (0, 0);
            loop {
                match told.recv().unwrap() {
                    "made" => (made, alive) = (made + 1, alive + 1),
                    _ => alive -= 1,
                }
                if alive == 0 {
                    break;
                }
            }
            assert!((1..=2).contains(&made), "{made} for two workers");
            drop(run);
        }
    });
}

#[test]
fn worker_local_state_is_made_anew_after_a_panic() {
    within_30s(|| {
        let (tell, told) = mpsc::channel();
        let mut job = Job::new("panics");
        job.map((), 0..10, move |cx: &Context, n: &i32| {
            cx.worker_local(|| State::new(&tell), |_| assert!(*n != 5, "five"));
        });
        let pool = pool(1);
        let run = pool.submit(job).unwrap();
        assert!(run.wait().is_err());
        assert_eq!(run.counts().succeeded, 9);
        let history: Vec<_> = told.iter().take(4).collect();
        assert_eq!(history, ["made", "dropped", "made", "dropped"]);
    });
}

#[test]
fn worker_local_state_of_a_body_that_outlives_its_run_is_dropped_when_it_returns() {
    within_30s(|| {
        let ((tell, told), (go, gate)) = (mpsc::channel(), mpsc::channel::<()>());
        let gate = Mutex::new(gate);
        let mut job = Job::new("outlives");
        job.task((), (), move |cx: &Context| {
            cx.worker_local(
                || State::new(&tell),
                |_| {
                    let _ = gate.lock().unwrap().recv();
                },
            );
        });
        let pool = pool(1);
        let run = pool.submit(job).unwrap();
        assert_eq!(told.recv().unwrap(), "made");
        run.cancel();
        assert!(run.wait().is_err());
        drop(go);
        assert_eq!(told.recv().unwrap(), "dropped");
        drop(run);
    });
}

/// What only a process without other tests in it can tell.
#[cfg(target_os = "linux")]
mod alone {
    use crate::pool;
    use crate::watchdog::within_30s;
    use batchyard::{BoxError, Close, Job, asynchronous};
    use std::fs;
    use std::time::Duration;

    const ALONE: &str = "BATCHYARD_TEST_ALONE";

    /// Runs `test`, which is called `name`, in a process of its own.
    fn alone(name: &str, test: impl FnOnce() + Send + 'static) {
        if std::env::var_os(ALONE).is_some() {
            return within_30s(test);
        }
        let name = format!("pools::alone::{name}");
        let output = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", &name, "--nocapture"])
            .env(ALONE, "1")
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(
            output.status.success() && said.contains("1 passed"),
            "{said}{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }

    fn entries(directory: &str) -> usize {
        fs::read_dir(directory).unwrap().count()
    }

    fn resident_pages() -> u64 {
        let statm = fs::read_to_string("/proc/self/statm").unwrap();
        statm.split(' ').nth(1).unwrap().parse().unwrap()
    }

    /// Every way of running: plain, waiting for others, asynchronous.
    fn use_and_close(how: Close) {
        let mut job = Job::new("everything");
        let a = job.map((), 0..100_u64, |n: &u64| vec![*n; 100]);
        let b = job.each(
            (),
            &a,
            asynchronous(|v: Vec<u64>| async move { Ok::<_, BoxError>(v) }),
        );
        let sum = job.reduce((), &b, |all: &[Vec<u64>]| all.len());
        let pool = std::sync::Arc::new(pool(3));
        let inner = std::sync::Arc::downgrade(&pool);
        job.task((), &sum, move |_: &usize| {
            let Some(pool) = inner.upgrade() else { return };
            let mut job = Job::new("inner");
            job.task((), (), || ());
            if let Ok(run) = pool.submit(job) {
                let _ = run.wait();
            }
        });
        let run = pool.submit(job).unwrap();
        if how == Close::Drain {
            run.wait().unwrap();
        }
        assert_eq!(pool.close(how, Duration::from_secs(20)), [""; 0]);
    }

    #[test]
    fn neither_threads_nor_descriptors_are_left_when_a_pool_is_closed() {
        alone(
            "neither_threads_nor_descriptors_are_left_when_a_pool_is_closed",
            || {
                let (threads, descriptors) = (entries("/proc/self/task"), entries("/proc/self/fd"));
                for how in [Close::Drain, Close::Cancel].repeat(20) {
                    use_and_close(how);
                }
                // A thread that has been joined, or has nothing left to do, may still be about to go.
                while entries("/proc/self/task") > threads || entries("/proc/self/fd") > descriptors
                {
                    std::thread::yield_now();
                }
            },
        );
    }

    #[test]
    fn pools_leave_no_memory() {
        alone("pools_leave_no_memory", || {
            (0..100).for_each(|_| use_and_close(Close::Drain));
            let before = resident_pages();
            (0..300).for_each(|_| use_and_close(Close::Drain));
            let grown = resident_pages().saturating_sub(before);
            assert!(grown < 2048, "{grown} pages more after 300 pools");
        });
    }

    #[test]
    fn twenty_thousand_small_jobs_leave_memory_flat() {
        alone("twenty_thousand_small_jobs_leave_memory_flat", || {
            let pool = pool(2);
            let small = |n: u32| {
                let mut job = Job::new(format!("small {n}"));
                let a = job.map("a", 0..20, |n: &u32| vec![*n]);
                let b = job.reduce("b", &a, |all: &[Vec<u32>]| all.len());
                assert_eq!(*pool.submit(job).unwrap().output(&b).wait().unwrap(), 20);
            };
            (0..5_000).for_each(small);
            let before = resident_pages();
            (0..20_000).for_each(small);
            let grown = resident_pages().saturating_sub(before);
            assert!(grown < 512, "{grown} pages more after 20,000 jobs");
        });
    }

    /// How long the threads called `batchyard…` have been on a core, and this one, in the kernel's ticks: hundredths of
    /// a second.
    fn on_core() -> (u64, u64) {
        let time = |stat: String| -> u64 {
            let (_, fields) = stat.rsplit_once(") ").unwrap();
            let fields = fields.split(' ').skip(11).take(2);
            fields.map(|ticks| ticks.parse::<u64>().unwrap()).sum()
        };
        let tasks = fs::read_dir("/proc/self/task").unwrap();
        let ours = tasks.filter_map(|task| {
            let path = task.ok()?.path();
            let name = fs::read_to_string(path.join("comm")).ok()?;
            let stat = fs::read_to_string(path.join("stat")).ok()?;
            name.starts_with("batchyard").then(|| time(stat))
        });
        let own = fs::read_to_string("/proc/thread-self/stat").unwrap();
        (ours.sum(), time(own))
    }

    #[test]
    fn an_idle_pool_uses_no_core() {
        alone("an_idle_pool_uses_no_core", || {
            let pool = pool(2);
            let mut job = Job::new("before");
            job.map((), 0..1000, |_: &u32| ());
            pool.submit(job).unwrap().wait().unwrap();
            // Half a second of this thread's own work, in which none of the pool's was on a core. The first may be one in
            // which they were still on their way to bed.
            loop {
                let before = on_core();
                while on_core().1 < before.1 + 50 {}
                if on_core().0 == before.0 {
                    break;
                }
            }
        });
    }
}
