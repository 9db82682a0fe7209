//! Who gets the slots.

use super::tally::Tally;
use super::trial::Trial;
use crate::job::Job;
use crate::pool::Pool;
use crate::work::TaskRef;
use std::sync::{Arc, Mutex};

/// Often enough to find a wake-up that is lost now and then.
const ROUNDS: usize = 200;

pub(super) fn all_slots_are_used(t: &Trial) {
    let pool = t.pool();
    t.rule("as many tasks run at once as there are slots");
    (0..ROUNDS).for_each(|_| meet(t, &pool, t.slots()));
}

pub(super) fn dependents_use_all_slots(t: &Trial) {
    let (pool, slots) = (t.pool(), t.slots());
    t.rule("tasks that become ready while others run are taken by the slots that are free");
    for _ in 0..ROUNDS {
        let meeting = Tally::new("bodies that meet");
        let mut job = Job::new("dependents meet");
        let first: TaskRef = job.task("first", (), || ()).into();
        for _ in 0..slots {
            let meeting = meeting.clone();
            job.task_after((), [first], move || meeting.meet(slots));
        }
        t.succeed(&pool, job);
    }
}

pub(super) fn elements_use_all_slots(t: &Trial) {
    let (pool, slots) = (t.pool(), t.slots());
    t.rule("elements of an array are run by all slots, not in a row by one");
    for _ in 0..ROUNDS {
        let meeting = Tally::new("bodies that meet");
        let mut job = Job::new("elements meet");
        let numbers = job.map("numbers", 0..slots, |number: &usize| *number);
        job.each("meet", &numbers, move |_: &usize| meeting.meet(slots));
        t.succeed(&pool, job);
    }
}

/// Runs as many bodies as are to be running at once.
fn meet(t: &Trial, pool: &Pool, number: usize) {
    let meeting = Tally::new("bodies that meet");
    let mut job = Job::new("meeting");
    job.map("meet", 0..number, move |_: &usize| meeting.meet(number));
    t.succeed(pool, job);
}

pub(super) fn no_more_than_slots(t: &Trial) {
    let running = Arc::new(Mutex::new((0, 0)));
    let mut job = Job::new("crowd");
    let body = running.clone();
    job.map((), 0..2_000u64, move |_: &u64| {
        change(&body, 1);
        std::thread::yield_now();
        change(&body, -1);
    });

    t.rule("no more tasks run at once than there are slots");
    t.succeed(&t.pool(), job);
    let most = crate::sync::lock(&running).1;
    t.holds(most <= t.slots() as i64, most);
}

/// Notes how many run now, and the most that ever did.
fn change(running: &Mutex<(i64, i64)>, by: i64) {
    let mut running = crate::sync::lock(running);
    running.0 += by;
    running.1 = running.1.max(running.0);
}

pub(super) fn priority_overtakes(t: &Trial) {
    let pool = t.pool_of(1);
    t.rule("a more urgent job begins after the one task that is running, not after those that are waiting");
    for _ in 0..ROUNDS / 4 {
        let (begun, gate) = (Tally::new("bodies begun"), Tally::new("gates opened"));
        let mut patient = Job::new("patient");
        let parts = (begun.clone(), gate.clone());
        patient.map((), 0..20u8, move |_: &u8| {
            parts.0.add();
            parts.1.reach(1);
        });
        let mut urgent = Job::new("urgent");
        urgent.priority(10);
        let before = begun.clone();
        let overtaken = urgent.task((), (), move || before.count());

        let patient = t.submit(&pool, patient);
        begun.reach(1);
        let urgent = t.submit(&pool, urgent);
        gate.add();
        t.same(*t.ok(urgent.output(&overtaken).wait()), 1);
        t.ok(patient.wait());
    }
}

pub(super) fn resize(t: &Trial) {
    let (pool, slots) = (t.pool(), t.slots());
    t.rule("an executor that grows uses its new slots, also while all the others are busy");
    let (begun, gate) = (Tally::new("bodies begun"), Tally::new("gates opened"));
    let mut job = Job::new("busy");
    let parts = (begun.clone(), gate.clone());
    job.map((), 0..slots, move |_: &usize| {
        parts.0.add();
        parts.1.reach(1);
    });
    let busy = t.submit(&pool, job);
    begun.reach(slots);
    t.ok(pool.resize(slots + 3));
    meet(t, &pool, 3);
    gate.add();
    t.ok(busy.wait());
    meet(t, &pool, slots + 3);

    t.rule("an executor that shrinks goes on with fewer slots, and may grow again");
    for size in [1, 3, 2, 4, 1] {
        t.ok(pool.resize(size));
        t.goes_on(&pool);
    }
    t.ok(pool.resize(slots + 1));
    meet(t, &pool, slots + 1);
}
