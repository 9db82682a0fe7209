//! What this thread is running, so that a body that waits for another task neither deadlocks nor wastes its slot.

use super::Run;
use crate::model::{Error, ErrorKind, Result, TaskId};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

/// A worker of some executor, as seen from a body that it runs.
pub(crate) trait Current {
    /// The task being run.
    fn task(&self) -> Option<(Arc<Run>, TaskId)>;
    /// The body is about to wait: what the worker holds is given up, and someone takes its place.
    fn begin_waiting(&self) -> Result<()>;
    /// The body goes on.
    fn end_waiting(&self);
}

thread_local! {
    static CURRENT: RefCell<Option<Rc<dyn Current>>> = const { RefCell::new(None) };
}

/// Makes a worker known to the bodies that this thread will run, until the guard is dropped.
pub(crate) fn enter(worker: Rc<dyn Current>) -> Entered {
    Entered(CURRENT.replace(Some(worker)))
}

/// Who was the thread's worker before, and is again: one may work inside another's body that waits.
pub(crate) struct Entered(Option<Rc<dyn Current>>);

impl Drop for Entered {
    fn drop(&mut self) {
        CURRENT.set(self.0.take());
    }
}

/// Refuses to wait, in a task, for a task or run that can't end before it.
pub(crate) fn forbids_waiting(run: &Run, awaited: Option<TaskId>) -> Result<()> {
    let Some((own, task)) = current().and_then(|worker| worker.task()) else {
        return Ok(());
    };
    if !std::ptr::eq(&*own, run) || !own.depends(awaited, task) {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::WouldDeadlock,
        "waits for a task or run that can't end before itself; return instead",
    )
    .in_job(run.name())
    .of_task(own.label(task)))
}

/// Waits in `wait`. If this thread runs a body, others go on in its place meanwhile.
pub(crate) fn waiting<R>(wait: impl FnOnce() -> R) -> Result<R> {
    let guard = match current() {
        Some(worker) => {
            worker.begin_waiting()?;
            Some(Waiting(worker))
        }
        None => None,
    };
    let result = wait();
    drop(guard);
    Ok(result)
}

/// A body that waits. Also when `wait` panics, the worker hears that it is over.
pub(crate) struct Waiting(Rc<dyn Current>);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.end_waiting();
    }
}

/// Whether this thread runs a body.
pub(crate) fn in_a_body() -> bool {
    current().is_some()
}

fn current() -> Option<Rc<dyn Current>> {
    // `try_with`: a value may be dropped, and wait, while the thread's locals are destroyed.
    CURRENT
        .try_with(|current| current.borrow().clone())
        .ok()
        .flatten()
}
