//! The form of a task's settings.

use super::duration::Written;
use super::exit::ExitForm;
use super::problem::Problem;
use crate::model::{Backoff, MaxRetries, Resources, TaskSettings};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;
use std::num::NonZeroU32;

/// When and how often a task, or each element of an array, may run. What is not set is taken from the job's defaults.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "TaskSettings")]
pub(super) struct SettingsForm {
    /// How often the task may fail and be tried again. Default 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    max_retries: Option<Retries>,
    /// How long to wait before each retry.
    #[serde(skip_serializing_if = "Option::is_none")]
    backoff: Option<BackoffForm>,
    /// How long one attempt may take. Default: no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    time_limit: Option<Written>,
    /// How long all attempts together may take, waits included. Default: no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    total_time_limit: Option<Written>,
    /// Not before this long after the job was submitted. Default: at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    start_after: Option<Written>,
    /// The task fails if it has not ended this long after the job was submitted. Default: never.
    #[serde(skip_serializing_if = "Option::is_none")]
    deadline: Option<Written>,
    /// Which of the job's ready tasks go first: those of higher priority. Default 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    priority: Option<i32>,
    /// What the task needs of the node it runs on. Default: one slot.
    #[serde(skip_serializing_if = "Option::is_none")]
    resources: Option<Resources>,
    /// At most so many of an array's elements run at once. Default: as many as have room.
    #[serde(skip_serializing_if = "Option::is_none")]
    max_parallel: Option<NonZeroU32>,
    /// An attempt of which nothing is heard for so long is told of as stalled. Default: never.
    #[serde(skip_serializing_if = "Option::is_none")]
    stalled_after: Option<Written>,
    /// How often the task may lose its node and be run again. Default 5.
    #[serde(skip_serializing_if = "Option::is_none")]
    max_recoveries: Option<u32>,
    /// What the task's end means for its dependents and its job. Default: dependents run after a success.
    #[serde(skip_serializing_if = "Option::is_none")]
    exit_conditions: Option<ExitForm>,
}

/// Waits before retries: longer each time, and never all tasks at once.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "Backoff")]
struct BackoffForm {
    /// Before the first retry. Default 100ms.
    initial: Written,
    /// By how much each wait is longer than the one before. Default 2.
    #[schemars(range(min = 1))]
    #[serde(deserialize_with = "factor")]
    factor: f64,
    /// The longest wait. Default 1m.
    max: Written,
    /// The part of each wait that may be left out at random. Default 0.5.
    #[schemars(range(min = 0, max = 1))]
    #[serde(deserialize_with = "part")]
    jitter: f64,
}

/// A number, or `unlimited`.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Retries(MaxRetries);

impl SettingsForm {
    pub(super) fn of(settings: &TaskSettings) -> Result<Self, Problem> {
        if settings.retry_if.is_some() {
            let problem =
                "it is code; exit conditions, or a `Permanent` error, can be told without";
            return Err(Problem::new(problem).inside("retry_if"));
        }
        let duration =
            |duration, name| Written::of(duration).map_err(|problem| problem.inside(name));
        let backoff = settings.backoff.as_ref().map(BackoffForm::of).transpose();
        Ok(SettingsForm {
            max_retries: settings.max_retries.map(Retries),
            backoff: backoff.map_err(|problem| problem.inside("backoff"))?,
            time_limit: duration(settings.time_limit, "time_limit")?,
            total_time_limit: duration(settings.total_time_limit, "total_time_limit")?,
            start_after: duration(settings.start_after, "start_after")?,
            deadline: duration(settings.deadline, "deadline")?,
            priority: settings.priority,
            resources: settings.resources.clone(),
            max_parallel: settings.max_parallel.and_then(NonZeroU32::new),
            stalled_after: duration(settings.stalled_after, "stalled_after")?,
            max_recoveries: settings.max_recoveries,
            exit_conditions: settings.exit_conditions.as_ref().map(ExitForm::of),
        })
    }

    pub(super) fn is_default(&self) -> bool {
        *self == SettingsForm::default()
    }
}

impl From<SettingsForm> for TaskSettings {
    fn from(form: SettingsForm) -> Self {
        TaskSettings {
            max_retries: form.max_retries.map(|retries| retries.0),
            backoff: form.backoff.map(Into::into),
            retry_if: None,
            time_limit: form.time_limit.map(Into::into),
            total_time_limit: form.total_time_limit.map(Into::into),
            start_after: form.start_after.map(Into::into),
            deadline: form.deadline.map(Into::into),
            priority: form.priority,
            resources: form.resources,
            max_parallel: form.max_parallel.map(NonZeroU32::get),
            stalled_after: form.stalled_after.map(Into::into),
            max_recoveries: form.max_recoveries,
            exit_conditions: form.exit_conditions.map(Into::into),
        }
    }
}

impl BackoffForm {
    fn of(backoff: &Backoff) -> Result<Self, Problem> {
        Ok(BackoffForm {
            initial: Written::new(backoff.initial)?,
            factor: backoff.factor,
            max: Written::new(backoff.max)?,
            jitter: backoff.jitter,
        })
    }
}

impl Default for BackoffForm {
    fn default() -> Self {
        let Backoff {
            initial,
            factor,
            max,
            jitter,
        } = Backoff::default();
        let (initial, max) = (Written::known(initial), Written::known(max));
        BackoffForm {
            initial,
            factor,
            max,
            jitter,
        }
    }
}

impl From<BackoffForm> for Backoff {
    fn from(form: BackoffForm) -> Self {
        Backoff {
            initial: form.initial.into(),
            factor: form.factor,
            max: form.max.into(),
            jitter: form.jitter,
        }
    }
}

fn factor<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    let factor = f64::deserialize(from)?;
    let is_factor = factor.is_finite() && factor >= 1.0;
    is_factor
        .then_some(factor)
        .ok_or_else(|| D::Error::custom(format!("{factor} is no factor; waits grow by 1 or more")))
}

fn part<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    let part = f64::deserialize(from)?;
    let is_part = (0.0..=1.0).contains(&part);
    is_part
        .then_some(part)
        .ok_or_else(|| D::Error::custom(format!("{part} is no part; write a number from 0 to 1")))
}

impl Serialize for Retries {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            MaxRetries::Times(times) => to.serialize_u32(times),
            MaxRetries::Unlimited => to.serialize_str(UNLIMITED),
        }
    }
}

const UNLIMITED: &str = "unlimited";

impl<'de> Deserialize<'de> for Retries {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Times).map(Retries)
    }
}

struct Times;

impl Visitor<'_> for Times {
    type Value = MaxRetries;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("how often, from 0 to 4294967295, or \"unlimited\"")
    }

    fn visit_u64<E: Error>(self, times: u64) -> Result<MaxRetries, E> {
        let unexpected = serde::de::Unexpected::Unsigned(times);
        let times = u32::try_from(times).map(MaxRetries::Times);
        times.map_err(|_| E::invalid_value(unexpected, &self))
    }

    fn visit_i64<E: Error>(self, times: i64) -> Result<MaxRetries, E> {
        let unexpected = serde::de::Unexpected::Signed(times);
        let times = u32::try_from(times).map(MaxRetries::Times);
        times.map_err(|_| E::invalid_value(unexpected, &self))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<MaxRetries, E> {
        let unexpected = serde::de::Unexpected::Str(text);
        let unlimited = (text == UNLIMITED).then_some(MaxRetries::Unlimited);
        unlimited.ok_or_else(|| E::invalid_value(unexpected, &self))
    }
}

impl JsonSchema for Retries {
    fn schema_name() -> Cow<'static, str> {
        "MaxRetries".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "anyOf": [
                { "type": "integer", "minimum": 0, "maximum": u32::MAX },
                { "const": UNLIMITED },
            ]
        })
    }
}
