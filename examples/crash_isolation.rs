//! Functions in child processes: some of them crash, and nobody else notices.
//!
//!     cargo run --release --features process --example crash_isolation
//!
//! Each element of the array ends in another way. On threads, an abort or an overflow of the stack would end the whole
//! program; here it ends one attempt, with its cause and the last words of its process.

use batchyard::{ChildDied, Function, Job, Pool, ProcessExecutor, Result, registry};

static RISKY: Function<u32, u32> = Function::new("risky", risky);

fn risky(n: &u32) -> u32 {
    match n {
        3 => panic!("three is not to my taste"),
        5 => std::process::abort(),
        7 => std::process::exit(0),
        9 => without_end(&[0; 4096]).into(),
        n => n * n,
    }
}

#[allow(unconditional_recursion, reason = "it is to overflow its stack")]
#[inline(never)]
fn without_end(before: &[u8; 4096]) -> u8 {
    let mut more = *before;
    more[0] = more[0].wrapping_add(1);
    without_end(std::hint::black_box(&more)).wrapping_add(more[0])
}

fn main() -> Result<()> {
    // First of all: this program is started again as the children.
    batchyard::init(registry![RISKY])?;

    let pool = Pool::new(ProcessExecutor::new(2)?);
    let mut job = Job::new("crash isolation");
    let squares = job.map("risky", 0..12u32, &RISKY);
    let run = pool.submit(job)?;
    let ended = run.wait();

    for n in 0..12 {
        match run.output(squares.at(n)).wait() {
            Ok(square) => println!("{n:2}: {}", *square),
            Err(error) => {
                let died = error.cause::<ChildDied>().is_some();
                let what = if died { "died" } else { "failed" };
                println!("{n:2}: {what}: {}", first_line(&error.to_string()));
            }
        }
    }
    let counts = run.counts();
    println!("{} succeeded, {} failed", counts.succeeded, counts.failed);
    assert!(ended.is_err());
    assert_eq!((counts.succeeded, counts.failed), (8, 4));
    Ok(())
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}
