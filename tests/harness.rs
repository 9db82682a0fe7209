//! The unit tests of an application, as its author would write them with the feature `testing`.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test may panic on what it did not expect"
)]

use batchyard::executor::{NodeSpec, Order};
use batchyard::testing::{DrivenExecutor, Event, TestPool};
use batchyard::*;
use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_secs(3600);

/// The code under test: an application's function that takes a pool.
fn nightly(pool: &Pool) -> Result<u64> {
    let mut job = Job::new("nightly");
    let retried = TaskSettings::new().max_retries(2).time_limit(HOUR);
    let fetch = job.map("fetch", 1..=3u64, |n: &u64| n * 10);
    job.configure(fetch, retried);
    let merge = job.reduce("merge", &fetch, |parts: &[u64]| parts.iter().sum::<u64>());
    let report = job.task("report", &merge, |sum: &u64| *sum);
    let run = pool.submit(job)?;
    Ok(*run.output(&report).wait()?)
}

/// A job of single tasks without edges, that note the order in which they ran.
fn unordered(pool: &Pool) -> Vec<usize> {
    let seen: Arc<Mutex<Vec<usize>>> = Arc::default();
    let mut job = Job::new("unordered");
    for number in 0..8 {
        let seen = seen.clone();
        job.task((), (), move || seen.lock().unwrap().push(number));
    }
    pool.submit(job).unwrap().wait().unwrap();
    Arc::try_unwrap(seen).map_or_else(
        |shared| shared.lock().unwrap().clone(),
        |own| own.into_inner().unwrap(),
    )
}

mod faults {
    use super::*;

    #[test]
    fn without_any_the_code_under_test_succeeds_in_no_time() {
        let pool = TestPool::new(1);
        assert_eq!(nightly(&pool).unwrap(), 60);
        assert_eq!(pool.now(), Duration::ZERO);
        pool.assert_succeeded("report");
        pool.assert_succeeded("nightly/fetch[2]");
        pool.assert_order("fetch", "merge");
        pool.assert_order("merge", "report");
    }

    #[test]
    fn a_task_fails_on_the_attempt_that_was_said() {
        let pool = TestPool::new(2);
        pool.when("fetch[1]").attempt(1).fails("connection refused");
        pool.when("fetch[1]").attempt(2).panics("out of luck");
        assert_eq!(nightly(&pool).unwrap(), 60);
        pool.assert_attempts("fetch[1]", 3);
        pool.assert_attempts("fetch", 5);
        let trace = pool.trace().to_string();
        assert!(
            trace.contains("nightly/fetch[1], attempt 1, failed: connection refused"),
            "{trace}"
        );
        assert!(
            trace.contains("attempt 2, failed: panicked: out of luck"),
            "{trace}"
        );
    }

    #[test]
    fn a_task_that_always_fails_has_its_dependents_skipped() {
        let pool = TestPool::new(3);
        pool.when("merge").fails("disk full");
        assert_eq!(nightly(&pool).unwrap_err().kind(), ErrorKind::TaskSkipped);
        pool.assert_failed("merge", "disk full");
        pool.assert_skipped("report");
        assert!(pool.error("report").unwrap().to_string().contains("merge"));
    }

    #[test]
    fn a_panic_on_order_is_found_as_one() {
        let pool = TestPool::new(4);
        pool.when("merge").panics("index out of bounds");
        let error = nightly(&pool).unwrap_err();
        assert_eq!(error.panic().unwrap().message(), "index out of bounds");
    }

    #[test]
    fn a_task_takes_simulated_time() {
        let pool = TestPool::with_nodes(5, [NodeSpec::new(3)]);
        pool.when("fetch").takes(10 * SECOND);
        pool.when("report").takes(SECOND);
        assert_eq!(nightly(&pool).unwrap(), 60);
        assert_eq!(pool.now(), 11 * SECOND, "the fetches run side by side");
    }

    #[test]
    fn a_task_that_hangs_times_out_and_is_tried_again() {
        let pool = TestPool::new(6);
        pool.when("fetch[0]").attempt(1).hangs();
        assert_eq!(nightly(&pool).unwrap(), 60);
        assert!((HOUR..HOUR + SECOND).contains(&pool.now()));
        let trace = pool.trace();
        let stopped = trace
            .entries()
            .iter()
            .filter(|entry| entry.event == Event::Stopped);
        assert_eq!(stopped.count(), 1, "{trace}");
    }

    #[test]
    fn waiting_for_what_never_ends_fails_and_says_why() {
        let pool = TestPool::new(7);
        pool.when("merge").hangs();
        let error = nightly(&pool).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::WouldDeadlock);
        assert!(
            error.to_string().contains("`nightly/merge` hangs"),
            "{error}"
        );
        assert_eq!(pool.state("merge"), TaskState::Running);
        assert_eq!(pool.state("report"), TaskState::Waiting);
    }

    #[test]
    fn a_task_that_hangs_ends_when_it_is_cancelled() {
        let pool = TestPool::new(8);
        pool.when("stuck").hangs();
        let mut job = Job::new("job");
        let stuck = job.task("stuck", (), || ());
        let run = pool.submit(job).unwrap();
        pool.run_until_idle();
        assert_eq!(run.cancel_task(stuck.id()).unwrap(), 1);
        run.wait().unwrap();
        pool.assert_cancelled("stuck");
    }

    #[test]
    fn a_lost_node_takes_all_that_runs_there_and_is_replaced() {
        let pool = TestPool::new(9);
        pool.when("fetch").takes(SECOND);
        pool.when("fetch[0]").attempt(1).loses_its_node();
        assert_eq!(nightly(&pool).unwrap(), 60);
        let trace = pool.trace();
        let lost = trace
            .entries()
            .iter()
            .filter(|entry| entry.event == Event::Lost);
        assert!((1..=3).contains(&lost.count()), "{trace}");
    }

    #[test]
    fn a_node_lost_at_a_moment_leaves_the_rest_to_others() {
        let nodes = ["east", "west"].map(|name| NodeSpec::new(2).label(name));
        let pool = TestPool::with_nodes(10, nodes);
        pool.when("fetch").takes(10 * SECOND);
        pool.lose_node_at("east", 5 * SECOND);
        assert_eq!(nightly(&pool).unwrap(), 60);
        let trace = pool.trace();
        let late = trace
            .entries()
            .iter()
            .filter(|entry| entry.time > 5 * SECOND);
        assert!(late.clone().count() > 0);
        assert!(late.clone().all(|entry| entry.node == "west"), "{trace}");
    }

    #[test]
    fn without_a_node_nothing_runs_until_one_joins() {
        let pool = TestPool::with_nodes(11, [NodeSpec::new(1).label("only")]);
        pool.lose_node("only");
        let error = nightly(&pool).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::WouldDeadlock);
        assert!(error.to_string().contains("there is no node"), "{error}");
        pool.join(NodeSpec::new(1));
        pool.run_until_idle();
        pool.assert_succeeded("report");
    }
}

mod seeds {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_trace() {
        let trace = |seed| {
            let pool = TestPool::new(seed);
            pool.when("fetch[1]").attempt(1).fails("once");
            nightly(&pool).unwrap();
            pool.trace()
        };
        assert_eq!(trace(1), trace(1));
        let different: HashSet<_> = (0..20).map(|seed| trace(seed).to_string()).collect();
        assert!(different.len() > 5, "{} orders", different.len());
    }

    #[test]
    fn seeds_choose_the_order_of_ready_tasks_also_with_one_slot() {
        let orders: HashSet<_> = (0..20)
            .map(|seed| unordered(&TestPool::with_nodes(seed, [NodeSpec::new(1)])))
            .collect();
        assert!(orders.len() > 15, "{} orders", orders.len());
    }

    #[test]
    fn no_seed_breaks_an_order_that_is_promised() {
        for seed in 0..50 {
            let pool = TestPool::with_nodes(seed, [NodeSpec::new(1)]);
            let mut job = Job::new("priorities");
            for (name, priority) in [("low", -1), ("first", 5), ("middle", 0), ("second", 5)] {
                job.add(Task::new(name, (), || ()).priority(priority));
            }
            pool.submit(job).unwrap().wait().unwrap();
            pool.assert_order("first", "second");
            pool.assert_order("second", "middle");
            pool.assert_order("middle", "low");
        }
    }

    #[test]
    fn a_race_in_the_code_under_test_is_found_by_some_seed() {
        let lost_update = |seed| {
            let (number, pool) = (Arc::new(AtomicUsize::new(0)), TestPool::new(seed));
            let mut job = Job::new("race");
            for _ in 0..2 {
                let (read, write) = (number.clone(), number.clone());
                let read = job.task((), (), move || read.load(Ordering::SeqCst));
                job.task((), &read, move |read: &usize| {
                    write.store(read + 1, Ordering::SeqCst)
                });
            }
            pool.submit(job).unwrap().wait().unwrap();
            number.load(Ordering::SeqCst) == 1
        };
        let found = (0..50).filter(|&seed| lost_update(seed)).count();
        assert!((1..50).contains(&found), "{found} of 50 seeds");
    }
}

mod time {
    use super::*;

    fn retried() -> (Job, Handle<()>) {
        let mut job = Job::new("retried");
        let body = Task::new("task", (), || ()).max_retries(1);
        let task = job.add(body.backoff(Backoff::constant(HOUR)));
        (job, task)
    }

    #[test]
    fn advancing_does_what_is_due_and_no_more() {
        let pool = TestPool::new(1);
        pool.when("task").attempt(1).fails("once");
        let (job, task) = retried();
        let run = pool.submit(job).unwrap();
        pool.run_until_idle();
        pool.assert_attempts("task", 1);
        pool.advance(HOUR - SECOND);
        assert_eq!(run.state(task.id()).unwrap(), TaskState::Ready);
        pool.assert_attempts("task", 1);
        pool.advance(SECOND);
        pool.assert_attempts("task", 2);
        assert!(run.has_ended());
        assert_eq!(pool.now(), HOUR);
    }

    #[test]
    fn what_is_due_on_the_way_happens_at_its_time() {
        let pool = TestPool::new(2);
        let mut job = Job::new("chain");
        let first = job.task("first", (), || ());
        let second = job.task("second", &first, |_: &()| ());
        job.configure(first, TaskSettings::new().start_after(SECOND));
        job.configure(second, TaskSettings::new());
        pool.when("second").takes(2 * SECOND);
        pool.submit(job).unwrap();
        pool.advance(HOUR);
        let times: Vec<_> = pool
            .trace()
            .entries()
            .iter()
            .map(|entry| entry.time)
            .collect();
        assert_eq!(times, [1, 1, 1, 3].map(|seconds| seconds * SECOND));
    }

    #[test]
    fn waiting_lets_time_pass_by_itself() {
        let pool = TestPool::new(3);
        pool.when("task").attempt(1).fails("once");
        let (job, task) = retried();
        let run = pool.submit(job).unwrap();
        run.output(&task).wait().unwrap();
        assert_eq!(pool.now(), HOUR);
    }

    #[test]
    fn deadlines_and_job_limits_pass_in_simulated_time() {
        let pool = TestPool::new(4);
        pool.when("task").takes(2 * HOUR);
        let mut job = Job::new("late");
        job.task("task", (), || ());
        job.time_limit(HOUR);
        let error = pool.submit(job).unwrap().wait().unwrap_err();
        assert_eq!((error.kind(), pool.now()), (ErrorKind::TimedOut, HOUR));
        pool.assert_cancelled("task");
    }
}

mod bodies {
    use super::*;

    #[test]
    fn asynchronous_bodies_are_polled_inline() {
        let pool = TestPool::new(1);
        let (send, receive) = futures::channel::oneshot::channel();
        let (send, receive) = (Mutex::new(Some(send)), Mutex::new(Some(receive)));
        let mut job = Job::new("asynchronous");
        let body = move || {
            let receive = receive.lock().unwrap().take().unwrap();
            async move { receive.await.map_err(BoxError::from) }
        };
        let received = job.task("receive", (), asynchronous(body));
        job.task("send", (), move || {
            let _ = send.lock().unwrap().take().unwrap().send(5);
        });
        let run = pool.submit(job).unwrap();
        assert_eq!(*run.output(&received).wait().unwrap(), 5);
    }

    #[test]
    fn a_future_of_a_run_drives_it_too() {
        let pool = TestPool::new(2);
        pool.when("task").takes(HOUR);
        let mut job = Job::new("awaited");
        let task = job.task("task", (), || 3);
        let run = pool.submit(job).unwrap();
        let both = async {
            (
                *run.output(&task).await.unwrap(),
                run.ended().await.unwrap().succeeded,
            )
        };
        assert_eq!(futures::executor::block_on(both), (3, 1));
    }

    #[test]
    fn a_body_that_waits_for_another_job_lends_its_slot() {
        let pool = Arc::new(TestPool::with_nodes(3, [NodeSpec::new(1)]));
        let inner = Arc::downgrade(&pool);
        let mut job = Job::new("outer");
        let outer = job.task("outer", (), move || {
            nightly(&inner.upgrade().unwrap()).unwrap()
        });
        let run = pool.submit(job).unwrap();
        assert_eq!(*run.output(&outer).wait().unwrap(), 60);
        let trace = pool.trace();
        assert_eq!(trace.entries().last().unwrap().task, "outer", "{trace}");
    }

    #[test]
    fn nothing_is_kept_of_a_run_that_has_ended() {
        let pool = TestPool::new(4);
        let mut job = Job::new("values");
        let value = job.task("value", (), || Arc::new(7));
        let run = pool.submit(job).unwrap();
        let weak = Arc::downgrade(&run.output(&value).wait().unwrap());
        drop(run);
        assert!(weak.upgrade().is_none());
        pool.assert_succeeded("value");
    }

    #[test]
    fn no_thread_is_started() {
        let pool = TestPool::new(5);
        let own = std::thread::current().id();
        let mut job = Job::new("threads");
        let threads = job.array("threads", 10, |_: &usize| std::thread::current().id());
        let run = pool.submit(job).unwrap();
        let threads = run.output(&threads).wait().unwrap();
        assert!(threads.iter().all(|&thread| thread == own));
    }
}

mod resources {
    use super::*;

    #[test]
    fn tasks_run_where_there_is_what_they_ask_for() {
        let nodes = [
            NodeSpec::new(4).label("cpu"),
            NodeSpec::new(1).gpus([0]).label("gpu"),
        ];
        let pool = TestPool::with_nodes(1, nodes);
        let mut job = Job::new("gpus");
        let train = job.array("train", 3, |_: &usize| ());
        let gpu = Resources::default().gpus(1);
        job.configure(train, TaskSettings::new().resources(gpu));
        pool.when("train").takes(SECOND);
        pool.submit(job).unwrap().wait().unwrap();
        assert_eq!(pool.now(), 3 * SECOND, "one after another");
        let trace = pool.trace();
        assert!(
            trace.entries().iter().all(|entry| entry.node == "gpu"),
            "{trace}"
        );
    }

    #[test]
    fn what_no_node_has_is_refused_at_submit() {
        let pool = TestPool::with_nodes(2, [NodeSpec::new(2)]);
        let mut job = Job::new("large");
        job.add(Task::new("giant", (), || ()).resources(Resources::slots(3)));
        assert_eq!(pool.submit(job).unwrap_err().kind(), ErrorKind::Unsupported);
    }

    #[test]
    fn limits_of_what_runs_at_once_hold() {
        let pool = TestPool::with_nodes(3, [NodeSpec::new(8)]);
        let mut job = Job::new("limited");
        job.array("task", 6, |_: &usize| ());
        job.max_parallel_tasks(2);
        pool.when("task").takes(SECOND);
        pool.submit(job).unwrap().wait().unwrap();
        assert_eq!(pool.now(), 3 * SECOND);
    }

    #[test]
    fn a_pool_that_grows_uses_its_new_slots() {
        let pool = TestPool::with_nodes(4, [NodeSpec::new(1)]);
        pool.when("task").takes(SECOND);
        let mut job = Job::new("growing");
        job.array("task", 4, |_: &usize| ());
        let run = pool.submit(job).unwrap();
        pool.resize(4).unwrap();
        run.wait().unwrap();
        assert!(pool.now() <= 2 * SECOND);
    }
}

mod assertions {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    fn message(assertion: impl FnOnce()) -> String {
        let panic = catch_unwind(AssertUnwindSafe(assertion)).unwrap_err();
        panic.downcast_ref::<String>().unwrap().clone()
    }

    #[test]
    fn failures_say_what_was_seen() {
        let pool = TestPool::new(1);
        pool.when("merge").fails("disk full");
        nightly(&pool).unwrap_err();
        let said = message(|| pool.assert_succeeded("merge"));
        assert!(said.contains("`merge` is failed, not succeeded"), "{said}");
        assert!(
            said.contains("disk full") && said.contains("began on node 1"),
            "{said}"
        );
        let said = message(|| pool.assert_order("merge", "fetch"));
        assert!(
            said.contains("`merge` should have run before `fetch`: it did not"),
            "{said}"
        );
        let said = message(|| pool.assert_order("merge", "report"));
        assert!(said.contains("`report` has not run"), "{said}");
        let said = message(|| pool.assert_attempts("merge", 2));
        assert!(said.contains("`merge` had 1 attempts, not 2"), "{said}");
        let said = message(|| pool.assert_succeeded("marge"));
        assert!(
            said.contains("no task `marge`") && said.contains("`nightly/merge`"),
            "{said}"
        );
        let said = message(|| pool.assert_failed("merge", "disk empty"));
        assert!(said.contains("but not with \"disk empty\""), "{said}");
    }
}

mod driven {
    use super::*;

    fn array(pool: &Pool, len: usize) -> (Run, Array<usize>) {
        let mut job = Job::new("job");
        let array = job.array("array", len, |at: &usize| *at);
        job.configure(
            array,
            TaskSettings::new().max_retries(1).backoff(Backoff::none()),
        );
        (pool.submit(job).unwrap(), array)
    }

    #[test]
    fn each_step_is_the_tests() {
        let (pool, executor) = DrivenExecutor::pool();
        let node = executor.join(NodeSpec::new(2));
        let (run, array) = array(&pool, 2);
        let (first, second) = (node.begin().unwrap(), node.begin().unwrap());
        assert!(node.begin().is_none(), "it is full");
        assert_eq!(
            (first.job(), first.task(), first.number()),
            ("job", "array[0]", 1)
        );
        assert!(second.fail("no"));
        let again = node.begin().unwrap();
        assert_eq!((again.task(), again.number()), ("array[1]", 2));
        assert!(first.succeed());
        assert!(again.panic("boom"));
        let error = run.wait().unwrap_err();
        assert_eq!(error.panic().unwrap().message(), "boom");
        assert_eq!(*run.output(array.at(0)).wait().unwrap(), 0);
    }

    #[test]
    fn a_lost_node_takes_its_attempts_with_it() {
        let (pool, executor) = DrivenExecutor::pool();
        let (node, other) = (
            executor.join(NodeSpec::new(1)),
            executor.join(NodeSpec::new(1)),
        );
        let (run, _) = array(&pool, 1);
        let lost = node.begin().unwrap();
        node.lose();
        assert!(lost.is_cancelled());
        let again = other.begin().unwrap();
        assert_eq!(again.number(), 2);
        assert!(!lost.succeed(), "its outcome comes too late");
        assert!(again.take_away());
        assert!(other.begin().unwrap().run());
        run.wait().unwrap();
    }

    #[test]
    fn orders_are_seen() {
        let (pool, executor) = DrivenExecutor::pool();
        let node = executor.join(NodeSpec::new(2));
        let (run, _) = array(&pool, 2);
        let attempts = [node.begin().unwrap(), node.begin().unwrap()];
        pool.resize(5).unwrap();
        run.cancel();
        let stops = attempts.each_ref().map(|attempt| Order::Stop(attempt.id()));
        assert_eq!(
            executor.orders(),
            [vec![Order::Resize(5)], stops.to_vec()].concat()
        );
        assert!(attempts.into_iter().all(|attempt| !attempt.succeed()));
    }

    #[test]
    fn it_drives_a_pool_that_the_code_under_test_makes() {
        let executor = DrivenExecutor::new();
        let pool = Pool::new(executor.clone());
        let node = executor.join(NodeSpec::new(1));
        let (run, array) = array(&pool, 1);
        assert!(node.begin().unwrap().succeed());
        assert_eq!(*run.output(&array).wait().unwrap(), [0]);
        drop(node);
        assert!(pool.close(Close::Drain, HOUR).is_empty());
    }
}
