//! Outputs of a run, as its user reads them.

use super::call::Storage;
use super::handles::{Array, Element, Handle, plain_copy};
use super::values::{Slot, Values};
use crate::model::{ELEMENT, JobTag, TaskId};
use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::Arc;

/// An output, or the outputs of an array as a slice. Keeps the value, and the run's storage, for as long as it lives.
pub struct Output<T: ?Sized + Stored> {
    storage: Arc<dyn Storage>,
    place: T::Pinned,
    value: PhantomData<fn() -> Box<T>>,
}

/// What outputs can be read of: `&Handle<T>`, `&Array<T>` (as a slice), or an [`Element`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no output to read",
    note = "pass `&handle`, `&array` or `array.at(index)`"
)]
pub trait OutputOf: sealed::Sealed {
    /// What is read.
    type Value: ?Sized + Stored;
    #[doc(hidden)]
    fn job(&self) -> JobTag;
    /// The task, or the array's node; `None` for an index outside its array.
    #[doc(hidden)]
    fn task(&self) -> Option<TaskId>;
    #[doc(hidden)]
    fn place(&self) -> <Self::Value as Stored>::Pinned;
}

/// A type that outputs have, or a slice of such.
#[doc(hidden)]
pub trait Stored: 'static {
    type Pinned: Pinned<Value = Self>;
}

/// Where a value lies that can be kept from being dropped.
#[doc(hidden)]
pub trait Pinned: Copy + Unpin + Send + Sync + 'static {
    type Value: ?Sized;

    /// False when the value is gone.
    fn pin(&self, values: &Values) -> bool;

    /// # Safety
    /// It is pinned, and the tasks have succeeded.
    unsafe fn get<'v>(&self, values: &'v Values) -> &'v Self::Value;

    /// # Safety
    /// It was pinned, and is not used any more.
    unsafe fn unpin(&self, values: &Values);
}

#[doc(hidden)]
pub struct PinnedOne<T>(Slot<T>, u32, u32);

#[doc(hidden)]
pub struct PinnedAll<T>(Slot<T>, u32);

plain_copy!(PinnedOne, PinnedAll);

impl<T: ?Sized + Stored> Output<T> {
    /// Pins the output of tasks that have succeeded; `None` when it has been freed.
    ///
    /// # Safety
    /// The task, or every element, has succeeded in the run that `storage` is of.
    pub(crate) unsafe fn new(storage: Arc<dyn Storage>, place: T::Pinned) -> Option<Self> {
        place.pin(storage.values()).then(|| Output {
            storage,
            place,
            value: PhantomData,
        })
    }
}

impl<T: ?Sized + Stored> Deref for Output<T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: pinned in `new`, whose caller vouched for the success.
        unsafe { self.place.get(self.storage.values()) }
    }
}

impl<T: ?Sized + Stored> Drop for Output<T> {
    fn drop(&mut self) {
        // SAFETY: pinned in `new`.
        unsafe { self.place.unpin(self.storage.values()) }
    }
}

impl<T: ?Sized + Stored> AsRef<T> for Output<T> {
    fn as_ref(&self) -> &T {
        self
    }
}

impl<T: ?Sized + Stored + fmt::Debug> fmt::Debug for Output<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + Stored + fmt::Display> fmt::Display for Output<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: Send + Sync + 'static> Stored for T {
    type Pinned = PinnedOne<T>;
}

impl<T: Send + Sync + 'static> Stored for [T] {
    type Pinned = PinnedAll<T>;
}

impl<T: Send + Sync + 'static> Pinned for PinnedOne<T> {
    type Value = T;

    fn pin(&self, values: &Values) -> bool {
        values.pin(self.0, self.1 as usize, self.2 as usize)
    }

    unsafe fn get<'v>(&self, values: &'v Values) -> &'v T {
        // SAFETY: the caller's.
        unsafe { values.get(self.0, self.1 as usize) }
    }

    unsafe fn unpin(&self, values: &Values) {
        // SAFETY: the caller's.
        unsafe { values.release(self.0, self.1 as usize, self.2 as usize) }
    }
}

impl<T: Send + Sync + 'static> Pinned for PinnedAll<T> {
    type Value = [T];

    fn pin(&self, values: &Values) -> bool {
        let one = |index| PinnedOne(self.0, index, self.1);
        let missing = (0..self.1).find(|&index| !one(index).pin(values));
        // SAFETY: those before the missing one were pinned just now.
        let undo = |end| (0..end).for_each(|index| unsafe { one(index).unpin(values) });
        missing.map(undo).is_none()
    }

    unsafe fn get<'v>(&self, values: &'v Values) -> &'v [T] {
        // SAFETY: the caller's.
        unsafe { values.slice(self.0, self.1 as usize) }
    }

    unsafe fn unpin(&self, values: &Values) {
        for index in 0..self.1 {
            // SAFETY: the caller's.
            unsafe { PinnedOne(self.0, index, self.1).unpin(values) }
        }
    }
}

impl<T: Send + Sync + 'static> OutputOf for &Handle<T> {
    type Value = T;

    fn job(&self) -> JobTag {
        self.job
    }

    fn task(&self) -> Option<TaskId> {
        Some(self.id())
    }

    fn place(&self) -> PinnedOne<T> {
        PinnedOne(self.slot, 0, 1)
    }
}

impl<T: Send + Sync + 'static> OutputOf for &Array<T> {
    type Value = [T];

    fn job(&self) -> JobTag {
        self.job
    }

    fn task(&self) -> Option<TaskId> {
        Some(TaskId(self.node))
    }

    fn place(&self) -> PinnedAll<T> {
        PinnedAll(self.slot, self.len)
    }
}

impl<T: Send + Sync + 'static> OutputOf for Element<T> {
    type Value = T;

    fn job(&self) -> JobTag {
        self.array.job
    }

    fn task(&self) -> Option<TaskId> {
        let array = &self.array;
        (self.index < array.len).then(|| TaskId(ELEMENT | (array.first + self.index)))
    }

    fn place(&self) -> PinnedOne<T> {
        PinnedOne(self.array.slot, self.index, self.array.len)
    }
}

mod sealed {
    use super::{Array, Element, Handle};

    #[allow(
        unreachable_pub,
        reason = "a sealed trait must be nameable in the signatures of those it seals"
    )]
    pub trait Sealed {}
    impl<T> Sealed for &Handle<T> {}
    impl<T> Sealed for &Array<T> {}
    impl<T> Sealed for Element<T> {}
}
