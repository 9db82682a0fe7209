//! Progress on a real terminal. Needs `tmux`: `tests/all.sh` installs it, and runs this target by name.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "the helpers of tests may panic, too; clippy.toml allows it only in the tests themselves"
)]

mod terminal;
#[path = "../common/watchdog.rs"]
mod watchdog;

use batchyard::{Job, Pool, ProgressView, ThreadExecutor, fallible};
use std::path::Path;
use terminal::Terminal;
use watchdog::within_30s;

/// Names the file without which the program in the terminal does not go on.
const GO_ON: &str = "BATCHYARD_TEST_GO_ON";

/// The program: of ten elements one fails, and the seventh waits for the file. Then there is the summary.
fn show(go_on: &Path) {
    let waits_for = go_on.to_owned();
    let score = move |n: &usize| match n {
        2 => Err("image 2 is torn"),
        6 => {
            while !waits_for.exists() {
                std::thread::yield_now();
            }
            Ok(())
        }
        _ => Ok(()),
    };
    let pool = Pool::new(ThreadExecutor::new(1).unwrap());
    let mut job = Job::new("digits");
    let scored = job.map("score", 0..10, fallible(score));
    job.each("write", &scored, |_: &()| ());
    let run = pool.submit(job).unwrap();
    let shown = ProgressView::automatic().show(&run);
    run.wait().unwrap_err();
    drop(shown);
    println!("\n{}", run.summary());
}

/// Runs the program in a terminal of this width, and returns what was there while it waited, and at the end. `test` is the
/// name of the test that calls this: it is the program, too.
fn screens(test: &str, width: u16) -> Option<[Vec<String>; 2]> {
    if let Some(go_on) = std::env::var_os(GO_ON) {
        show(Path::new(&go_on));
        return None;
    }
    let terminal = Terminal::running(test, width);
    let failed = |line: &String| line.starts_with("  score  ") && line.contains("/10 1 failed");
    let waiting = terminal.until(|lines| lines.iter().any(failed));
    std::fs::write(terminal.path("go-on"), "").unwrap();
    let ended = terminal.until(|lines| lines.iter().any(|line| line.contains("image 2 is torn")));
    Some([waiting, ended])
}

/// The lines that begin so.
fn lines<'a>(screen: &'a [String], start: &str) -> Vec<&'a str> {
    let lines = screen.iter().map(String::as_str);
    lines.filter(|line| line.starts_with(start)).collect()
}

#[test]
fn a_wide_terminal_shows_bars_with_failures_and_rates_and_then_the_summary() {
    const NAME: &str = "a_wide_terminal_shows_bars_with_failures_and_rates_and_then_the_summary";
    within_30s(|| {
        let Some([waiting, ended]) = screens(NAME, 100) else {
            return;
        };
        let [job] = lines(&waiting, "digits  ")[..] else {
            panic!("one bar of the job: {waiting:#?}");
        };
        for expected in ["█", "/20 1 failed, ", " tasks/s, ", " left"] {
            assert!(job.contains(expected), "{expected:?} in {waiting:#?}");
        }
        let [array] = lines(&waiting, "  score  ")[..] else {
            panic!("one bar of the array: {waiting:#?}");
        };
        for expected in ["█", "/10 1 failed, ", " tasks/s, ", " left"] {
            assert!(array.contains(expected), "{expected:?} in {waiting:#?}");
        }

        let job = lines(&ended, "digits  ")[0];
        assert!(job.contains(" 20/20 1 failed, 1 skipped"), "{ended:#?}");
        for expected in [
            "job `digits` failed after",
            "18 of 20 tasks succeeded, 1 failed, 1 skipped",
            "`score[2]` failed: image 2 is torn",
        ] {
            assert!(
                ended.iter().any(|line| line.contains(expected)),
                "{expected:?} in {ended:#?}"
            );
        }
    });
}

#[test]
fn on_a_narrow_terminal_no_bar_takes_two_lines() {
    const NAME: &str = "on_a_narrow_terminal_no_bar_takes_two_lines";
    within_30s(|| {
        let Some([waiting, ended]) = screens(NAME, 50) else {
            return;
        };
        for screen in [&waiting, &ended] {
            let from = screen.iter().position(|line| line.starts_with("digits  "));
            let bars = &screen[from.expect("the bar of the job")..][..3];
            let starts = ["digits  ", "  score  ", "  write  "];
            for (line, start) in bars.iter().zip(starts) {
                assert!(line.starts_with(start), "{start:?} in {screen:#?}");
            }
            assert_eq!(
                lines(screen, "digits  ").len(),
                1,
                "drawn over: {screen:#?}"
            );
            assert!(bars[1].contains("1 failed"), "{screen:#?}");
        }
    });
}
