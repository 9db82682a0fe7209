//! The page. tests/all.sh opens one in a browser, too.

use crate::watchdog::within_30s;
use crate::{mixed, recorded};
use batchyard::{Job, fallible};

/// Whether every tag that is opened is closed, in order.
fn is_balanced(page: &str) -> bool {
    let mut open = Vec::new();
    for tag in page.split('<').skip(1) {
        let tag = tag.split('>').next().unwrap();
        let name = tag.split([' ', '/']).find(|part| !part.is_empty()).unwrap();
        match tag {
            _ if tag.starts_with('/') => {
                if open.pop() != Some(name) {
                    return false;
                }
            }
            _ if tag.ends_with('/') || ["meta", "!DOCTYPE"].contains(&name) => (),
            _ => open.push(name),
        }
    }
    open.is_empty()
}

#[test]
fn a_page_shows_the_outcome_the_failures_and_four_views() {
    let (timeline, _) = recorded(2, mixed());
    let page = timeline.html().to_string();
    for expected in [
        "<h1>mixed</h1>",
        "<h2>First failures</h2>",
        "fetch[3]",
        "failed: is torn",
        "<h2>Attempts</h2>",
        "<h2>Utilisation</h2>",
        "<h2>Graph</h2>",
        "<h2>Slowest attempts</h2>",
        "fetch[20]",
    ] {
        assert!(page.contains(expected), "{expected:?} in\n{page}");
    }
    assert!(is_balanced(&page));
}

#[test]
fn a_page_loads_nothing_and_runs_nothing() {
    let (timeline, _) = recorded(2, mixed());
    let page = timeline.html().to_string();
    for forbidden in [
        "<script", "<link", "<img", "src=", "href", "url(", "@import",
    ] {
        assert!(!page.contains(forbidden), "{forbidden}");
    }
    assert!(page.contains("default-src 'none'"));
    // Names of formats are no addresses to load from.
    let addresses = page.matches("http").count();
    assert_eq!(
        addresses,
        page.matches("xmlns=\"http://www.w3.org/2000/svg\"").count()
            + page.matches("http-equiv").count()
    );
}

#[test]
fn names_and_errors_of_the_users_stay_text() {
    let evil = "</title><script>alert('x')</script>&\"";
    let mut job = Job::new(evil);
    let failing = job.task(evil, (), fallible(move || Err::<(), _>(evil)));
    job.task("after", &failing, |_: &()| ());
    let (timeline, run) = recorded(1, job);
    let pictures = [
        timeline.html().to_string(),
        timeline.svg().to_string(),
        run.drawing().svg().to_string(),
    ];
    for picture in pictures {
        assert!(!picture.contains("<script"), "{picture}");
        assert!(is_balanced(&picture), "{picture}");
    }
}

#[test]
fn a_page_of_very_many_attempts_stays_small_and_says_so() {
    within_30s(|| {
        let mut job = Job::new("many");
        let first = job.array("first", 100_000, |n: &usize| *n);
        job.each("second", &first, |n: &usize| *n);
        for _ in 0..2_000 {
            let one = job.task((), (), || ());
            job.task((), &one, |(): &()| ());
        }
        let (timeline, run) = recorded(2, job);
        assert_eq!(timeline.attempts().len() as u64, run.counts().total);
        let page = timeline.html().to_string();
        assert!(
            page.contains("204000 attempts are too many to draw each"),
            "{}",
            &page[..4000]
        );
        assert!(page.contains("4002 nodes are too many to draw"));
        assert!(page.len() < 300_000, "{} bytes", page.len());
        assert!(is_balanced(&page));
    });
}

#[test]
fn a_job_without_tasks_has_a_page() {
    let (timeline, _) = recorded(1, Job::new("empty"));
    let page = timeline.html().to_string();
    assert!(
        is_balanced(&page) && page.contains("succeeded after"),
        "{page}"
    );
    assert!(!page.contains("NaN"), "{page}");
}
