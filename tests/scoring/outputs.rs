//! What is written, in which order, and when it appears.

use crate::watchdog::within_30s;
use crate::{Place, cause, made, names, pool};
use batchyard::BoxError;
use batchyard::scoring::{
    Append, Category, MiniBatch, ParallelRun, RowOrder, ScoringError, Warning, scorer,
};
use proptest::prelude::*;
use serde::Serialize;
use std::sync::Mutex;
use std::sync::mpsc::channel;

#[derive(Serialize)]
struct Row {
    text: &'static str,
    score: Option<f64>,
}

fn awkward(_: &MiniBatch) -> Result<Vec<Row>, BoxError> {
    let row = Row {
        text: "a, \"b\"\nc d",
        score: Some(f64::NAN),
    };
    Ok(vec![
        row,
        Row {
            text: "",
            score: None,
        },
    ])
}

#[test]
fn the_forms_are_csv_json_lines_and_legacy_text() {
    for (name, expected) in [
        ("out.csv", "text,score\n\"a, \"\"b\"\"\nc d\",NaN\n,\n"),
        (
            "out.jsonl",
            "{\"text\":\"a, \\\"b\\\"\\nc d\",\"score\":null}\n{\"text\":\"\",\"score\":null}\n",
        ),
        ("out.txt", "a, \"b\"\nc d NaN\n \n"),
    ] {
        let place = Place::new(2);
        let run = ParallelRun::new(scorer(awkward)).input(place.files());
        run.append_rows_to(place.path(name)).run(&pool(1)).unwrap();
        assert_eq!(place.read(name), expected);
        assert_eq!(made(&place), [name]);
    }
}

#[test]
fn rows_without_names_get_a_header_and_a_header_can_be_given() {
    let place = Place::new(1);
    let header = |append: Append| {
        let pairs = scorer(|_: &MiniBatch| Ok::<_, BoxError>(vec![("a", 1)]));
        ParallelRun::new(pairs)
            .input(place.files())
            .append_rows_to(append)
            .run(&pool(1))
            .unwrap();
        place.lines("out.csv")[0].clone()
    };
    let append = || Append::csv(place.path("out.csv"));
    assert_eq!(header(append()), "result_1,result_2");
    assert_eq!(header(append().columns(["file", "label"])), "file,label");
    let run = ParallelRun::new(scorer(names))
        .input(place.files())
        .append_rows_to(append());
    run.run(&pool(1)).unwrap();
    assert_eq!(place.read("out.csv"), "result\n0000\n");
}

/// The rows, when the first of three mini-batches ends after the second has been entered.
fn crossed(order: RowOrder) -> Vec<String> {
    let place = Place::new(3);
    let (send, receive) = channel();
    let (send, receive) = (Mutex::new(send), Mutex::new(receive));
    let crossed = scorer(move |batch: &MiniBatch| {
        match batch.index() {
            // The third is begun by the worker that has had the second.
            2 => send.lock().unwrap().send(())?,
            0 => receive.lock().unwrap().recv()?,
            _ => {}
        }
        names(batch)
    });
    let run = ParallelRun::new(crossed)
        .input(place.files())
        .mini_batch_size(MiniBatch::files(1));
    let append = Append::text(place.path("out.txt")).order(order);
    run.append_rows_to(append).run(&pool(2)).unwrap();
    place.lines("out.txt")
}

#[test]
fn rows_come_in_the_order_of_the_input_unless_as_they_come() {
    within_30s(|| {
        assert_eq!(crossed(RowOrder::Input), ["0000", "0001", "0002"]);
        assert_eq!(crossed(RowOrder::AsCompleted)[0], "0001");
    });
}

#[derive(Serialize)]
#[serde(untagged)]
enum Either {
    One { a: u64 },
    Two { a: u64, b: u64 },
}

#[test]
fn rows_with_other_columns_than_those_before_fail_their_mini_batch() {
    let place = Place::new(2);
    let uneven = scorer(|batch: &MiniBatch| {
        Ok::<_, BoxError>(vec![match batch.index() {
            0 => Either::One { a: 0 },
            _ => Either::Two { a: 0, b: 1 },
        }])
    });
    let run = ParallelRun::new(uneven)
        .input(place.files())
        .mini_batch_size(MiniBatch::files(1));
    let report = run
        .append_rows_to(place.path("out.csv"))
        .run(&pool(1))
        .unwrap();
    let failure = report.table[1].failure.clone().unwrap();
    assert_eq!(
        (failure.category, report.table[1].picked),
        (Category::WrongResult, 1)
    );
    assert!(failure.message.contains("`a,b`"), "{}", failure.message);
    assert_eq!(place.read("out.csv"), "a\n0\n");
}

#[test]
fn nothing_is_seen_of_the_output_until_it_is_whole_and_an_older_one_stays_until_then() {
    let place = Place::new(20);
    place.write("out.csv", "older");
    let out = place.path("out.csv");
    let looks = scorer(move |batch: &MiniBatch| {
        assert_eq!(std::fs::read_to_string(&out)?, "older");
        names(batch)
    });
    let run = ParallelRun::new(looks)
        .input(place.files())
        .append_rows_to(place.path("out.csv"));
    let report = run.run(&pool(2)).unwrap();
    assert_eq!(report.output, Some(place.path("out.csv")));
    assert_eq!(place.lines("out.csv").len(), 21);
    assert_eq!(made(&place), ["out.csv"]);
}

#[test]
fn an_output_that_can_not_be_written_ends_the_run_before_it_scores() {
    let place = Place::new(1);
    let never = scorer(|_: &MiniBatch| -> Result<Vec<u8>, BoxError> { panic!("scored") });
    let run = ParallelRun::new(never)
        .input(place.files())
        .append_rows_to(place.path("in"));
    let error = cause(run.run(&pool(1)));
    assert!(
        matches!(&error, ScoringError::Output { path, .. } if path.ends_with("in")),
        "{error}"
    );
}

#[test]
fn summary_only_counts_rows_and_writes_none() {
    let place = Place::new(11);
    let report = ParallelRun::new(scorer(names))
        .input(place.files())
        .summary_only()
        .run(&pool(2))
        .unwrap();
    assert_eq!((report.rows, report.output), (11, None));
    assert!(made(&place).is_empty());
}

#[test]
fn more_rows_than_items_are_kept_and_warned_of() {
    let place = Place::new(2);
    let twice =
        scorer(|batch: &MiniBatch| Ok::<_, BoxError>([names(batch)?, names(batch)?].concat()));
    let run = ParallelRun::new(twice)
        .input(place.files())
        .append_rows_to(place.path("out.txt"));
    let report = run.run(&pool(1)).unwrap();
    assert_eq!(
        (report.rows, report.items.succeeded, report.items.failed),
        (4, 2, 0)
    );
    assert_eq!(report.warnings, [Warning::MoreRowsThanItems(1)]);
    assert_eq!(place.lines("out.txt").len(), 4);
}

#[test]
fn no_row_at_all_is_a_warning_and_an_empty_output() {
    let place = Place::new(2);
    let none = scorer(|_: &MiniBatch| Ok::<Vec<u8>, BoxError>(Vec::new()));
    let run = ParallelRun::new(none)
        .input(place.files())
        .append_rows_to(place.path("out.csv"));
    let report = run.run(&pool(1)).unwrap();
    assert_eq!(
        (report.items.failed, report.warnings),
        (2, vec![Warning::NoRows])
    );
    assert_eq!(place.read("out.csv"), "");
}

#[test]
fn the_report_is_also_files_in_the_known_layout() {
    let place = Place::new(3);
    let run = ParallelRun::new(scorer(names))
        .input(place.files())
        .mini_batch_size(MiniBatch::files(1));
    let report = run.logs(place.path("logs")).run(&pool(1)).unwrap();
    assert_eq!(report.logs, Some(place.path("logs")));
    assert!(
        place
            .read("logs/job_result.txt")
            .starts_with("succeeded\n3 items in 3 mini-batches")
    );
    let table = place.lines("logs/sys/job_report/processed_mini-batches.csv");
    assert!(
        table[0]
            .starts_with("Mini-batch Id,Picked Count,Process,Start Time,Total,Succeeded,Failed")
    );
    assert!(
        table[3].starts_with("2,1,0,") && table[3].contains(",RUN_DONE,"),
        "{}",
        table[3]
    );
    assert_eq!(place.lines("logs/sys/job_report/node_summary.csv").len(), 2);
}

/// What a try of a mini-batch does.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Try {
    Rows,
    Error,
    Panic,
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// For any failures: each row of what succeeds is there once, and the counts agree.
    #[test]
    fn each_row_is_there_once_and_the_counts_agree(
        tries in proptest::collection::vec(proptest::array::uniform3(prop_oneof![
            3 => Just(Try::Rows), 2 => Just(Try::Error), 1 => Just(Try::Panic)
        ]), 1..24),
        workers in 1usize..4,
        in_order in any::<bool>(),
    ) {
        let place = Place::new(tries.len());
        let plan = tries.clone();
        let flaky = scorer(move |batch: &MiniBatch| match plan[batch.index() as usize][batch.attempt() as usize - 1] {
            Try::Rows => names(batch),
            Try::Error => Err("an error".into()),
            // Quietly: without the hook that prints.
            Try::Panic => std::panic::resume_unwind(Box::new("a panic")),
        });
        let order = if in_order { RowOrder::Input } else { RowOrder::AsCompleted };
        let run = ParallelRun::new(flaky).input(place.files()).mini_batch_size(MiniBatch::files(1));
        let report = run.append_rows_to(Append::text(place.path("out.txt")).order(order)).run(&pool(workers)).unwrap();

        let good: Vec<_> = (0..tries.len()).filter(|&batch| tries[batch].contains(&Try::Rows)).collect();
        let expected: Vec<_> = good.iter().map(|batch| format!("{batch:04}")).collect();
        let mut rows = place.lines("out.txt");
        if !in_order {
            rows.sort();
        }
        prop_assert_eq!(rows, expected);
        let failed = (tries.len() - good.len()) as u64;
        prop_assert_eq!((report.items.failed, report.mini_batches.failed), (failed, failed));
        prop_assert_eq!((report.rows, report.items.total), (good.len() as u64, tries.len() as u64));
        let made = |tries: &[Try; 3]| tries.iter().position(|&t| t == Try::Rows).map_or(3, |at| at + 1) as u64;
        prop_assert_eq!(report.reruns, tries.iter().map(|tries| made(tries) - 1).sum::<u64>());
    }
}
