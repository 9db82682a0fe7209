//! A thread that minds one child: takes grants, has the child run them, and replaces it when it is dead or worn.

use super::batch::{Batch, not_begun, nothing};
use super::child::{Child, Heard, StartError};
use super::pace::{Kind, Pace};
use super::protocol::Said;
use super::staff::{Mailbox, Staff};
use crate::engine::{Effects, Policy};
use crate::executor::grant::{Grant, Started};
use crate::executor::{Lease, LeaseId, Outcome};
use crate::model::Returned;
use crate::work::AnyFunction;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};
use thiserror::Error;

/// After as long in one item, those behind it are given back, if another child has nothing to do.
const LONG: Duration = Duration::from_millis(20);

/// After as many children that died before they began anything, the task that they were started for fails.
const STILLBORN: u32 = 5;

pub(super) struct Minder {
    staff: Arc<Staff>,
    mailbox: Arc<Mailbox>,
    child: Option<Child>,
    batch: Batch,
    pace: Pace,
    /// Attempts that were begun and not yet sent.
    begun: VecDeque<Lease>,
    /// Those of one grant that are to stop. Some may not be sent yet.
    stopped: Vec<LeaseId>,
    /// How many children in a row have died before they began anything.
    stillborn: u32,
}

enum Next {
    Work(Grant),
    Leave,
}

/// The child is dead, or is to be.
struct Lost;

impl Minder {
    pub(super) fn new(staff: Arc<Staff>, mailbox: Arc<Mailbox>) -> Self {
        Minder {
            staff,
            mailbox,
            child: None,
            batch: Batch::default(),
            pace: Pace::default(),
            begun: VecDeque::new(),
            stopped: Vec::new(),
            stillborn: 0,
        }
    }

    /// Works until the pool is over or the staff is to shrink.
    pub(super) fn work(mut self) {
        while let Next::Work(grant) = self.staff.idly(|bell| bell.wait(|| self.next())) {
            self.serve(grant);
            while let Some(grant) = self.batch.take_next() {
                self.serve(grant);
            }
        }
        self.child.into_iter().for_each(Child::retire);
    }

    fn next(&self) -> Option<Next> {
        if self.staff.may_leave() {
            return Some(Next::Leave);
        }
        let work = self.staff.node.try_take(self.pace.guess()).map(Next::Work);
        work.or_else(|| self.staff.node.is_over().then_some(Next::Leave))
    }

    /// Begins as many of the grant's tasks as should travel together; what is not begun then goes back.
    fn serve(&mut self, mut grant: Grant) {
        // What came before is for attempts that are over.
        self.mailbox.take();
        self.stopped.clear();
        let mut begun = std::mem::take(&mut self.begun);
        grant.begin_some(1, &mut begun);
        if let Some(kind) = begun.front().and_then(kind_of) {
            let room = self.pace.room(kind).saturating_sub(1);
            grant.begin_some(room, &mut begun);
        }
        drop(grant);
        while let Some(lease) = begun.pop_front() {
            match lease.function() {
                None => self.run_here(lease),
                Some(function) => self.send(lease, function, &mut begun),
            }
        }
        self.begun = begun;
    }

    /// Runs a command. What is no function is one: nothing else is offered.
    fn run_here(&self, lease: Lease) {
        let launcher = self.staff.commands.of(&lease);
        let launcher = launcher.as_ref().map(|launcher| launcher as _);
        match lease.start(launcher) {
            Started::Ended(outcome) => lease.complete(outcome),
            Started::Later(_) => lease.complete(Outcome::Returned(Returned::NotBegun)),
        }
    }

    /// Has the child run the first, and with it as many of those after it as fit.
    fn send(
        &mut self,
        first: Lease,
        function: &'static dyn AnyFunction,
        others: &mut VecDeque<Lease>,
    ) {
        if self.stillborn >= STILLBORN {
            self.stillborn = 0;
            return first.complete(not_begun(Stillborn));
        }
        let child = match self
            .child
            .take()
            .map_or_else(|| self.staff.start_child(), Ok)
        {
            Ok(child) => self.child.insert(child),
            Err(StartError::Closed) => return first.complete(Outcome::Cancelled),
            Err(error) => return first.complete(not_begun(error)),
        };
        let kind = kind_of(&first);
        let room = self.staff.settings.room_of(child);
        let limit = self.staff.settings.frame_limit;
        let mut next = Some((first, function));
        self.batch.clear();
        while let Some((lease, function)) = next.take() {
            match child.place_of(function) {
                Ok(place) => self.batch.add(lease, place, limit),
                Err(unknown) => lease.complete(not_begun(unknown)),
            }
            if self.batch.len() >= room || self.batch.is_full() {
                break;
            }
            let function = others.front().and_then(Lease::function);
            next = function.and_then(|function| Some((others.pop_front()?, function)));
        }
        let begun = Instant::now();
        if self.batch.len() > 0 {
            self.run_batch();
        }
        if let Some(kind) = kind {
            self.pace.note(kind, self.batch.len(), begun.elapsed());
        }
    }

    fn run_batch(&mut self) {
        let Some(mut child) = self.child.take() else {
            return;
        };
        let frame = self.batch.finish(&child.board);
        self.batch.stop(&self.stopped, &child.board);
        let result = self.converse(&mut child, &frame);
        self.batch.give_back(frame);
        match result {
            Ok(()) => self.keep(child),
            Err(Lost) => self.bury(child),
        }
    }

    /// For the next batch, unless it has done enough.
    fn keep(&mut self, child: Child) {
        self.stillborn = 0;
        match self.staff.settings.is_worn(&child) {
            true => child.retire(),
            false => self.child = Some(child),
        }
    }

    /// Sends the batch, and listens until it is through.
    fn converse(&mut self, child: &mut Child, frame: &[u8]) -> Result<(), Lost> {
        let (staff, room) = (self.staff.clone(), self.pace.guess());
        let take_next = |policy: &mut Policy, effects: &mut Effects| {
            let wanted = !staff.has_too_many();
            wanted.then(|| staff.node.take_in(room, policy, effects))?
        };
        let mut sending = frame;
        let mut watch = Watch::default();
        child.served += self.batch.len() as u64;
        loop {
            let stop = Some(&self.mailbox.stop);
            match child.talk(&mut sending, stop, self.wait()) {
                Heard::Said(Said::Done { resident, written }, _) => {
                    self.batch.harvest(&child.board, &child.streams, &take_next);
                    child.streams.set_seen(written);
                    child.resident = resident;
                    // Of a sound child, nothing is left.
                    return (self.batch.left() == 0).then_some(()).ok_or(Lost);
                }
                Heard::Said(Said::Output { item }, record) => {
                    let (item, streams) = (item as usize, &child.streams);
                    self.batch.harvest(&child.board, streams, &nothing);
                    self.batch.take_record(item, &record, streams, &nothing);
                }
                Heard::Said(said, _) => self.batch.tell(said),
                Heard::Stop => {
                    self.stopped.extend(self.mailbox.take());
                    self.batch.stop(&self.stopped, &child.board);
                }
                Heard::Nothing => (),
                Heard::End => return Err(Lost),
            }
            self.look_after(child, &mut watch)?;
        }
    }

    /// For how long there is nothing to do by itself.
    fn wait(&self) -> Option<Duration> {
        (self.batch.left() > 1 || self.batch.is_stopping()).then_some(LONG)
    }

    /// Takes back what waits behind a long item; ends the child if it stays in one that was stopped.
    fn look_after(&mut self, child: &Child, watch: &mut Watch) -> Result<(), Lost> {
        let Some((item, since)) = watch.look(child.board.running()) else {
            return Ok(());
        };
        if self.batch.is_stopped(item) && since >= self.staff.settings.kill_grace {
            child.kill();
            return Err(Lost);
        }
        if self.batch.left() > 1 && since >= LONG && self.staff.has_idle() {
            self.batch.harvest(&child.board, &child.streams, &nothing);
            self.batch.take_back(&child.board);
        }
        Ok(())
    }

    /// The child is dead: the attempt that it was in is charged, and nobody else.
    fn bury(&mut self, child: Child) {
        self.batch.harvest(&child.board, &child.streams, &nothing);
        let running = child.board.running();
        if let Some(running) = running {
            self.batch
                .keep_printed(running..running + 1, &child.streams.rest());
        }
        let died = child.bury(self.staff.companions());
        self.batch.bury(running, || match &died {
            Some(died) => Outcome::Failed(died.clone().into()),
            None => Outcome::Returned(Returned::NodeLost),
        });
        self.stillborn = running.map_or(self.stillborn + 1, |_| 0);
    }
}

/// What takes as long.
fn kind_of(lease: &Lease) -> Option<Kind> {
    let address = std::ptr::from_ref(lease.function()?).cast::<()>() as usize;
    Some((lease.engine_run().seq(), address))
}

/// Whatever is sent to children, they die before they begin it.
#[derive(Debug, Error)]
#[error(
    "{STILLBORN} child processes in a row have died before they began a task; does something end them?"
)]
struct Stillborn;

/// Since when the child is in its item.
#[derive(Default)]
struct Watch(Option<(usize, Instant)>);

impl Watch {
    /// The item, and how long it has been seen there.
    fn look(&mut self, running: Option<usize>) -> Option<(usize, Duration)> {
        let (running, now) = (running?, Instant::now());
        match self.0 {
            Some((item, since)) if item == running => Some((item, now - since)),
            _ => {
                self.0 = Some((running, now));
                Some((running, Duration::ZERO))
            }
        }
    }
}
