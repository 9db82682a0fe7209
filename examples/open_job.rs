//! A job that grows while it runs: each page that is read adds a task for every new page that it links to.
//!
//!     cargo run --release --example open_job
//!
//! The web is made up, and lies in memory. Nobody knows beforehand how many pages there are.

use batchyard::{Context, Job, Output, Pool, Result, ThreadExecutor};
use std::collections::HashSet;
use std::sync::{Arc, Mutex};

/// How many pages there are to be found, and how many each links to.
const PAGES: u64 = 2_000;
const LINKS: u64 = 5;

/// What was found on a page.
struct Page {
    address: u64,
    words: u64,
}

/// What all tasks of the crawl share.
#[derive(Clone, Default)]
struct Crawl {
    seen: Arc<Mutex<HashSet<u64>>>,
}

impl Crawl {
    /// Reads a page, and adds those that it leads to.
    fn read(&self, cx: &Context, address: u64) -> Page {
        let new: Vec<_> = links(address).filter(|&link| self.is_new(link)).collect();
        if !new.is_empty() {
            let crawl = self.clone();
            // One addition for all of them, as an array: nothing is added if anything is wrong.
            let added = cx.add(|more| {
                more.map((), new, move |cx: &Context, link: &u64| {
                    crawl.read(cx, *link)
                })
            });
            if let Err(error) = added {
                eprintln!("page {address}: {error}"); // the run was cancelled, say
            }
        }
        Page {
            address,
            words: words(address),
        }
    }

    fn is_new(&self, address: u64) -> bool {
        let mut seen = self
            .seen
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        seen.insert(address)
    }
}

fn main() -> Result<()> {
    let pool = Pool::new(ThreadExecutor::all_cores()?);
    let mut job = Job::open("crawl");
    let crawl = Crawl::default();
    crawl.is_new(0);
    let home = job.task("home", (), move |cx: &Context| crawl.read(cx, 0));
    let run = pool.submit(job)?;

    // From outside, too: what is added reads outputs that may be there already, or not yet.
    let report = run.add(|more| {
        more.task("report", &home, |home: &Page| {
            format!("page {} has {} words", home.address, home.words)
        })
    })?;
    let report: Output<String> = run.output(&report).wait()?;
    println!("{}", *report);

    // The handle is given up: only the tasks themselves can add now, so that the run ends with the last of them.
    let ended = run.ended();
    drop(run);
    let counts = ended.wait()?;
    println!(
        "{} tasks: all pages that can be reached, and a report",
        counts.total
    );
    Ok(())
}

fn links(address: u64) -> impl Iterator<Item = u64> {
    (1..=LINKS).map(move |nth| (address * LINKS + nth * nth) % PAGES)
}

fn words(address: u64) -> u64 {
    300 + address * 7919 % 1_000
}
