//! Typed references to tasks: what `Job` hands out, and what dependencies and outputs are named by.

use super::values::Slot;
use crate::model::{ELEMENT, JobTag, TaskId};

/// A single task of a job, and the type of its output. Small and `Copy`; valid for every run of its job.
pub struct Handle<T> {
    pub(crate) job: JobTag,
    pub(crate) node: u32,
    pub(crate) slot: Slot<T>,
}

/// A task array of a job, and the type of each element's output. Small and `Copy`; valid for every run of its job.
pub struct Array<T> {
    pub(crate) job: JobTag,
    pub(crate) node: u32,
    pub(crate) slot: Slot<T>,
    pub(crate) first: u32,
    pub(crate) len: u32,
}

/// One element of a task array: see [`Array::at`].
pub struct Element<T> {
    pub(crate) array: Array<T>,
    pub(crate) index: u32,
}

/// Any task or whole task array of a job, without the type of its output. Handles convert into it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct TaskRef {
    pub(crate) job: JobTag,
    /// A node; or an element, of an array that is running.
    pub(crate) task: TaskId,
}

/// Which task of a run is meant: a handle, a whole array, an element, or a [`TaskId`] of the run's job.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Selector {
    /// Ids don't say which job they are of.
    pub(crate) job: Option<JobTag>,
    /// None for an index outside its array.
    pub(crate) task: Option<TaskId>,
}

impl<T> Handle<T> {
    /// The task's id.
    pub fn id(&self) -> TaskId {
        TaskId(self.node)
    }
}

impl<T> Array<T> {
    /// The id of the array as a whole.
    pub fn id(&self) -> TaskId {
        TaskId(self.node)
    }

    /// How many elements there are.
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// Whether there are none. Such an array succeeds at once.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The element at an index. One that is out of range is an
    /// [`UnknownTask`](crate::ErrorKind::UnknownTask) wherever it is used.
    pub fn at(&self, index: usize) -> Element<T> {
        Element {
            array: *self,
            index: u32::try_from(index).unwrap_or(u32::MAX),
        }
    }
}

impl<T> Element<T> {
    /// The task's id, if the index is in the array.
    pub fn id(&self) -> Option<TaskId> {
        (self.index < self.array.len).then(|| TaskId(ELEMENT | (self.array.first + self.index)))
    }
}

/// Handles are `Copy` whatever their output is; `derive` would ask for `T: Copy`.
macro_rules! plain_copy {
    ($($name:ident),*) => {$(
        impl<T> Clone for $name<T> {
            fn clone(&self) -> Self {
                *self
            }
        }

        impl<T> Copy for $name<T> {}
    )*};
}

pub(super) use plain_copy;

plain_copy!(Handle, Array, Element);

impl<T> std::fmt::Debug for Handle<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Handle({})", self.node)
    }
}

impl<T> std::fmt::Debug for Array<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Array({}, {} elements)", self.node, self.len)
    }
}

impl<T> std::fmt::Debug for Element<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "Element({}, {} of {})",
            self.array.node, self.index, self.array.len
        )
    }
}

macro_rules! references {
    ($($name:ident),*) => {$(
        impl<T> From<$name<T>> for TaskRef {
            fn from(handle: $name<T>) -> Self {
                TaskRef { job: handle.job, task: handle.id() }
            }
        }

        impl<T> From<&$name<T>> for TaskRef {
            fn from(handle: &$name<T>) -> Self {
                (*handle).into()
            }
        }

        impl<T> From<$name<T>> for Selector {
            fn from(handle: $name<T>) -> Self {
                Selector { job: Some(handle.job), task: Some(handle.id()) }
            }
        }

        impl<T> From<&$name<T>> for Selector {
            fn from(handle: &$name<T>) -> Self {
                (*handle).into()
            }
        }
    )*};
}

references!(Handle, Array);

impl<T> From<Element<T>> for Selector {
    fn from(element: Element<T>) -> Self {
        Selector {
            job: Some(element.array.job),
            task: element.id(),
        }
    }
}

impl From<TaskId> for Selector {
    fn from(task: TaskId) -> Self {
        Selector {
            job: None,
            task: Some(task),
        }
    }
}
