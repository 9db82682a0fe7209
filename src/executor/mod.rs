//! Where tasks run, and the contract of those who run them.
//!
//! # The contract
//!
//! An executor *pulls*. The pool calls [`Executor::serve`] once, on a thread of its own, with a [`Feed`]. The executor
//! joins the feed with one or more [`Node`]s, takes [`Grant`]s for each, begins [`Lease`]s from them, runs their bodies,
//! and completes them. Nothing is ever pushed at it, so it is never given more than it asked for.
//!
//! It **must**
//!
//! - complete each lease it begins, exactly once, with what happened: [`Lease::run`] returns that for a body run in this
//!   process. A lease that is dropped comes back as [`Returned::NodeLost`];
//! - report [`Outcome::Succeeded`] only as [`Lease::run`] returned it for that very lease: dependents read what it stored;
//! - keep a panic of a body to that body. [`Lease::run`] does;
//! - give its nodes room for bodies that wait ([`NodeSpec::async_slots`]) if its [`Offer`] has them, as
//!   [`Offer::in_process`] does: without that room they wait for ever;
//! - take the feed's [orders](Feed::order), also those it has no use for: what isn't taken piles up;
//! - begin the leases of one grant one after another; [`Grant::split`] makes a second grant for someone else, if the
//!   node has room for it. A grant that is dropped gives back what was not begun;
//! - return from `serve`, with nothing left running on behalf of the pool, soon after the feed's
//!   [orders](Feed::order) or [`Node::take`] return `None`: the pool is closed then;
//! - carry out [`Order::Resize`] if it can change its size, and ignore it otherwise;
//! - report a lease whose node it takes away, in a resize or a drain, as [`Returned::TakenAway`], which is nobody's fault,
//!   and one that was lost with its node as [`Returned::NodeLost`], which counts against the task.
//!
//! It **may**
//!
//! - call [`Node::take`] from any thread, and complete leases on any other;
//! - stop an attempt on [`Order::Stop`]: its outcome no longer counts. An executor that can't interrupt a body lets it
//!   run on: bodies ask [`Context::is_cancelled`](crate::Context::is_cancelled);
//! - take large grants of small tasks, and small ones of large tasks. Start with one task and grow while batches are
//!   short;
//! - return an error from `serve` when it can't go on. What has not ended is cancelled with that error as cause.
//!
//! It **never** starts an attempt by itself: a task that was lost is granted again, as another attempt. An outcome for
//! an attempt that is no longer current is ignored, whoever sends it.
//!
//! [`conformance`] (feature `conformance`) tests all of this on any executor.

#[cfg(any(feature = "thread", feature = "process"))]
mod commands;
#[cfg(feature = "conformance")]
pub mod conformance;
#[cfg(feature = "codec")]
#[allow(dead_code, reason = "for the executors of other features")]
mod elsewhere;
mod feed;
mod grant;
#[cfg(any(feature = "thread", feature = "process"))]
mod machine;
#[cfg(all(feature = "process", target_os = "linux"))]
mod process;
#[cfg(feature = "thread")]
mod thread;

pub use crate::engine::Outcome;
pub use crate::model::{NodeSpec, Offer, Returned};
pub use feed::{Feed, Node, Order};
pub use grant::{Grant, Lease, LeaseId};
#[cfg(feature = "testing")]
pub(crate) use grant::{Started, finish};
#[cfg(all(feature = "process", target_os = "linux"))]
pub use process::{BodyError, ChildDied, FrameTooLarge, ProcessExecutor, init, init_tests};
#[cfg(feature = "thread")]
pub use thread::ThreadExecutor;

use crate::model::Result;
use async_trait::async_trait;

/// Runs tasks, somewhere. See the [module](self) for the contract.
///
/// The trait is declared with the `async-trait` crate: an implementation needs that crate too, and its attribute.
#[async_trait]
pub trait Executor: Send + Sync + 'static {
    /// What it can run: asked at every submit, so that a job it can't run is refused before anything starts.
    fn offer(&self) -> Offer;

    /// Serves the pool until the feed closes. Polled by a thread of the pool, never by a runtime of the application's:
    /// an executor that needs tokio owns a runtime.
    ///
    /// # Errors
    /// Whatever keeps it from going on; the pool then ends what has not ended, with this as the cause.
    async fn serve(&self, feed: Feed) -> Result<()>;
}

#[async_trait]
impl<E: Executor + ?Sized> Executor for Box<E> {
    fn offer(&self) -> Offer {
        (**self).offer()
    }

    async fn serve(&self, feed: Feed) -> Result<()> {
        (**self).serve(feed).await
    }
}
