//! A diamond: one task's value goes to two others, and both of theirs to a last one.
//!
//!     cargo run --example diamond
//!
//!            measure
//!            /     \
//!        centre   spread        these two run at the same time
//!            \     /
//!            unusual
//!
//! A handle carries the type of its task's output, so a task that reads the wrong one doesn't
//! compile. Bodies read their inputs by reference: `measure` makes its values once, three tasks
//! read them in place, and they are freed after the last.

use batchyard::{BoxError, Job, Pool, ThreadExecutor};

fn main() -> Result<(), BoxError> {
    let mut job = Job::new("diamond");
    let measured = job.task("measure", (), || {
        vec![20.1, 19.8, 20.3, 27.5, 20.0, 19.9, 20.2]
    });
    let centre = job.task("centre", &measured, |values: &Vec<f64>| median(values));
    let spread = job.task("spread", &measured, |values: &Vec<f64>| Spread::of(values));
    let unusual = job.task(
        "unusual",
        (&measured, &centre, &spread),
        |values: &Vec<f64>, centre: &f64, spread: &Spread| -> Vec<f64> {
            let far = |value: &f64| (value - centre).abs() > 3.0 * spread.quartiles;
            values.iter().copied().filter(far).collect()
        },
    );

    let pool = Pool::new(ThreadExecutor::new(2)?);
    let run = pool.submit(job)?;
    println!("unusual: {:?}", *run.output(&unusual).wait()?);
    Ok(())
}

/// How far apart the values are.
struct Spread {
    /// Between the values a quarter from the lowest and a quarter from the highest.
    quartiles: f64,
}

impl Spread {
    fn of(values: &[f64]) -> Self {
        let values = sorted(values);
        let quarter = values.len() / 4;
        Spread {
            quartiles: values[values.len() - 1 - quarter] - values[quarter],
        }
    }
}

fn median(values: &[f64]) -> f64 {
    sorted(values)[values.len() / 2]
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}
