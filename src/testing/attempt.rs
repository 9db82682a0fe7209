//! An attempt that has begun in a test pool, until it ends.

use super::faults::{Ending, Fate};
use super::trace::{Entry, Event};
use crate::engine::{self, Current, Run};
use crate::executor::{Lease, LeaseId, Node, Outcome, Started, finish};
use crate::model::{Result, TaskId};
use futures::future::BoxFuture;
use futures::task::{ArcWake, waker};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};
use std::time::Duration;

pub(super) struct Attempt {
    lease: Lease,
    /// The number of its node, and the node's name.
    pub(super) node: u64,
    pub(super) node_name: String,
    /// When it goes on.
    pub(super) due: Duration,
    does: Does,
}

/// What an attempt does when it goes on.
enum Does {
    Call,
    Wait(BoxFuture<'static, Outcome>, Arc<Woken>),
    End(Ending),
}

/// What came of it.
pub(super) enum Step {
    /// It waits, or is over.
    Wait(Attempt),
    Over(Attempt, Outcome),
    /// It takes its node with it.
    LosesNode(Attempt),
}

/// Set when a future is to be polled.
struct Woken(AtomicBool);

impl ArcWake for Woken {
    fn wake_by_ref(woken: &Arc<Self>) {
        woken.0.store(true, Ordering::SeqCst);
    }
}

impl Attempt {
    pub(super) fn new(
        lease: Lease,
        node: u64,
        node_name: String,
        now: Duration,
        fate: Fate,
    ) -> Self {
        Attempt {
            lease,
            node,
            node_name,
            due: now.saturating_add(fate.takes),
            does: fate.ending.map_or(Does::Call, Does::End),
        }
    }

    pub(super) fn id(&self) -> LeaseId {
        self.lease.id()
    }

    pub(super) fn label(&self) -> String {
        format!("{}/{}", self.lease.job_name(), self.lease.task_label())
    }

    /// Whether it can go on at this time.
    pub(super) fn is_due(&self, now: Duration) -> bool {
        self.due <= now
            && match &self.does {
                Does::Call => true,
                Does::Wait(_, woken) => woken.0.load(Ordering::SeqCst),
                Does::End(ending) => !matches!(ending, Ending::Never),
            }
    }

    /// When it goes on by itself, if it will later.
    pub(super) fn goes_on_at(&self, now: Duration) -> Option<Duration> {
        let hangs = matches!(self.does, Does::End(Ending::Never));
        (self.due > now && !hangs).then_some(self.due)
    }

    /// Why it doesn't go on by itself.
    pub(super) fn obstacle(&self) -> &'static str {
        match self.does {
            Does::Wait(..) => "waits for something outside the pool",
            _ => "hangs",
        }
    }

    /// Goes on: calls the body, polls its future, or does what the test said. `node` is where it runs.
    pub(super) fn go_on(mut self, node: Weak<Node>) -> Step {
        let desk = Desk {
            run: self.lease.the_run().clone(),
            task: self.lease.task_id(),
            node,
        };
        match self.does {
            Does::End(Ending::LoseNode) => {
                self.does = Does::Call;
                Step::LosesNode(self)
            }
            Does::End(ending) => {
                self.does = Does::Call;
                let outcome = ending.failure().map_or(Outcome::Cancelled, Outcome::Failed);
                Step::Over(self, outcome)
            }
            Does::Call => {
                let _entered = engine::enter(Rc::new(desk));
                match self.lease.start(None) {
                    Started::Ended(outcome) => Step::Over(self, outcome),
                    Started::Later(later) => {
                        let woken = Arc::new(Woken(AtomicBool::new(true)));
                        self.does = Does::Wait(Box::pin(finish(later)), woken);
                        Step::Wait(self)
                    }
                }
            }
            Does::Wait(mut future, woken) => {
                let _entered = engine::enter(Rc::new(desk));
                woken.0.store(false, Ordering::SeqCst);
                let polled = future
                    .as_mut()
                    .poll(&mut Context::from_waker(&waker(woken.clone())));
                self.does = Does::Call;
                match polled {
                    Poll::Ready(outcome) => Step::Over(self, outcome),
                    Poll::Pending => {
                        self.does = Does::Wait(future, woken);
                        Step::Wait(self)
                    }
                }
            }
        }
    }

    /// Reports how it ended; returns what is to be said of it. What no longer counts was stopped.
    pub(super) fn complete(self, outcome: Outcome, now: Duration) -> Entry {
        let event = match &outcome {
            _ if self.lease.is_cancelled() => Event::Stopped,
            Outcome::Succeeded => Event::Succeeded,
            Outcome::Failed(cause) => Event::Failed(cause.to_string()),
            Outcome::Cancelled | Outcome::Returned(_) => Event::Stopped,
        };
        let entry = self.entry(event, now);
        drop(self.does);
        self.lease.complete(outcome);
        entry
    }

    pub(super) fn entry(&self, event: Event, time: Duration) -> Entry {
        Entry {
            time,
            job: self.lease.job_name().to_owned(),
            task: self.lease.task_label(),
            attempt: self.lease.attempt(),
            node: self.node_name.clone(),
            event,
        }
    }
}

/// What a body may ask for while it runs.
struct Desk {
    run: Arc<Run>,
    task: TaskId,
    node: Weak<Node>,
}

impl Current for Desk {
    fn task(&self) -> Option<(Arc<Run>, TaskId)> {
        Some((self.run.clone(), self.task))
    }

    /// Its slot is lent to others, which run inside its wait.
    fn begin_waiting(&self) -> Result<()> {
        if let Some(node) = self.node.upgrade() {
            node.stand_in(true);
        }
        Ok(())
    }

    fn end_waiting(&self) {
        if let Some(node) = self.node.upgrade() {
            node.stand_in(false);
        }
    }
}
