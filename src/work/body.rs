//! Bodies: closures and functions that take their inputs by reference.
//!
//! A plain closure returns its output. One that may fail is wrapped in [`fallible`], one that waits in
//! [`asynchronous`]: the three can't share one bound, since a closure that returns a `Result` or a future also just
//! returns a value.

use super::Context;
use super::call::Call;
use super::function::{AnyFunction, Argument, Function};
use super::inputs::{Args, Ref};
use crate::model::BoxError;
use std::future::Future;
use std::pin::Pin;

/// Something a task can run on inputs of the types `A`: see the module's functions and [`Function`].
///
/// Implemented for closures and functions of up to seven references, with an optional `&Context` before them, and
/// for those wrapped in [`fallible`] or [`asynchronous`]. `M` tells the forms apart and is inferred.
#[diagnostic::on_unimplemented(
    message = "this can't be the body of a task with these inputs",
    note = "a body takes a reference to each input, with the types written out: `|a: &u64, b: &[f32]| ..`, and may take a `&Context` before them",
    note = "wrap a body that returns a `Result` in `fallible(..)`, one that returns a future of a `Result` in `asynchronous(..)`: the latter gets its inputs owned",
    note = "what it captures and what it returns must be `Send + Sync + 'static`"
)]
pub trait Body<A: Args, M>: Send + Sync + 'static {
    /// What the task's dependents and `run.output` read.
    type Output: Send + Sync + 'static;

    #[doc(hidden)]
    const ASYNCHRONOUS: bool = false;

    #[doc(hidden)]
    const COMMAND: bool = false;

    #[doc(hidden)]
    fn start(&self, call: &Call<'_>, args: A::Refs<'_>) -> Flow<Self::Output>;

    #[doc(hidden)]
    fn function(&self) -> Option<&'static dyn AnyFunction> {
        None
    }

    /// The command that it is, with the parameters that are filled in, if it was given as such.
    #[cfg(feature = "data")]
    #[doc(hidden)]
    fn command(&self) -> Option<Commands<'_>> {
        None
    }

    /// By what it is known again in another process.
    #[cfg(feature = "journal")]
    #[doc(hidden)]
    fn identity(&self) -> super::identity::Identity {
        super::identity::Identity::of_function(self.function())
    }

    /// How what it reads and returns travels, if it can.
    #[cfg(feature = "codec")]
    #[doc(hidden)]
    fn wire(&self) -> Option<&dyn super::travel::Wire<A, Self::Output>> {
        None
    }
}

#[cfg(feature = "data")]
type Commands<'a> = (&'a crate::model::Command, Option<&'a crate::model::Sweep>);

/// What starting a body gave.
#[doc(hidden)]
pub enum Flow<T> {
    Now(T),
    Failed(BoxError),
    Later(BoxFuture<Result<T, BoxError>>),
}

pub(super) type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// A body that may fail: see [`fallible`].
#[derive(Clone, Copy, Debug)]
pub struct Fallible<F>(F);

/// A body that waits: see [`asynchronous`].
#[derive(Clone, Copy, Debug)]
pub struct Asynchronous<F>(F);

/// Wraps a body that returns a `Result`: an `Err` is the task's failure, and its error the cause. The error is of any type
/// that converts into a [`BoxError`]: one that implements [`Error`](std::error::Error), a `String`, or `anyhow::Error`.
///
/// ```
/// # let mut job = batchyard::Job::new("fallible");
/// use batchyard::fallible;
/// use std::path::PathBuf;
///
/// job.map("read", vec![PathBuf::from("a.txt")], fallible(|path: &PathBuf| std::fs::read(path)));
/// ```
pub fn fallible<F>(body: F) -> Fallible<F> {
    Fallible(body)
}

/// Wraps a body that returns a future of a `Result`.
///
/// A future outlives the call that made it, so the body gets its inputs owned (a clone each, and an array as a `Vec`; use
/// `Arc` for large ones), and an owned [`Context`] if it asks for one. While it waits it holds one of its node's slots for
/// asynchronous tasks and no thread. When it is cancelled the future is dropped at its next `await`.
///
/// ```
/// # let mut job = batchyard::Job::new("asynchronous");
/// # async fn get(url: String) -> Result<Vec<u8>, std::io::Error> { Ok(url.into_bytes()) }
/// use batchyard::asynchronous;
///
/// job.map("fetch", vec!["https://example.org".to_string()], asynchronous(|url: String| async move { get(url).await }));
/// ```
pub fn asynchronous<F>(body: F) -> Asynchronous<F> {
    Asynchronous(body)
}

/// The forms of a body.
#[doc(hidden)]
pub struct Plain;
#[doc(hidden)]
pub struct WithContext;
#[doc(hidden)]
pub struct Named;

macro_rules! bodies {
    ($($name:ident $arg:ident),*) => {
        impl<Func, Out, $($name: ?Sized + 'static),*> Body<($(Ref<$name>,)*), Plain> for Func
        where
            Func: Fn($(&$name),*) -> Out + Send + Sync + 'static,
            Out: Send + Sync + 'static,
        {
            type Output = Out;

            #[inline]
            fn start(&self, _: &Call<'_>, ($($arg,)*): ($(&$name,)*)) -> Flow<Out> {
                Flow::Now(self($($arg),*))
            }
        }

        impl<Func, Out, $($name: ?Sized + 'static),*> Body<($(Ref<$name>,)*), WithContext> for Func
        where
            Func: Fn(&Context, $(&$name),*) -> Out + Send + Sync + 'static,
            Out: Send + Sync + 'static,
        {
            type Output = Out;

            #[inline]
            fn start(&self, call: &Call<'_>, ($($arg,)*): ($(&$name,)*)) -> Flow<Out> {
                Flow::Now(self(&call.context(), $($arg),*))
            }
        }

        impl<Func, Out, Error, $($name: ?Sized + 'static),*> Body<($(Ref<$name>,)*), Plain> for Fallible<Func>
        where
            Func: Fn($(&$name),*) -> Result<Out, Error> + Send + Sync + 'static,
            Out: Send + Sync + 'static,
            Error: Into<BoxError>,
        {
            type Output = Out;

            #[inline]
            fn start(&self, _: &Call<'_>, ($($arg,)*): ($(&$name,)*)) -> Flow<Out> {
                (self.0)($($arg),*).into()
            }
        }

        impl<Func, Out, Error, $($name: ?Sized + 'static),*> Body<($(Ref<$name>,)*), WithContext> for Fallible<Func>
        where
            Func: Fn(&Context, $(&$name),*) -> Result<Out, Error> + Send + Sync + 'static,
            Out: Send + Sync + 'static,
            Error: Into<BoxError>,
        {
            type Output = Out;

            #[inline]
            fn start(&self, call: &Call<'_>, ($($arg,)*): ($(&$name,)*)) -> Flow<Out> {
                (self.0)(&call.context(), $($arg),*).into()
            }
        }

        impl<Func, Fut, Out, Error, $($name: ToOwned + ?Sized + 'static),*> Body<($(Ref<$name>,)*), Plain>
            for Asynchronous<Func>
        where
            Func: Fn($($name::Owned),*) -> Fut + Send + Sync + 'static,
            Fut: Future<Output = Result<Out, Error>> + Send + 'static,
            Out: Send + Sync + 'static,
            Error: Into<BoxError>,
        {
            type Output = Out;
            const ASYNCHRONOUS: bool = true;

            fn start(&self, _: &Call<'_>, ($($arg,)*): ($(&$name,)*)) -> Flow<Out> {
                let future = (self.0)($($arg.to_owned()),*);
                Flow::Later(Box::pin(async move { future.await.map_err(Into::into) }))
            }
        }

        impl<Func, Fut, Out, Error, $($name: ToOwned + ?Sized + 'static),*> Body<($(Ref<$name>,)*), WithContext>
            for Asynchronous<Func>
        where
            Func: Fn(Context, $($name::Owned),*) -> Fut + Send + Sync + 'static,
            Fut: Future<Output = Result<Out, Error>> + Send + 'static,
            Out: Send + Sync + 'static,
            Error: Into<BoxError>,
        {
            type Output = Out;
            const ASYNCHRONOUS: bool = true;

            fn start(&self, call: &Call<'_>, ($($arg,)*): ($(&$name,)*)) -> Flow<Out> {
                let future = (self.0)(call.context(), $($arg.to_owned()),*);
                Flow::Later(Box::pin(async move { future.await.map_err(Into::into) }))
            }
        }
    };
}

bodies!();
bodies!(A a);
bodies!(A a, B b);
bodies!(A a, B b, C c);
bodies!(A a, B b, C c, D d);
bodies!(A a, B b, C c, D d, E e);
bodies!(A a, B b, C c, D d, E e, F f);
bodies!(A a, B b, C c, D d, E e, F f, G g);

impl<A: Argument + ?Sized, B: Send + Sync + 'static> Body<(Ref<A>,), Named>
    for &'static Function<A, B>
{
    type Output = B;

    #[inline]
    fn start(&self, call: &Call<'_>, (argument,): (&A,)) -> Flow<B> {
        self.run(|| call.context(), argument).into()
    }

    fn function(&self) -> Option<&'static dyn AnyFunction> {
        Some(*self)
    }

    #[cfg(feature = "codec")]
    fn wire(&self) -> Option<&dyn super::travel::Wire<(Ref<A>,), B>> {
        Some(*self)
    }
}

impl<T, E: Into<BoxError>> From<Result<T, E>> for Flow<T> {
    #[inline]
    fn from(result: Result<T, E>) -> Self {
        match result {
            Ok(value) => Flow::Now(value),
            Err(error) => Flow::Failed(error.into()),
        }
    }
}
