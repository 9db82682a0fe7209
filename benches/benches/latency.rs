//! How soon the body of a lone task starts in an idle pool.
//!
//! A `task` is one submission, made when everything has been idle for a while; the figure is the median of many. The
//! limit is a parked thread that is unparked. (`build` and memory say nothing here.)

use batchyard::Job;
use batchyard_benches::case::{Case, Missing, Outcome, Sample};
use batchyard_benches::contenders;
use batchyard_benches::harness::Bench;
use batchyard_benches::options::Options;
use batchyard_benches::report::Report;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering::*};
use std::sync::{Arc, LazyLock};
use std::thread::{park, sleep, spawn};
use std::time::{Duration, Instant};

/// How many submissions a round has: these are single tasks, whatever `--tasks` says.
const SUBMISSIONS: usize = 200;
/// Long enough for every thread to have gone to sleep.
const IDLE: Duration = Duration::from_millis(3);

const CONTENDERS: [&str; 4] = ["batchyard", "limit", "rayon", "tokio"];

fn main() -> ExitCode {
    Bench {
        name: "latency",
        cases,
        measure,
        report: Report::times,
    }
    .main()
}

fn cases(_: &Options) -> Vec<Case> {
    CONTENDERS
        .map(|contender| Case::new("idle", contender, 1))
        .into()
}

fn measure(case: &Case) -> Outcome {
    LazyLock::force(&EPOCH);
    let stamp = Stamp::default();
    let latency = match case.contender.as_str() {
        "batchyard" => batchyard(&stamp),
        "limit" => unpark(&stamp),
        "rayon" => rayon(&stamp)?,
        "tokio" => tokio(&stamp)?,
        other => return Err(Missing(format!("nobody is called {other}"))),
    };
    Ok(Sample {
        run: latency,
        ..Sample::default()
    })
}

fn batchyard(stamp: &Stamp) -> Duration {
    let pool = contenders::batchyard::pool();
    median(stamp, || {
        let (mut job, body) = (Job::new("lone"), stamp.clone());
        job.task((), (), move || body.set());
        let start = Instant::now();
        let run = pool.submit(job);
        (start, run)
    })
}

/// A bare thread that waits in `park`.
fn unpark(stamp: &Stamp) -> Duration {
    let (own, wanted) = (stamp.clone(), Arc::new(AtomicU64::new(0)));
    let theirs = wanted.clone();
    let sleeper = spawn(move || {
        for turn in 1.. {
            while theirs.load(Acquire) < turn {
                park();
            }
            own.set();
        }
    });
    median(stamp, || {
        let start = Instant::now();
        wanted.fetch_add(1, Release);
        sleeper.thread().unpark();
        (start, ())
    })
}

fn rayon(stamp: &Stamp) -> Result<Duration, Missing> {
    let pool = contenders::rayon::pool()?;
    Ok(median(stamp, || {
        let body = stamp.clone();
        let start = Instant::now();
        pool.spawn(move || body.set());
        (start, ())
    }))
}

fn tokio(stamp: &Stamp) -> Result<Duration, Missing> {
    let runtime = contenders::tokio::runtime()?;
    Ok(median(stamp, || {
        let body = stamp.clone();
        let start = Instant::now();
        drop(runtime.spawn(async move { body.set() }));
        (start, ())
    }))
}

/// The median time from the start of a submission, which `submit` returns, to its body's stamp.
fn median<R>(stamp: &Stamp, mut submit: impl FnMut() -> (Instant, R)) -> Duration {
    let once = |_| {
        sleep(IDLE);
        let (start, _running) = submit();
        sleep(IDLE); // at once, so that a core is free for the body
        stamp.take().saturating_duration_since(start)
    };
    let mut latencies: Vec<Duration> = (0..SUBMISSIONS).map(once).collect();
    latencies.sort();
    latencies[SUBMISSIONS / 2]
}

/// When the body last began.
#[derive(Clone, Default)]
struct Stamp(Arc<AtomicU64>);

static EPOCH: LazyLock<Instant> = LazyLock::new(Instant::now);

impl Stamp {
    fn set(&self) {
        let since = EPOCH.elapsed().as_nanos() as u64;
        self.0.store(since.max(1), Release);
    }

    /// Waits for a body that is late.
    fn take(&self) -> Instant {
        loop {
            match self.0.swap(0, Acquire) {
                0 => sleep(IDLE),
                since => return *EPOCH + Duration::from_nanos(since),
            }
        }
    }
}
