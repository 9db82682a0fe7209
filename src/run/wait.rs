//! Waiting for runs and for outputs.

use super::unknown_task;
use crate::engine::{self, forbids_waiting, in_a_body, waiting};
use crate::model::{Counts, Error, ErrorKind, Result, TaskId};
use crate::work::{Host, Output, OutputOf, Stored};
use event_listener::{EventListener, Listener};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// The end of a run: see [`Run::ended`](super::Run::ended).
pub struct Ended {
    run: Arc<engine::Run>,
    listener: Option<EventListener>,
}

impl Ended {
    pub(super) fn of(run: &Arc<engine::Run>) -> Self {
        let run = run.clone();
        Ended {
            run,
            listener: None,
        }
    }

    /// Blocks until the run has ended: see [`Run::wait`](super::Run::wait).
    ///
    /// # Errors
    /// As [`Run::wait`](super::Run::wait).
    pub fn wait(self) -> Result<Counts> {
        loop {
            if let Some(result) = self.result() {
                return result;
            }
            forbids_waiting(&self.run, None)?;
            waiting(|| block(&self.run, || listen_for_end(&self.run)))??;
        }
    }

    fn result(&self) -> Option<Result<Counts>> {
        let run = &self.run;
        match run.has_ended() {
            true if !run.may_tell_end() => untold(run, run.error()),
            true => Some(run.error().map_or_else(|| Ok(run.counts()), Err)),
            false => run.is_at_rest().then(|| Err(run.disabled_error())),
        }
    }
}

impl Future for Ended {
    type Output = Result<Counts>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        loop {
            let run = &this.run;
            match poll_listener(run, &mut this.listener, cx, || listen_for_end(run)) {
                Poll::Pending => return Poll::Pending,
                // Enabled again meanwhile, it is still to be waited for.
                Poll::Ready(()) => {
                    if let Some(result) = this.result() {
                        return Poll::Ready(result);
                    }
                }
            }
        }
    }
}

/// An output that may not be there yet: see [`Run::output`](super::Run::output).
pub struct Waiting<T: ?Sized + Stored> {
    run: Arc<engine::Run>,
    task: Option<TaskId>,
    place: T::Pinned,
    listener: Option<EventListener>,
}

impl<T: ?Sized + Stored> Waiting<T> {
    pub(crate) fn new(run: &Arc<engine::Run>, of: &impl OutputOf<Value = T>) -> Self {
        let known = |&task: &TaskId| run.tag_of_task(task) == Some(of.job());
        Waiting {
            run: run.clone(),
            task: of.task().filter(known),
            place: of.place(),
            listener: None,
        }
    }

    /// Blocks until the task has ended.
    ///
    /// In a task of the same pool, another thread takes the waiting one's place meanwhile.
    ///
    /// # Errors
    /// As [`Run::output`](super::Run::output); and [`WouldDeadlock`](ErrorKind::WouldDeadlock) in a task that this one depends on, or is.
    pub fn wait(self) -> Result<Output<T>> {
        let task = self.task.ok_or_else(|| unknown_task(&self.run))?;
        loop {
            if let Some(result) = self.result(task) {
                return result;
            }
            forbids_waiting(&self.run, Some(task))?;
            waiting(|| block(&self.run, || listen(&self.run, task)))??;
        }
    }

    fn result(&self, task: TaskId) -> Option<Result<Output<T>>> {
        match self.run.ended_state(task) {
            Some(_) if !self.run.may_tell(task) => untold(&self.run, None),
            Some(_) => Some(self.output(task)),
            None => self
                .run
                .is_at_rest()
                .then(|| Err(self.run.disabled_error())),
        }
    }

    fn output(&self, task: TaskId) -> Result<Output<T>> {
        if let Some(error) = self.run.task_error(task) {
            return Err(error);
        }
        // SAFETY: the task has ended and has no error, so it, or every element, has succeeded.
        let output = unsafe { Output::new(self.run.clone().storage_of(task), self.place) };
        output.ok_or_else(|| {
            Error::new(
                ErrorKind::OutputFreed,
                "was freed after its last dependent; mark the task with `keep()`",
            )
            .in_job(self.run.name())
            .of_task(self.run.label(task))
        })
    }
}

impl<T: ?Sized + Stored> Future for Waiting<T> {
    type Output = Result<Output<T>>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let Some(task) = this.task else {
            return Poll::Ready(Err(unknown_task(&this.run)));
        };
        loop {
            let run = &this.run;
            match poll_listener(run, &mut this.listener, cx, || listen(run, task)) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(()) => {
                    if let Some(result) = this.result(task) {
                        return Poll::Ready(result);
                    }
                }
            }
        }
    }
}

/// Listens for the end of a run, unless it has ended or is at rest.
fn listen_for_end(run: &engine::Run) -> Option<EventListener> {
    let listener = run.end_event().listen();
    match run.has_ended() {
        true => listen_for_telling(run, |run| run.may_tell_end()),
        false => (!run.is_at_rest()).then_some(listener),
    }
}

/// What has ended, and is not written down, is told to nobody: it will be, or it never is.
fn untold<T>(run: &engine::Run, error: Option<Error>) -> Option<Result<T>> {
    run.unwritten_for_good()
        .map(|why| Err(error.unwrap_or(why)))
}

/// Listens for something to be written down, unless it is, or never will be.
#[cfg(feature = "journal")]
fn listen_for_telling(
    run: &engine::Run,
    may_tell: impl Fn(&engine::Run) -> bool,
) -> Option<EventListener> {
    let durable = run.durable()?;
    let listener = durable.listen();
    (!may_tell(run) && run.unwritten_for_good().is_none()).then_some(listener)
}

#[cfg(not(feature = "journal"))]
fn listen_for_telling(_: &engine::Run, _: impl Fn(&engine::Run) -> bool) -> Option<EventListener> {
    None
}

/// Listens for the end of a task, unless it has ended or its run is at rest.
fn listen(run: &Arc<engine::Run>, task: TaskId) -> Option<EventListener> {
    let ends = run
        .engine()
        .with(|policy, effects| policy.watch(run, task, effects));
    ends.or_else(|| {
        run.ended_state(task)?;
        listen_for_telling(run, |run| run.may_tell(task))
    })
}

/// How often a waiter looks before it sleeps: a short run is over sooner than a thread wakes.
const LOOKS: u32 = 8;

/// Blocks until there is nothing to listen for. Fails if that can't come.
fn block(run: &engine::Run, mut listen: impl FnMut() -> Option<EventListener>) -> Result<()> {
    while let Some(mut listener) = listen() {
        if let Some(step) = run.engine().step() {
            step?;
            continue;
        }
        let notified = (0..LOOKS).any(|_| {
            (0..32).for_each(|_| std::hint::spin_loop());
            is_notified(&mut listener)
        });
        if !notified {
            listener.wait();
        }
    }
    Ok(())
}

fn is_notified(listener: &mut EventListener) -> bool {
    let mut cx = Context::from_waker(std::task::Waker::noop());
    Pin::new(listener).poll(&mut cx).is_ready()
}

fn poll_listener(
    run: &engine::Run,
    slot: &mut Option<EventListener>,
    cx: &mut Context<'_>,
    listen: impl Fn() -> Option<EventListener>,
) -> Poll<()> {
    loop {
        if slot.is_none() {
            *slot = listen();
        }
        let Some(listener) = slot else {
            return Poll::Ready(());
        };
        match Pin::new(listener).poll(cx) {
            Poll::Ready(()) => *slot = None,
            // Who waits inside a body leaves the stepping to whoever called the body.
            Poll::Pending if in_a_body() => return Poll::Pending,
            Poll::Pending => match run.engine().step() {
                Some(Ok(())) => {}
                _ => return Poll::Pending,
            },
        }
    }
}
