//! Durations with units.

use jiff::fmt::friendly::SpanPrinter;
use jiff::{Span, SpanRelativeTo};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use super::problem::Problem;

/// A duration as it is written: `30s`, `1h 30m`, or `PT30S` (ISO 8601). A day has 24 hours.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Written(Duration);

/// For people who wrote something else.
const EXPECTED: &str = "a duration with units in quotes, such as \"30s\", \"1h 30m\" or \"PT30S\"";

impl Written {
    /// Durations that couldn't be read back are refused.
    pub(super) fn new(duration: Duration) -> Result<Self, Problem> {
        let written = text(duration);
        match parse(&written) == Some(duration) {
            true => Ok(Written(duration)),
            false => Err(Problem::new("a duration is too long to be written")),
        }
    }

    /// For durations that are known to be short.
    pub(super) fn known(duration: Duration) -> Self {
        Written(duration)
    }

    pub(super) fn of(duration: Option<Duration>) -> Result<Option<Self>, Problem> {
        duration.map(Written::new).transpose()
    }
}

impl From<Written> for Duration {
    fn from(written: Written) -> Self {
        written.0
    }
}

fn text(duration: Duration) -> String {
    SpanPrinter::new().unsigned_duration_to_string(&duration)
}

fn parse(text: &str) -> Option<Duration> {
    let span: Span = text.parse().ok()?;
    let duration = span.to_duration(SpanRelativeTo::days_are_24_hours()).ok()?;
    Duration::try_from(duration).ok()
}

impl Serialize for Written {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&text(self.0))
    }
}

impl<'de> Deserialize<'de> for Written {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_str(Text)
    }
}

struct Text;

impl Visitor<'_> for Text {
    type Value = Written;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(EXPECTED)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Written, E> {
        let duration = parse(text);
        let unknown = || E::invalid_value(serde::de::Unexpected::Str(text), &self);
        duration.map(Written).ok_or_else(unknown)
    }
}

impl JsonSchema for Written {
    fn schema_name() -> Cow<'static, str> {
        "Duration".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "description": "With units, or ISO 8601's. A day has 24 hours; months and years have no length.",
            "examples": ["30s", "1h 30m", "500ms", "2d", "PT30S"],
            "minLength": 2,
        })
    }
}
