//! Which seeds are tried, and what is said of one that fails.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// How many seeds are tried if nobody says.
pub(crate) const DEFAULT: u64 = 100;

/// Runs a world for each seed. One that fails is printed, with the last lines of its trace and how to see it again.
pub(crate) fn for_seeds(default: u64, run: impl Fn(u64, &mut Vec<String>)) {
    match number("BATCHYARD_SEED") {
        Some(seed) => {
            let (trace, result) = traced(seed, &run);
            println!("{}", trace.join("\n"));
            result.unwrap_or_else(|panic| resume_unwind(panic));
        }
        None => {
            for seed in 0..number("BATCHYARD_SEEDS").unwrap_or(default) {
                let (trace, result) = traced(seed, &run);
                if let Err(panic) = result {
                    let last = trace.len().saturating_sub(40);
                    println!("{}", trace[last..].join("\n"));
                    println!("seed {seed} fails; see all of it again with");
                    println!(
                        "  BATCHYARD_SEED={seed} cargo test --all-features --test simulation -- --nocapture every_seed"
                    );
                    resume_unwind(panic);
                }
            }
        }
    }
}

fn traced(
    seed: u64,
    run: &impl Fn(u64, &mut Vec<String>),
) -> (Vec<String>, std::thread::Result<()>) {
    let mut trace = Vec::new();
    let result = catch_unwind(AssertUnwindSafe(|| run(seed, &mut trace)));
    (trace, result)
}

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().expect("a number of seeds, or a seed"))
}
