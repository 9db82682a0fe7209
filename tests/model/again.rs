//! Runs a plan, has what did not succeed run again until all of it has, and compares.

use super::plan::{Plan, What};
use super::trial::Trial;
use super::world::{Event, Value};
use batchyard::{Close, ErrorKind, Pool, Run, TaskState, ThreadExecutor};
use std::sync::atomic::Ordering::SeqCst;
use std::sync::mpsc::Receiver;
use std::time::Duration;

impl<V: Value> Trial<V> {
    /// Whatever is cancelled is reactivated at once. What has failed in the end is tried one by one, then mended.
    pub(crate) fn make_again(plan: Plan) {
        let (trial, job, send, events) = Trial::<V>::prepare(plan);
        let pool = Pool::new(ThreadExecutor::new(trial.plan.threads).expect("at least one"));
        let run = std::sync::Arc::new(pool.submit(&job).expect("accepted"));
        trial.watch(&run, send);
        trial.cancel_and_reactivate(&run, events);
        let _ = run.wait();
        trial.try_each_again(&run);
        trial.mend_and_run_all(&run);
        let stuck = pool.close(Close::Drain, Duration::from_secs(20));
        assert_eq!(stuck, [""; 0]);
        trial.check_values(&run);
        drop((run, pool));
        trial.check_living(0, "the run is gone");
    }

    fn cancel_and_reactivate(&self, run: &Run, events: Receiver<Event>) {
        let mut due = self.plan.cancels.clone();
        while let Ok(Event::Begun(begun, answer)) = events.recv() {
            for cancel in due.extract_if(.., |cancel| cancel.after == begun) {
                self.cancel(run, cancel.what);
                self.reactivate(run, cancel.what);
            }
            drop(answer);
        }
    }

    fn reactivate(&self, run: &Run, what: What) {
        let again = match what {
            What::Task(node, index) => run.reactivate(self.added[node].id(index)),
            What::Node(node) => run.reactivate(self.added[node].node_id()),
            What::Subtree(node, index) => run.reactivate_subtree(self.added[node].id(index)),
            What::Run => run.reactivate_all(),
        };
        let kind = again.err().map(|error| error.kind());
        assert!(kind.is_none_or(|kind| kind == ErrorKind::InvalidState));
    }

    /// Each attempt ends as the one before: what did not succeed doesn't, and the counts agree.
    fn try_each_again(&self, run: &Run) {
        for (node, index) in self.plan.tasks().take(12) {
            let before = self.states(run);
            let again = run.reactivate(self.added[node].id(index));
            let expected = match before[node][index] {
                TaskState::Failed => true,
                TaskState::Cancelled => self.dependencies_succeeded(&before, node, index),
                _ => false,
            };
            assert_eq!(
                again.is_ok(),
                expected,
                "{node}[{index}]: {again:?}, {before:?}"
            );
            let _ = run.wait();
            self.check_ends(run);
        }
    }

    fn mend_and_run_all(&self, run: &Run) {
        let before = self.states(run);
        let ran = |node: usize, index: usize| self.world.ran[node][index].load(SeqCst);
        let times: Vec<_> = self
            .plan
            .tasks()
            .map(|(node, index)| ran(node, index))
            .collect();
        let lost = before.iter().flatten();
        let lost = lost.filter(|state| **state != TaskState::Succeeded).count();
        self.world.mended.store(true, SeqCst);
        assert_eq!(run.reactivate_all().expect("open"), lost as u64);
        let counts = run.wait().expect("all succeed");
        assert_eq!(counts.succeeded, counts.total);
        for ((node, index), times) in self.plan.tasks().zip(times) {
            let again = u32::from(before[node][index] != TaskState::Succeeded);
            assert_eq!(
                ran(node, index),
                times + again,
                "{node}[{index}]: {before:?}"
            );
        }
    }

    /// With nothing going on: what is skipped depends on something that did not succeed, and nothing else is.
    fn check_ends(&self, run: &Run) {
        self.count_states(run);
        let states = self.states(run);
        for (node, index) in self.plan.tasks() {
            let may_run = self.dependencies_succeeded(&states, node, index);
            let state = states[node][index];
            let at = format!("{node}[{index}]: {states:?}");
            assert!(
                state != TaskState::Skipped || !may_run,
                "skipped for nothing: {at}"
            );
            let ran = matches!(state, TaskState::Succeeded | TaskState::Failed);
            assert!(!ran || may_run, "ran too early: {at}");
        }
    }
}
