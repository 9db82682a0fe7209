//! Runs a plan, and compares.

use super::build::{Added, build};
use super::ends::Ends;
use super::plan::{Cancel, Fate, Input, Plan, What};
use super::world::{Event, Planned, Value, World};
use batchyard::{
    Close, Counts, ErrorKind, FailurePolicy, FrozenJob, Pool, Run, TaskState, ThreadExecutor,
};
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

/// A plan being run, and what it must come to.
pub(crate) struct Trial<V> {
    pub(crate) plan: Plan,
    pub(crate) world: Arc<World>,
    pub(crate) added: Vec<Added<V>>,
    ends: Ends,
}

impl<V: Value> Trial<V> {
    pub(crate) fn make(plan: Plan) {
        let (trial, job, send, events) = Trial::<V>::prepare(plan);
        let pool = Pool::new(ThreadExecutor::new(trial.plan.threads).expect("at least one"));
        let run = Arc::new(pool.submit(&job).expect("accepted"));
        trial.watch(&run, send);
        let cancelled = trial.carry_out(&run, events);
        trial.check_counts(&run, cancelled);
        trial.check_tasks(&run);
        let stuck = pool.close(Close::Drain, Duration::from_secs(20));
        assert_eq!(stuck, [""; 0]);
        trial.check_values(&run);
        drop((run, pool));
        trial.check_living(0, "the run is gone");
    }

    pub(crate) fn prepare(plan: Plan) -> (Self, FrozenJob, Sender<Event>, Receiver<Event>) {
        let (send, events) = channel();
        let world = Arc::new(World::new(&plan, send.clone()));
        let (job, added) = build::<V>(&world);
        let ends = Ends::of(&plan);
        let trial = Trial {
            plan,
            world,
            added,
            ends,
        };
        (trial, job, send, events)
    }

    pub(crate) fn watch(&self, run: &Arc<Run>, events: Sender<Event>) {
        let ended = run.ended();
        std::thread::spawn(move || {
            let _ = ended.wait();
            let _ = events.send(Event::Ended);
        });
    }

    /// Cancels what is due when it is due, until the run has ended; nobody is held after that. Returns how many tasks were said to be cancelled,
    /// or `None` if the whole run was.
    fn carry_out(&self, run: &Run, events: Receiver<Event>) -> Option<u64> {
        let mut cancelled = Some(0);
        let mut due: Vec<Cancel> = self.plan.cancels.clone();
        while let Ok(Event::Begun(begun, answer)) = events.recv() {
            for cancel in due.extract_if(.., |cancel| cancel.after == begun) {
                let more = self.cancel(run, cancel.what);
                cancelled = cancelled.zip(more).map(|(before, more)| before + more);
            }
            drop(answer);
        }
        cancelled
    }

    pub(crate) fn cancel(&self, run: &Run, what: What) -> Option<u64> {
        let count = match what {
            What::Task(node, index) => run.cancel_task(self.added[node].id(index)),
            What::Node(node) => match self.added[node] {
                Added::Single(handle) => run.cancel_task(handle),
                Added::Array(array) => run.cancel_task(array),
            },
            What::Subtree(node, index) => run.cancel_subtree(self.added[node].id(index)),
            What::Run => {
                run.cancel();
                return None;
            }
        };
        Some(count.expect("a task of the job"))
    }

    pub(crate) fn states(&self, run: &Run) -> Vec<Vec<TaskState>> {
        let state = |node: usize, index| {
            run.state(self.added[node].id(index))
                .expect("a task of the job")
        };
        let indexes = |node: usize| 0..self.plan.nodes[node].len.unwrap_or(1);
        (0..self.added.len())
            .map(|node| indexes(node).map(|index| state(node, index)).collect())
            .collect()
    }

    fn ends_early(&self) -> bool {
        let failures = self.ends.counts().failed;
        self.plan.is_cancelled_by_someone()
            || match self.plan.policy {
                FailurePolicy::FailFast => failures > 0,
                FailurePolicy::MaxFailures(most) => failures > most,
                _ => false,
            }
    }

    fn check_counts(&self, run: &Run, cancelled: Option<u64>) {
        assert!(run.has_ended());
        let counts = self.count_states(run);
        if !self.ends_early() {
            assert_eq!(counts, self.ends.counts());
        }
        if self.plan.policy == FailurePolicy::Continue
            && let Some(cancelled) = cancelled
        {
            assert_eq!(counts.cancelled, cancelled, "as many as cancelling said");
        }
    }

    /// The counts are those of the tasks' states.
    pub(crate) fn count_states(&self, run: &Run) -> Counts {
        let counts = run.counts();
        let states: Vec<_> = self.states(run).into_iter().flatten().collect();
        let count = |sought| states.iter().filter(|state| **state == sought).count() as u64;
        assert_eq!(counts.total, states.len() as u64);
        assert_eq!(counts.unfinished(), 0, "{counts:?} {states:?}");
        assert_eq!(
            counts.succeeded,
            count(TaskState::Succeeded),
            "{counts:?} {states:?}"
        );
        assert_eq!(
            counts.failed,
            count(TaskState::Failed),
            "{counts:?} {states:?}"
        );
        assert_eq!(
            counts.skipped,
            count(TaskState::Skipped),
            "{counts:?} {states:?}"
        );
        assert_eq!(
            counts.cancelled,
            count(TaskState::Cancelled),
            "{counts:?} {states:?}"
        );
        assert_eq!(run.failures().len() as u64, counts.failed);
        counts
    }

    fn check_tasks(&self, run: &Run) {
        let states = self.states(run);
        for (node, index) in self.plan.tasks() {
            let (state, expected) = (states[node][index], self.ends.states[node][index]);
            let at = format!(
                "task {node}[{index}]: {state}, without cancellation {expected}; {states:?}"
            );
            let ran = self.world.ran[node][index].load(SeqCst);
            match state {
                TaskState::Succeeded | TaskState::Failed => assert_eq!(ran, 1, "{at}"),
                TaskState::Skipped => assert_eq!(ran, 0, "{at}"),
                TaskState::Cancelled => assert!(ran <= 1, "{at}"),
                _ => panic!("has not ended: {at}"),
            }
            if !self.ends_early() || matches!(state, TaskState::Succeeded | TaskState::Failed) {
                assert_eq!(state, expected, "{at}");
            }
            let may_run = self.dependencies_succeeded(&states, node, index);
            assert!(
                ran == 0 || may_run,
                "ran although a dependency had not succeeded: {at}"
            );
            assert!(
                state != TaskState::Skipped || !may_run,
                "skipped for nothing: {at}"
            );
            self.check_error(run, node, index, state);
        }
    }

    /// For empty arrays, which have no state of their own here, what they depend on counts.
    pub(crate) fn dependencies_succeeded(
        &self,
        states: &[Vec<TaskState>],
        node: usize,
        index: usize,
    ) -> bool {
        let whole = |before: usize| self.node_succeeded(states, before);
        let same = |input: &Input| match *input {
            Input::Same(before) => states[before][index] == TaskState::Succeeded,
            _ => true,
        };
        self.plan.whole_dependencies(node).all(whole)
            && self.plan.nodes[node].inputs.iter().all(same)
    }

    fn node_succeeded(&self, states: &[Vec<TaskState>], node: usize) -> bool {
        match self.plan.nodes[node].len {
            // Itself may have been cancelled, which nobody sees but its dependents.
            Some(0) => self
                .plan
                .whole_dependencies(node)
                .all(|before| self.node_succeeded(states, before)),
            _ => states[node]
                .iter()
                .all(|state| *state == TaskState::Succeeded),
        }
    }

    fn check_error(&self, run: &Run, node: usize, index: usize, state: TaskState) {
        let error = match self.added[node] {
            Added::Single(handle) => run.output(&handle).wait().map(drop),
            Added::Array(array) => run.output(array.at(index)).wait().map(drop),
        };
        let kind = error.as_ref().err().map(|error| error.kind());
        match state {
            TaskState::Failed => {
                assert_eq!(kind, Some(ErrorKind::TaskFailed));
                let error = error.expect_err("failed");
                let panicked = self.plan.nodes[node].fates[index] == Fate::Panics;
                assert_eq!(error.panic().is_some(), panicked);
                assert_eq!(error.cause::<Planned>().is_some(), !panicked);
            }
            TaskState::Skipped => assert_eq!(kind, Some(ErrorKind::TaskSkipped)),
            TaskState::Cancelled => assert_eq!(kind, Some(ErrorKind::Cancelled)),
            _ => assert!(kind.is_none_or(|kind| kind == ErrorKind::OutputFreed)),
        }
    }

    /// With no worker left: which outputs are there, and that they are right.
    pub(crate) fn check_values(&self, run: &Run) {
        let states = self.states(run);
        for (node, index) in self.plan.tasks() {
            if states[node][index] != TaskState::Succeeded {
                continue;
            }
            let value = match self.added[node] {
                Added::Single(handle) => run.output(&handle).wait().map(|value| value.number()),
                Added::Array(array) => run
                    .output(array.at(index))
                    .wait()
                    .map(|value| value.number()),
            };
            match value {
                Ok(number) => assert_eq!(number, self.ends.values[node][index]),
                Err(_) => assert!(
                    self.may_be_freed(&states, node, index),
                    "{node}[{index}] was freed too early"
                ),
            }
        }
        if std::mem::needs_drop::<V>() {
            let at_most = self
                .plan
                .tasks()
                .filter(|&(node, index)| !self.must_be_freed(&states, node, index))
                .count();
            self.check_living(at_most, &format!("{states:?}"));
        }
    }

    /// At most so many values are alive. The thread that was the last to hold the run, or a body that was cancelled, may
    /// still be on its way out, and no one joins it.
    pub(crate) fn check_living(&self, at_most: usize, when: &str) {
        let patience = Instant::now() + Duration::from_secs(10);
        let living = || self.world.living.load(SeqCst);
        while living() > at_most as i64 && Instant::now() < patience {
            std::thread::yield_now();
        }
        assert!(
            (0..=at_most as i64).contains(&living()),
            "{} of at most {at_most} values live: {when}",
            living()
        );
    }

    fn readers(&self, node: usize) -> impl Iterator<Item = (usize, Input)> + '_ {
        let nodes = self.plan.nodes.iter().enumerate();
        nodes.flat_map(move |(reader, plan)| {
            plan.inputs
                .iter()
                .filter(move |input| input.node() == node)
                .map(move |input| (reader, *input))
        })
    }

    /// Whether everyone who reads a value has succeeded.
    fn may_be_freed(&self, states: &[Vec<TaskState>], node: usize, index: usize) -> bool {
        let through = |(reader, input): (usize, Input)| match input {
            Input::Same(_) => states[reader][index] == TaskState::Succeeded,
            _ => states[reader]
                .iter()
                .all(|state| *state == TaskState::Succeeded),
        };
        !self.plan.keep.contains(&node)
            && self.readers(node).count() > 0
            && self.readers(node).all(through)
    }

    /// As well; but an empty array is a reader that may not have come to it before the run was over.
    fn must_be_freed(&self, states: &[Vec<TaskState>], node: usize, index: usize) -> bool {
        let empty = |(reader, _): (usize, Input)| states[reader].is_empty();
        // A body that waits may have put its output by when it was cancelled: that goes with the run.
        let put = self.plan.nodes[node].waits && states[node][index] == TaskState::Cancelled;
        states[node][index] != TaskState::Succeeded && !put
            || self.may_be_freed(states, node, index) && !self.readers(node).any(empty)
    }
}
