//! One job, and the executor that is named on the command line.
//!
//!     cargo run --release --features process --example backends            # both, one after the other
//!     cargo run --release --features process --example backends thread
//!     cargo run --release --features process --example backends process
//!
//! Nothing but the executor differs: the job is the same, and so are its outputs.

use batchyard::{
    Error, FrozenJob, Function, Handle, Job, Pool, ProcessExecutor, Result, ThreadExecutor,
    registry,
};
use std::time::Instant;

static PRIMES: Function<(u64, u64), u64> = Function::new("primes", primes);
static SUM: Function<[u64], u64> = Function::new("sum", |all: &[u64]| all.iter().sum());

/// How many primes there are from one number on, and below another.
fn primes(&(from, to): &(u64, u64)) -> u64 {
    let is_prime = |n: &u64| {
        let mut divisors = (2u64..).take_while(|divisor| divisor * divisor <= *n);
        *n > 1 && !divisors.any(|divisor| n.is_multiple_of(divisor))
    };
    (from..to).filter(is_prime).count() as u64
}

fn job() -> Result<(FrozenJob, Handle<u64>)> {
    let mut job = Job::new("primes");
    let ranges = (0..100).map(|n| (n * 2_000, (n + 1) * 2_000));
    let counts = job.map("count", ranges, &PRIMES);
    let sum = job.reduce("sum", &counts, &SUM);
    Ok((job.freeze()?, sum))
}

fn pool(backend: &str) -> Result<Pool> {
    Ok(match backend {
        "thread" => Pool::new(ThreadExecutor::new(2)?),
        "process" => Pool::new(ProcessExecutor::new(2)?),
        other => {
            eprintln!("there is no backend `{other}`: take `thread` or `process`");
            std::process::exit(2)
        }
    })
}

fn main() -> Result<(), Error> {
    batchyard::init(registry![PRIMES, SUM])?;
    let named = std::env::args().nth(1);
    let backends = named.map_or_else(|| vec!["thread".into(), "process".into()], |one| vec![one]);
    let (job, sum) = job()?;
    for backend in backends {
        let pool = pool(&backend)?;
        let begun = Instant::now();
        let sum = *pool.submit(&job)?.output(&sum).wait()?;
        println!("{backend}: {sum} primes in {:?}", begun.elapsed());
        assert_eq!(sum, 17_984);
    }
    Ok(())
}
