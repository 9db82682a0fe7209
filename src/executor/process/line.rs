//! The child's end of the line to its parent, and what its bodies see of it.

use super::board::Board;
use super::frames;
use super::protocol::Said;
use crate::model::{JobTag, Panic, ProgressReport, TaskId};
use crate::sync::lock;
use crate::work::{Host, LanePass, Layout, Locals, Storage, Values, encode};
use std::any::Any;
use std::io::{self, Write};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// How often an item's progress is told at most.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(20);

/// Shared by the child's loop and all bodies.
pub(super) struct Line {
    pub(super) board: Board,
    to: Mutex<UnixStream>,
    current: Mutex<Current>,
}

/// The item that the child is in.
#[derive(Default)]
pub(super) struct Current {
    pub(super) item: u32,
    pub(super) task: u32,
    pub(super) attempt: u32,
    pub(super) index: u32,
    /// What the task, or its array, is called.
    pub(super) name: Arc<str>,
    /// When its progress was told last.
    told: Option<Instant>,
}

impl Line {
    pub(super) fn new(board: Board, to: UnixStream) -> Self {
        Line {
            board,
            to: Mutex::new(to),
            current: Mutex::default(),
        }
    }

    /// Sends a message, and what follows it.
    pub(super) fn say(&self, said: &Said, more: &[u8]) -> io::Result<()> {
        let mut frame = Vec::with_capacity(64);
        frames::begin(&mut frame);
        encode(said, &mut frame).map_err(io::Error::other)?;
        frames::end_with(&mut frame, more.len());
        let mut to = lock(&self.to);
        to.write_all(&frame)?;
        to.write_all(more)
    }

    pub(super) fn current(&self) -> MutexGuard<'_, Current> {
        lock(&self.current)
    }

    /// The item, if the child is in this attempt.
    fn item_of(&self, task: TaskId, attempt: u32) -> Option<u32> {
        let current = self.current();
        current.is(task, attempt).then_some(current.item)
    }

    /// The item, if it is time to tell how far it is.
    fn item_to_tell(&self, task: TaskId, attempt: u32, fraction: f64) -> Option<u32> {
        let (mut current, now) = (self.current(), Instant::now());
        let due = current
            .told
            .is_none_or(|told| now - told >= PROGRESS_INTERVAL);
        if !current.is(task, attempt) || !(due || fraction >= 1.0) {
            return None;
        }
        current.told = Some(now);
        Some(current.item)
    }
}

impl Current {
    /// The child goes on to another item.
    pub(super) fn enter(&mut self, item: u32, task: u32, attempt: u32, index: u32) {
        (self.item, self.task, self.attempt) = (item, task, attempt);
        (self.index, self.told) = (index, None);
    }

    fn is(&self, task: TaskId, attempt: u32) -> bool {
        (self.task, self.attempt) == (task.0, attempt)
    }

    fn label(&self) -> String {
        match TaskId(self.task) {
            task if task.is_element() => format!("{}[{}]", self.name, self.index),
            task if self.name.is_empty() => task.to_string(),
            _ => self.name.to_string(),
        }
    }
}

/// A run, as bodies in a child see it.
pub(super) struct RunHere {
    pub(super) line: Arc<Line>,
    pub(super) job: String,
    pub(super) locals: Locals,
    /// There are none: outputs go to the parent.
    pub(super) values: Values,
    /// Of no job: there are no handles here.
    tag: JobTag,
}

impl RunHere {
    pub(super) fn new(line: &Arc<Line>, job: &str) -> Self {
        RunHere {
            line: line.clone(),
            job: job.to_owned(),
            locals: Locals::default(),
            values: Values::new(Layout::default()),
            tag: JobTag::unique(),
        }
    }
}

impl Drop for RunHere {
    fn drop(&mut self) {
        Panic::ignore(|| self.locals.clear());
    }
}

impl Host for RunHere {
    /// There are no lanes here.
    fn admit(&self, _: &LanePass<'_>, _: Option<TaskId>) -> bool {
        false
    }

    /// Outputs are stored by the parent.
    fn commit(&self, _: TaskId, _: (u32, u32), _: &mut dyn FnMut()) -> bool {
        false
    }

    /// An attempt that the child is no longer in is over.
    fn is_cancelled(&self, task: TaskId, leased: Option<u32>) -> bool {
        let item = self.line.item_of(task, leased.unwrap_or_default());
        item.is_none_or(|item| self.line.board.is_cancelled(item))
    }

    /// A parent that does not hear it is gone, and the child with it.
    fn report_progress(&self, task: TaskId, attempt: u32, report: ProgressReport) {
        let ProgressReport { fraction, message } = report;
        if let Some(item) = self.line.item_to_tell(task, attempt, fraction) {
            let said = Said::Progress {
                item,
                fraction,
                message,
            };
            let _ = self.line.say(&said, &[]);
        }
    }

    fn job_name(&self) -> &str {
        &self.job
    }

    fn task_label(&self, task: TaskId) -> String {
        let current = self.line.current();
        match current.task == task.0 {
            true => current.label(),
            false => task.to_string(),
        }
    }

    fn locals(&self) -> &Locals {
        &self.locals
    }

    fn storage_of(self: Arc<Self>, _: TaskId) -> Arc<dyn Storage> {
        self
    }

    fn tag_of(&self, _: TaskId) -> JobTag {
        self.tag
    }

    fn any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync> {
        self
    }
}

impl Storage for RunHere {
    fn values(&self) -> &Values {
        &self.values
    }
}
