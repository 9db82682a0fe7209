//! Commands that survive Ctrl-C, and an application that decides what it means.
//!
//! Commands lead process groups of their own, so a terminal's Ctrl-C reaches the application alone; and the library
//! installs no signal handler. Here the first Ctrl-C lets what was submitted come to its end, and the second ends it.

use batchyard::{Close, Command, Job, Pool, ThreadExecutor};
use std::sync::{Arc, mpsc};
use std::time::Duration;

enum Event {
    Pressed,
    Done,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (tell, events) = mpsc::channel();
    let pressed = tell.clone();
    ctrlc::set_handler(move || drop(pressed.send(Event::Pressed)))?;

    let pool = Arc::new(Pool::new(ThreadExecutor::new(2)?));
    let mut job = Job::new("naps");
    job.commands("nap", (0..10).map(|_| Command::new("sleep").arg("0.2")));
    let run = pool.submit(job)?;

    let waiting = run.ended();
    std::thread::spawn(move || {
        println!("{:?}", waiting.wait());
        let _ = tell.send(Event::Done);
    });

    let mut presses = 0;
    while let Ok(Event::Pressed) = events.recv() {
        presses += 1;
        if presses == 1 {
            println!("draining; once more to end it at once");
            let pool = pool.clone();
            std::thread::spawn(move || pool.close(Close::Drain, Duration::MAX));
        } else {
            let left = pool.close(Close::Cancel, Duration::from_secs(10));
            println!("ended; still running: {left:?}");
        }
    }
    Ok(())
}
