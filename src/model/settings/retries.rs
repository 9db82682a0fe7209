//! Whether and when a failed task is tried again.

use crate::model::{BoxError, TaskId};
use serde::{Deserialize, Serialize};
use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// How often a task may fail and be tried again. (Azure Batch: `maxTaskRetryCount`, where -1 stands for unlimited.)
///
/// `Times(3)` allows four runs in all. What uses a retry is the task's own doing: an error, a panic, a time limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MaxRetries {
    /// As many more runs after the first.
    Times(u32),
    /// As often as it takes.
    Unlimited,
}

impl MaxRetries {
    pub(crate) fn allows(self, retries: u32) -> bool {
        match self {
            MaxRetries::Times(most) => retries <= most,
            MaxRetries::Unlimited => true,
        }
    }
}

impl Default for MaxRetries {
    fn default() -> Self {
        MaxRetries::Times(0)
    }
}

impl From<u32> for MaxRetries {
    fn from(times: u32) -> Self {
        MaxRetries::Times(times)
    }
}

/// How long a failed task waits before it is tried again: longer each time, and never all tasks at once.
///
/// The default starts with 100 ms and doubles up to a minute; of each wait, up to half is left out at random.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Backoff {
    pub(crate) initial: Duration,
    pub(crate) factor: f64,
    pub(crate) max: Duration,
    pub(crate) jitter: f64,
}

impl Default for Backoff {
    fn default() -> Self {
        Backoff {
            initial: Duration::from_millis(100),
            factor: 2.0,
            max: Duration::from_secs(60),
            jitter: 0.5,
        }
    }
}

impl Backoff {
    /// No wait at all.
    pub fn none() -> Self {
        Backoff::constant(Duration::ZERO)
    }

    /// The same wait each time.
    pub fn constant(wait: Duration) -> Self {
        Backoff {
            initial: wait,
            factor: 1.0,
            max: wait,
            jitter: 0.0,
        }
    }

    /// A wait that doubles each time, from `initial` to `max`.
    pub fn exponential(initial: Duration, max: Duration) -> Self {
        Backoff {
            initial,
            max,
            ..Backoff::default()
        }
    }

    /// By how much each wait is longer than the one before. Default 2; less than 1 counts as 1.
    pub fn factor(mut self, factor: f64) -> Self {
        self.factor = factor.max(1.0);
        self
    }

    /// The part of each wait that may be left out at random, from 0 to 1. Default 0.5.
    pub fn jitter(mut self, part: f64) -> Self {
        self.jitter = part.clamp(0.0, 1.0);
        self
    }

    /// The wait before the retry of this number, from 1. The same for the same `seed`, so that a run can be replayed.
    pub(crate) fn wait(&self, retry: u32, seed: u64) -> Duration {
        let exponent = i32::try_from(retry.saturating_sub(1)).unwrap_or(i32::MAX);
        let full = self.initial.as_secs_f64() * self.factor.powi(exponent);
        let capped = full.min(self.max.as_secs_f64());
        let random = mix(seed) as f64 / u64::MAX as f64;
        Duration::try_from_secs_f64(capped * (1.0 - self.jitter * random)).unwrap_or(self.max)
    }
}

/// A seed of its own for each wait.
pub(crate) fn seed(run: u64, task: TaskId, attempt: u32) -> u64 {
    mix(mix(run) ^ u64::from(task.0) << 32 ^ u64::from(attempt))
}

/// SplitMix64's finisher: spreads any number over all of `u64`.
fn mix(seed: u64) -> u64 {
    let mut x = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}

/// An error that no retry can mend: a body that returns it fails for good.
///
/// ```
/// use batchyard::{Permanent, fallible};
/// # let mut job = batchyard::Job::new("permanent");
/// job.task("parse", (), fallible(|| "x".parse::<u64>().map_err(Permanent::new)));
/// ```
#[derive(Debug)]
pub struct Permanent(BoxError);

impl Permanent {
    /// Marks an error as final. It stays the cause: [`Error::cause`](crate::Error::cause) finds it.
    pub fn new(cause: impl Into<BoxError>) -> Self {
        Permanent(cause.into())
    }
}

impl fmt::Display for Permanent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl StdError for Permanent {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        Some(&*self.0)
    }
}

/// Which errors of a body are worth a retry.
#[derive(Clone)]
pub struct RetryIf(Arc<Worth>);

type Worth = dyn Fn(&(dyn StdError + 'static)) -> bool + Send + Sync;

impl RetryIf {
    pub(crate) fn new(
        worth: impl Fn(&(dyn StdError + 'static)) -> bool + Send + Sync + 'static,
    ) -> Self {
        RetryIf(Arc::new(worth))
    }

    pub(crate) fn allows(&self, cause: &BoxError) -> bool {
        (self.0)(&**cause)
    }
}

impl PartialEq for RetryIf {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl fmt::Debug for RetryIf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RetryIf(..)")
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_longest() {
        let backoff =
            Backoff::exponential(Duration::from_secs(1), Duration::from_secs(10)).jitter(0.0);
        let waits: Vec<_> = (1..=6)
            .map(|retry| backoff.wait(retry, 0).as_secs())
            .collect();
        assert_eq!(waits, [1, 2, 4, 8, 10, 10]);
        assert_eq!(backoff.wait(u32::MAX, 0), Duration::from_secs(10));
    }

    #[test]
    fn jitter_spreads_waits_over_half_their_length() {
        let backoff = Backoff::constant(Duration::from_secs(1)).jitter(0.5);
        let waits: Vec<_> = (0..1000)
            .map(|task| backoff.wait(1, seed(7, TaskId(task), 1)))
            .collect();
        assert!(
            waits
                .iter()
                .all(|wait| (500..=1000).contains(&wait.as_millis()))
        );
        for bucket in 10..20 {
            let within = waits
                .iter()
                .filter(|wait| wait.as_millis() / 50 == bucket)
                .count();
            assert!(
                (50..200).contains(&within),
                "{within} of 1000 in one twentieth of a second"
            );
        }
    }

    #[test]
    fn no_backoff_is_no_wait() {
        assert_eq!(Backoff::none().wait(9, 1), Duration::ZERO);
    }
}
