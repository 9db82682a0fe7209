//! Values as bytes, for other processes and for later: postcard, behind an interface that doesn't show it.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::any::type_name;
use std::fmt;

/// A value could not be made into bytes, or not be made from them: the cause of its task's failure, found by
/// [`Error::cause`](crate::Error::cause).
///
/// The bytes are [postcard](https://docs.rs/postcard)'s, which say nothing of what they are. So a type that has to look at
/// its bytes to know what it is can't be read back: an untagged or internally tagged enum, a flattened field,
/// `serde_json::Value`. A field that is left out when it is written (`skip_serializing_if`) is missed when it is read.
#[derive(Clone, Debug)]
pub struct CodecError {
    type_name: &'static str,
    problem: Problem,
}

#[derive(Clone, Debug)]
enum Problem {
    Encode(postcard::Error),
    Decode(postcard::Error),
    /// So many bytes were left.
    Left(usize),
    /// Its body is no function.
    NoFunction,
    /// Its own code panicked.
    #[cfg(feature = "journal")]
    Panicked,
}

impl CodecError {
    /// The value's type, as the compiler calls it.
    pub fn type_name(&self) -> &'static str {
        self.type_name
    }

    fn of<T: ?Sized>(problem: Problem) -> Self {
        let type_name = type_name::<T>();
        CodecError { type_name, problem }
    }

    /// Of an output whose code panicked.
    #[cfg(feature = "journal")]
    pub(crate) fn panicked() -> Self {
        Self::of::<()>(Problem::Panicked)
    }

    /// Of the output of a body that has no form in which it could leave the process.
    pub(super) fn no_function<T: ?Sized>() -> Self {
        Self::of::<T>(Problem::NoFunction)
    }
}

/// Adds a value's bytes.
pub(crate) fn encode<T: Serialize + ?Sized>(value: &T, to: &mut Vec<u8>) -> Result<(), CodecError> {
    postcard::serialize_with_flavor(value, Onto(to))
        .map_err(|error| CodecError::of::<T>(Problem::Encode(error)))
}

/// A value from all of its bytes.
pub(crate) fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, CodecError> {
    match postcard::take_from_bytes(bytes) {
        Ok((value, [])) => Ok(value),
        Ok((_, left)) => Err(CodecError::of::<T>(Problem::Left(left.len()))),
        Err(error) => Err(CodecError::of::<T>(Problem::Decode(error))),
    }
}

/// A value from the first of these bytes, and the rest.
pub(crate) fn take<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<(T, &'a [u8]), CodecError> {
    postcard::take_from_bytes(bytes).map_err(|error| CodecError::of::<T>(Problem::Decode(error)))
}

/// Writes at the end of what is there.
struct Onto<'a>(&'a mut Vec<u8>);

impl postcard::ser_flavors::Flavor for Onto<'_> {
    type Output = ();

    #[inline]
    fn try_push(&mut self, byte: u8) -> postcard::Result<()> {
        self.0.push(byte);
        Ok(())
    }

    #[inline]
    fn try_extend(&mut self, bytes: &[u8]) -> postcard::Result<()> {
        self.0.extend_from_slice(bytes);
        Ok(())
    }

    fn finalize(self) -> postcard::Result<()> {
        Ok(())
    }
}

impl fmt::Display for CodecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.type_name;
        match &self.problem {
            Problem::Encode(error) => write!(f, "a `{name}` can't be written as bytes: {error}"),
            Problem::Decode(postcard::Error::WontImplement) => write!(
                f,
                "a `{name}` can't be read back from postcard's bytes, which don't say what they are; tag the enums in it"
            ),
            Problem::Decode(error) => write!(f, "these bytes are no `{name}`: {error}"),
            Problem::Left(bytes) => write!(
                f,
                "these bytes are no `{name}`: {bytes} are left; does it leave fields out when it is written?"
            ),
            #[cfg(feature = "journal")]
            Problem::Panicked => f.write_str("a value panicked when it was written as bytes"),
            Problem::NoFunction => {
                write!(
                    f,
                    "a `{name}` of a body that is no `Function` stays in its process"
                )
            }
        }
    }
}

impl std::error::Error for CodecError {}

#[cfg(all(test, not(loom)))]
#[allow(clippy::expect_used, reason = "the helpers of tests may panic, too")]
mod tests {
    use super::*;

    #[derive(Serialize, Deserialize, PartialEq, Debug)]
    #[serde(untagged)]
    enum Untagged {
        Number(u64),
        Text(String),
    }

    fn bytes(value: &impl Serialize) -> Vec<u8> {
        let mut bytes = vec![9];
        encode(value, &mut bytes).expect("written");
        bytes.split_off(1)
    }

    #[test]
    fn what_is_written_is_read_back() {
        let value = (String::from("words"), vec![1.5f64, -2.0], Some(()));
        assert_eq!(
            decode::<(String, Vec<f64>, Option<()>)>(&bytes(&value)).expect("read"),
            value
        );
    }

    #[test]
    fn an_untagged_enum_is_refused_when_it_is_read() {
        let error = decode::<Untagged>(&bytes(&Untagged::Number(1))).expect_err("refused");
        assert!(error.type_name().ends_with("Untagged"));
        assert!(error.to_string().contains("tag the enums"), "{error}");
    }

    #[test]
    fn bytes_that_are_left_are_an_error() {
        let error = decode::<u8>(&bytes(&(1u8, 2u8))).expect_err("refused");
        assert!(error.to_string().contains("leave fields out"), "{error}");
    }
}
