//! What tasks save for their next attempts.

use super::Run;
use crate::model::{Error, ErrorKind, Result, TaskId};
use crate::sync::lock;
use std::collections::HashMap;
use std::sync::MutexGuard;

/// What the tasks of a run have saved.
#[derive(Default)]
pub(crate) struct Checkpoints {
    /// The last of each task.
    pub(crate) last: HashMap<TaskId, Vec<u8>>,
    /// Those that have not been written down.
    pub(crate) new: Vec<TaskId>,
}

impl Run {
    pub(crate) fn checkpoints(&self) -> MutexGuard<'_, Checkpoints> {
        lock(&self.checkpoints)
    }

    /// Saves what an attempt has come to, unless it no longer counts.
    pub(super) fn save_checkpoint(
        &self,
        task: TaskId,
        is_over: bool,
        bytes: Vec<u8>,
    ) -> Result<()> {
        if is_over {
            let over = Error::new(ErrorKind::Cancelled, "this attempt no longer counts");
            return Err(over.in_job(self.name()).of_task(self.label(task)));
        }
        let mut checkpoints = self.checkpoints();
        checkpoints.last.insert(task, bytes);
        checkpoints.new.push(task);
        Ok(())
    }
}
