//! Progress on a terminal, or as plain lines (feature `progress`).

use super::progress::{Progress, Rate, Short, troubles};
use super::summary::Summary;
use crate::Run;
use crate::engine;
use crate::model::Counts;
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
const TEMPLATE: &str = "{prefix:16!} {bar:16} {pos}/{len} {wide_msg}";

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
    let mut bars = Bars::new(&Progress::of(run), target);
    let goes_on = || !run.has_ended() && pause(BARS);
    while goes_on() {
        bars.update(&Progress::of(run));
    }
    bars.update(&Progress::of(run));
    bars.finish();
}

struct Bars {
    // Draws the others: they are lost with it.
    all: MultiProgress,
    job: ProgressBar,
    arrays: Vec<ArrayBar>,
}

struct ArrayBar {
    bar: ProgressBar,
    /// How long the run had taken when none of the elements had ended yet.
    begun: Duration,
}

impl Bars {
    fn new(progress: &Progress, target: ProgressDrawTarget) -> Self {
        let all = MultiProgress::with_draw_target(target);
        let job = bar(&all, progress.job.clone());
        let arrays = Vec::new();
        let mut bars = Bars { all, job, arrays };
        bars.add_arrays(progress);
        bars
    }

    /// Those that have come since.
    fn add_arrays(&mut self, progress: &Progress) {
        for array in progress.arrays.iter().skip(self.arrays.len()) {
            self.arrays.push(ArrayBar {
                bar: bar(&self.all, format!("  {}", array.name)),
                begun: Duration::ZERO,
            });
        }
    }

    fn update(&mut self, progress: &Progress) {
        self.add_arrays(progress);
        self.job.set_length(progress.slots.total);
        self.job.set_position(progress.slots.ended());
        self.job.set_message(message_of_job(progress));
        for (bar, array) in self.arrays.iter_mut().zip(&progress.arrays) {
            bar.update(&array.tasks, progress.elapsed);
        }
    }

    fn finish(&self) {
        self.arrays.iter().for_each(|array| array.bar.abandon());
        self.job.abandon();
    }
}

impl ArrayBar {
    fn update(&mut self, tasks: &Counts, elapsed: Duration) {
        if tasks.ended() == 0 {
            self.begun = elapsed;
        }
        let took = elapsed.saturating_sub(self.begun);
        self.bar.set_length(tasks.total);
        self.bar.set_position(tasks.ended());
        self.bar.set_message(message_of_array(tasks, took));
    }
}

/// A bar below the others. On a narrow terminal the end of its line is left out.
fn bar(all: &MultiProgress, name: String) -> ProgressBar {
    let style = ProgressStyle::with_template(TEMPLATE);
    let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
    all.add(ProgressBar::new(0).with_style(style))
        .with_prefix(name)
}

/// What stands behind the bar of the job: what has gone wrong, which must be seen on a narrow terminal too, comes first.
fn message_of_job(progress: &Progress) -> String {
    let mut parts: Vec<_> = wrong(&progress.tasks).collect();
    if progress.retries > 0 {
        parts.push(format!("{} retried", progress.retries));
    }
    parts.push(Rate(progress.rate()).to_string());
    if let Some(left) = progress.remaining().filter(|left| !left.is_zero()) {
        parts.push(format!("{} left", Short(left)));
    }
    parts.join(", ")
}

/// The same for an array whose first element began so long ago: its rate and the time left only while it is under way.
fn message_of_array(tasks: &Counts, took: Duration) -> String {
    let mut parts: Vec<_> = wrong(tasks).collect();
    let (ended, left) = (tasks.ended() as f64, tasks.unfinished() as f64);
    let rate = ended / took.as_secs_f64();
    if ended > 0.0 && left > 0.0 && rate.is_finite() {
        parts.push(Rate(rate).to_string());
        let left = Duration::try_from_secs_f64(left / rate);
        parts.extend(left.map(|left| format!("{} left", Short(left))));
    }
    parts.join(", ")
}

fn wrong(tasks: &Counts) -> impl Iterator<Item = String> {
    troubles(tasks).map(|(count, what)| format!("{count} {what}"))
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
    use indicatif::InMemoryTerm;

    /// What is on a terminal of this width.
    fn drawn(width: u16) -> Vec<String> {
        let terminal = InMemoryTerm::new(10, width);
        let target = ProgressDrawTarget::term_like(Box::new(terminal.clone()));
        let mut bars = Bars::new(&midway(), target);
        bars.update(&midway());
        bars.finish();
        terminal.contents().lines().map(str::to_owned).collect()
    }

    #[test]
    fn a_terminal_shows_a_bar_for_the_job_and_one_for_each_array() {
        assert_eq!(
            drawn(120),
            [
                "digits           ██████░░░░░░░░░░ 410/1000 3 failed, 7 skipped, 2 retried, 5.00 tasks/s, 1 min 58 s left",
                "  score          ██████░░░░░░░░░░ 410/1000 3 failed, 7 skipped, 5.00 tasks/s, 1 min 58 s left",
            ]
        );
    }

    #[test]
    fn on_a_narrow_terminal_each_bar_is_one_line_and_tells_of_failures_first() {
        assert_eq!(
            drawn(60),
            [
                "digits           ██████░░░░░░░░░░ 410/1000 3 failed, 7 skipp",
                "  score          ██████░░░░░░░░░░ 410/1000 3 failed, 7 skipp",
            ]
        );
    }

    #[test]
    fn what_is_added_to_a_run_gets_its_bar_and_makes_that_of_the_job_longer() {
        let terminal = InMemoryTerm::new(10, 60);
        let target = ProgressDrawTarget::term_like(Box::new(terminal.clone()));
        let mut progress = midway();
        let mut bars = Bars::new(&progress, target);
        bars.update(&progress);
        progress.slots.total = 2000;
        progress.arrays.push(progress.arrays[0].clone());
        bars.update(&progress);
        bars.finish();
        let drawn = terminal.contents();
        let lines: Vec<_> = drawn.lines().collect();
        assert!(
            lines.len() == 3 && lines[0].contains(" 410/2000 "),
            "{drawn}"
        );
    }

    #[test]
    fn an_array_has_a_rate_from_its_own_beginning_until_its_end() {
        let terminal = InMemoryTerm::new(10, 100);
        let target = ProgressDrawTarget::term_like(Box::new(terminal.clone()));
        let mut progress = midway();
        let mut bars = Bars::new(&progress, target);
        let tasks = |succeeded| Counts {
            total: 1000,
            succeeded,
            ..Counts::default()
        };
        let messages = [(0, 60), (400, 62), (1000, 65)].map(|(succeeded, seconds)| {
            progress.arrays[0].tasks = tasks(succeeded);
            progress.elapsed = Duration::from_secs(seconds);
            bars.update(&progress);
            bars.arrays[0].bar.message()
        });
        assert_eq!(messages, ["", "200 tasks/s, 3.0 s left", ""]);
    }

    #[test]
    fn the_template_of_a_bar_is_sound() {
        assert!(ProgressStyle::with_template(TEMPLATE).is_ok());
    }
}
