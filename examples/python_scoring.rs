//! Runs a Python entry script, as Azure ML would, on images: `python/score.py`.
//!
//!     cargo run --release --features python --example python_scoring
//!
//! With `BATCHYARD_PYTHON` another interpreter than `python3` is used, such as one that has scikit-learn.

#[path = "digits/mod.rs"]
mod digits;
#[path = "digits/files.rs"]
mod files;

use batchyard::scoring::{Files, MiniBatch, ParallelRun, PythonScorer};
use batchyard::{BoxError, Pool, ThreadExecutor};
use std::path::Path;

fn main() -> Result<(), BoxError> {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let folder = std::env::temp_dir().join("batchyard-python-scoring");
    files::write_test_images(&folder.join("images"))?;

    let digits = examples.join("digits/digits.csv").display().to_string();
    let python = std::env::var("BATCHYARD_PYTHON").unwrap_or_else(|_| "python3".into());
    let scorer = PythonScorer::entry_script(examples.join("python/score.py"))
        .args([digits])
        .python(python);
    let report = ParallelRun::new(scorer)
        .input(Files::directory(folder.join("images"))?)
        .mini_batch_size(MiniBatch::files(50))
        .append_rows_to(folder.join("predictions.csv"))
        .run(&Pool::new(ThreadExecutor::all_cores()?))?;

    println!(
        "accuracy: {:.4}",
        accuracy(&folder.join("predictions.csv"))?
    );
    println!("{report}");
    Ok(())
}

/// The label is at the end of the image's name.
fn accuracy(predictions: &Path) -> Result<f64, BoxError> {
    let rows: Vec<(String, String)> = csv::Reader::from_path(predictions)?
        .into_deserialize()
        .collect::<Result<_, _>>()?;
    let right = rows
        .iter()
        .filter(|(image, predicted)| image.ends_with(&format!("-{predicted}")));
    Ok(right.count() as f64 / rows.len() as f64)
}
