//! The form of exit conditions.

use crate::model::{DependencyAction, ExitConditions, ExitOptions, JobAction};
use schemars::JsonSchema;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

/// What a task's end means for its dependents and its job, by exit code or kind of failure. The first that fits decides:
/// a code, a range, a kind of error, `otherwise`.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "ExitConditions")]
pub(super) struct ExitForm {
    /// For single exit codes. 0 is that of a success.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    codes: Vec<CodeForm>,
    /// For ranges of exit codes, both ends included.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "ranges")]
    ranges: Vec<RangeForm>,
    /// When a file, or the program, could not be had.
    #[serde(skip_serializing_if = "Option::is_none")]
    pre_processing_error: Option<OptionsForm>,
    /// When output files could not be copied.
    #[serde(skip_serializing_if = "Option::is_none")]
    file_upload_error: Option<OptionsForm>,
    /// For every failure that nothing else here is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    otherwise: Option<OptionsForm>,
}

/// What is done.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "ExitOptions")]
struct OptionsForm {
    #[serde(skip_serializing_if = "Option::is_none")]
    job_action: Option<JobAction>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dependency_action: Option<DependencyAction>,
}

/// What is done for an exit code.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ExitCode")]
struct CodeForm {
    code: i32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    job_action: Option<JobAction>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    dependency_action: Option<DependencyAction>,
}

/// What is done for a range of exit codes.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ExitCodeRange")]
struct RangeForm {
    start: i32,
    end: i32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    job_action: Option<JobAction>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    dependency_action: Option<DependencyAction>,
}

/// Ranges that hold codes.
fn ranges<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<RangeForm>, D::Error> {
    let ranges = Vec::<RangeForm>::deserialize(from)?;
    match ranges.iter().find(|range| range.start > range.end) {
        None => Ok(ranges),
        Some(RangeForm { start, end, .. }) => Err(D::Error::custom(format!(
            "the range from {start} to {end} holds no code; put the smaller one first"
        ))),
    }
}

impl ExitForm {
    pub(super) fn of(conditions: &ExitConditions) -> Self {
        let codes = conditions.codes.iter().map(|&(code, options)| CodeForm {
            code,
            job_action: options.job_action,
            dependency_action: options.dependency_action,
        });
        let ranges = conditions.ranges.iter().map(|(range, options)| RangeForm {
            start: *range.start(),
            end: *range.end(),
            job_action: options.job_action,
            dependency_action: options.dependency_action,
        });
        ExitForm {
            codes: codes.collect(),
            ranges: ranges.collect(),
            pre_processing_error: conditions.pre_processing_error.map(Into::into),
            file_upload_error: conditions.file_upload_error.map(Into::into),
            otherwise: conditions.otherwise.map(Into::into),
        }
    }
}

impl From<ExitForm> for ExitConditions {
    fn from(form: ExitForm) -> Self {
        let codes = form.codes.into_iter().map(|form| {
            let (job_action, dependency_action) = (form.job_action, form.dependency_action);
            (
                form.code,
                ExitOptions {
                    job_action,
                    dependency_action,
                },
            )
        });
        let ranges = form.ranges.into_iter().map(|form| {
            let (job_action, dependency_action) = (form.job_action, form.dependency_action);
            (
                form.start..=form.end,
                ExitOptions {
                    job_action,
                    dependency_action,
                },
            )
        });
        ExitConditions {
            codes: codes.collect(),
            ranges: ranges.collect(),
            pre_processing_error: form.pre_processing_error.map(Into::into),
            file_upload_error: form.file_upload_error.map(Into::into),
            otherwise: form.otherwise.map(Into::into),
        }
    }
}

impl From<ExitOptions> for OptionsForm {
    fn from(options: ExitOptions) -> Self {
        OptionsForm {
            job_action: options.job_action,
            dependency_action: options.dependency_action,
        }
    }
}

impl From<OptionsForm> for ExitOptions {
    fn from(form: OptionsForm) -> Self {
        ExitOptions {
            job_action: form.job_action,
            dependency_action: form.dependency_action,
        }
    }
}
