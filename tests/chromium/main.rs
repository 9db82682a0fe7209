//! Pages and pictures of timelines, opened in a browser. Needs `chromium`: `tests/all.sh` installs it, and runs this target
//! by name.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "the helpers of tests may panic, too; clippy.toml allows it only in the tests themselves"
)]

mod browser;
#[path = "../common/watchdog.rs"]
mod watchdog;

use batchyard::{Job, Pool, ThreadExecutor, Timeline, fallible};
use browser::Opened;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use tempfile::TempDir;

/// Every rectangle that is drawn wider than nothing, and is coloured, counted by its class.
const COLOURED: &str = r#"
    [...document.querySelectorAll("svg rect")]
        .filter(it => it.getBoundingClientRect().width > 0 && getComputedStyle(it).fill != "rgb(0, 0, 0)")
        .reduce((counts, it) => (counts[it.classList[0]] = (counts[it.classList[0]] || 0) + 1, counts), {})
"#;

/// One browser at a time: several would take each other's time.
fn within_30s(test: impl FnOnce() + Send + 'static) {
    static ALONE: Mutex<()> = Mutex::new(());
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    watchdog::within_30s(test);
}

fn recorded(job: Job) -> Timeline {
    let pool = Pool::new(ThreadExecutor::new(2).unwrap());
    let recording = pool.record_timelines();
    let run = pool.submit(job).unwrap();
    let _ = run.wait();
    recording.timeline(&run).unwrap()
}

/// Twenty-one tasks, of which one fails and one is skipped.
fn mixed() -> Job {
    let mut job = Job::new("mixed");
    let fetch = |n: &u64| match n {
        3 => Err("is torn"),
        n => Ok(*n),
    };
    let fetched = job.map("fetch", 0..20_u64, fallible(fetch));
    job.reduce("never", &fetched, |_: &[u64]| ());
    job
}

fn written(name: &str, text: &str) -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(name);
    std::fs::write(&path, text).unwrap();
    (directory, path)
}

/// Opens a document, which must ask for nothing but itself, and have nothing to complain of.
fn opened(name: &str, text: &str, width: u32) -> Opened {
    let (_directory, path) = written(name, text);
    let opened = Opened::file(&path, width);
    assert_eq!(opened.requests, [format!("file://{}", path.display())]);
    assert_eq!(opened.complaints, [""; 0]);
    opened
}

#[test]
fn a_page_shows_its_four_views_and_asks_for_nothing() {
    within_30s(|| {
        let timeline = recorded(mixed());
        let mut page = opened("page.html", &timeline.html().to_string(), 1200);
        assert_eq!(page.evaluate("document.title"), "mixed");
        let heads = "[...document.querySelectorAll('h2')].map(it => it.textContent).join()";
        assert_eq!(
            page.evaluate(heads),
            "First failures,Attempts,Utilisation,Graph,Slowest attempts"
        );
        let drawn = page.evaluate(COLOURED);
        // Each has a sample in two keys: that of the attempts, and that of the graph.
        assert!(drawn["row"].as_u64() >= Some(1), "{drawn}");
        assert!(drawn["succeeded"].as_u64() >= Some(19 + 2), "{drawn}");
        assert!(drawn["failed"].as_u64() >= Some(1 + 2), "{drawn}");
        assert!(drawn["skipped"].as_u64() >= Some(1 + 1), "{drawn}");
        let rows = "document.querySelectorAll('table:last-of-type tr').length";
        assert_eq!(page.evaluate(rows), 21, "a head, and the slowest twenty");
    });
}

#[test]
fn a_page_fits_a_narrow_window_and_has_a_dark_side() {
    within_30s(|| {
        let timeline = recorded(mixed());
        let mut page = opened("page.html", &timeline.html().to_string(), 500);
        let overflow =
            "document.documentElement.scrollWidth - document.documentElement.clientWidth";
        assert_eq!(
            page.evaluate(overflow),
            0,
            "charts scroll, the page does not"
        );
        let paper = "getComputedStyle(document.body).backgroundColor";
        page.prefer("light");
        assert_eq!(page.evaluate(paper), "rgb(255, 255, 255)");
        let light = page.picture();
        page.prefer("dark");
        assert_eq!(page.evaluate(paper), "rgb(18, 22, 28)");
        assert_ne!(page.picture(), light);
    });
}

#[test]
fn a_page_of_a_hundred_thousand_tasks_loads() {
    within_30s(|| {
        let mut job = Job::new("many");
        let first = job.array("first", 50_000, |n: &usize| *n);
        job.each("second", &first, |n: &usize| *n);
        let text = recorded(job).html().to_string();
        assert!(text.len() < 300_000, "{} bytes", text.len());
        let mut page = opened("page.html", &text, 1200);
        let body = page.evaluate("document.body.innerText");
        let body = body.as_str().unwrap();
        assert!(
            body.contains("100000 attempts are too many to draw each"),
            "{body}"
        );
        assert!(page.evaluate(COLOURED)["succeeded"].as_u64() > Some(100));
    });
}

#[test]
fn pictures_are_documents_by_themselves() {
    within_30s(|| {
        let timeline = recorded(mixed());
        let pictures = [
            timeline.svg().to_string(),
            timeline.drawing().svg().to_string(),
        ];
        for picture in pictures {
            let mut page = opened("picture.svg", &picture, 1200);
            let root = page.evaluate("document.documentElement.tagName");
            assert_eq!(root, "svg", "the browser has read it");
            assert!(page.evaluate(COLOURED)["failed"].as_u64() >= Some(1));
        }
    });
}

/// What the other tests trust: that a page with something wrong is found out.
#[test]
fn a_page_that_loads_something_or_complains_is_found_out() {
    within_30s(|| {
        let text = "<!DOCTYPE html><img src=\"other.png\"><script>undefined.x</script>";
        let (_directory, path) = written("page.html", text);
        let page = Opened::file(&path, 1200);
        assert!(page.requests.iter().any(|url| url.ends_with("other.png")));
        assert!(
            page.complaints
                .iter()
                .any(|said| said.contains("TypeError"))
        );
    });
}
