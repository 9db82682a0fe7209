//! What scores: the trait of Rust scorers, and what the crate asks of any.

use super::fault::Fault;
use super::mini_batch::MiniBatch;
use super::output::{Encoder, Scored};
use super::settings::Settings;
use crate::model::{BoxError, Panic};
use serde::Serialize;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

/// Scores mini-batches in this process, on the threads of the pool.
///
/// A *worker* is a state that [`init`](Scorer::init) makes, such as a loaded model; each scores one mini-batch at a time.
/// A call can't be interrupted: past its time limit it counts as over, its thread as busy until it returns, and what it
/// returns is thrown away. A worker whose call panicked is replaced.
///
/// ```
/// use batchyard::BoxError;
/// use batchyard::scoring::{MiniBatch, Scorer, Worker};
///
/// struct Sizes;
///
/// impl Scorer for Sizes {
///     type State = ();
///     type Row = (String, u64); // one a file
///
///     fn init(&self, _: &Worker) -> Result<(), BoxError> {
///         Ok(())
///     }
///
///     fn run(&self, _: &mut (), batch: &MiniBatch) -> Result<Vec<(String, u64)>, BoxError> {
///         let size = |path: &std::path::PathBuf| Ok((path.display().to_string(), path.metadata()?.len()));
///         batch.paths().iter().map(size).collect()
///     }
/// }
/// ```
pub trait Scorer: Send + Sync + 'static {
    /// What a worker has of its own.
    type State: Send + 'static;
    /// A row of the output. With a CSV output the names of a struct's fields are the header.
    type Row: Serialize;

    /// Makes a worker's state, once a worker; again for one that replaces it.
    ///
    /// # Errors
    /// Tried again, as often as a mini-batch would be; then the run ends with the error that was most common.
    fn init(&self, worker: &Worker) -> Result<Self::State, BoxError>;

    /// Scores a mini-batch: a row for each item. Fewer rows mean that the missing items have failed.
    ///
    /// # Errors
    /// The mini-batch is tried again, up to [`tries`](super::ParallelRun::tries);
    /// a [`Permanent`](crate::Permanent) error ends it at once.
    fn run(
        &self,
        state: &mut Self::State,
        mini_batch: &MiniBatch,
    ) -> Result<Vec<Self::Row>, BoxError>;

    /// Ends a worker when the run has, or when it is replaced in good order. Default: drops its state.
    ///
    /// # Errors
    /// A warning in the report.
    fn shutdown(&self, state: Self::State) -> Result<(), BoxError> {
        drop(state);
        Ok(())
    }
}

/// The worker that is being made.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Worker {
    /// Its number, from 0; one that replaces another has that one's.
    pub number: u32,
    /// How many there are.
    pub of: u32,
}

/// A scorer without state: a function from a mini-batch to its rows. See [`scorer`].
#[derive(Clone)]
pub struct ScorerFn<F>(F);

/// Makes a scorer of a closure that needs no state.
///
/// ```
/// use batchyard::scoring::{MiniBatch, scorer};
///
/// let sizes = scorer(|batch: &MiniBatch| {
///     batch.paths().iter().map(|path| Ok(path.metadata()?.len())).collect::<Result<Vec<u64>, std::io::Error>>()
/// });
/// ```
pub fn scorer<F, R, E>(run: F) -> ScorerFn<F>
where
    F: Fn(&MiniBatch) -> Result<Vec<R>, E> + Send + Sync + 'static,
    R: Serialize,
    E: Into<BoxError>,
{
    ScorerFn(run)
}

impl<F> fmt::Debug for ScorerFn<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ScorerFn(..)")
    }
}

/// What [`ParallelRun::new`](super::ParallelRun::new) takes: a [`Scorer`], or what [`scorer`] makes of a closure, or an
/// entry script.
pub trait IntoScorer<Form> {
    #[doc(hidden)]
    fn into_scorer(self) -> AnyScorer;
}

/// Any scorer.
#[doc(hidden)]
#[derive(Clone)]
pub struct AnyScorer(pub(super) Arc<dyn Score>);

/// How workers are made.
pub(super) trait Score: Send + Sync {
    /// Makes a worker: `init`.
    fn start(&self, place: &Place, stop: Stop<'_>) -> Result<Box<dyn Hand>, Fault>;

    /// Whether its workers are processes: they end calls that take too long themselves, where otherwise the engine does, and
    /// what they print must go somewhere.
    fn has_processes(&self) -> bool {
        false
    }
}

/// A worker.
pub(super) trait Hand: Send {
    /// Scores a mini-batch.
    fn score(
        &mut self,
        batch: &MiniBatch,
        encoder: &Encoder,
        stop: Stop<'_>,
    ) -> Result<Scored, Fault>;

    /// What it noticed about its scorer while it was made.
    fn notes(&mut self) -> Vec<String> {
        Vec::new()
    }

    /// Ends in good order. Returns what went wrong with that.
    fn shut_down(self: Box<Self>) -> Result<(), BoxError>;
}

/// Whether what a worker does is no longer wanted.
pub(super) type Stop<'a> = &'a (dyn Fn() -> bool + Sync);

/// Where a worker is to be.
#[cfg_attr(
    not(feature = "python"),
    allow(dead_code, reason = "a worker of this process needs its number only")
)]
pub(super) struct Place {
    pub(super) worker: Worker,
    pub(super) settings: Arc<Settings>,
    pub(super) encoder: Encoder,
    /// Where a worker may write what its scorer prints.
    pub(super) logs: PathBuf,
}

#[doc(hidden)]
pub struct ByTrait;
#[doc(hidden)]
pub struct ByFunction;

impl<S: Scorer> IntoScorer<ByTrait> for S {
    fn into_scorer(self) -> AnyScorer {
        AnyScorer(Arc::new(InProcess(Arc::new(self))))
    }
}

impl<F, R, E> IntoScorer<(ByFunction, R, E)> for ScorerFn<F>
where
    F: Fn(&MiniBatch) -> Result<Vec<R>, E> + Send + Sync + 'static,
    R: Serialize + 'static,
    E: Into<BoxError> + 'static,
{
    fn into_scorer(self) -> AnyScorer {
        struct Stateless<F, R>(F, std::marker::PhantomData<fn() -> R>);

        impl<F, R> Scorer for Stateless<F, R>
        where
            F: Fn(&MiniBatch) -> Result<Vec<R>, BoxError> + Send + Sync + 'static,
            R: Serialize + 'static,
        {
            type State = ();
            type Row = R;

            fn init(&self, _: &Worker) -> Result<(), BoxError> {
                Ok(())
            }

            fn run(&self, _: &mut (), mini_batch: &MiniBatch) -> Result<Vec<R>, BoxError> {
                (self.0)(mini_batch)
            }
        }

        let run = move |batch: &MiniBatch| (self.0)(batch).map_err(Into::into);
        Stateless(run, std::marker::PhantomData).into_scorer()
    }
}

/// A Rust scorer, whose workers are states.
struct InProcess<S>(Arc<S>);

struct State<S: Scorer> {
    scorer: Arc<S>,
    state: S::State,
}

impl<S: Scorer> Score for InProcess<S> {
    fn start(&self, place: &Place, _: Stop<'_>) -> Result<Box<dyn Hand>, Fault> {
        let scorer = self.0.clone();
        let state = catching(|| scorer.init(&place.worker))?;
        Ok(Box::new(State { scorer, state }))
    }
}

impl<S: Scorer> Hand for State<S> {
    fn score(
        &mut self,
        batch: &MiniBatch,
        encoder: &Encoder,
        _: Stop<'_>,
    ) -> Result<Scored, Fault> {
        let begun = Instant::now();
        let rows = catching(|| self.scorer.run(&mut self.state, batch))?;
        let run_time = begun.elapsed();
        let scored = catching(|| encoder.encode(&rows))?;
        Ok(Scored {
            run_time,
            process_time: run_time,
            ..scored
        })
    }

    fn shut_down(self: Box<Self>) -> Result<(), BoxError> {
        let State { scorer, state } = *self;
        catching(|| scorer.shutdown(state)).map_err(|fault| fault.error)
    }
}

/// Runs code of the user's whose panic is a fault. The state that it may have left half changed is not used again.
fn catching<T>(code: impl FnOnce() -> Result<T, BoxError>) -> Result<T, Fault> {
    match catch_unwind(AssertUnwindSafe(code)) {
        Ok(result) => result.map_err(Fault::exception),
        Err(payload) => Err(Fault::panicked(Panic::from_payload(payload))),
    }
}
