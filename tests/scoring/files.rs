//! Files as input.

use crate::watchdog::within_30s;
use crate::{Place, names, pool};
use batchyard::ErrorKind;
use batchyard::scoring::{Files, MiniBatch, ParallelRun, scorer};
use std::os::unix::fs::symlink;
use std::process::Command;

fn scored(place: &Place, files: Files) -> Vec<String> {
    let output = place.path("out.txt");
    ParallelRun::new(scorer(names))
        .input(files)
        .append_rows_to(&output)
        .run(&pool(2))
        .unwrap();
    place.lines("out.txt")
}

#[test]
fn a_glob_finds_names_folders_and_any_depth() {
    let place = Place::new(0);
    for name in [
        "a/1.png",
        "a/2.jpg",
        "a/b/3.png",
        "a/b/c/4.png",
        "a/.hidden.png",
        "5.png",
    ] {
        place.write(&format!("in/{name}"), "");
    }
    let find = |pattern: &str| {
        let root = place.path("in").display().to_string();
        scored(&place, Files::glob(format!("{root}/{pattern}")).unwrap())
    };
    assert_eq!(find("*.png"), ["5.png"]);
    assert_eq!(find("a/*.png"), ["1.png"]);
    assert_eq!(find("*/b/*.png"), ["3.png"]);
    assert_eq!(find("**/*.png"), ["5.png", "1.png", "3.png", "4.png"]);
    assert_eq!(find("a/[12].*"), ["1.png", "2.jpg"]);
    assert_eq!(find("a/.*.png"), [".hidden.png"]);
}

#[test]
fn a_glob_that_finds_nothing_is_an_error_that_shows_it() {
    let error = Files::glob("/no/such/folder/*.png").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert!(error.to_string().contains("/no/such/folder"), "{error}");
    assert_eq!(
        Files::glob("a/[").unwrap_err().kind(),
        ErrorKind::InvalidSetting
    );
}

#[test]
fn folders_are_read_flat_or_with_all_below_and_lists_in_their_own_order() {
    let place = Place::new(0);
    for name in ["2", "1", "sub/3"] {
        place.write(&format!("in/{name}"), "");
    }
    assert_eq!(
        scored(&place, Files::directory(place.path("in")).unwrap()),
        ["1", "2"]
    );
    assert_eq!(
        scored(&place, Files::recursive(place.path("in")).unwrap()),
        ["1", "2", "3"]
    );
    assert_eq!(
        scored(
            &place,
            Files::list([place.path("in/2"), place.path("in/1")])
        ),
        ["2", "1"]
    );
}

#[test]
fn mini_batches_have_so_many_files_and_the_last_the_rest() {
    let place = Place::new(25);
    let sizes = scorer(|batch: &MiniBatch| Ok::<_, std::io::Error>(vec![batch.len(); batch.len()]));
    let run = ParallelRun::new(sizes)
        .input(place.files())
        .append_rows_to(place.path("out.txt"));
    let report = run.run(&pool(2)).unwrap();
    assert_eq!(report.mini_batches.total, 3);
    assert_eq!(place.read("out.txt"), "10\n".repeat(20) + &"5\n".repeat(5));
}

#[test]
fn partition_keys_make_a_mini_batch_for_each_combination() {
    let place = Place::new(0);
    for name in ["y=1/jan/a", "y=1/feb/b", "y=2/jan/c", "y=2/jan/d"] {
        place.write(&format!("in/{name}"), "");
    }
    let pattern = format!("{}/y={{year}}/{{month}}/*", place.path("in").display());
    let by = |keys: &[&str]| {
        let run = ParallelRun::new(scorer(|batch: &MiniBatch| {
            let values: Vec<_> = batch
                .partition()
                .iter()
                .map(|(key, value)| format!("{key}={value}"))
                .collect();
            Ok::<_, std::io::Error>(vec![values.join(" "); batch.len()])
        }));
        let run = run
            .input(Files::glob(&pattern).unwrap())
            .partition_keys(keys.iter().copied());
        let report = run.append_rows_to(place.path("out.txt")).run(&pool(2))?;
        Ok::<_, batchyard::Error>((report.mini_batches.total, place.lines("out.txt")))
    };
    let (batches, rows) = by(&["year"]).unwrap();
    assert_eq!(
        (batches, rows.join("|").as_str()),
        (2, "year=1|year=1|year=2|year=2")
    );
    let (batches, rows) = by(&["year", "month"]).unwrap();
    assert_eq!(batches, 3);
    assert_eq!(
        rows.join("|"),
        "year=1 month=feb|year=1 month=jan|year=2 month=jan|year=2 month=jan"
    );
    assert_eq!(by(&["day"]).unwrap_err().kind(), ErrorKind::InvalidSetting);
}

#[test]
fn what_is_no_file_is_left_out_and_named_and_never_waited_for() {
    let left_out = within_30s(|| {
        let place = Place::new(2);
        place.write("in/empty", "");
        symlink("nowhere", place.path("in/dangling")).unwrap();
        symlink("0000", place.path("in/link")).unwrap();
        assert!(
            Command::new("mkfifo")
                .arg(place.path("in/pipe"))
                .status()
                .unwrap()
                .success()
        );
        let run = ParallelRun::new(scorer(names))
            .input(place.files())
            .append_rows_to(place.path("out.txt"));
        let report = run.run(&pool(1)).unwrap();
        assert_eq!(place.lines("out.txt"), ["0000", "0001", "empty", "link"]);
        report.left_out
    });
    let names: Vec<_> = left_out
        .iter()
        .map(|left| crate::name(&left.path))
        .collect();
    assert_eq!(names, ["dangling", "pipe"]);
}

#[test]
fn no_input_at_all_is_a_report_of_nothing() {
    let place = Place::new(0);
    let run = ParallelRun::new(scorer(names))
        .input(place.files())
        .append_rows_to(place.path("out.csv"));
    let report = run.run(&pool(1)).unwrap();
    assert_eq!(
        (report.items.total, report.mini_batches.total, report.rows),
        (0, 0, 0)
    );
    assert_eq!(place.read("out.csv"), "");
    assert_eq!(report.advice(), "there was nothing to score");
}
