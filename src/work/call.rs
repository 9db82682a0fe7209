//! What the engine passes to a body's unit: which task, whose values, and whether the outcome still counts.

use super::Context;
use super::context::Locals;
use super::values::Values;
use crate::model::{JobTag, Panic, ProgressReport, TaskId};
use crate::sync::atomic::{AtomicU32, Ordering};
use crate::sync::{Gate, Signal, Turnstile};
use std::any::Any;
use std::cell::Cell;
use std::sync::Arc;

/// A call of a task's body. Opaque: bodies see it as a [`Context`].
pub struct Call<'a> {
    pub(crate) host: &'a Arc<dyn Host>,
    pub(crate) values: &'a Values,
    /// The node's id, or the id of the array's first element.
    pub(crate) first: &'a AtomicU32,
    pub(crate) attempt: u32,
    pub(crate) instance: Instance,
    /// The GPUs that the attempt holds, if it holds any.
    pub(crate) gpus: Option<&'a Arc<[u32]>>,
    pub(crate) lane: Option<LanePass<'a>>,
    /// Who runs the body, if it is a command.
    #[cfg_attr(
        not(feature = "command"),
        expect(dead_code, reason = "there are no commands")
    )]
    pub(crate) launcher: Option<&'a dyn Launcher>,
    /// The next element to run, and the one after the last: see [`next_element`](Self::next_element).
    pub(crate) cursor: &'a AtomicU32,
    pub(crate) end: &'a Cell<u32>,
}

/// Which of the instances of a task that run at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Instance {
    pub(crate) index: u32,
    pub(crate) of: u32,
}

impl Instance {
    /// Of a task that has one.
    pub(crate) const ONLY: Instance = Instance { index: 0, of: 1 };
}

/// A lane's way through the gate of the run it works on.
pub(crate) struct LanePass<'a> {
    pub(crate) gate: &'a Gate,
    pub(crate) turnstile: &'a Turnstile,
    pub(crate) seen: Cell<Signal>,
    /// The engine wants the lane to give back what it has not begun.
    pub(crate) recalled: Cell<bool>,
    /// Somebody hears of what the lane does.
    pub(crate) observed: bool,
}

impl<'a> LanePass<'a> {
    /// `seen` was learnt under the engine's lock, with the work that the lane was given.
    pub(crate) fn new(
        gate: &'a Gate,
        turnstile: &'a Turnstile,
        seen: Signal,
        observed: bool,
    ) -> Self {
        LanePass {
            gate,
            turnstile,
            seen: Cell::new(seen),
            recalled: Cell::new(false),
            observed,
        }
    }
}

/// Who runs commands for bodies: the agent of the executor that runs the bodies.
pub(crate) trait Launcher {
    /// Runs a command to its end.
    #[cfg(feature = "command")]
    fn launch(&self, command: &crate::model::Command) -> crate::work::Launched;
}

/// The run a call belongs to, as bodies need it. The methods are the cold paths.
pub(crate) trait Host: Send + Sync {
    /// A lane found the gate's signal changed. Returns whether it is inside now, with the task, if one is at stake,
    /// still current.
    fn admit(&self, lane: &LanePass<'_>, task: Option<TaskId>) -> bool;

    /// For an attempt that is leased, not on a lane: says whether it is current; runs `put` then, for the instance whose
    /// output is the task's.
    fn commit(&self, task: TaskId, attempt: (u32, u32), put: &mut dyn FnMut()) -> bool;

    /// Whether the outcome will be thrown away: of the attempt that was leased, or of a lane's.
    fn is_cancelled(&self, task: TaskId, leased: Option<u32>) -> bool;

    /// A body says how far it is.
    fn report_progress(&self, task: TaskId, attempt: u32, report: ProgressReport);

    /// Saves what an attempt has come to, for the next. A host that is elsewhere may not be able to.
    #[cfg(feature = "journal")]
    fn save_checkpoint(&self, _: TaskId, _: Option<u32>, _: Vec<u8>) -> crate::model::Result<()> {
        let message = "checkpoints can't be saved on this executor";
        Err(crate::model::Error::new(
            crate::model::ErrorKind::Unsupported,
            message,
        ))
    }

    /// What was saved last.
    #[cfg(feature = "journal")]
    fn last_checkpoint(&self, _: TaskId) -> Option<Vec<u8>> {
        None
    }

    /// The job's name.
    fn job_name(&self) -> &str;

    /// The task's name, or a description.
    fn task_label(&self, task: TaskId) -> String;

    /// Worker-local state of this run.
    fn locals(&self) -> &Locals;

    /// What holds the task's output.
    fn storage_of(self: Arc<Self>, task: TaskId) -> Arc<dyn Storage>;

    /// Handles of what was described with the task have this tag.
    fn tag_of(&self, task: TaskId) -> JobTag;

    /// The run itself, for those who know what it is.
    fn any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync>;
}

/// What holds the outputs of tasks that were described together, and the run that they are of.
pub(crate) trait Storage: Send + Sync {
    fn values(&self) -> &Values;
}

impl Call<'_> {
    /// The element being run, or 0 for a single task.
    #[inline]
    pub(crate) fn index(&self) -> u32 {
        self.cursor.load(Ordering::Relaxed)
    }

    /// The task being run.
    #[inline]
    pub(crate) fn task(&self) -> TaskId {
        TaskId(self.first.load(Ordering::Relaxed) + self.index())
    }

    /// The element to run now, if one is left of the span this call was made for.
    #[inline]
    pub(crate) fn element(&self) -> Option<u32> {
        let index = self.index();
        (index < self.end.get()).then_some(index)
    }

    /// Goes on to the next element. The engine reads from the cursor what has been settled.
    #[inline]
    pub(crate) fn advance(&self) {
        self.cursor.store(self.index() + 1, Ordering::Relaxed);
    }

    /// Stores the output with `put` if this attempt still counts; on a lane, returns inside the gate.
    ///
    /// Without a lane the engine's lock is held around `put`.
    #[inline]
    pub(crate) fn commit<T>(&self, value: T, put: impl FnOnce(T) -> Option<T>) -> bool {
        match &self.lane {
            Some(lane) => {
                let inside = lane.gate.enter(lane.turnstile, lane.seen.get()) || self.readmit(lane);
                if inside {
                    // A lane's attempt is the first: it replaces nothing.
                    let replaced = put(value);
                    debug_assert!(replaced.is_none(), "a lane's attempt is a task's first");
                }
                inside
            }
            None => {
                let attempt = (self.attempt, self.instance.index);
                commit(self.host, self.task(), attempt, value, put)
            }
        }
    }

    /// After an interruption the span ends with this element: the engine may have ended some of those after it.
    #[cold]
    fn readmit(&self, lane: &LanePass<'_>) -> bool {
        if !self.opens_array() {
            self.end.set(self.index() + 1);
        }
        self.host.admit(lane, Some(self.task()))
    }

    /// Whether this call is for an array as a node, and not for a span of its elements.
    #[inline]
    pub(crate) fn opens_array(&self) -> bool {
        self.end.get() == 0
    }

    pub(crate) fn context(&self) -> Context {
        Context::new(
            self.host.clone(),
            self.task(),
            self.index(),
            self.attempt,
            self.instance,
            self.lane.is_none(),
            self.gpus.cloned(),
        )
    }
}

/// Stores the output of an attempt that is leased, if it still counts.
pub(crate) fn commit<T>(
    host: &Arc<dyn Host>,
    task: TaskId,
    attempt: (u32, u32),
    value: T,
    put: impl FnOnce(T) -> Option<T>,
) -> bool {
    let (mut once, mut replaced) = (Some((value, put)), None);
    let stored = host.commit(task, attempt, &mut || {
        if let Some((value, put)) = once.take() {
            replaced = put(value);
        }
    });
    // What another instance has put out, or one that no longer counts, is dropped as well.
    Panic::ignore(|| drop(once));
    Panic::ignore(|| drop(replaced));
    stored
}
