//! Handles of tasks that are known by name.

use super::Job;
use crate::model::{Error, ErrorKind, Result, TaskId};
use crate::work::{Array, Handle, Slot, TaskRef};
use std::any::type_name;

impl Job {
    /// The handle of a task, by its name and the type of its output: for tasks that other code added, or that were read
    /// from a file.
    ///
    /// ```
    /// use batchyard::Job;
    ///
    /// let mut job = Job::new("names");
    /// job.task("answer", (), || 42u64);
    /// let answer = job.find::<u64>("answer")?;
    /// assert!(job.find::<String>("answer").is_err());
    /// # Ok::<(), batchyard::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`UnknownTask`](ErrorKind::UnknownTask) when no task has that name, when it is an array, or its output is of another
    /// type.
    pub fn find<T: 'static>(&self, name: &str) -> Result<Handle<T>> {
        let node = self.node_named(name)?;
        if self.array_of(node).is_some() {
            return Err(self.not_found(name, "is an array; look for it with `find_array`"));
        }
        Ok(Handle {
            job: self.tag,
            node: self.number(node),
            slot: self.slot_of(node, name)?,
        })
    }

    /// As [`find`](Job::find), for a task array.
    ///
    /// # Errors
    /// As [`find`](Job::find); also when it is a single task.
    pub fn find_array<T: 'static>(&self, name: &str) -> Result<Array<T>> {
        let node = self.node_named(name)?;
        let Some(array) = self.array_of(node) else {
            return Err(self.not_found(name, "is a single task; look for it with `find`"));
        };
        let part = &self.arrays[array as usize];
        Ok(Array {
            job: self.tag,
            node: self.number(node),
            slot: self.slot_of(node, name)?,
            first: part.first,
            len: part.len,
        })
    }

    /// As [`find`](Job::find), for a task or array of any output: enough to configure it, or to wait for it.
    ///
    /// # Errors
    /// [`UnknownTask`](ErrorKind::UnknownTask) when no task has that name.
    pub fn find_any(&self, name: &str) -> Result<TaskRef> {
        let task = TaskId(self.number(self.node_named(name)?));
        let job = self.tag;
        Ok(TaskRef { job, task })
    }

    fn node_named(&self, name: &str) -> Result<u32> {
        let node = self.names.get(name).copied();
        node.ok_or_else(|| self.not_found(name, "is no task of this job; is it spelt so?"))
    }

    fn slot_of<T: 'static>(&self, node: u32, name: &str) -> Result<Slot<T>> {
        let slot = self.units[node as usize].output().downcast_ref();
        slot.copied().ok_or_else(|| {
            let wanted = type_name::<T>();
            self.not_found(name, &format!("has no output of type `{wanted}`"))
        })
    }

    fn not_found(&self, name: &str, why: &str) -> Error {
        Error::new(ErrorKind::UnknownTask, why)
            .in_job(&self.name)
            .of_task(name)
    }
}
