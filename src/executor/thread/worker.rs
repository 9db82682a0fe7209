//! One thread of the executor.

use super::crew::Crew;
use crate::engine::{self, Charge, Current, Lane, Log, Run, Taken, TakenWork};
use crate::executor::grant::{Lease, Started};
use crate::model::{Result, TaskId};
use crate::sync::Signal;
use crate::work::Host;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

pub(super) struct Worker {
    crew: Arc<Crew>,
    desk: Rc<Desk>,
}

/// What the bodies on this thread may ask for, through [`Current`].
struct Desk {
    crew: Arc<Crew>,
    lane: Lane,
    /// What the lane writes down, while somebody listens.
    log: Arc<Log>,
    /// What the thread is working on, and the task if it is not a lane's.
    charge: RefCell<Option<(Arc<Charge>, Option<TaskId>)>>,
}

enum Next {
    Work(Taken),
    Leave,
}

impl Worker {
    pub(super) fn new(crew: Arc<Crew>) -> Self {
        let desk = Desk {
            crew: crew.clone(),
            lane: Lane::new(),
            log: Arc::default(),
            charge: RefCell::new(None),
        };
        Worker {
            crew,
            desk: Rc::new(desk),
        }
    }

    /// Works until the pool is over or the crew is to shrink.
    pub(super) fn work(self) {
        let _entered = engine::enter(self.desk.clone());
        while let Next::Work(taken) = self.crew.feed.engine().bell().wait(|| self.next()) {
            let mut next = Some(taken);
            while let Some(taken) = next {
                next = self.work_on(taken);
            }
        }
    }

    /// Returns what comes next, if that is known already.
    fn work_on(&self, taken: Taken) -> Option<Taken> {
        match taken.work {
            TakenWork::Begun(begun) => return self.run(Lease::new(taken.charge, begun)),
            TakenWork::Shift(items, seen) => self.shift(taken.charge, items, seen),
            // Lanes are given no others, but for one that was over before it could be begun.
            TakenWork::Tasks(..) | TakenWork::Queued(_) => {}
        }
        None
    }

    fn next(&self) -> Option<Next> {
        if self.crew.may_leave() {
            return Some(Next::Leave);
        }
        let node = &self.crew.node;
        let engine = self.crew.feed.engine();
        let taken = engine.with(|policy, effects| node.take_for_lane(policy, effects));
        let taken = taken.map(Next::Work);
        taken.or_else(|| self.crew.node.is_over().then_some(Next::Leave))
    }

    /// Works on a run as one of its lanes. Nothing of the run is held afterwards.
    fn shift(&self, charge: Arc<Charge>, items: Vec<engine::Item>, seen: Signal) {
        let run = charge.run().clone();
        let host: Arc<dyn Host> = run.clone();
        charge.set_lane(self.desk.lane.shared());
        let scribe = run.scribe(&self.desk.log, &charge);
        self.desk.charge.replace(Some((charge, None)));
        self.desk.lane.work(
            run.flow(),
            &host,
            &*run,
            run.engine().bell(),
            (items, seen),
            scribe,
        );
        self.desk.charge.replace(None);
    }

    /// Runs a task that the policy started. Its end and the start of the next are one transition, unless the worker is one
    /// too many.
    fn run(&self, lease: Lease) -> Option<Taken> {
        let at_work = (lease.charge().clone(), Some(lease.task_id()));
        self.desk.charge.replace(Some(at_work));
        let launcher = self.crew.commands.of(&lease);
        let started = lease.start(launcher.as_ref().map(|launcher| launcher as _));
        self.desk.charge.replace(None);
        match started {
            Started::Ended(outcome) if self.crew.has_too_many() => lease.complete(outcome),
            Started::Ended(outcome) => {
                let node = &self.crew.node;
                let next = |policy: &mut _, effects: &mut _| node.take_for_lane(policy, effects);
                return lease.complete_and(outcome, next).flatten();
            }
            Started::Later(later) => self.crew.waiting.go_on(lease, later),
        }
        None
    }
}

impl Current for Desk {
    fn task(&self) -> Option<(Arc<Run>, TaskId)> {
        let charge = self.charge.borrow();
        let (charge, task) = charge.as_ref()?;
        Some((
            charge.run().clone(),
            task.unwrap_or_else(|| self.lane.shared().task()),
        ))
    }

    fn begin_waiting(&self) -> Result<()> {
        if self.task().is_some() {
            self.lane.publish();
        }
        self.crew.begin_stand_in()
    }

    fn end_waiting(&self) {
        self.crew.end_stand_in();
    }
}
