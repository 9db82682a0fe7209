//! The minders of one executor, and how many there should be.

use super::child::{Child, StartError};
use super::minder::Minder;
use super::settings::Settings;
use crate::agent::{Companions, Stop};
use crate::executor::commands::Commands;
use crate::executor::{Feed, LeaseId, Node, NodeSpec};
use crate::model::{Error, ErrorKind, Result};
use crate::sync::{Bell, lock};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread::JoinHandle;

/// Shared by the minders.
pub(super) struct Staff {
    pub(super) feed: Feed,
    pub(super) node: Node,
    pub(super) settings: Settings,
    pub(super) commands: Commands,
    /// Made with the first child.
    companions: OnceLock<Companions>,
    /// How many minders there should be, and how many there are.
    target: AtomicU32,
    present: AtomicU32,
    /// How many minders wait for work.
    idle: AtomicU32,
    minders: Mutex<Vec<(Arc<Mailbox>, JoinHandle<()>)>>,
}

/// Where a minder finds the orders to stop that came while it was with its child.
pub(super) struct Mailbox {
    pub(super) stop: Stop,
    orders: Mutex<Vec<LeaseId>>,
}

impl Staff {
    pub(super) fn new(feed: &Feed, node: NodeSpec, settings: Settings, commands: Commands) -> Self {
        Staff {
            feed: feed.clone(),
            node: feed.join(node),
            settings,
            commands,
            companions: OnceLock::new(),
            target: AtomicU32::new(0),
            present: AtomicU32::new(0),
            idle: AtomicU32::new(0),
            minders: Mutex::default(),
        }
    }

    /// Has its first minders.
    pub(super) fn start(self: &Arc<Self>, minders: u32) -> Result<()> {
        self.target.store(minders, Ordering::Relaxed);
        (0..minders).try_for_each(|_| self.start_minder())
    }

    /// Has so many minders from now on. Those too many leave, with their children, between two batches.
    pub(super) fn resize(self: &Arc<Self>, minders: u32) -> Result<()> {
        let minders = minders.max(1);
        let before = self.target.swap(minders, Ordering::Relaxed);
        self.node.resize(minders);
        self.feed.engine().bell().ring_all();
        (before..minders).try_for_each(|_| self.start_minder())
    }

    /// Waits for work.
    pub(super) fn idly<R>(&self, wait: impl FnOnce(&Bell) -> R) -> R {
        self.idle.fetch_add(1, Ordering::Relaxed);
        let result = wait(self.feed.engine().bell());
        self.idle.fetch_sub(1, Ordering::Relaxed);
        result
    }

    /// Whether a minder waits for work.
    pub(super) fn has_idle(&self) -> bool {
        self.idle.load(Ordering::Relaxed) > 0
    }

    /// Whether the calling minder is one too many; if so, it is no longer counted.
    pub(super) fn may_leave(&self) -> bool {
        let leave = |present| (present > self.target.load(Ordering::Relaxed)).then(|| present - 1);
        let left = self
            .present
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, leave);
        left.is_ok()
    }

    /// Whether a minder is to leave.
    pub(super) fn has_too_many(&self) -> bool {
        self.present.load(Ordering::Relaxed) > self.target.load(Ordering::Relaxed)
    }

    /// The attempt no longer counts: whoever has it stops it.
    pub(super) fn stop(&self, lease: LeaseId) {
        self.commands.stop(lease);
        let minders = lock(&self.minders);
        minders.iter().for_each(|(mailbox, _)| mailbox.put(lease));
    }

    /// Waits for every minder. What they still run has been stopped.
    pub(super) fn disband(&self) {
        loop {
            let Some((_, thread)) = lock(&self.minders).pop() else {
                return;
            };
            let _ = thread.join();
        }
    }

    pub(super) fn start_child(&self) -> Result<Child, StartError> {
        let is_wanted = || !self.node.is_over();
        Child::start(&self.settings, self.companions(), is_wanted)
    }

    pub(super) fn companions(&self) -> &Companions {
        self.companions.get_or_init(Companions::new)
    }

    fn start_minder(self: &Arc<Self>) -> Result<()> {
        let mailbox = Arc::new(Mailbox::new().map_err(|cause| no_minder().caused_by(cause))?);
        let number = self.present.fetch_add(1, Ordering::Relaxed);
        let minder = Minder::new(self.clone(), mailbox.clone());
        let thread = std::thread::Builder::new()
            .name(format!("batchyard-minder-{number}"))
            .spawn(move || minder.work())
            .map_err(|cause| {
                self.present.fetch_sub(1, Ordering::Relaxed);
                no_minder().caused_by(cause)
            })?;
        let mut minders = lock(&self.minders);
        minders.retain(|(_, thread)| !thread.is_finished());
        minders.push((mailbox, thread));
        Ok(())
    }
}

impl Mailbox {
    fn new() -> std::io::Result<Self> {
        Ok(Mailbox {
            stop: Stop::new()?,
            orders: Mutex::default(),
        })
    }

    fn put(&self, lease: LeaseId) {
        lock(&self.orders).push(lease);
        self.stop.request();
    }

    /// The orders that have come. What comes later makes itself heard anew.
    pub(super) fn take(&self) -> Vec<LeaseId> {
        self.stop.reset();
        std::mem::take(&mut *lock(&self.orders))
    }
}

fn no_minder() -> Error {
    let message = "can't start another thread for a child process; ask for fewer";
    Error::new(ErrorKind::Executor, message)
}
