//! Cancels a running job: once one task has found what all are looking for, the others may stop.
//!
//!     cargo run --release --example cancellation
//!
//! A body can't be interrupted from outside, so cancelling is a question that it asks:
//! [`Context::is_cancelled`]. Tasks that haven't begun when the run is cancelled never do.

use batchyard::{BoxError, Close, Context, Job, Pool, ThreadExecutor};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// The digest of what is sought ends in so many zero bits: one number in a billion.
const ZEROS: u32 = 30;
/// The numbers are searched in blocks, one task a block; far more of them than will be needed.
const BLOCK: u64 = 1 << 26;
const BLOCKS: u64 = 1000;
/// Between two questions: asking costs a few nanoseconds, and so does a try.
const TRIES: u64 = 1 << 12;

fn main() -> Result<(), BoxError> {
    let (found, answer) = mpsc::channel();
    let mut job = Job::new("search");
    job.map("search", 0..BLOCKS, move |cx: &Context, block: &u64| {
        let mut tried = 0;
        while tried < BLOCK && !cx.is_cancelled() {
            let from = block * BLOCK + tried;
            let hits = (from..from + TRIES).filter(|&n| digest(n).trailing_zeros() >= ZEROS);
            // Nobody listens any more once the first answer is there.
            hits.for_each(|number| found.send(number).unwrap_or(()));
            tried += TRIES;
        }
    });

    let pool = Pool::new(ThreadExecutor::all_cores()?);
    let start = Instant::now();
    let run = pool.submit(job)?;
    let number = answer.recv()?;
    println!(
        "found {number} after {:.0?}: {:016x}",
        start.elapsed(),
        digest(number)
    );

    let asked = Instant::now();
    run.cancel();
    // This waits for no body: those that still run count as over, whatever they return.
    if let Err(error) = run.wait() {
        println!("after {:.0?}: {error}, {:?}", asked.elapsed(), run.counts());
    }
    // This does, for so long, and names those that did not ask in time.
    let deaf = pool.close(Close::Drain, Duration::from_secs(1));
    println!(
        "after {:.0?}: bodies still running: {deaf:?}",
        asked.elapsed()
    );
    Ok(())
}

/// The finalizer of the SplitMix64 generator: every bit of the number sways every bit of the digest.
fn digest(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
