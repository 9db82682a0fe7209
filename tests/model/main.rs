//! Random jobs against a model of what must become of them.
//!
//! A job is a random graph of single tasks and arrays. Some bodies fail, some panic, some wait; tasks, subtrees or the
//! whole run are cancelled after a random number of bodies have begun. Without a cancellation, or a failure policy that
//! makes one, the end is known exactly; with one, it is known what can't be.
//!
//! `PROPTEST_CASES` says how many jobs are tried.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "the helpers of tests may panic, too; clippy.toml allows it only in the tests themselves"
)]

#[path = "../common/watchdog.rs"]
mod watchdog;

mod again;
mod build;
mod ends;
mod plan;
mod random;
mod trial;
mod world;

use proptest::prelude::*;
use random::plans;
use trial::Trial;
use watchdog::within_30s;
use world::Living;

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_task_ends_as_the_model_says(plan in plans(false)) {
        let owned = plan.clone();
        within_30s(move || Trial::<Living>::make(owned));
        within_30s(move || Trial::<u64>::make(plan));
    }

    #[test]
    fn whatever_is_cancelled_the_rest_is_right(plan in plans(true)) {
        let owned = plan.clone();
        within_30s(move || Trial::<Living>::make(owned));
        within_30s(move || Trial::<u64>::make(plan));
    }

    #[test]
    fn whatever_did_not_succeed_does_when_it_runs_again(plan in plans(true)) {
        let owned = plan.clone();
        within_30s(move || Trial::<Living>::make_again(owned));
        within_30s(move || Trial::<u64>::make_again(plan));
    }
}
