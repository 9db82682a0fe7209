//! The form of a sweep's parameters.

use super::problem::Problem;
use super::short::{Short, Shorten};
use crate::model::{Parameter, Sweep};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// The parameters, in the order of their placeholders.
pub(super) type SweepForm = Vec<Short<ParameterForm>>;

/// One parameter: a list of texts, or a range of numbers.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(from = "RangeForm", untagged)]
pub(super) enum ParameterForm {
    Values(Vec<String>),
    Range(RangeForm),
}

/// The numbers from `start` by `step` as far as `end`.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Range")]
pub(super) struct RangeForm {
    start: i64,
    end: i64,
    /// Not 0; a negative one goes down.
    #[schemars(extend("not" = { "const": 0 }))]
    #[serde(default = "one", skip_serializing_if = "is_one")]
    step: i64,
}

impl Shorten for ParameterForm {
    const EXPECTED: &'static str =
        "a parameter: a list of texts, or a table with `start` and `end`";
    type Written = Vec<String>;

    fn of_list(texts: Vec<String>) -> Option<Self> {
        Some(ParameterForm::Values(texts))
    }
}

pub(super) fn into_sweep(form: SweepForm) -> Result<Sweep, Problem> {
    let parameters = form.into_iter().enumerate().map(|(at, parameter)| {
        parameter
            .0
            .into_parameter()
            .map_err(|problem| problem.in_item(at))
    });
    let parameters = parameters.collect::<Result<_, _>>()?;
    Ok(Sweep { parameters })
}

pub(super) fn of_sweep(sweep: &Sweep) -> SweepForm {
    let forms = sweep.parameters.iter().map(|parameter| match parameter {
        Parameter::Values(values) => ParameterForm::Values(values.to_vec()),
        &Parameter::Range { start, end, step } => {
            ParameterForm::Range(RangeForm { start, end, step })
        }
    });
    forms.map(Short).collect()
}

impl ParameterForm {
    fn into_parameter(self) -> Result<Parameter, Problem> {
        match self {
            ParameterForm::Values(values) => Ok(Parameter::Values(values.into())),
            ParameterForm::Range(RangeForm { step: 0, .. }) => {
                Err(Problem::new("0 leads nowhere; leave it out for 1").inside("step"))
            }
            ParameterForm::Range(RangeForm { start, end, step }) => {
                Ok(Parameter::Range { start, end, step })
            }
        }
    }
}

impl From<RangeForm> for ParameterForm {
    fn from(range: RangeForm) -> Self {
        ParameterForm::Range(range)
    }
}

/// The whole form is that of a range.
impl JsonSchema for ParameterForm {
    fn schema_name() -> Cow<'static, str> {
        RangeForm::schema_name()
    }

    fn schema_id() -> Cow<'static, str> {
        RangeForm::schema_id()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        RangeForm::json_schema(generator)
    }
}

fn one() -> i64 {
    1
}

fn is_one(step: &i64) -> bool {
    *step == 1
}
