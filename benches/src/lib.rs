//! What the benchmarks share: how contenders take turns, and who they are.
//!
//! A benchmark lists [`Case`](case::Case)s and knows how to measure one of them; [`Bench::main`](harness::Bench::main)
//! does the rest. It measures every case in a fresh process of the benchmark itself (so that peak memory is the case's
//! own), lets the contenders of a shape take turns for a number of rounds, and prints the median and the minimum.
//!
//! ```text
//! cargo bench -p batchyard-benches --bench dag                          # everything, seven rounds
//! cargo bench -p batchyard-benches --bench dag -- --json                # one object a line
//! cargo bench -p batchyard-benches --bench dag -- --shape grid,random --contender batchyard,limit --rounds 15
//! cargo bench -p batchyard-benches --bench dag -- --shape array --tasks 10000000 --contender batchyard
//! cargo test -p batchyard-benches --benches                             # everything once, with few tasks
//! ```
//!
//! | bench | asks | file |
//! |---|---|---|
//! | `dag` | what one task of a large job costs, in time and in memory | `benches/dag.rs` |
//! | `efficiency` | how much of two threads is left for bodies of 1, 10 and 100 µs | `benches/efficiency.rs` |
//! | `latency` | how soon the body of a lone task starts in an idle pool | `benches/latency.rs` |
//! | `jobs` | what a small job costs, many of them through one pool | `benches/jobs.rs` |
//! | `scoring` | what a mini-batch costs on threads and in Python processes, and a row of a table | `benches/scoring.rs` |
//! | `policy` | what tasks with priorities and requests cost, in time and in memory | `benches/policy.rs` |
//! | `process` | what a command costs beyond starting its program, and a function in a child process | `benches/process.rs` |
//!
//! What the machine can do is called `limit`: written with flat arrays, atomics, deques and threads, and nothing else.
//! A contender that isn't installed is left out with a note. `setup.sh` installs those that cargo doesn't.
//!
//! A new benchmark is a file in `benches/` with a [`Bench`](harness::Bench) in its `main`, and a `[[bench]]` entry in
//! `Cargo.toml`. What it runs may be anything that yields a [`Sample`](case::Sample), other programs included.

pub mod body;
pub mod case;
pub mod contenders;
pub mod cpp;
pub mod crew;
pub mod csr;
pub mod functions;
pub mod harness;
pub mod memory;
pub mod options;
pub mod placing;
pub mod processes;
pub mod report;
pub mod row;
pub mod shape;

/// How many threads every contender gets.
pub const THREADS: usize = 2;
