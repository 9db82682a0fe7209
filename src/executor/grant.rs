//! What a node is given to do, and the attempts that are begun from it.

#[cfg(all(feature = "process", target_os = "linux"))]
use crate::engine::Ended;
#[cfg(any(feature = "codec", all(feature = "command", target_os = "linux")))]
use crate::engine::Run;
use crate::engine::{
    Begun, Charge, Effects, Item, LeaseKey, Outcome, Part, Place, Policy, Taken, TakenWork,
};
#[cfg(all(feature = "command", target_os = "linux"))]
use crate::job::Frozen;
use crate::model::{BoxError, Panic, Returned, TaskId};
use crate::sync::Signal;
use crate::sync::atomic::AtomicU32;
use crate::work::{Call, Host, Instance, Later, Launcher, Step, Unit};
use std::cell::Cell;
use std::collections::VecDeque;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Ready tasks of one run, charged to a node as one task at a time. Dropping it gives back what was not begun.
pub struct Grant {
    charge: Arc<Charge>,
    /// The run's signal when the grant was made: another one may mean that something more urgent waits.
    seen: Signal,
    items: VecDeque<Item>,
    tasks: VecDeque<TaskId>,
    /// A task that the policy started, until it is begun.
    queued: Option<Place>,
}

/// One attempt of a task, or one instance of it, begun. Dropping it without an outcome reports its node as lost.
pub struct Lease {
    charge: Arc<Charge>,
    task: TaskId,
    attempt: u32,
    instance: Instance,
    completed: bool,
}

/// Tells an attempt from all others of the pool.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct LeaseId(pub(super) LeaseKey);

impl Grant {
    pub(super) fn new(taken: Taken) -> Self {
        let signal = taken.charge.run().flow().gate.signal();
        let (items, queued, seen) = match taken.work {
            TakenWork::Shift(items, seen) | TakenWork::Tasks(items, seen) => {
                (items.into(), None, seen)
            }
            TakenWork::Queued(place) => (VecDeque::new(), Some(place), signal),
            // For lanes alone, which make no grants.
            TakenWork::Begun(_) => (VecDeque::new(), None, signal),
        };
        Grant {
            charge: taken.charge,
            seen,
            items,
            tasks: VecDeque::new(),
            queued,
        }
    }

    /// Begins the next task. `None` when the grant is used up, its run has ended, or the pool wants back what was not
    /// begun: something more urgent waits, or the node has shrunk. Drop the grant then.
    pub fn begin(&mut self) -> Option<Lease> {
        if self.is_recalled() {
            return None;
        }
        loop {
            let Some((task, queued, part)) = self.next() else {
                self.expand()?;
                continue;
            };
            let begun =
                self.charge.run().engine().with(|policy, effects| {
                    policy.begin_on(&self.charge, task, queued, part, effects)
                });
            if let Some(begun) = begun {
                return Some(Lease::new(self.charge.clone(), begun));
            }
        }
    }

    /// As [`begin`](Grant::begin), as often as that and at most so many times, in one transition: for executors that send
    /// attempts on together. A task that the policy started comes alone.
    #[cfg(all(feature = "process", target_os = "linux"))]
    pub(super) fn begin_some(&mut self, most: usize, to: &mut VecDeque<Lease>) {
        if self.queued.is_some() {
            return to.extend(self.begin());
        }
        if self.is_recalled() {
            return;
        }
        while self.tasks.len() < most && self.expand().is_some() {}
        let tasks = self.tasks.drain(..most.min(self.tasks.len()));
        let charge = &self.charge;
        charge.run().engine().with(|policy, effects| {
            for task in tasks {
                let begun = policy.begin_on(charge, task, false, None, effects);
                to.extend(begun.map(|begun| Lease::new(charge.clone(), begun)));
            }
        });
    }

    /// Half of what has not been begun, as a grant of its own for another worker of the node; `None` when there is
    /// nothing to halve, or no room for another worker.
    pub fn split(&mut self) -> Option<Grant> {
        while self.items.len() + self.tasks.len() < 2 && self.expand().is_some() {}
        let half = self.tasks.len() / 2;
        if half == 0 {
            return None;
        }
        let charge = self.charge.again()?;
        Some(Grant {
            charge,
            seen: self.seen,
            items: VecDeque::new(),
            tasks: self.tasks.split_off(self.tasks.len() - half),
            queued: None,
        })
    }

    /// As [`begin`](Grant::begin), but which of the plain tasks comes next is for `pick` to say: no order of theirs is
    /// promised.
    #[cfg(feature = "testing")]
    pub(crate) fn begin_any(&mut self, pick: impl FnOnce(usize) -> usize) -> Option<Lease> {
        while self.expand().is_some() {}
        if !self.tasks.is_empty() {
            let picked = pick(self.tasks.len());
            self.tasks.swap(0, picked);
        }
        self.begin()
    }

    /// Whether the pool wants back what was not begun. Once it has wanted that, it goes on to.
    fn is_recalled(&mut self) -> bool {
        // The others of a gang wait for this one.
        if self
            .queued
            .as_ref()
            .is_some_and(|place| place.part().is_some())
        {
            return false;
        }
        let run = self.charge.run();
        let signal = run.flow().gate.signal();
        if signal == self.seen {
            return false;
        }
        let recalled = run.engine().look(|policy| policy.wants_back(run));
        if !recalled {
            self.seen = signal;
        }
        recalled
    }

    /// The next task, whether the policy started it, and which of its instances it is.
    fn next(&mut self) -> Option<(TaskId, bool, Option<Part>)> {
        let queued = self.queued.take();
        let queued = queued.map(|place| (place.task(), true, place.part()));
        queued.or_else(|| Some((self.tasks.pop_front()?, false, None)))
    }

    /// The next item's tasks.
    fn expand(&mut self) -> Option<()> {
        let item = self.items.pop_front()?;
        let run = self.charge.run();
        self.tasks.extend(
            run.engine()
                .with(|policy, effects| policy.expand(run, item, effects)),
        );
        Some(())
    }
}

impl Drop for Grant {
    fn drop(&mut self) {
        let (items, tasks): (Vec<_>, Vec<_>) = (
            self.items.drain(..).collect(),
            self.tasks.drain(..).collect(),
        );
        let queued = self.queued.take();
        if !items.is_empty() || !tasks.is_empty() || queued.is_some() {
            let run = self.charge.run();
            run.engine().with(|policy, effects| {
                policy.give_back(run, items, effects);
                policy.give_back_tasks(run, tasks, effects);
                queued
                    .into_iter()
                    .for_each(|place| policy.give_back_place(run, &place, effects));
            });
        }
    }
}

impl Lease {
    pub(super) fn new(charge: Arc<Charge>, begun: Begun) -> Self {
        Lease {
            charge,
            task: begun.task,
            attempt: begun.attempt,
            instance: begun.part.map_or(Instance::ONLY, Instance::from),
            completed: false,
        }
    }

    #[cfg(feature = "thread")]
    pub(super) fn charge(&self) -> &Arc<Charge> {
        &self.charge
    }

    /// Tells this attempt from all others of the pool: what [`Order::Stop`](super::Order::Stop) names.
    pub fn id(&self) -> LeaseId {
        LeaseId(LeaseKey {
            run: self.charge.run().seq(),
            task: self.task,
            attempt: self.attempt,
            instance: self.instance.index,
        })
    }

    /// The task's id in its job.
    pub fn task_id(&self) -> TaskId {
        self.task
    }

    /// The task's name, or a description.
    pub fn task_label(&self) -> String {
        self.charge.run().label(self.task)
    }

    /// The job's name.
    pub fn job_name(&self) -> &str {
        self.charge.run().name()
    }

    /// Which attempt of the task it is, from 1.
    pub fn attempt(&self) -> u32 {
        self.attempt
    }

    /// Which of the task's [instances](crate::Resources::instances) it is, from 0.
    pub fn instance(&self) -> u32 {
        self.instance.index
    }

    /// How many instances the task has: 1, unless it asks for more.
    pub fn instances(&self) -> u32 {
        self.instance.of
    }

    /// The GPUs of the node that are the attempt's, by index.
    pub fn gpus(&self) -> Vec<u32> {
        self.charge
            .gpus()
            .map_or_else(Vec::new, |gpus| gpus.to_vec())
    }

    /// The element's index in its array, if it is one.
    #[cfg(all(feature = "command", target_os = "linux"))]
    pub(super) fn index(&self) -> Option<u32> {
        let (_, index) = self.part().locate(self.task)?;
        self.task.is_element().then_some(index)
    }

    /// The job, or the addition to it, that the task was described with.
    #[cfg(all(feature = "command", target_os = "linux"))]
    pub(super) fn part(&self) -> Arc<Frozen> {
        self.engine_run().job_of(self.task)
    }

    #[cfg(any(feature = "codec", all(feature = "command", target_os = "linux")))]
    pub(super) fn engine_run(&self) -> &Arc<Run> {
        self.charge.run()
    }

    /// Whether the outcome will be ignored: the task was cancelled.
    pub fn is_cancelled(&self) -> bool {
        let run = self.charge.run();
        !run.engine()
            .look(|policy| policy.is_current(run, self.task, self.attempt))
    }

    /// Runs the body on this thread to its end, and says how it ended. A body that waits blocks the thread; it runs in no
    /// async runtime but the one that the calling thread has entered.
    pub fn run(&self) -> Outcome {
        match self.start(None) {
            Started::Ended(outcome) => outcome,
            Started::Later(later) => futures::executor::block_on(finish(later)),
        }
    }

    /// In a transition: the attempt succeeded, and `put` stores its output. `false`, and nothing, if it no longer counts.
    #[cfg(all(feature = "process", target_os = "linux"))]
    pub(super) fn succeed(
        &mut self,
        policy: &mut Policy,
        effects: &mut Effects,
        put: impl FnOnce(),
    ) -> bool {
        let (run, attempt) = (self.charge.run(), (self.attempt, self.instance.index));
        if self.completed || !policy.may_store(run, self.task, attempt) {
            return false;
        }
        if self.instance.index == 0 {
            put();
        }
        self.completed = true;
        policy.complete(run, self.task, attempt, Ended::Succeeded, effects);
        policy.close_charge(&self.charge, effects);
        true
    }

    /// Reports how the attempt ended.
    pub fn complete(mut self, outcome: Outcome) {
        self.report(outcome, |_, _| ());
    }

    /// As [`complete`](Lease::complete), and in the same transition `then`, for which the attempt's share is free.
    #[cfg(any(feature = "thread", all(feature = "process", target_os = "linux")))]
    pub(super) fn complete_and<R>(
        mut self,
        outcome: Outcome,
        then: impl FnOnce(&mut Policy, &mut Effects) -> R,
    ) -> Option<R> {
        self.report(outcome, then)
    }

    #[cfg(feature = "testing")]
    pub(crate) fn the_run(&self) -> &Arc<crate::engine::Run> {
        self.charge.run()
    }

    /// Starts the body: one that waits goes on in the future that is returned, one that is a command is run by `launcher`.
    pub(crate) fn start(&self, launcher: Option<&dyn Launcher>) -> Started {
        let span = self.charge.run().attempt_span(self.task, self.attempt);
        let step = {
            let _inside = span.enter();
            catch_unwind(AssertUnwindSafe(|| {
                self.call(launcher, |unit, call| unit.call(call))
            }))
        };
        match step {
            Ok(Step::Later(later)) => Started::Later(span.around(later)),
            Ok(Step::Failed(cause)) => Started::Ended(Outcome::Failed(cause)),
            Ok(Step::Stale) => Started::Ended(Outcome::Cancelled),
            Ok(Step::Done { .. } | Step::Open | Step::Queue) => Started::Ended(Outcome::Succeeded),
            Err(panic) => Started::Ended(Outcome::Failed(Panic::from_payload(panic).into())),
        }
    }

    /// Calls the task's unit, in one way or another, for this attempt.
    pub(super) fn call(
        &self,
        launcher: Option<&dyn Launcher>,
        how: impl FnOnce(&dyn Unit, &Call<'_>) -> Step,
    ) -> Step {
        let run = self.charge.run();
        let Some(place) = run.locate(self.task) else {
            return Step::Stale;
        };
        let (segment, index) = (&*place.segment, place.index);
        let host: Arc<dyn Host> = run.clone();
        let end = Cell::new(if self.task.is_element() { index + 1 } else { 0 });
        let call = Call {
            host: &host,
            values: &segment.values,
            first: &AtomicU32::new(self.task.0 - index),
            attempt: self.attempt,
            instance: self.instance,
            gpus: self.charge.gpus(),
            lane: None,
            launcher,
            cursor: &AtomicU32::new(index),
            end: &end,
        };
        how(&*segment.job.units[place.node as usize], &call)
    }

    fn report<R>(
        &mut self,
        outcome: Outcome,
        then: impl FnOnce(&mut Policy, &mut Effects) -> R,
    ) -> Option<R> {
        if std::mem::replace(&mut self.completed, true) {
            return None;
        }
        let run = self.charge.run();
        let ended = run.with_settings(self.task, |settings| outcome.judged(settings));
        let mut ended = Some(ended);
        let (due, answer) = run.engine().with(|policy, effects| {
            // What no longer counts is the user's to drop, outside the lock.
            let current = policy.is_current(run, self.task, self.attempt);
            let due = match ended.take_if(|_| current) {
                Some(ended) => {
                    let attempt = (self.attempt, self.instance.index);
                    policy.complete(run, self.task, attempt, ended, effects);
                    Vec::new()
                }
                None => run.stray_returned(self.task),
            };
            policy.close_charge(&self.charge, effects);
            (due, then(policy, effects))
        });
        run.release_due(due);
        Panic::ignore(|| drop(ended));
        Some(answer)
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.report(Outcome::Returned(Returned::NodeLost), |_, _| ());
    }
}

/// A body that was started.
pub(crate) enum Started {
    Ended(Outcome),
    Later(Later),
}

/// Waits for a body to end. A panic is its failure.
pub(crate) async fn finish(later: Later) -> Outcome {
    use futures::FutureExt;
    match AssertUnwindSafe(later).catch_unwind().await {
        Ok(Ok(true)) => Outcome::Succeeded,
        Ok(Ok(false)) => Outcome::Cancelled,
        Ok(Err(cause)) => Outcome::Failed(cause),
        Err(panic) => Outcome::Failed(BoxError::from(Panic::from_payload(panic))),
    }
}

impl From<Part> for Instance {
    fn from(part: Part) -> Self {
        Instance {
            index: part.instance,
            of: part.instances,
        }
    }
}

impl fmt::Debug for Grant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Grant")
            .field("job", &self.charge.run().name())
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Lease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lease")
            .field("task", &self.task_label())
            .field("attempt", &self.attempt)
            .finish_non_exhaustive()
    }
}
