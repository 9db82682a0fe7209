//! How much of something, in ten-thousandths.

use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// How much of a resource: a number that is not negative, to four decimal places.
///
/// Kept as a whole number of ten-thousandths, so that what is taken and given back a million times adds up. Floating
/// point numbers are rounded to the nearest ten-thousandth; one above zero never to nothing.
///
/// ```
/// use batchyard::Amount;
///
/// let half = Amount::try_from(0.5)?;
/// assert_eq!(half.to_string(), "0.5");
/// assert_eq!(Amount::from(2).to_string(), "2");
/// assert!(Amount::try_from(-1.0).is_err());
/// # Ok::<(), batchyard::AmountError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Amount(u64);

/// A number that is no [`Amount`]: negative, not finite, or above 900 million million.
#[derive(Clone, Copy, PartialEq, Debug, thiserror::Error)]
#[error("{0} is no amount; amounts are finite, not negative, and at most {max}", max = Amount::MAX)]
pub struct AmountError(f64);

/// What the builders of [`Resources`](super::Resources) and [`Capacity`](super::Capacity) take as an amount: an
/// [`Amount`], a `u32` or an `f64`. A float that is no amount becomes [`Amount::INVALID`].
pub trait IntoAmount: sealed::Sealed {
    /// The amount.
    fn into_amount(self) -> Amount;
}

impl Amount {
    /// Nothing.
    pub const ZERO: Amount = Amount(0);
    /// One whole.
    pub const ONE: Amount = Amount(SCALE);
    /// The most there can be of anything.
    pub const MAX: Amount = Amount(900_000_000_000_000 * SCALE);
    /// Stands for a number that is no amount, such as −1, in a request. No node has it, so a job that asks for it is
    /// refused at submit.
    pub const INVALID: Amount = Amount(u64::MAX);

    /// Whether this is a number at all: see [`Amount::INVALID`].
    pub fn is_valid(self) -> bool {
        self <= Amount::MAX
    }

    /// Whether it has no decimal places.
    pub fn is_whole(self) -> bool {
        self.0.is_multiple_of(SCALE)
    }

    /// The number. Exact up to 200 thousand million.
    pub fn as_f64(self) -> f64 {
        self.0 as f64 / SCALE as f64
    }

    pub(crate) fn ten_thousandths(self) -> u64 {
        self.0
    }

    pub(crate) fn from_ten_thousandths(number: u64) -> Self {
        Amount(number)
    }
}

/// Ten-thousandths in one.
const SCALE: u64 = 10_000;

impl From<u32> for Amount {
    fn from(number: u32) -> Self {
        Amount(u64::from(number) * SCALE)
    }
}

impl TryFrom<f64> for Amount {
    type Error = AmountError;

    fn try_from(number: f64) -> Result<Self, AmountError> {
        let scaled = (number * SCALE as f64).round();
        if !(number >= 0.0 && scaled <= Amount::MAX.0 as f64) {
            return Err(AmountError(number));
        }
        Ok(Amount((scaled as u64).max(u64::from(number > 0.0))))
    }
}

impl IntoAmount for Amount {
    fn into_amount(self) -> Amount {
        self
    }
}

impl IntoAmount for u32 {
    fn into_amount(self) -> Amount {
        self.into()
    }
}

impl IntoAmount for f64 {
    fn into_amount(self) -> Amount {
        Amount::try_from(self).unwrap_or(Amount::INVALID)
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.is_valid() {
            return f.write_str("an invalid amount");
        }
        let (whole, rest) = (self.0 / SCALE, self.0 % SCALE);
        match rest {
            0 => write!(f, "{whole}"),
            _ => f.write_str(format!("{whole}.{rest:04}").trim_end_matches('0')),
        }
    }
}

impl fmt::Debug for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A number for people's formats, the ten-thousandths for the others, which can't tell a float from an integer.
impl Serialize for Amount {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        if !self.is_valid() {
            return Err(serde::ser::Error::custom("an invalid amount"));
        }
        match to.is_human_readable() {
            false => to.serialize_u64(self.0),
            true if self.is_whole() => to.serialize_u64(self.0 / SCALE),
            true => to.serialize_f64(self.as_f64()),
        }
    }
}

impl<'de> Deserialize<'de> for Amount {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        if from.is_human_readable() {
            return from.deserialize_f64(Number);
        }
        let amount = Amount(u64::deserialize(from)?);
        let valid = amount.is_valid().then_some(amount);
        valid.ok_or_else(|| de::Error::custom("an invalid amount"))
    }
}

/// The form for people.
#[cfg(feature = "data")]
impl schemars::JsonSchema for Amount {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Amount".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "number", "minimum": 0 })
    }
}

struct Number;

impl Visitor<'_> for Number {
    type Value = Amount;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number that is not negative")
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Amount, E> {
        let scaled = number.checked_mul(SCALE).map(Amount);
        let valid = scaled.filter(|amount| amount.is_valid());
        valid.ok_or_else(|| E::custom(AmountError(number as f64)))
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Amount, E> {
        let number = u64::try_from(number).map_err(|_| E::custom(AmountError(number as f64)))?;
        self.visit_u64(number)
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<Amount, E> {
        Amount::try_from(number).map_err(E::custom)
    }
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Amount {}
    impl Sealed for u32 {}
    impl Sealed for f64 {}
}
