//! Named, typed functions: bodies that can be run in another process, where a closure can't go.

use crate::model::{BoxError, Error, ErrorKind, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;
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
}

enum FunctionBody<A: ?Sized + 'static, B: 'static> {
    Plain(fn(&A) -> B),
    Fallible(fn(&A) -> Result<B, BoxError>),
}

impl<A: Argument + ?Sized, B: Serialize + DeserializeOwned> Function<A, B> {
    /// A function that can't fail (but by a panic). Its version is 1.
    pub const fn new(name: &'static str, body: fn(&A) -> B) -> Self {
        Function {
            name,
            version: 1,
            body: FunctionBody::Plain(body),
        }
    }

    /// A function that may fail. Its version is 1.
    pub const fn fallible(name: &'static str, body: fn(&A) -> Result<B, BoxError>) -> Self {
        Function {
            name,
            version: 1,
            body: FunctionBody::Fallible(body),
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
    pub(crate) fn run(&self, argument: &A) -> Result<B, BoxError> {
        match self.body {
            FunctionBody::Plain(body) => Ok(body(argument)),
            FunctionBody::Fallible(body) => body(argument),
        }
    }
}

impl<A: ?Sized, B> fmt::Debug for Function<A, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Function({} v{})", self.name, self.version)
    }
}

/// What a [`Function`] takes: a type that serde can carry to another process, or a slice of such.
pub trait Argument: Send + Sync + 'static {}

impl<T: Serialize + DeserializeOwned + Send + Sync + 'static> Argument for T {}
impl<T: Serialize + DeserializeOwned + Send + Sync + 'static> Argument for [T] {}

/// A [`Function`] of any types.
pub trait AnyFunction: Send + Sync + 'static {
    /// Its name.
    fn name(&self) -> &'static str;
    /// Its version.
    fn version(&self) -> u32;
}

impl<A: ?Sized + 'static, B: 'static> AnyFunction for Function<A, B> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn version(&self) -> u32 {
        self.version
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
