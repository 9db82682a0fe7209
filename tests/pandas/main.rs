//! Entry scripts that are given tables as pandas frames, or return such. Needs a `python3` with pandas: `tests/all.sh`
//! provides one, and runs this target by name.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "the helpers of tests may panic, too; clippy.toml allows it only in the tests themselves"
)]

#[path = "../common/scoring_place.rs"]
mod place;

use batchyard::scoring::{Append, MiniBatch, ParallelRun, PythonScorer, Report, Tables, Warning};
use batchyard::{Pool, ThreadExecutor};
use place::Place;
use std::path::Path;

/// Scores six rows of a table, two by two, the last mini-batch of each of two files having one.
fn score(place: &Place, how: &str, output: impl Into<Append>) -> Report {
    place.write("in/1.csv", "\u{feff}id,name\n0,\"a\nb\"\n1,\n2,c\n");
    place.write("in/2.csv", "id,name\n3,d\n4,e\n5,f\n");
    run(place, Tables::csv(place.files()), how)
        .append_rows_to(output)
        .run(&pool())
        .unwrap()
}

fn run(place: &Place, tables: Tables, how: &str) -> ParallelRun {
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/pandas/scripts");
    ParallelRun::new(PythonScorer::entry_script(scripts.join("frames.py")).args([how]))
        .input(tables)
        .mini_batch_size(MiniBatch::bytes(6))
        .tries(2)
        .logs(place.path("logs"))
}

fn pool() -> Pool {
    Pool::new(ThreadExecutor::new(2).unwrap())
}

fn csv(how: &str) -> (Vec<String>, Report) {
    let place = Place::new(0);
    let report = score(&place, how, place.path("out.csv"));
    (place.lines("out.csv"), report)
}

#[test]
fn a_frame_of_the_same_rows_is_written_with_its_columns_quoted_where_needed() {
    let (lines, report) = csv("same");
    assert_eq!(
        lines.join("|"),
        "id,name,score|0,\"a|b\",0|1,,10|2,c,20|3,d,30|4,e,40|5,f,50"
    );
    assert_eq!(
        (
            report.items.total,
            report.items.failed,
            report.mini_batches.total
        ),
        (6, 0, 4)
    );
}

#[test]
fn fewer_rows_are_failed_items_and_more_rows_a_warning() {
    let (lines, report) = csv("fewer");
    assert_eq!((report.items.failed, lines.len()), (2, 5));
    let (lines, report) = csv("more");
    // Of the row with a line end in it there are two.
    assert_eq!((report.items.failed, lines.len()), (0, 15));
    assert!(report.warnings.contains(&Warning::MoreRowsThanItems(4)));
}

#[test]
fn each_frame_has_a_fresh_index_and_that_of_a_returned_one_is_ignored() {
    let (lines, _) = csv("join");
    assert_eq!(lines[0], "id,name,score");
    assert!(
        lines[1..].iter().all(|line| !line.ends_with(',')),
        "{lines:?}"
    );
}

#[test]
fn a_retry_gets_a_frame_that_nobody_has_changed() {
    let (lines, report) = csv("mutate");
    assert_eq!((report.items.failed, report.reruns), (0, 4));
    assert_eq!(lines[0], "id,name,seen");
    let seen = lines.iter().filter(|line| line.ends_with(",2"));
    assert_eq!(seen.count(), 6, "{lines:?}");
}

#[test]
fn arrays_and_series_are_refused_with_what_to_do() {
    for how in ["series", "array"] {
        let (_, report) = csv(how);
        let failure = report.table[0].failure.as_ref().unwrap();
        assert!(
            failure.message.contains("use `.tolist()`"),
            "{}",
            failure.message
        );
    }
}

#[test]
fn values_of_pandas_are_strict_json() {
    let place = Place::new(0);
    score(&place, "values", place.path("out.jsonl"));
    assert_eq!(
        place.lines("out.jsonl")[0],
        "{\"na\": null, \"nat\": null, \"nan\": null, \"f32\": 0.5, \"i64\": 7, \"bool\": true, \
         \"time\": \"2026-01-02T03:04:05+01:00\", \"category\": \"x\"}"
    );
}

#[test]
fn json_lines_partitions_and_the_legacy_text_work_too() {
    let place = Place::new(0);
    place.write("in/a.jsonl", "{\"id\": 1, \"name\": \"x y\"}\n{\"id\": 2, \"name\": \"z\"}\n{\"id\": 3, \"name\": \"x y\"}\n");
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/pandas/scripts");
    let run =
        ParallelRun::new(PythonScorer::entry_script(scripts.join("frames.py")).args(["partition"]))
            .input(Tables::json_lines(place.files()))
            .partition_keys(["name"])
            .append_rows_to(place.path("out.txt"));
    let report = run.run(&pool()).unwrap();
    assert_eq!(report.mini_batches.total, 2);
    assert_eq!(
        place.lines("out.txt"),
        ["1 \"x y\" \"x y\"", "3 \"x y\" \"x y\"", "2 z z"]
    );
}

#[test]
fn a_table_without_header_and_with_another_delimiter_is_read() {
    let place = Place::new(0);
    place.write("in/a.csv", "1;x\n2;y\n");
    let tables = Tables::csv(place.files()).delimiter(b';').without_header();
    run(&place, tables, "echo")
        .append_rows_to(place.path("out.csv"))
        .run(&pool())
        .unwrap();
    assert_eq!(place.read("out.csv"), "0,1\n1,x\n2,y\n");
}
