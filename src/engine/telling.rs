//! Of what has happened, what may be told: of a run that has a journal, what is in it.

use super::Run;
#[cfg(feature = "journal")]
use super::{Durable, Report, policy::Time};
#[cfg(feature = "journal")]
use crate::model::ErrorKind;
use crate::model::{Error, TaskId};
#[cfg(feature = "journal")]
use std::sync::Arc;

#[cfg(feature = "journal")]
impl Run {
    /// Tasks that have not ended any more, since this was asked last: that they had is forgotten.
    pub(crate) fn take_again(&self) -> Vec<TaskId> {
        let mut ledger = self.ledger();
        let again = ledger.take_again();
        if let Some(durable) = self.durable.as_ref().filter(|_| !again.is_empty()) {
            let mut written = durable.written();
            for &task in &again {
                written.set(task, false);
                let node = self.locate(task).map(|place| place.task());
                node.into_iter().for_each(|node| written.set(node, false));
            }
        }
        again
    }

    /// What has changed since the last report, beside what tasks have ended.
    pub(crate) fn report(&self) -> Report {
        let now = self.engine.now();
        self.ask(|policy, _| policy.changes(self, now))
    }

    /// Ends the run, for a reason that is none of its own.
    pub(crate) fn stop(&self, cause: Error) {
        self.ask(|policy, effects| policy.cancel_run(self, cause, effects));
    }

    /// By the engine's clock.
    pub(crate) fn now(&self) -> Time {
        self.engine().now()
    }

    /// Events of the run are told up to this time, and later ones when that is; or all of them.
    pub(crate) fn tell_events(&self, until: Option<Time>) {
        let engine = self.engine();
        engine.chronicle().hold(self.seq(), until);
        engine.chronicle().call(|| engine.now());
    }

    /// Whether the end of a task may be told: it is written down, or need not be. An array fails with the first of its
    /// elements, before the others have ended.
    pub(crate) fn may_tell(&self, task: TaskId) -> bool {
        let Some(durable) = &self.durable else {
            return true;
        };
        let array = self
            .job()
            .array_of_node(task.0)
            .filter(|_| !task.is_element());
        let part = array.map(|array| &self.flow.first.job.arrays[array]);
        let ids = part.map_or(task.0..task.0 + 1, |part| part.ids(0..part.len));
        let ledger = self.ledger();
        // That it had ended before it was to run again says nothing of its next end.
        if ledger.is_to_run_again(&ids) {
            return false;
        }
        // An array without elements has nothing to be written down.
        if durable.has(task) || ids.is_empty() {
            return true;
        }
        let failed = ledger.failed_tasks();
        let mut failed = failed.filter(|failed| part.is_some() && ids.contains(&failed.0));
        failed.any(|task| durable.has(task))
    }

    /// Whether the end of the run may be told: the program's end is no end of the run, and isn't written down.
    pub(crate) fn may_tell_end(&self) -> bool {
        let written = |durable: &Arc<Durable>| durable.has_end() || durable.is_closed();
        let is_programs = || {
            let kind = self.ledger().ended_by.as_ref().map(Error::kind);
            kind.is_some_and(ErrorKind::ends_no_durable_run)
        };
        self.durable.as_ref().is_none_or(written) || is_programs()
    }

    /// Why nothing more is written down, and so told.
    pub(crate) fn unwritten_for_good(&self) -> Option<Error> {
        let durable = self.durable.as_ref()?;
        let closed = || durable.is_closed().then(|| self.closed_journal());
        durable.failure().cloned().or_else(closed)
    }

    fn closed_journal(&self) -> Error {
        let message = "its journal is closed, and this is not in it";
        Error::new(ErrorKind::Journal, message).in_job(self.name())
    }
}

/// There are no journals: everything may be told.
#[cfg(not(feature = "journal"))]
impl Run {
    pub(crate) fn may_tell(&self, _: TaskId) -> bool {
        true
    }

    pub(crate) fn may_tell_end(&self) -> bool {
        true
    }

    pub(crate) fn unwritten_for_good(&self) -> Option<Error> {
        None
    }
}
