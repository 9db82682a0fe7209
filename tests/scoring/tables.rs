//! Tables as input.

use crate::{Place, cause, pool};
use batchyard::scoring::{Files, MiniBatch, ParallelRun, Report, ScoringError, Tables, scorer};
use batchyard::{BoxError, Error, ErrorKind};
use proptest::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Deserialize, Serialize, Clone, PartialEq, Debug)]
struct Row {
    id: u64,
    name: String,
}

fn rows(batch: &MiniBatch) -> Result<Vec<Row>, BoxError> {
    batch.rows()
}

fn copy(place: &Place, tables: Tables, bytes: u64) -> Result<Report, Error> {
    let run = ParallelRun::new(scorer(rows))
        .input(tables)
        .mini_batch_size(MiniBatch::bytes(bytes));
    run.append_rows_to(place.path("out.csv"))
        .tries(1)
        .run(&pool(2))
}

/// What is in `in/*`, after it went through a run.
fn copied(place: &Place, tables: Tables) -> Vec<String> {
    let report = copy(place, tables, 4).unwrap();
    assert_eq!(report.items.failed, 0, "{report:?}");
    place.lines("out.csv")
}

#[test]
fn quoted_line_ends_and_all_kinds_of_line_ends_are_read() {
    let place = Place::new(0);
    place.write(
        "in/a.csv",
        "id,name\r\n1,\"two\nlines\"\r\n\r\n2,\"a \"\"quote\"\"\"\r3,plain\n4,last",
    );
    let lines = copied(&place, Tables::csv(place.files()));
    assert_eq!(
        lines,
        [
            "id,name",
            "1,\"two",
            "lines\"",
            "2,\"a \"\"quote\"\"\"",
            "3,plain",
            "4,last"
        ]
    );
}

#[test]
fn a_delimiter_and_an_encoding_can_be_told() {
    let place = Place::new(0);
    place.write("in/a.csv", b"id;name\n1;caf\xe9\n");
    let tables = Tables::csv(place.files())
        .delimiter(b';')
        .encoding("windows-1252")
        .unwrap();
    assert_eq!(copied(&place, tables), ["id,name", "1,café"]);
    assert_eq!(
        Tables::csv("a").encoding("utf-16le").unwrap_err().kind(),
        ErrorKind::InvalidSetting
    );
}

#[test]
fn what_is_not_in_the_encoding_is_refused_with_its_offset() {
    let place = Place::new(0);
    place.write("in/a.csv", b"id,name\n1,good\n2,caf\xe9\n");
    let report = copy(&place, Tables::csv(place.files()), 1).unwrap();
    assert_eq!((report.items.succeeded, report.items.failed), (1, 1));
    let failure = report.table[1].failure.clone().unwrap();
    assert!(
        failure.message.contains("at byte 20 is not UTF-8"),
        "{}",
        failure.message
    );
}

#[test]
fn byte_order_marks_are_taken_off_each_file_and_utf_16_is_refused() {
    let place = Place::new(0);
    place.write("in/1.csv", "\u{feff}id,name\n1,a\n");
    place.write("in/2.csv", "id,name\n2,b\n");
    place.write("in/3.csv", "\u{feff}\"id\",name\n3,\u{feff}c\n");
    place.write("in/4.csv", "\u{feff}");
    assert_eq!(
        copied(&place, Tables::csv(place.files())),
        ["id,name", "1,a", "2,b", "3,\u{feff}c"]
    );

    place.write("in/5.csv", b"\xff\xfei\0d\0");
    let error = cause(copy(&place, Tables::csv(place.files()), 9));
    assert!(error.to_string().contains("5.csv is in UTF-16"), "{error}");

    place.write("lines/1.jsonl", "\u{feff}{\"id\":1,\"name\":\"a\"}\n");
    let lines = Tables::json_lines(Files::directory(place.path("lines")).unwrap());
    assert_eq!(copied(&place, lines), ["id,name", "1,a"]);
}

#[test]
fn tables_without_rows_give_no_mini_batch_and_are_named() {
    let place = Place::new(0);
    place.write("in/1.csv", "");
    place.write("in/2.csv", "id,name");
    place.write("in/3.csv", "id,name\n");
    place.write("in/4.csv", "\n\r\n\n");
    place.write("in/5.csv", "id,name\n7,x\n");
    let report = copy(&place, Tables::csv(place.files()), 100).unwrap();
    assert_eq!((report.mini_batches.total, report.items.total), (1, 1));
    let named: Vec<_> = report
        .left_out
        .iter()
        .map(|left| crate::name(&left.path))
        .collect();
    assert_eq!(named, ["1.csv", "2.csv", "3.csv", "4.csv"]);
}

#[test]
fn a_quote_that_is_never_closed_is_an_error_with_its_offset() {
    let place = Place::new(0);
    place.write("in/a.csv", "id,name\n1,a\n2,\"b\n3,c\n");
    let error = cause(copy(&place, Tables::csv(place.files()), 1));
    assert!(
        matches!(&error, ScoringError::Input(why) if why.contains("the quote at byte 14")),
        "{error}"
    );
    assert_eq!(place.read("out.csv.partial"), "id,name\n1,a\n");
}

#[test]
fn tables_of_different_columns_are_refused() {
    let place = Place::new(0);
    place.write("in/1.csv", "id,name\n1,a\n");
    place.write("in/2.csv", "name,id\nb,2\n");
    let error = cause(copy(&place, Tables::csv(place.files()), 1));
    assert!(error.to_string().contains("2.csv"), "{error}");
}

#[test]
fn a_row_that_does_not_fit_fails_its_mini_batch_and_is_named() {
    let place = Place::new(0);
    place.write("in/a.csv", "id,name\n1,a\nx,b\n3,c\n");
    let report = copy(&place, Tables::csv(place.files()), 1).unwrap();
    assert_eq!((report.items.succeeded, report.items.failed), (2, 1));
    let failure = report
        .failures()
        .next()
        .and_then(|batch| batch.failure.clone())
        .unwrap();
    assert!(failure.message.contains("row 1"), "{}", failure.message);
    assert!(failure.origin.contains("rows 1 to 1"), "{}", failure.origin);
}

#[test]
fn a_mini_batch_knows_its_first_row_and_never_crosses_files() {
    let place = Place::new(0);
    place.write("in/1.csv", "id,name\n0,a\n1,b\n2,c\n");
    place.write("in/2.csv", "id,name\n0,a\n");
    let firsts = scorer(|batch: &MiniBatch| {
        let table = batch.table()?;
        let row = format!(
            "{} {} {}",
            crate::name(table.path()),
            table.first_row(),
            batch.len()
        );
        Ok::<_, BoxError>(vec![row; batch.len()])
    });
    let run = ParallelRun::new(firsts)
        .input(Tables::csv(place.files()))
        .mini_batch_size(MiniBatch::bytes(5));
    run.append_rows_to(place.path("out.txt"))
        .run(&pool(2))
        .unwrap();
    assert_eq!(
        place.lines("out.txt"),
        ["1.csv 0 2", "1.csv 0 2", "1.csv 2 1", "2.csv 0 1"]
    );
}

#[test]
fn rows_are_partitioned_by_columns() {
    for (name, text) in [
        ("a.csv", "id,name\n1,x\n2,y\n3,x\n"),
        (
            "a.jsonl",
            "{\"id\":1,\"name\":\"x\"}\n{\"id\":2,\"name\":\"y\"}\n{\"id\":3,\"name\":\"x\"}",
        ),
    ] {
        let place = Place::new(0);
        place.write(&format!("in/1{name}"), text);
        place.write(&format!("in/2{name}"), text);
        let tables = match name {
            "a.csv" => Tables::csv(place.files()),
            _ => Tables::json_lines(place.files()),
        };
        let by_name = scorer(|batch: &MiniBatch| {
            assert!(
                batch
                    .rows::<Row>()?
                    .iter()
                    .all(|row| row.name == batch.partition()[0].1)
            );
            rows(batch)
        });
        let run = ParallelRun::new(by_name)
            .input(tables)
            .partition_keys(["name"]);
        let report = run
            .append_rows_to(place.path("out.csv"))
            .run(&pool(2))
            .unwrap();
        assert_eq!((report.mini_batches.total, report.items.succeeded), (2, 6));
        assert_eq!(
            place.lines("out.csv").join(" "),
            "id,name 1,x 3,x 1,x 3,x 2,y 2,y"
        );
    }
}

#[test]
fn a_field_larger_than_many_mini_batches_stays_whole() {
    let place = Place::new(0);
    let long = "\"quoted\"\n".repeat(600_000);
    place.write(
        "in/a.csv",
        format!("id,name\n1,\"{}\"\n2,b\n", long.replace('"', "\"\"")),
    );
    let lengths = scorer(|batch: &MiniBatch| {
        Ok::<_, BoxError>(
            rows(batch)?
                .iter()
                .map(|row| row.name.len())
                .collect::<Vec<_>>(),
        )
    });
    let run = ParallelRun::new(lengths)
        .input(Tables::csv(place.files()))
        .mini_batch_size(MiniBatch::bytes(1000));
    run.append_rows_to(place.path("out.txt"))
        .run(&pool(2))
        .unwrap();
    assert_eq!(place.lines("out.txt"), [long.len().to_string(), "1".into()]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// All mini-batches together are what was written, whatever their size.
    #[test]
    fn mini_batches_together_are_a_serial_parse(
        names in proptest::collection::vec("[ab,\"\r\n]{0,6}", 0..40),
        bytes in 1u64..200,
    ) {
        let place = Place::new(0);
        let rows: Vec<_> = names.into_iter().enumerate().map(|(id, name)| Row { id: id as u64, name }).collect();
        let mut writer = csv::Writer::from_path(place.path("in/a.csv")).unwrap();
        rows.iter().for_each(|row| writer.serialize(row).unwrap());
        drop(writer);
        copy(&place, Tables::csv(place.files()), bytes).unwrap();
        let read: Result<Vec<Row>, _> = csv::Reader::from_path(place.path("out.csv")).unwrap().into_deserialize().collect();
        prop_assert_eq!(read.unwrap(), rows);
    }
}
