//! Closures that can be in a journal, since their user says when they change.

use super::body::{Body, Flow};
use super::call::Call;
use super::codec::{CodecError, decode, encode};
use super::identity::{ClosureIdentity, Identity};
use super::inputs::{Args, Ref};
use super::travel::Wire;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::any::type_name;

/// A body that can be in a journal: see [`durable`].
#[derive(Clone, Copy, Debug)]
pub struct Durable<F> {
    version: u32,
    body: F,
}

/// Wraps a closure so that its task can be in a [journal](crate::journal). What it reads and returns must be types that
/// serde can write; raise the version when what the closure does changes, or what it captures. It is known again by the name
/// of its task, which must have one, and by that version. It wraps bodies in [`fallible`](crate::fallible), too.
///
/// ```
/// use batchyard::{Job, Pool, ThreadExecutor, durable, journal::Journal};
///
/// # let folder = tempfile::tempdir().unwrap();
/// let mut job = Job::new("closures");
/// let half = job.task("half", (), durable(1, || 21u64));
/// let whole = job.task("whole", &half, durable(1, |half: &u64| 2 * half));
/// let pool = Pool::new(ThreadExecutor::new(1)?);
/// let run = pool.submit_durable(job, Journal::create(folder.path().join("run.journal"))?)?;
/// assert_eq!(*run.output(&whole).wait()?, 42);
/// # Ok::<(), batchyard::Error>(())
/// ```
pub fn durable<F>(version: u32, body: F) -> Durable<F> {
    Durable { version, body }
}

macro_rules! durable {
    ($($name:ident $arg:ident),*) => {
        impl<B, M, $($name: ?Sized + Serialize + 'static),*> Body<($(Ref<$name>,)*), Kept<M>> for Durable<B>
        where
            B: Body<($(Ref<$name>,)*), M>,
            B::Output: Serialize + DeserializeOwned,
        {
            type Output = B::Output;
            const ASYNCHRONOUS: bool = B::ASYNCHRONOUS;

            #[inline]
            fn start(&self, call: &Call<'_>, args: <($(Ref<$name>,)*) as Args>::Refs<'_>) -> Flow<B::Output> {
                self.body.start(call, args)
            }

            fn identity(&self) -> Identity {
                Identity::Closure(ClosureIdentity {
                    version: self.version,
                    output: type_name::<B::Output>().to_owned(),
                })
            }

            fn wire(&self) -> Option<&dyn Wire<($(Ref<$name>,)*), B::Output>> {
                Some(self)
            }
        }

        impl<B, T, $($name: ?Sized + Serialize + 'static),*> Wire<($(Ref<$name>,)*), T> for Durable<B>
        where
            T: Serialize + DeserializeOwned,
        {
            #[allow(unused_variables, reason = "there may be no arguments")]
            fn encode_argument(&self, ($($arg,)*): ($(&$name,)*), to: &mut Vec<u8>) -> Result<(), CodecError> {
                $(encode($arg, to)?;)*
                Ok(())
            }

            fn encode_output(&self, output: &T, to: &mut Vec<u8>) -> Result<(), CodecError> {
                encode(output, to)
            }

            fn decode_output(&self, bytes: &[u8]) -> Result<T, CodecError> {
                decode(bytes)
            }
        }
    };
}

/// The form of a body that is wrapped in [`durable`].
#[doc(hidden)]
#[derive(Debug)]
pub struct Kept<M>(std::marker::PhantomData<fn(M)>);

durable!();
durable!(A a);
durable!(A a, B2 b);
durable!(A a, B2 b, C c);
durable!(A a, B2 b, C c, D d);
durable!(A a, B2 b, C c, D d, E e);
durable!(A a, B2 b, C c, D d, E e, F f);
durable!(A a, B2 b, C c, D d, E e, F f, G g);
