//! What a failure means for others.

use super::functions::{each_double, map_even, reduce_sum};
use super::trial::Trial;
use crate::job::Job;
use crate::model::{ErrorKind, FailurePolicy, TaskState};

pub(super) fn skip_of_dependents(t: &Trial) {
    let mut job = Job::new("skip");
    let even = map_even(t, &mut job, 0..4);
    let each = each_double(t, &mut job, "each", &even);
    let sum = reduce_sum(t, &mut job, "sum", &each);

    t.rule("dependents of a failed task never run: they are skipped, naming it; all others go on");
    let pool = t.pool();
    let run = t.submit(&pool, job);
    t.error(run.wait(), ErrorKind::TaskFailed);
    let error = t.error(run.output(&sum).wait(), ErrorKind::TaskSkipped);
    t.holds(error.to_string().contains("is odd"), &error);
    t.same(t.ok(run.state(sum.id())), TaskState::Skipped);
    t.same(*t.ok(run.output(each.at(2)).wait()), 4);
    let counts = run.counts();
    t.same((counts.succeeded, counts.failed, counts.skipped), (4, 2, 3));
}

pub(super) fn policy_continue(t: &Trial) {
    t.rule("by default everything that does not depend on a failure goes on");
    t.same(outcome_under(t, FailurePolicy::Continue), (50, 50, 0));
}

pub(super) fn policy_fail_fast(t: &Trial) {
    t.rule("with `FailFast` the first failure ends the run, and is the only one");
    let (_, failed, _) = outcome_under(t, FailurePolicy::FailFast);
    t.same(failed, 1);
}

pub(super) fn policy_max_failures(t: &Trial) {
    t.rule("with `MaxFailures(3)` the fourth failure ends the run, and is the last one");
    let (_, failed, _) = outcome_under(t, FailurePolicy::MaxFailures(3));
    t.same(failed, 4);
}

/// How many of a hundred tasks, half of which would fail, succeeded, failed, and were cancelled.
fn outcome_under(t: &Trial, policy: FailurePolicy) -> (u64, u64, u64) {
    let mut job = Job::new("policy");
    job.failure_policy(policy);
    map_even(t, &mut job, 0..100);
    let pool = t.pool();
    let run = t.submit(&pool, job);
    t.error(run.wait(), ErrorKind::TaskFailed);
    let counts = run.counts();
    t.same(counts.ended(), 100);
    t.same(run.failures().len() as u64, counts.failed);
    t.goes_on(&pool);
    t.same(run.counts(), counts);
    (counts.succeeded, counts.failed, counts.cancelled)
}
