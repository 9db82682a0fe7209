//! Looks at a job while it runs, and afterwards: progress, a summary, one task's story, and pictures.
//!
//!     cargo run --example observe --features timeline
//!     cargo run --example observe --features timeline -- directory-for-the-pictures
//!
//! Open `timeline.html` in a browser, and drop `timeline.json` on <https://ui.perfetto.dev>. The network is bad and one
//! image is torn, so that there is something to see.

use batchyard::{
    Array, Backoff, BoxError, Context, Job, Permanent, Pool, Run, TaskSettings, ThreadExecutor,
    fallible,
};
use std::path::PathBuf;
use std::thread::sleep;
use std::time::Duration;

/// The image that is of no use.
const TORN: usize = 11;

fn main() -> Result<(), BoxError> {
    let pool = Pool::new(ThreadExecutor::new(4)?);
    let recording = pool.record_timelines();
    let (job, fetched) = gallery();
    let run = pool.submit(job)?;
    watch(&run);

    println!("\n{}\n\n{}", run.summary(), run.story(fetched.at(TORN))?);
    let timeline = recording.timeline(&run).ok_or("nothing was recorded")?;
    let directory = directory()?;
    println!("\npictures are in {}", directory.display());
    let write = |name: &str, text: String| std::fs::write(directory.join(name), text);
    write("timeline.json", timeline.chrome_trace().to_string())?;
    write("timeline.html", timeline.html().to_string())?;
    write("timeline.svg", timeline.svg().to_string())?;
    write("graph.svg", timeline.drawing().svg().to_string())?;
    write("graph.dot", timeline.drawing().dot().to_string())?;
    Ok(())
}

/// Small pictures of large ones, sorted by a model.
fn gallery() -> (Job, Array<u64>) {
    let mut job = Job::new("gallery");
    let list = job.task("list", (), || work(8));
    let model = job.task("model", (), || work(45));
    let fetched = job.map_with("fetch", 0..32, &list, fallible(fetch));
    let tries = TaskSettings::new().max_retries(2);
    let backoff = Backoff::constant(Duration::from_millis(5));
    job.configure(fetched, tries.backoff(backoff));
    let thumbnails = job.each("thumbnail", &fetched, |_: &u64| work(4));
    let sorted = job.each("sort", (&fetched, &model), |_: &u64, _: &()| work(6));
    let sheet = job.reduce("sheet", &thumbnails, |_: &[()]| work(12));
    let index = job.reduce("index", &sorted, |_: &[()]| work(9));
    job.task("publish", (&sheet, &index), |_: &(), _: &()| work(5));
    (job, fetched)
}

/// Every seventh image needs a second attempt.
fn fetch(cx: &Context, image: &u64, _: &()) -> Result<u64, BoxError> {
    work(3 + image % 5 * 2);
    match image {
        image if *image == TORN as u64 => Err(Permanent::new("the image is torn").into()),
        image if image % 7 == 3 && cx.attempt() == 1 => Err("connection reset".into()),
        image => Ok(*image),
    }
}

/// Stands for work that takes some milliseconds.
fn work(milliseconds: u64) {
    sleep(Duration::from_millis(milliseconds));
}

/// Prints how far the run is until it has ended. On a terminal, `ProgressView` draws bars (feature `progress`).
fn watch(run: &Run) {
    while !run.has_ended() {
        sleep(Duration::from_millis(50));
        println!("{}", run.progress());
    }
}

/// The directory that was given, or one of its own.
fn directory() -> std::io::Result<PathBuf> {
    let own = || std::env::temp_dir().join("batchyard-observe");
    let directory = std::env::args_os().nth(1).map_or_else(own, PathBuf::from);
    std::fs::create_dir_all(&directory)?;
    Ok(directory)
}
