//! Synchronisation that the engine is built from: the gate, its fence, and the atomics under them.
//!
//! Everything lock-free in the crate is written against [`atomic`], which is loom's under `--cfg loom`,
//! so that each protocol here is also a loom model.

mod bell;
mod fence;
mod gate;

pub(crate) use bell::Bell;
pub(crate) use fence::{heavy, light, prepare};
pub(crate) use gate::{Gate, Mark, SharedSignal, Signal, Turnstile};

#[cfg(not(loom))]
pub(crate) use std::sync::atomic;

#[cfg(loom)]
pub(crate) use loom::sync::atomic;

use std::sync::{Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// Locks a mutex whose data stays valid when a holder panics: no code of the user runs under our locks.
pub(crate) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// As [`lock`], for shared access.
pub(crate) fn read<T: ?Sized>(lock: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(PoisonError::into_inner)
}

/// As [`lock`], for exclusive access.
pub(crate) fn write<T: ?Sized>(lock: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    lock.write().unwrap_or_else(PoisonError::into_inner)
}
