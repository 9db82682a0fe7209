//! Who runs after a task that did not succeed.

use crate::watchdog::within_30s;
use crate::{exiting, exits, pool};
use DependencyAction::{Block, Satisfy};
use TaskState::{Cancelled, Failed, Skipped, Succeeded};
use batchyard::*;
use std::sync::mpsc;

fn satisfy() -> ExitConditions {
    ExitConditions::new().otherwise(Satisfy)
}

/// The states of these tasks after the job has ended.
fn states<const N: usize>(job: Job, tasks: [TaskId; N]) -> [TaskState; N] {
    within_30s(move || {
        let pool = pool();
        let run = pool.submit(job).expect("submitted");
        let _ = run.wait();
        let counts = run.counts();
        assert_eq!((counts.unfinished(), counts.total), (0, counts.ended()));
        tasks.map(|task| run.state(task).expect("known"))
    })
}

#[test]
fn a_satisfied_dependent_runs_if_it_needs_no_value() {
    let mut job = Job::new("satisfy");
    let first = job
        .add(Task::new("first", (), fallible(|| Err::<u32, _>("no"))).exit_conditions(satisfy()));
    let other = job.task("other", (), || 1);
    let after = job.task_after("after", [first.into()], || ());
    let ordered = job.add(Task::new("ordered", &other, |n: &i32| *n).after(first));
    let named = job.add(Task::new("named", &other, |n: &i32| *n).after_named("first"));
    let late = job.task("late", &other, |n: &i32| *n);
    job.order(first, late);
    let reads = job.task("reads", &first, |n: &u32| *n);
    let behind = job.task_after("behind", [reads.into()], || ());
    let tasks = [
        first.id(),
        after.id(),
        ordered.id(),
        named.id(),
        late.id(),
        reads.id(),
        behind.id(),
    ];
    assert_eq!(
        states(job, tasks),
        [
            Failed, Succeeded, Succeeded, Succeeded, Succeeded, Skipped, Skipped
        ]
    );
}

#[test]
fn an_order_beside_a_value_does_not_make_up_for_the_value() {
    let mut job = Job::new("both");
    let first = job.add(
        Task::new("first", (), fallible(|| Err::<String, _>("no"))).exit_conditions(satisfy()),
    );
    let both = job.add(Task::new("both", &first, |text: &String| text.len()).after(first));
    let late = job.task("late", &first, |text: &String| text.len());
    job.order(first, late);
    job.order_any_outcome(first, late);
    let named = job.add(
        Task::new("named", &first, |text: &String| text.len())
            .after_named("first")
            .after_any_outcome(first),
    );
    assert_eq!(
        states(job, [both.id(), late.id(), named.id()]),
        [Skipped; 3]
    );
}

#[test]
fn an_order_beside_any_outcome_needs_success() {
    let mut job = Job::new("both");
    let first = job.task("first", (), fallible(exits(1)));
    let early = job.add(
        Task::new("early", (), || ())
            .after(first)
            .after_any_outcome(first),
    );
    let late = job.task("late", (), || ());
    job.order_any_outcome(first, late);
    job.order(first, late);
    assert_eq!(states(job, [early.id(), late.id()]), [Skipped; 2]);
}

#[test]
fn any_outcome_is_success_failure_skipping_and_cancellation() {
    within_30s(|| {
        let pool = pool();
        let mut job = Job::new("outcomes");
        let good = job.task("good", (), || ());
        let bad = job.task("bad", (), fallible(exits(1)));
        let skipped = job.task_after("skipped", [bad.into()], || ());
        let (send, begun) = mpsc::channel();
        let cancelled = job.task("cancelled", (), move |cx: &Context| {
            send.send(()).unwrap();
            while !cx.is_cancelled() {}
        });
        let ends: Vec<TaskRef> = vec![good.into(), bad.into(), skipped.into(), cancelled.into()];
        let after: Vec<_> = ends
            .into_iter()
            .map(|end| job.add(Task::new((), (), || ()).after_any_outcome(end)))
            .collect();
        let after_all = job.task("after all", (), || 7);
        for before in &after {
            job.order(before, after_all);
        }
        let run = pool.submit(job).expect("submitted");
        begun.recv().expect("begun");
        assert_eq!(run.cancel_task(cancelled).expect("known"), 1);
        assert_eq!(*run.output(&after_all).wait().expect("all ran"), 7);
        assert_eq!(run.state(skipped).expect("known"), Skipped);
        assert_eq!(run.state(cancelled).expect("known"), Cancelled);
    });
}

#[test]
fn a_task_after_any_outcome_runs_once_all_it_waits_for_has_ended() {
    let mut job = Job::new("several");
    let bad = job.task("bad", (), fallible(exits(1)));
    let good = job.task("good", (), || 3);
    let both = job.add(Task::new("both", &good, |n: &i32| *n).after_any_outcome(bad));
    let strict = job.add(
        Task::new("strict", (), || ())
            .after(bad)
            .after_any_outcome(good),
    );
    assert_eq!(states(job, [both.id(), strict.id()]), [Succeeded, Skipped]);
}

#[test]
fn any_outcome_of_an_array_is_the_end_of_its_last_element() {
    for waits in [false, true] {
        within_30s(move || {
            let pool = pool();
            let mut job = Job::new("barrier");
            let (release, held) = mpsc::channel::<()>();
            let held = std::sync::Mutex::new(held);
            let array = job.map(
                "array",
                0..200u32,
                fallible(move |n: &u32| match n {
                    100 if waits => held.lock().unwrap().recv().map_err(|_| "gone"),
                    n if n % 3 == 0 => Err("no"),
                    _ => Ok(()),
                }),
            );
            if waits {
                // Otherwise elements of the piece that the one that waits is in would wait with it.
                job.configure(array, TaskSettings::new().priority(0));
            }
            let after = job.task("after", (), || ());
            job.order_any_outcome(array, after);
            let run = pool.submit(job).expect("submitted");
            if waits {
                while run.counts().ended() < 199 {
                    std::thread::yield_now();
                }
                assert_eq!(run.state(after).expect("known"), TaskState::Waiting);
                release.send(()).expect("held");
            }
            run.output(&after).wait().expect("all have ended");
            assert_eq!(run.counts().failed, 67);
        });
    }
}

#[test]
fn an_array_may_follow_any_outcome_of_a_task_and_of_an_array() {
    let mut job = Job::new("arrays");
    let bad = job.task("bad", (), fallible(exits(1)));
    let first = job.array("first", 10, |n: &usize| *n);
    job.order_any_outcome(bad, first);
    let odd = job.each(
        "odd",
        &first,
        fallible(|n: &usize| if n % 2 == 1 { Err("odd") } else { Ok(*n) }),
    );
    let second = job.array("second", 10, |n: &usize| *n);
    job.order_any_outcome(odd, second);
    let sum = job.reduce("sum", &second, |all: &[usize]| all.iter().sum::<usize>());
    let empty = job.array("empty", 0, |n: &usize| *n);
    job.order_any_outcome(odd, empty);
    job.order(bad, empty);
    let last = job.task("last", (), || ());
    job.order_any_outcome(empty, last);
    let element = odd.at(1).id().expect("in the array");
    let tasks = [
        first.id(),
        odd.id(),
        element,
        second.id(),
        sum.id(),
        empty.id(),
        last.id(),
    ];
    assert_eq!(
        states(job, tasks),
        [
            Succeeded, Failed, Failed, Succeeded, Succeeded, Skipped, Succeeded
        ]
    );
}

#[test]
fn elements_that_fail_satisfy_a_barrier_only_if_all_of_them_do() {
    for (blocking, end) in [(false, Succeeded), (true, Skipped)] {
        let mut job = Job::new("elements");
        let array = job.map(
            "array",
            0..100i32,
            fallible(move |n: &i32| match n {
                50 if blocking => Err(ExitCode(2)),
                n if n % 10 == 5 => Err(ExitCode(1)),
                _ => Ok(*n),
            }),
        );
        job.configure(
            array,
            TaskSettings::new().exit_conditions(ExitConditions::new().code(1, Satisfy)),
        );
        let after = job.task_after("after", [array.into()], || ());
        let reads = job.reduce("reads", &array, |all: &[i32]| all.len());
        let each = job.each("each", &array, |n: &i32| *n);
        let elements = [4, 5].map(|at| each.at(at).id().expect("in the array"));
        let tasks = [after.id(), reads.id(), elements[0], elements[1]];
        assert_eq!(states(job, tasks), [end, Skipped, Succeeded, Skipped]);
    }
}

#[test]
fn a_success_that_blocks_is_a_success_and_its_dependents_are_skipped() {
    within_30s(|| {
        let mut job = Job::new("block");
        let first = job.add(exiting("first", 0, ExitConditions::new().code(0, Block)));
        let then = job.task("then", &first, |_: &()| ());
        let anyway = job.add(Task::new("anyway", (), || ()).after_any_outcome(first));
        let array = job.array("array", 3, |n: &usize| *n);
        job.configure(
            array,
            TaskSettings::new().exit_conditions(ExitConditions::new().code(0, Block)),
        );
        let each = job.each("each", &array, |n: &usize| *n);
        let all = job.task_after("all", [array.into()], || ());
        let end = job.task("end", (), || ());
        job.order_any_outcome(array, end);
        let pool = pool();
        let run = pool.submit(job).expect("submitted");
        let counts = run.wait().expect("nothing failed");
        assert_eq!((counts.succeeded, counts.skipped), (6, 5));
        let state = |task: TaskId| run.state(task).expect("known");
        assert_eq!(
            [first.id(), anyway.id(), end.id()].map(state),
            [Succeeded; 3]
        );
        assert_eq!([then.id(), all.id(), each.id()].map(state), [Skipped; 3]);
        assert_eq!(state(array.id()), Succeeded);
        let words = run.output(&then).wait().expect_err("skipped").to_string();
        assert!(
            words.contains("since `first` succeeded, and its exit conditions block"),
            "{words}"
        );
    });
}

#[test]
fn a_skip_names_who_kept_it_from_running_and_nobody_else() {
    within_30s(|| {
        let mut job = Job::new("reasons");
        let harmless = job.task("harmless", (), fallible(exits(1)));
        let satisfied = job.add(exiting("satisfied", 1, satisfy()));
        let between = job.add(Task::new("between", (), || ()).after_any_outcome(harmless));
        let culprit = job.task("culprit", (), fallible(exits(1)));
        let far = job.task_after("far", [culprit.into()], || ());
        let skipped = Task::new("skipped", (), || ()).after_any_outcome(harmless);
        let skipped = job.add(skipped.after(satisfied).after(between).after(far));
        let pool = pool();
        let run = pool.submit(job).expect("submitted");
        let words = run
            .output(&skipped)
            .wait()
            .expect_err("skipped")
            .to_string();
        assert!(words.contains("since `culprit` did not succeed"), "{words}");
    });
}

#[test]
fn edges_after_any_outcome_are_edges_of_the_graph_and_of_its_cycles() {
    let mut job = Job::new("graph");
    let a = job.task("a", (), || ());
    let b = job.add(Task::new("b", (), || ()).after_any_outcome(a));
    let edges: Vec<_> = petgraph::visit::IntoEdgeReferences::edge_references(&job.graph())
        .map(|edge| (edge.from.index(), edge.to.index()))
        .collect();
    assert_eq!(edges, [(0, 1)]);
    job.order_any_outcome(b, a);
    let error = job.check().expect_err("a cycle");
    assert!(error.to_string().contains("wait for each other"), "{error}");
}

#[test]
fn a_handle_of_another_job_is_refused_after_any_outcome_too() {
    let mut other = Job::new("other");
    let foreign = other.task("foreign", (), || ());
    let mut job = Job::new("job");
    let task = Task::new("task", (), || ()).after_any_outcome(foreign);
    let error = job.add_all([task]).expect_err("refused");
    assert_eq!(error.defects()[0].kind(), &DefectKind::ForeignHandle);
    let task = job.task("task", (), || ());
    job.order_any_outcome(foreign, task);
    assert!(job.check().is_err());
}

#[test]
fn what_runs_after_any_outcome_is_explained_as_any_other() {
    within_30s(|| {
        let pool = pool();
        let mut job = Job::new("explain");
        let (release, held) = mpsc::channel::<()>();
        let held = std::sync::Mutex::new(held);
        let first = job.task("first", (), move || held.lock().unwrap().recv().is_ok());
        let middle = job.task_after("middle", [first.into()], || ());
        let settings = TaskSettings::new().start_after(std::time::Duration::from_secs(3600));
        let last = job.add(
            Task::new("last", (), || ())
                .after_any_outcome(middle)
                .settings(settings),
        );
        let run = pool.submit(job).expect("submitted");
        let words = run.explain(last).expect("known").to_string();
        assert_eq!(words, "waits for `middle`, which has not ended");
        assert_eq!(run.cancel_task(middle).expect("known"), 1);
        // What `middle` waited for has not ended, which is nothing to `last`.
        assert_eq!(run.state(last).expect("known"), TaskState::Ready);
        let words = run.explain(last).expect("known").to_string();
        assert!(words.starts_with("may not start yet, but in"), "{words}");
        drop(release);
    });
}
