//! How a task ends.

use super::functions::{map_calm, map_double, map_even};
use super::trial::Trial;
use crate::job::Job;
use crate::model::{Counts, ErrorKind, TaskState};
use crate::work::Context;

pub(super) fn success(t: &Trial) {
    let mut job = Job::new("success");
    let double = map_double(t, &mut job, [21]);
    let pool = t.pool();

    t.rule("a body that returns is its task's success, and what it returns the task's output");
    let run = t.submit(&pool, job);
    t.same(*t.ok(run.output(double.at(0)).wait()), 42);
    t.same(t.ok(run.output(&double).wait()).to_vec(), vec![42]);

    t.rule("a run has ended, and counts as many successes, when all its tasks have succeeded");
    let expected = Counts {
        total: 1,
        succeeded: 1,
        ..Counts::default()
    };
    t.same(t.ok(run.wait()), expected);
    t.holds(run.has_ended(), &run);
    let states: Vec<_> = double
        .at(0)
        .id()
        .map(|id| t.ok(run.state(id)))
        .into_iter()
        .collect();
    t.same(states, vec![TaskState::Succeeded]);
}

pub(super) fn failure(t: &Trial) {
    let mut job = Job::new("failure");
    let even = map_even(t, &mut job, [7]);
    let pool = t.pool();

    t.rule("an error that a body returns is its task's failure, with that error as the cause");
    let run = t.submit(&pool, job);
    let error = t.error(run.output(even.at(0)).wait(), ErrorKind::TaskFailed);
    t.holds(error.to_string().contains("7 is odd"), &error);
    t.same(error.task(), Some("even[0]"));
    t.same(error.attempt(), Some(1));
    t.holds(error.panic().is_none(), &error);

    t.rule("a run with a failed task fails, and lists each failure once");
    t.error(run.wait(), ErrorKind::TaskFailed);
    t.same(run.failures().len(), 1);
    t.same(run.counts().failed, 1);
    t.goes_on(&pool);
}

pub(super) fn panic_message(t: &Trial) {
    let mut job = Job::new("panic");
    let calm = map_calm(t, &mut job, [13]);
    let pool = t.pool();

    t.rule("a body's panic is its task's failure, with the panic's message");
    let run = t.submit(&pool, job);
    let error = t.error(run.output(calm.at(0)).wait(), ErrorKind::TaskFailed);
    let message = error.panic().map(|panic| panic.message().to_owned());
    let told = message
        .as_deref()
        .is_some_and(|text| text.contains("alarmed by 13"));
    t.holds(told, &error);
}

pub(super) fn panic_isolation(t: &Trial) {
    let mut job = Job::new("panics");
    let calm = map_calm(t, &mut job, 0..40);
    let pool = t.pool();

    t.rule("a panic is kept to its task: the others of the run succeed");
    let run = t.submit(&pool, job);
    t.error(run.wait(), ErrorKind::TaskFailed);
    t.same((run.counts().succeeded, run.counts().failed), (20, 20));
    for index in (0..40).step_by(2) {
        t.same(*t.ok(run.output(calm.at(index)).wait()), index as u64);
        t.error(run.output(calm.at(index + 1)).wait(), ErrorKind::TaskFailed);
    }

    t.rule("a panic costs the pool neither a slot nor a worker");
    (0..3).for_each(|_| t.goes_on(&pool));
}

pub(super) fn context(t: &Trial) {
    let mut job = Job::new("context");
    let seen = job.map("seen", 0..3u8, |cx: &Context, _: &u8| {
        (cx.attempt(), cx.index(), cx.task_label(), cx.is_cancelled())
    });

    t.rule(
        "a body sees its first attempt as attempt 1, its own index and name, and no cancellation",
    );
    let run = t.succeed(&t.pool(), job);
    let expected = (0..3).map(|index| (1, index, format!("seen[{index}]"), false));
    t.same(t.ok(run.output(&seen).wait()).to_vec(), expected.collect());
}
