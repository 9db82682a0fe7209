//! ONNX models. (The network is that of the examples.)

use crate::{Place, cause, pool};
use batchyard::BoxError;
use batchyard::scoring::{Files, MiniBatch, OnnxScorer, ParallelRun, ScoringError, Tables};
use std::path::{Path, PathBuf};

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("examples/digits")
        .join(name)
}

/// The pixels of a table like `digits.csv`.
fn pixels(batch: &MiniBatch) -> Result<Vec<f32>, BoxError> {
    let mut pixels = Vec::new();
    for record in batch.table()?.csv()?.into_records() {
        pixels.extend(
            record?
                .iter()
                .skip(2)
                .map(str::parse)
                .collect::<Result<Vec<f32>, _>>()?,
        );
    }
    Ok(pixels)
}

#[test]
fn a_model_gives_a_row_for_each_item() {
    let place = Place::new(0);
    let model = OnnxScorer::new(example("digits.onnx"), [1, 8, 8], pixels);
    let run = ParallelRun::new(model)
        .input(Tables::csv(example("digits.csv")))
        .append_rows_to(place.path("out.jsonl"));
    let report = run
        .mini_batch_size(MiniBatch::bytes(20_000))
        .run(&pool(2))
        .unwrap();
    assert_eq!((report.items.total, report.items.failed), (1797, 0));

    let labels = csv::Reader::from_path(example("digits.csv"))
        .unwrap()
        .into_records();
    let labels = labels.map(|record| record.unwrap()[1].parse::<usize>().unwrap());
    let right = place
        .lines("out.jsonl")
        .into_iter()
        .zip(labels)
        .filter(|(line, label)| {
            let row: Vec<f32> = serde_json::from_str(line).unwrap();
            (0..10).max_by(|&a, &b| row[a].total_cmp(&row[b])) == Some(*label)
        });
    assert!(right.count() > 1700);
}

#[test]
fn columns_are_read_by_name_and_what_does_not_fit_the_model_is_told() {
    let place = Place::new(0);
    place.write("in/a.csv", "a,b\n1,x\n");
    let told = |model: OnnxScorer| {
        let run =
            ParallelRun::new(model).input(Tables::csv(Files::directory(place.path("in")).unwrap()));
        let report = run.run(&pool(1)).unwrap();
        let batch = &report.table[0];
        (batch.failure.clone().unwrap().message, batch.picked)
    };
    let of = |names: &[&str]| OnnxScorer::of_columns(example("digits.onnx"), names.iter().copied());
    assert_eq!(told(of(&["c"])), ("there is no column `c`".into(), 1));
    assert_eq!(
        told(of(&["b"])),
        ("`x` in the column `b` is no number".into(), 1)
    );
    let (message, _) = told(OnnxScorer::new(example("digits.onnx"), [1, 8, 8], |_| {
        Ok(vec![0.0])
    }));
    assert!(message.contains("64 numbers, and 1 were read"), "{message}");
}

#[test]
fn a_model_that_is_not_there_ends_the_run_with_its_path() {
    let place = Place::new(0);
    place.write("in/a.csv", "a\n1\n");
    let run = ParallelRun::new(OnnxScorer::of_columns("missing.onnx", ["a"]))
        .input(Tables::csv(place.files()));
    let error = cause(run.run(&pool(1)));
    assert!(
        matches!(&error, ScoringError::InitFailed { most_common, .. } if most_common.contains("missing.onnx")),
        "{error}"
    );
}
