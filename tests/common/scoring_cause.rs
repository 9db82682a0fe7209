//! Why a scoring ended early.

use batchyard::Error;
use batchyard::scoring::{Report, ScoringError};

pub(crate) fn cause(result: Result<Report, Error>) -> ScoringError {
    let error = result.expect_err("it was to end early");
    error
        .cause::<ScoringError>()
        .unwrap_or_else(|| panic!("{error}"))
        .clone()
}
