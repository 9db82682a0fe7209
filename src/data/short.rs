//! Forms that can also be written as one text, or as a list of texts.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{DeserializeOwned, Error, MapAccess, SeqAccess, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

/// A form, read from its short way of writing or from the whole.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Short<F>(pub(super) F);

/// A form with a short way of writing.
pub(super) trait Shorten: DeserializeOwned + Serialize + JsonSchema {
    /// For people who wrote something else.
    const EXPECTED: &'static str;
    /// `String` or `Vec<String>`, for the schema.
    type Written: JsonSchema;

    fn of_text(_text: &str) -> Option<Self> {
        None
    }

    fn of_list(_texts: Vec<String>) -> Option<Self> {
        None
    }
}

impl<F: Serialize> Serialize for Short<F> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(to)
    }
}

impl<'de, F: Shorten> Deserialize<'de> for Short<F> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Either(PhantomData)).map(Short)
    }
}

struct Either<F>(PhantomData<F>);

impl<'de, F: Shorten> Visitor<'de> for Either<F> {
    type Value = F;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(F::EXPECTED)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<F, E> {
        F::of_text(text).ok_or_else(|| E::invalid_type(Unexpected::Str(text), &self))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, texts: A) -> Result<F, A::Error> {
        let texts = Vec::deserialize(SeqAccessDeserializer::new(texts))?;
        F::of_list(texts).ok_or_else(|| A::Error::invalid_type(Unexpected::Seq, &self))
    }

    fn visit_map<A: MapAccess<'de>>(self, whole: A) -> Result<F, A::Error> {
        F::deserialize(MapAccessDeserializer::new(whole))
    }
}

impl<F: Shorten> JsonSchema for Short<F> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("Short{}", F::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let whole = generator.subschema_for::<F>();
        let mut short = F::Written::json_schema(generator);
        if short.get("type").is_some_and(|kind| kind == "array") {
            short.insert("minItems".into(), 1.into());
        }
        json_schema!({ "anyOf": [short, whole] })
    }
}
