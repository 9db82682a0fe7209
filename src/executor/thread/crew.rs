//! The threads of an executor, and how many there should be.

use super::wait::{Runtime, WaitingBodies};
use super::worker::Worker;
use crate::executor::commands::Commands;
use crate::executor::{Feed, LeaseId, Node, NodeSpec};
use crate::model::{Error, ErrorKind, Result};
use crate::sync::lock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

/// More threads than this are not started for bodies that wait for others.
const MAX_STAND_INS: u32 = 512;

/// The workers of one executor. Shared by them.
pub(super) struct Crew {
    pub(super) feed: Feed,
    pub(super) node: Node,
    pub(super) waiting: WaitingBodies,
    pub(super) commands: Commands,
    /// How many slots there are: changed by orders alone, which come one after another.
    size: AtomicU32,
    /// How many threads there should be, and how many there are, those that stand in counted.
    target: AtomicU32,
    present: AtomicU32,
    stand_ins: AtomicU32,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl Crew {
    pub(super) fn new(feed: &Feed, node: NodeSpec, runtime: Runtime, commands: Commands) -> Self {
        Crew {
            feed: feed.clone(),
            node: feed.join(node),
            waiting: WaitingBodies::new(runtime),
            commands,
            size: AtomicU32::new(0),
            target: AtomicU32::new(0),
            present: AtomicU32::new(0),
            stand_ins: AtomicU32::new(0),
            threads: Mutex::default(),
        }
    }

    /// Has its first threads.
    pub(super) fn start(self: &Arc<Self>, threads: u32) -> Result<()> {
        self.size.store(threads, Ordering::Relaxed);
        self.grow(threads)
    }

    /// Adds threads.
    fn grow(self: &Arc<Self>, more: u32) -> Result<()> {
        self.target.fetch_add(more, Ordering::Relaxed);
        (0..more).try_for_each(|_| self.start_thread())
    }

    /// Has so many threads from now on. Those too many leave between two tasks.
    pub(super) fn resize(self: &Arc<Self>, threads: u32) -> Result<()> {
        let threads = threads.max(1);
        let before = self.size.swap(threads, Ordering::Relaxed);
        self.node.resize(threads);
        if threads >= before {
            return self.grow(threads - before);
        }
        self.target.fetch_sub(before - threads, Ordering::Relaxed);
        self.feed.engine().bell().ring_all();
        Ok(())
    }

    /// A body waits: another thread takes its worker's place.
    pub(super) fn begin_stand_in(self: &Arc<Self>) -> Result<()> {
        if self.stand_ins.fetch_add(1, Ordering::Relaxed) >= MAX_STAND_INS {
            self.stand_ins.fetch_sub(1, Ordering::Relaxed);
            return Err(too_many_waiting());
        }
        self.node.stand_in(true);
        self.grow(1).inspect_err(|_| self.end_stand_in())
    }

    /// The body goes on: one thread is too many, and leaves when it is between two tasks.
    pub(super) fn end_stand_in(&self) {
        self.stand_ins.fetch_sub(1, Ordering::Relaxed);
        self.target.fetch_sub(1, Ordering::Relaxed);
        self.node.stand_in(false);
        self.feed.engine().bell().ring_all();
    }

    /// Whether the calling worker is one too many; if so, it is no longer counted.
    pub(super) fn may_leave(&self) -> bool {
        let leave = |present| (present > self.target.load(Ordering::Relaxed)).then(|| present - 1);
        self.present
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, leave)
            .is_ok()
    }

    /// Whether some worker is one too many.
    pub(super) fn has_too_many(&self) -> bool {
        self.present.load(Ordering::Relaxed) > self.target.load(Ordering::Relaxed)
    }

    /// The attempt no longer counts. Threads can't be interrupted; futures and commands can.
    pub(super) fn stop(&self, lease: LeaseId) {
        self.commands.stop(lease);
        self.waiting.stop(lease);
    }

    /// Waits for every thread that is not stuck in a body. The pool gives up on those that are.
    pub(super) fn disband(&self) {
        loop {
            let Some(thread) = lock(&self.threads).pop() else {
                break;
            };
            let _ = thread.join();
        }
        self.waiting.shut_down();
    }

    fn start_thread(self: &Arc<Self>) -> Result<()> {
        let number = self.present.fetch_add(1, Ordering::Relaxed);
        let crew = self.clone();
        let thread = std::thread::Builder::new()
            .name(format!("batchyard-{number}"))
            .spawn(move || Worker::new(crew).work())
            .map_err(|cause| {
                self.present.fetch_sub(1, Ordering::Relaxed);
                Error::new(
                    ErrorKind::Executor,
                    "can't start another thread; ask for fewer",
                )
                .caused_by(cause)
            })?;
        let mut threads = lock(&self.threads);
        threads.retain(|thread| !thread.is_finished());
        threads.push(thread);
        Ok(())
    }
}

fn too_many_waiting() -> Error {
    let message = format!(
        "{MAX_STAND_INS} bodies already wait for other tasks; name these as inputs instead"
    );
    Error::new(ErrorKind::WouldDeadlock, message)
}
