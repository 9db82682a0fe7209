//! Spans and log lines for the crate `tracing`, if the feature of that name is on. Without it, all this is nothing.
//!
//! A subscriber is the user's code: none of this is called under a lock, or inside the gate.

#[cfg(feature = "tracing")]
pub(crate) use on::{AttemptSpan, Inside, RunSpan, failed};

#[cfg(not(feature = "tracing"))]
pub(crate) use off::{AttemptSpan, Inside, RunSpan, failed};

#[cfg(feature = "tracing")]
mod on {
    use crate::model::Error;
    use crate::sync::lock;
    use crate::work::Later;
    use std::sync::Mutex;
    use tracing::span::EnteredSpan;
    use tracing::{Instrument, Level, Span};

    /// A run's span, until the run ends.
    pub(crate) struct RunSpan {
        span: Mutex<Option<Span>>,
        /// Somebody wants to know of attempts.
        attempts: bool,
    }

    pub(crate) struct AttemptSpan(Span);

    /// Where a body's own spans and lines belong to its attempt.
    pub(crate) struct Inside(#[expect(dead_code, reason = "is dropped")] EnteredSpan);

    impl RunSpan {
        pub(crate) fn new(job: &str, run: u64, tasks: u64) -> Self {
            let span = tracing::info_span!(target: "batchyard", "job", job, run, tasks);
            RunSpan {
                span: Mutex::new(Some(span)),
                attempts: tracing::enabled!(target: "batchyard", Level::DEBUG),
            }
        }

        pub(crate) fn has_attempts(&self) -> bool {
            self.attempts
        }

        pub(crate) fn attempt(&self, task: impl FnOnce() -> String, attempt: u32) -> AttemptSpan {
            if !self.attempts {
                return AttemptSpan(Span::none());
            }
            let parent = lock(&self.span).as_ref().and_then(Span::id);
            let task = task();
            let span =
                tracing::debug_span!(target: "batchyard", parent: parent, "attempt", task, attempt);
            AttemptSpan(span)
        }

        pub(crate) fn end(&self) {
            let span = lock(&self.span).take();
            drop(span);
        }
    }

    impl AttemptSpan {
        pub(crate) fn enter(&self) -> Inside {
            Inside(self.0.clone().entered())
        }

        /// The body's future, which enters the span whenever it goes on.
        pub(crate) fn around(self, later: Later) -> Later {
            Box::pin(later.instrument(self.0))
        }
    }

    /// A task has failed for good.
    pub(crate) fn failed(error: &Error) {
        tracing::warn!(
            target: "batchyard",
            job = error.job(),
            task = error.task(),
            attempt = error.attempt(),
            cause = error.reason(),
            "task failed"
        );
    }
}

#[cfg(not(feature = "tracing"))]
mod off {
    use crate::model::Error;
    use crate::work::Later;

    pub(crate) struct RunSpan;

    pub(crate) struct AttemptSpan;

    pub(crate) struct Inside;

    impl RunSpan {
        pub(crate) fn new(_: &str, _: u64, _: u64) -> Self {
            RunSpan
        }

        pub(crate) fn has_attempts(&self) -> bool {
            false
        }

        pub(crate) fn attempt(&self, _: impl FnOnce() -> String, _: u32) -> AttemptSpan {
            AttemptSpan
        }

        pub(crate) fn end(&self) {}
    }

    impl AttemptSpan {
        pub(crate) fn enter(&self) -> Inside {
            Inside
        }

        pub(crate) fn around(self, later: Later) -> Later {
            later
        }
    }

    pub(crate) fn failed(_: &Error) {}
}
