//! Named, typed functions: bodies that can be run in another process, where a closure can't go.

use super::Context;
#[cfg(feature = "codec")]
use super::codec::{self, CodecError};
use crate::model::{BoxError, Error, ErrorKind, Fingerprint, Result};
#[cfg(feature = "codec")]
use crate::model::{Permanent, PreProcessingError};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::any::type_name;
use std::collections::BTreeMap;
use std::fmt;

/// A function with a name and a version: a body that every executor can run.
///
/// ```
/// use batchyard::{Function, Job, registry};
///
/// static SQUARE: Function<u64, u64> = Function::new("square", |n| n * n);
/// static SUM: Function<[u64], u64> = Function::new("sum", |n: &[u64]| n.iter().sum()).version(2);
///
/// let registry = registry![SQUARE, SUM]?;
/// let mut job = Job::new("functions");
/// let squares = job.map("squares", 0..10u64, &SQUARE);
/// let sum = job.reduce("sum", &squares, &SUM);
/// # Ok::<(), batchyard::Error>(())
/// ```
pub struct Function<A: ?Sized + 'static, B: 'static> {
    name: &'static str,
    version: u32,
    body: FunctionBody<A, B>,
    #[cfg(feature = "codec")]
    output: OutputCodec<B>,
}

enum FunctionBody<A: ?Sized + 'static, B: 'static> {
    Plain(fn(&A) -> B),
    Fallible(fn(&A) -> Result<B, BoxError>),
    WithContext(fn(&Context, &A) -> Result<B, BoxError>),
}

/// How its outputs travel. Here, since only the constructors know that they can.
#[cfg(feature = "codec")]
struct OutputCodec<B> {
    encode: fn(&B, &mut Vec<u8>) -> Result<(), CodecError>,
    decode: fn(&[u8]) -> Result<B, CodecError>,
}

impl<A: Argument + ?Sized, B: Serialize + DeserializeOwned> Function<A, B> {
    /// A function that can't fail (but by a panic). Its version is 1.
    pub const fn new(name: &'static str, body: fn(&A) -> B) -> Self {
        Self::with_body(name, FunctionBody::Plain(body))
    }

    /// A function that may fail. Its version is 1.
    pub const fn fallible(name: &'static str, body: fn(&A) -> Result<B, BoxError>) -> Self {
        Self::with_body(name, FunctionBody::Fallible(body))
    }

    /// A function that looks at its [`Context`], and may fail. Its version is 1.
    pub const fn with_context(
        name: &'static str,
        body: fn(&Context, &A) -> Result<B, BoxError>,
    ) -> Self {
        Self::with_body(name, FunctionBody::WithContext(body))
    }

    const fn with_body(name: &'static str, body: FunctionBody<A, B>) -> Self {
        Function {
            name,
            version: 1,
            body,
            #[cfg(feature = "codec")]
            output: OutputCodec {
                encode: codec::encode,
                decode: codec::decode,
            },
        }
    }

    /// Another version: raise it when the function's meaning changes.
    pub const fn version(mut self, version: u32) -> Self {
        self.version = version;
        self
    }
}

impl<A: ?Sized, B> Function<A, B> {
    #[inline]
    pub(crate) fn run(
        &self,
        context: impl FnOnce() -> Context,
        argument: &A,
    ) -> Result<B, BoxError> {
        match self.body {
            FunctionBody::Plain(body) => Ok(body(argument)),
            FunctionBody::Fallible(body) => body(argument),
            FunctionBody::WithContext(body) => body(&context(), argument),
        }
    }
}

#[cfg(feature = "codec")]
impl<A: Argument + ?Sized, B> super::travel::Wire<(super::Ref<A>,), B> for Function<A, B> {
    fn encode_argument(&self, (argument,): (&A,), to: &mut Vec<u8>) -> Result<(), CodecError> {
        argument.encode(to)
    }

    fn encode_output(&self, output: &B, to: &mut Vec<u8>) -> Result<(), CodecError> {
        (self.output.encode)(output, to)
    }

    fn decode_output(&self, bytes: &[u8]) -> Result<B, CodecError> {
        (self.output.decode)(bytes)
    }
}

impl<A: ?Sized, B> fmt::Debug for Function<A, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Function({} v{})", self.name, self.version)
    }
}

/// What a [`Function`] takes: a type that serde can carry to another process, or a slice of such.
pub trait Argument: Send + Sync + 'static {
    #[cfg(feature = "codec")]
    #[doc(hidden)]
    fn encode(&self, to: &mut Vec<u8>) -> Result<(), CodecError>;

    /// Calls `then` with what the bytes are.
    #[cfg(feature = "codec")]
    #[doc(hidden)]
    fn decode<R>(bytes: &[u8], then: impl FnOnce(&Self) -> R) -> Result<R, CodecError>;
}

impl<T: Serialize + DeserializeOwned + Send + Sync + 'static> Argument for T {
    #[cfg(feature = "codec")]
    fn encode(&self, to: &mut Vec<u8>) -> Result<(), CodecError> {
        codec::encode(self, to)
    }

    #[cfg(feature = "codec")]
    fn decode<R>(bytes: &[u8], then: impl FnOnce(&T) -> R) -> Result<R, CodecError> {
        codec::decode(bytes).map(|argument: T| then(&argument))
    }
}

impl<T: Serialize + DeserializeOwned + Send + Sync + 'static> Argument for [T] {
    #[cfg(feature = "codec")]
    fn encode(&self, to: &mut Vec<u8>) -> Result<(), CodecError> {
        codec::encode(self, to)
    }

    #[cfg(feature = "codec")]
    fn decode<R>(bytes: &[u8], then: impl FnOnce(&[T]) -> R) -> Result<R, CodecError> {
        codec::decode(bytes).map(|argument: Vec<T>| then(&argument))
    }
}

/// A [`Function`] of any types.
pub trait AnyFunction: Send + Sync + 'static {
    /// Its name.
    fn name(&self) -> &'static str;

    /// Its version.
    fn version(&self) -> u32;

    /// What tells whether another process means the same function.
    fn fingerprint(&self) -> Fingerprint;

    /// Calls it with an argument's bytes, and adds those of its output.
    #[cfg(feature = "codec")]
    #[doc(hidden)]
    fn call(&self, context: &Context, argument: &[u8], to: &mut Vec<u8>) -> Result<(), BoxError>;
}

impl<A: Argument + ?Sized, B: 'static> AnyFunction for Function<A, B> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn version(&self) -> u32 {
        self.version
    }

    fn fingerprint(&self) -> Fingerprint {
        Fingerprint {
            name: self.name.to_owned(),
            version: self.version,
            argument: type_name::<A>().to_owned(),
            output: type_name::<B>().to_owned(),
        }
    }

    /// No retry could help a value that does not travel.
    #[cfg(feature = "codec")]
    fn call(&self, context: &Context, argument: &[u8], to: &mut Vec<u8>) -> Result<(), BoxError> {
        let output = A::decode(argument, |argument| self.run(|| context.clone(), argument));
        let output = output.map_err(PreProcessingError::new)??;
        (self.output.encode)(&output, to).map_err(|error| Permanent::new(error).into())
    }
}

/// The functions a process knows, each by name and version. Made by [`registry!`](crate::registry).
#[derive(Clone, Default)]
pub struct Registry {
    functions: BTreeMap<(&'static str, u32), &'static dyn AnyFunction>,
}

impl Registry {
    /// A registry of these functions.
    ///
    /// # Errors
    /// [`ErrorKind::DuplicateFunction`] when two have the same name and version.
    pub fn new(functions: impl IntoIterator<Item = &'static dyn AnyFunction>) -> Result<Self> {
        let mut registry = Registry::default();
        for function in functions {
            registry.add(function)?;
        }
        Ok(registry)
    }

    fn add(&mut self, function: &'static dyn AnyFunction) -> Result<()> {
        let (name, version) = (function.name(), function.version());
        match self.functions.insert((name, version), function) {
            None => Ok(()),
            Some(_) => Err(Error::new(
                ErrorKind::DuplicateFunction,
                format!(
                    "two functions are called `{name}` in version {version}; rename one, or raise its version"
                ),
            )),
        }
    }

    /// Whether a function of this name and version is known.
    pub fn contains(&self, name: &str, version: u32) -> bool {
        self.iter()
            .any(|function| function.name() == name && function.version() == version)
    }

    /// The function of this name and version.
    #[cfg(feature = "codec")]
    #[allow(dead_code, reason = "for the executors of other features")]
    pub(crate) fn get(&self, name: &str, version: u32) -> Option<&'static dyn AnyFunction> {
        let is_it =
            |function: &&dyn AnyFunction| (function.name(), function.version()) == (name, version);
        self.iter().find(is_it)
    }

    /// All functions, by name, then version.
    pub fn iter(&self) -> impl Iterator<Item = &'static dyn AnyFunction> {
        self.functions.values().copied()
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.functions.keys()).finish()
    }
}

/// A [`Registry`] of `static` [`Function`]s: `registry![COUNT, TOTAL]`. A `Result`: duplicates are refused.
#[macro_export]
macro_rules! registry {
    ($($function:expr),* $(,)?) => {
        $crate::Registry::new([$(&$function as &'static dyn $crate::AnyFunction),*])
    };
}
