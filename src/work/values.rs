//! The outputs of one run, in one allocation laid out when the job was built.
//!
//! This is the crate's unsafe file. Every function here that reads or writes a value relies on one promise, kept by
//! the engine: *a value is put by the holder of the task's current attempt, before any dependent begins; and it is
//! read only by dependents and by holders of a pin.* (It is put again only by a later attempt, when the one before was lost
//! between storing and reporting; nobody has read it then.) Jobs hand out [`Slot`]s and runs are made from jobs, so a slot
//! always fits the storage it is used with.
//!
//! A value whose type needs dropping is *owned*: a counter beside it says how many still want it. It is dropped when
//! the last dependent has succeeded, or with the run. Counters start at zero, which means "no value".
//!
//! A run to which tasks are added has several storages. What was added reads earlier outputs through *imports*: slots
//! behind all others, each of which stands for a slot of another storage of the same run. All storages live as long as the
//! run, and such a run keeps its outputs as long, so that readers through imports aren't counted.

use crate::model::Panic;
use crate::sync::atomic::{AtomicU32, Ordering};
use std::alloc::{Layout as Memory, alloc_zeroed, dealloc, handle_alloc_error};
use std::marker::PhantomData;
use std::mem::{align_of, needs_drop, size_of};
use std::ptr::NonNull;

/// Offsets are counted in these, so that a `u32` reaches 32 GiB.
const UNIT: usize = 8;

/// From here on, slots are imports. What is left for them are the last 512 MiB that offsets would reach.
const IMPORTS: u32 = 0xFC00_0000;

/// The most imports of one storage.
pub(crate) const MAX_IMPORTS: u32 = u32::MAX - IMPORTS;

/// A slot of another storage of the same run.
#[derive(Clone, Copy)]
struct Import {
    base: NonNull<u8>,
    at: u32,
}

/// Where a task's output lies, or the outputs of an array's elements, one after another.
pub(crate) struct Slot<T> {
    /// Of the first value, in [`UNIT`]s. An owned value's counters lie right before it.
    at: u32,
    value: PhantomData<fn() -> T>,
}

impl<T> Clone for Slot<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Slot<T> {}

impl<T> Slot<T> {
    const OWNED: bool = needs_drop::<T>();

    /// The slot of a task that will never run.
    pub(crate) fn nowhere() -> Self {
        Slot {
            at: 0,
            value: PhantomData,
        }
    }

    /// Makes the slot one of another storage's; `to` is given where it lies there, and says which [import](import) it is.
    pub(crate) fn relocate(&mut self, to: &mut dyn FnMut(u32) -> u32) {
        self.at = to(self.at);
    }

    #[inline]
    fn is_import(self) -> bool {
        self.at >= IMPORTS
    }

    fn value_offset(self, index: usize) -> usize {
        self.at as usize * UNIT + index * size_of::<T>()
    }

    fn counter_offset(self, index: usize, len: usize) -> usize {
        let counters = counters_size::<T>(len).unwrap_or_default(); // checked when it was laid out
        self.at as usize * UNIT - counters + index * size_of::<AtomicU32>()
    }
}

/// Where an import lies, for [`Slot::relocate`].
pub(crate) fn import(number: u32) -> u32 {
    IMPORTS + number
}

/// What the counters of `len` values take, padded so that the values after them are aligned.
fn counters_size<T>(len: usize) -> Option<usize> {
    len.checked_mul(size_of::<AtomicU32>())?
        .checked_next_multiple_of(align::<T>())
}

fn align<T>() -> usize {
    align_of::<T>().max(UNIT)
}

/// The storage a job's runs will need. Grows with the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    size: usize,
    align: usize,
}

impl Default for Layout {
    fn default() -> Self {
        Layout {
            size: 0,
            align: UNIT,
        }
    }
}

impl Layout {
    /// Room for `len` outputs of one node; `None` when a run would exceed 32 GiB.
    #[inline]
    pub(crate) fn add<T>(&mut self, len: usize) -> Option<Slot<T>> {
        if size_of::<T>() == 0 && !Slot::<T>::OWNED {
            return Some(Slot {
                at: 0,
                value: PhantomData,
            });
        }
        let counters = if Slot::<T>::OWNED {
            counters_size::<T>(len)?
        } else {
            0
        };
        let aligned = self.size.checked_next_multiple_of(align::<T>())?;
        let start = aligned.checked_add(counters)?;
        let values = size_of::<T>().checked_mul(len)?;
        let end = start.checked_add(values)?.checked_next_multiple_of(UNIT)?;
        let align = self.align.max(align::<T>());
        // What fits the limit has an address: a run can be given its storage.
        u32::try_from(end / UNIT)
            .ok()
            .filter(|&end| end < IMPORTS)?;
        Memory::from_size_align(end, align).ok()?;
        let at = (start / UNIT) as u32;
        *self = Layout { size: end, align };
        Some(Slot {
            at,
            value: PhantomData,
        })
    }
}

/// The storage of one run. Public only in name, since sealed traits mention it.
#[doc(hidden)]
pub struct Values {
    base: NonNull<u8>,
    memory: Option<Memory>,
    imports: Box<[Import]>,
    /// How many want each output beside its dependents: whoever writes it down.
    holders: u32,
}

// SAFETY: bodies' outputs are `Send + Sync` (a bound of `Body::Output`), and the module's promise orders every
// access: the engine's release of a task's success happens before its dependents begin.
unsafe impl Send for Values {}
// SAFETY: as above.
unsafe impl Sync for Values {}

impl Values {
    pub(crate) fn new(layout: Layout) -> Self {
        let memory = Memory::from_size_align(layout.size, layout.align)
            .ok()
            .filter(|memory| memory.size() > 0);
        let base = match memory {
            // SAFETY: the size is not zero.
            Some(memory) => NonNull::new(unsafe { alloc_zeroed(memory) })
                .unwrap_or_else(|| handle_alloc_error(memory)),
            None => NonNull::<u128>::dangling().cast(),
        };
        Values {
            base,
            memory,
            imports: Box::default(),
            holders: 0,
        }
    }

    /// Each output is also held for one who writes it down, and lets it go then.
    #[cfg(feature = "journal")]
    pub(crate) fn hold(&mut self) {
        self.holders = 1;
    }

    /// Storage that also reads others of the same run, each at an offset: its imports, in the order of their numbers.
    pub(crate) fn with_imports<'a>(
        layout: Layout,
        imports: impl IntoIterator<Item = (&'a Values, u32)>,
    ) -> Self {
        let import = |(values, at): (&Values, u32)| Import {
            base: values.base,
            at,
        };
        let mut values = Values::new(layout);
        values.imports = imports.into_iter().map(import).collect();
        values
    }

    #[inline]
    fn value<T>(&self, slot: Slot<T>, index: usize) -> *mut T {
        if size_of::<T>() == 0 {
            return NonNull::dangling().as_ptr();
        }
        if slot.is_import() {
            return self.imported(slot, index);
        }
        // SAFETY: the slot was laid out in this storage.
        unsafe { self.base.as_ptr().add(slot.value_offset(index)).cast() }
    }

    #[cold]
    fn imported<T>(&self, slot: Slot<T>, index: usize) -> *mut T {
        let Import { base, at } = self.imports[(slot.at - IMPORTS) as usize];
        let there = Slot::<T> {
            at,
            value: PhantomData,
        };
        // SAFETY: the slot was laid out in that storage, which lives as long as the run.
        unsafe { base.as_ptr().add(there.value_offset(index)).cast() }
    }

    fn counter<T>(&self, slot: Slot<T>, index: usize, len: usize) -> &AtomicU32 {
        // SAFETY: the slot was laid out in this storage with its counters before it; zeroed memory is a valid
        // atomic, and counters are never accessed as anything else.
        unsafe {
            &*self
                .base
                .as_ptr()
                .add(slot.counter_offset(index, len))
                .cast()
        }
    }

    /// Stores an output that `wanted` dependents will read, or pins hold (at least one). Returns the one that an earlier
    /// attempt left there, if it was cut off between storing and ending: to be dropped outside locks.
    ///
    /// # Safety
    /// The caller holds the only current attempt of the task, and nobody reads the value yet.
    #[inline]
    pub(crate) unsafe fn put<T>(
        &self,
        slot: Slot<T>,
        index: usize,
        len: usize,
        value: T,
        wanted: u32,
    ) -> Option<T> {
        let place = self.value(slot, index);
        if !Slot::<T>::OWNED {
            // SAFETY: within the storage; there is nothing to drop.
            unsafe { place.write(value) }
            return None;
        }
        let counter = self.counter(slot, index, len);
        let left = counter.swap(0, Ordering::Acquire) != 0;
        // SAFETY: the counter says whether there is a value, and by the contract nobody reads it.
        let left = left.then(|| unsafe { place.read() });
        // SAFETY: within the storage, and free.
        unsafe { place.write(value) }
        counter.store(wanted + self.holders, Ordering::Release);
        left
    }

    /// Reads an output.
    ///
    /// # Safety
    /// The task has succeeded, and the caller is a dependent that has not released it, or holds a pin.
    #[inline]
    pub(crate) unsafe fn get<T>(&self, slot: Slot<T>, index: usize) -> &T {
        // SAFETY: put before, by the contract, and not yet dropped.
        unsafe { &*self.value(slot, index) }
    }

    /// Reads the outputs of all `len` elements of an array.
    ///
    /// # Safety
    /// As for [`get`](Self::get), for every element.
    #[inline]
    pub(crate) unsafe fn slice<T>(&self, slot: Slot<T>, len: usize) -> &[T] {
        // SAFETY: the elements lie one after another, and each is there.
        unsafe { std::slice::from_raw_parts(self.value(slot, 0), len) }
    }

    /// Says that a dependent, or a pin, no longer needs the value. The last one drops it.
    ///
    /// # Safety
    /// The caller was counted in `wanted`, or holds a pin, and does not touch the value again.
    #[inline]
    pub(crate) unsafe fn release<T>(&self, slot: Slot<T>, index: usize, len: usize) {
        if Slot::<T>::OWNED
            && !slot.is_import()
            && self
                .counter(slot, index, len)
                .fetch_sub(1, Ordering::AcqRel)
                == 1
        {
            // SAFETY: it was the last that could reach the value.
            unsafe { drop_quietly(self.value(slot, index)) }
        }
    }

    /// Keeps a value from being dropped until it is released once more; `false` when it is already gone.
    pub(crate) fn pin<T>(&self, slot: Slot<T>, index: usize, len: usize) -> bool {
        let more = |count: u32| {
            if count == 0 {
                None
            } else {
                count.checked_add(1)
            }
        };
        !Slot::<T>::OWNED
            || self
                .counter(slot, index, len)
                .fetch_update(Ordering::AcqRel, Ordering::Relaxed, more)
                .is_ok()
    }

    /// Drops whatever of these `len` values is still there: the run is over.
    ///
    /// # Safety
    /// Nobody reads, puts or releases them any more.
    pub(crate) unsafe fn clear<T>(&self, slot: Slot<T>, len: usize) {
        for index in (0..len).filter(|_| Slot::<T>::OWNED) {
            if self.counter(slot, index, len).swap(0, Ordering::AcqRel) != 0 {
                // SAFETY: the counter said that there is a value, and nobody else reaches it.
                unsafe { drop_quietly(self.value(slot, index)) }
            }
        }
    }
}

impl Drop for Values {
    /// Frees the storage. The run [clears](Self::clear) owned values before.
    fn drop(&mut self) {
        if let Some(memory) = self.memory {
            // SAFETY: allocated with this layout in `new`.
            unsafe { dealloc(self.base.as_ptr(), memory) }
        }
    }
}

/// Drops a value. A panic of its `drop` is nobody's failure: the task that made it and those that read it succeeded.
///
/// # Safety
/// As for [`drop_in_place`](std::ptr::drop_in_place).
unsafe fn drop_quietly<T>(value: *mut T) {
    // SAFETY: the caller's.
    Panic::ignore(|| unsafe { value.drop_in_place() });
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn plain_values_lie_side_by_side_and_read_back() {
        let mut layout = Layout::default();
        let number: Slot<u64> = layout.add(1).expect("fits");
        let bytes: Slot<u8> = layout.add(3).expect("fits");
        let aligned: Slot<u128> = layout.add(2).expect("fits");
        let values = Values::new(layout);
        // SAFETY: each is put once before it is read, by this thread.
        unsafe {
            values.put(number, 0, 1, 7, 1);
            for i in 0..3 {
                values.put(bytes, i, 3, i as u8, 1);
            }
            values.put(aligned, 1, 2, u128::MAX, 1);
            assert_eq!(*values.get(number, 0), 7);
            assert_eq!(values.slice(bytes, 3), [0, 1, 2]);
            assert_eq!(*values.get(aligned, 1), u128::MAX);
        }
    }

    #[test]
    fn an_owned_value_is_dropped_by_the_last_that_releases_it() {
        let mut layout = Layout::default();
        let slot: Slot<Arc<()>> = layout.add(2).expect("fits");
        let values = Values::new(layout);
        let witness = Arc::new(());
        // SAFETY: put once; released as often as wanted and pinned.
        unsafe {
            values.put(slot, 1, 2, witness.clone(), 2);
            assert!(values.pin(slot, 1, 2));
            values.release(slot, 1, 2);
            values.release(slot, 1, 2);
            assert_eq!(Arc::strong_count(&witness), 2);
            values.release(slot, 1, 2);
        }
        assert_eq!(Arc::strong_count(&witness), 1);
        assert!(!values.pin(slot, 1, 2));
    }

    #[test]
    fn clearing_drops_what_is_left_and_only_that() {
        let mut layout = Layout::default();
        let slot: Slot<Arc<()>> = layout.add(3).expect("fits");
        let values = Values::new(layout);
        let witness = Arc::new(());
        // SAFETY: put once; cleared when nobody reads.
        unsafe {
            values.put(slot, 0, 3, witness.clone(), 1);
            values.put(slot, 2, 3, witness.clone(), 1);
            values.release(slot, 0, 3);
            values.clear(slot, 3);
        }
        assert_eq!(Arc::strong_count(&witness), 1);
    }

    #[test]
    fn values_without_size_take_no_room() {
        let mut layout = Layout::default();
        let _: Slot<()> = layout.add(1_000_000).expect("fits");
        assert_eq!(layout, Layout::default());
    }

    #[test]
    fn more_than_thirty_two_gibibytes_are_refused() {
        let mut layout = Layout::default();
        assert!(layout.add::<[u8; 1 << 30]>(31).is_some());
        assert!(layout.add::<[u8; 1 << 30]>(1).is_none());
        assert!(layout.add::<u8>(1).is_some());
    }
}
