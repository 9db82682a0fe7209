//! Progress on a terminal, or as plain lines (feature `progress`).

use super::progress::{Progress, Rate};
use super::summary::Summary;
use crate::Run;
use crate::engine;
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::fmt;
use std::io::{IsTerminal, Write};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// How often bars are drawn, and how often a line is printed.
const BARS: Duration = Duration::from_millis(100);
const LINES: Duration = Duration::from_secs(10);

/// How progress is shown.
///
/// ```
/// use batchyard::{Job, Pool, ProgressView, ThreadExecutor};
///
/// let pool = Pool::new(ThreadExecutor::new(2)?);
/// let mut job = Job::new("shown");
/// job.array("squares", 100, |n: &usize| n * n);
/// let run = pool.submit(job)?;
/// let shown = ProgressView::automatic().show(&run);
/// run.wait()?;
/// drop(shown);
/// println!("{}", run.summary());
/// # Ok::<(), batchyard::Error>(())
/// ```
pub struct ProgressView(How);

enum How {
    Nothing,
    Bars(ProgressDrawTarget),
    Lines(Duration, Box<dyn Write + Send>),
}

/// Progress that is being shown, until the run ends or this is dropped.
#[must_use = "progress is shown for as long as this is held"]
pub struct ShownProgress {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl ProgressView {
    /// Bars where standard error is a terminal; else lines where the environment variable `CI` is set, one every ten
    /// seconds; else nothing.
    pub fn automatic() -> Self {
        let terminal = std::io::stderr().is_terminal();
        match std::env::var_os("CI").is_some_and(|value| !value.is_empty()) {
            _ if terminal => Self::bars(ProgressDrawTarget::stderr()),
            true => Self::lines(LINES, std::io::stderr()),
            false => ProgressView(How::Nothing),
        }
    }

    /// A bar for the job, and one for each task array, drawn by [indicatif](https://docs.rs/indicatif).
    pub fn bars(target: ProgressDrawTarget) -> Self {
        ProgressView(How::Bars(target))
    }

    /// Plain lines, one at each interval in which something has ended, and the summary at the end.
    pub fn lines(every: Duration, to: impl Write + Send + 'static) -> Self {
        ProgressView(How::Lines(every, Box::new(to)))
    }

    /// Shows how a run gets on, from a thread of its own. Errors in writing end the showing, and nothing else.
    pub fn show(self, run: &Run) -> ShownProgress {
        let run = run.inner().clone();
        let (stop, stopped) = channel();
        let pause = move |time| stopped.recv_timeout(time) == Err(RecvTimeoutError::Timeout);
        let thread = std::thread::Builder::new().name("batchyard-progress".into());
        let thread = thread.spawn(move || match self.0 {
            How::Nothing => (),
            How::Bars(target) => draw(&run, target, pause),
            How::Lines(every, to) => drop(print(&run, every, to, pause)),
        });
        ShownProgress {
            stop: Some(stop),
            thread: thread.ok(),
        }
    }
}

/// Prints lines until the run has ended. `pause` waits so long, and says whether to go on.
fn print(
    run: &Arc<engine::Run>,
    every: Duration,
    mut to: impl Write,
    pause: impl Fn(Duration) -> bool,
) -> std::io::Result<()> {
    let mut last = 0;
    while !run.has_ended() && pause_until_end(run, every, &pause) {
        let progress = Progress::of(run);
        if progress.tasks.ended() > last && !run.has_ended() {
            last = progress.tasks.ended();
            writeln!(to, "{progress}")?;
        }
    }
    if run.has_ended() {
        writeln!(to, "{}", Summary::of(run))?;
    }
    to.flush()
}

/// Waits so long, or until the run ends. Returns whether to go on.
fn pause_until_end(run: &engine::Run, time: Duration, pause: &impl Fn(Duration) -> bool) -> bool {
    let mut left = time;
    while !run.has_ended() && !left.is_zero() {
        let step = left.min(BARS);
        if !pause(step) {
            return false;
        }
        left -= step;
    }
    true
}

/// Draws bars until the run has ended.
fn draw(run: &Arc<engine::Run>, target: ProgressDrawTarget, pause: impl Fn(Duration) -> bool) {
    let bars = Bars::new(&Progress::of(run), target);
    loop {
        let ended = run.has_ended();
        bars.update(&Progress::of(run));
        if ended || !pause(BARS) {
            return bars.finish();
        }
    }
}

struct Bars {
    // Draws the others: they are lost with it.
    _all: MultiProgress,
    job: ProgressBar,
    arrays: Vec<ProgressBar>,
}

impl Bars {
    fn new(progress: &Progress, target: ProgressDrawTarget) -> Self {
        let all = MultiProgress::with_draw_target(target);
        let bar = |name: &str, total| {
            let bar = all.add(ProgressBar::new(total).with_style(style()));
            bar.with_prefix(name.to_owned())
        };
        let job = bar(&progress.job, progress.slots.total);
        let arrays = progress.arrays.iter();
        let arrays = arrays.map(|array| bar(&format!("  {}", array.name), array.tasks.total));
        let arrays = arrays.collect();
        Bars {
            job,
            arrays,
            _all: all,
        }
    }

    fn update(&self, progress: &Progress) {
        self.job.set_position(progress.slots.ended());
        self.job.set_message(message(progress));
        for (bar, array) in self.arrays.iter().zip(&progress.arrays) {
            bar.set_position(array.tasks.ended());
            let troubles = super::progress::troubles(&array.tasks);
            let troubles = troubles.map(|(count, what)| format!("{count} {what}"));
            bar.set_message(troubles.collect::<Vec<_>>().join(", "));
        }
    }

    fn finish(&self) {
        self.arrays.iter().for_each(ProgressBar::abandon);
        self.job.abandon();
    }
}

fn style() -> ProgressStyle {
    ProgressStyle::with_template("{prefix:20!} {bar:24} {pos}/{len} {msg}")
        .unwrap_or_else(|_| ProgressStyle::default_bar())
}

/// What stands behind the bar of the job.
fn message(progress: &Progress) -> String {
    let mut parts = vec![Rate(progress.rate()).to_string()];
    for (count, what) in super::progress::troubles(&progress.tasks) {
        parts.push(format!("{count} {what}"));
    }
    if progress.retries > 0 {
        parts.push(format!("{} retried", progress.retries));
    }
    if let Some(left) = progress.remaining().filter(|left| !left.is_zero()) {
        parts.push(format!("{} left", super::progress::Short(left)));
    }
    parts.join(", ")
}

impl Drop for ShownProgress {
    /// Shows the state once more, and waits for that.
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl fmt::Debug for ProgressView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProgressView").finish_non_exhaustive()
    }
}

impl fmt::Debug for ShownProgress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ShownProgress").finish_non_exhaustive()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::observe::progress::tests::midway;

    #[test]
    fn behind_the_bar_of_a_job_stand_rate_failures_retries_and_time_left() {
        assert_eq!(
            message(&midway()),
            "5.00 tasks/s, 3 failed, 7 skipped, 2 retried, 1 min 58 s left"
        );
    }

    #[test]
    fn the_template_of_a_bar_is_sound() {
        assert!(ProgressStyle::with_template("{prefix:20!} {bar:24} {pos}/{len} {msg}").is_ok());
    }
}
