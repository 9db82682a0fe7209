//! An executor of one's own: worker threads that pull their work from the pool, one task at a time.
//!
//!     cargo run --release --features conformance --example own_executor
//!
//! What it must do is written in [`batchyard::executor`]. Whether it does, the conformance suite tells.

use async_trait::async_trait;
use batchyard::executor::{Executor, Feed, Node, NodeSpec, Offer, conformance};
use batchyard::{Error, Job, Pool};
use std::sync::Arc;
use std::thread;

/// Runs tasks on as many threads as it has slots.
pub(crate) struct OwnExecutor {
    pub(crate) slots: u32,
}

#[async_trait]
impl Executor for OwnExecutor {
    fn offer(&self) -> Offer {
        Offer::in_process()
    }

    async fn serve(&self, feed: Feed) -> Result<(), Error> {
        // A body that waits is charged to a slot of its own kind; here it blocks its thread like any other.
        let spec = NodeSpec::new(self.slots).async_slots(self.slots);
        let node = Arc::new(feed.join(spec));
        let work = |_| {
            let node = node.clone();
            thread::spawn(move || work(&node))
        };
        let workers: Vec<_> = (0..self.slots).map(work).collect();
        // Nothing to do for any: a thread can't be interrupted (bodies ask their context whether they are cancelled), and
        // the number of threads is fixed.
        while feed.order().await.is_some() {}
        for worker in workers {
            let _ = worker.join();
        }
        Ok(())
    }
}

/// What each thread does until the pool is closed. A body's panic is an outcome like others.
fn work(node: &Node) {
    while let Some(mut grant) = node.take_blocking(1) {
        while let Some(lease) = grant.begin() {
            let outcome = lease.run();
            lease.complete(outcome);
        }
    }
}

fn main() -> Result<(), Error> {
    let pool = Pool::new(OwnExecutor { slots: 2 });
    let mut job = Job::new("squares");
    let squares = job.map("square", 1..=10u64, |n: &u64| n * n);
    let sum = job.reduce("sum", &squares, |all: &[u64]| all.iter().sum::<u64>());
    println!("sum of squares: {}", pool.submit(job)?.output(&sum).wait()?);

    let cases = conformance::check(|slots| OwnExecutor {
        slots: slots as u32,
    });
    println!("conforms to the contract in {} cases", cases.len());
    Ok(())
}
