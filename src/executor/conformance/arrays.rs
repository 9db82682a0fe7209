//! Values along edges, arrays, and the order that dependencies make.

use super::functions::{
    double_of, each_double, each_square, map_double, reduce_sum, sum_of_doubles,
};
use super::tally::Tally;
use super::trial::Trial;
use crate::job::Job;
use crate::work::TaskRef;

pub(super) fn values_along_edges(t: &Trial) {
    let mut job = Job::new("values");
    let doubles = map_double(t, &mut job, 0..100);
    let squares = each_square(t, &mut job, "square", &doubles);
    let sum = reduce_sum(t, &mut job, "sum", &squares);
    let last = double_of(t, &mut job, "last", &sum);

    t.rule("a task reads what the tasks that it depends on have returned");
    let run = t.succeed(&t.pool(), job);
    let expected: u64 = (0..100u64).map(|n| 8 * n * n).sum();
    t.same(*t.ok(run.output(&last).wait()), expected);
}

pub(super) fn empty_array(t: &Trial) {
    let mut job = Job::new("empty array");
    let none = map_double(t, &mut job, []);
    let still_none = each_square(t, &mut job, "square", &none);
    let sum = reduce_sum(t, &mut job, "sum", &still_none);

    t.rule("an empty array succeeds at once, and its dependents run on an empty slice");
    let run = t.succeed(&t.pool(), job);
    t.same(*t.ok(run.output(&sum).wait()), 0);
}

pub(super) fn empty_job(t: &Trial) {
    t.rule("a job without tasks succeeds at once");
    let run = t.succeed(&t.pool(), Job::new("empty"));
    t.same(run.counts().total, 0);
}

pub(super) fn diamond(t: &Trial) {
    let pool = t.pool();
    t.rule("a task runs once all that it depends on, and not only the first, have succeeded");
    for _ in 0..200 {
        let mut job = Job::new("diamond");
        let top = map_double(t, &mut job, [1]);
        let left = each_double(t, &mut job, "left", &top);
        let right = each_square(t, &mut job, "right", &top);
        let bottom = reduce_sum(t, &mut job, "bottom", &left);
        job.order(right, bottom);
        job.keep(right);
        let run = t.submit(&pool, job);
        t.same(*t.ok(run.output(&bottom).wait()), 4);
        t.same(run.counts().succeeded, 4);
        t.same(*t.ok(run.output(right.at(0)).wait()), 4);
    }
}

pub(super) fn many_small_tasks(t: &Trial) {
    const LEN: u64 = 100_000;
    let mut job = Job::new("many elements");
    let sum = sum_of_doubles(t, &mut job, LEN);

    t.rule("each of a great many tasks runs");
    let run = t.succeed(&t.pool(), job);
    t.same(*t.ok(run.output(&sum).wait()), LEN * (LEN - 1));
    t.same(run.counts().succeeded, LEN + 1);
}

pub(super) fn many_single_tasks(t: &Trial) {
    let ran = Tally::new("bodies that ran");
    let mut job = Job::new("many tasks");
    let body = |ran: &Tally| {
        let ran = ran.clone();
        move || ran.add()
    };
    for _ in 0..100 {
        let first: TaskRef = job.task((), (), body(&ran)).into();
        let row: Vec<TaskRef> = (0..99)
            .map(|_| job.task_after((), [first], body(&ran)).into())
            .collect();
        job.task_after((), row, body(&ran));
    }

    t.rule("each task runs exactly once");
    let run = t.succeed(&t.pool(), job);
    t.same(ran.count(), 10_100);
    t.same(run.counts().succeeded, 10_100);
}
