//! Batch scoring: many files, or the rows of tables, through a scorer, in mini-batches. What Azure ML's *parallel run step*
//! and *parallel job* do, on any pool.
//!
//! [`ParallelRun`] is where to begin. A **scorer** is a [`Scorer`], or a closure in [`scorer`]. A **worker** is one instance
//! of it, made by `init`, which scores one mini-batch at a time. An **item** is a file, or a row of a table; a
//! **mini-batch** is what one call of a scorer is given ([`MiniBatch`]).
//!
//! Each mini-batch's rows are in the output once, whatever had to be tried again, and a mini-batch that failed at first and
//! then succeeded counts as a success.

mod fault;
mod input;
mod ledger;
mod mini_batch;
#[cfg(feature = "onnx")]
mod onnx;
mod output;
mod parallel_run;
#[cfg(all(feature = "python", target_os = "linux"))]
mod python;
mod report;
mod round;
mod scorer;
mod settings;
mod staff;

pub use fault::{Category, ScoringError};
pub use input::{Files, Input, LeftOut, Table, Tables};
pub use mini_batch::{MiniBatch, MiniBatchSize};
#[cfg(feature = "onnx")]
pub use onnx::{OnnxRow, OnnxScorer, OnnxWorker};
pub use output::{Append, RowOrder};
pub use parallel_run::ParallelRun;
#[cfg(all(feature = "python", target_os = "linux"))]
pub use python::PythonScorer;
pub use report::{Failure, MiniBatchReport, Report, Tally, Warning};
pub use scorer::{AnyScorer, IntoScorer, Scorer, ScorerFn, Worker, scorer};
