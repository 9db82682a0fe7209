//! Bodies that wait: futures, on tokio.

use crate::executor::grant::finish;
use crate::executor::{Lease, LeaseId, Outcome};
use crate::sync::lock;
use crate::work::Later;
use futures::future::{AbortHandle, Abortable};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock};
use tokio::runtime::RuntimeFlavor;

/// Where futures run: a runtime that was there already and has threads of its own, or one of ours once it is needed.
///
/// A current-thread runtime is not used: its futures go on only while its one thread polls them, and that thread may
/// be the one that waits for them in [`Run::wait`](crate::Run::wait).
#[derive(Clone, Debug)]
pub(super) struct Runtime(Option<tokio::runtime::Handle>);

/// The futures that have not ended.
pub(super) struct WaitingBodies {
    runtime: Runtime,
    own: OnceLock<std::io::Result<tokio::runtime::Runtime>>,
    handles: Arc<Mutex<HashMap<LeaseId, AbortHandle>>>,
}

impl Runtime {
    /// The multi-thread runtime of the calling thread, if it is in one.
    pub(super) fn here() -> Self {
        let here = tokio::runtime::Handle::try_current().ok();
        Runtime(here.filter(|handle| handle.runtime_flavor() == RuntimeFlavor::MultiThread))
    }
}

impl WaitingBodies {
    pub(super) fn new(runtime: Runtime) -> Self {
        WaitingBodies {
            runtime,
            own: OnceLock::new(),
            handles: Arc::default(),
        }
    }

    /// Lets a body go on by itself, and completes its lease when it ends.
    pub(super) fn go_on(&self, lease: Lease, later: Later) {
        let runtime = match self.runtime() {
            Ok(runtime) => runtime,
            Err(cause) => return lease.complete(Outcome::Failed(cause.into())),
        };
        let (handle, registration) = AbortHandle::new_pair();
        let (id, handles) = (lease.id(), self.handles.clone());
        lock(&handles).insert(id, handle);
        if lease.is_cancelled() {
            // The order to stop may have come before there was anything to stop.
            self.stop(id);
        }
        runtime.spawn(async move {
            let outcome = Abortable::new(finish(later), registration).await;
            lock(&handles).remove(&id);
            lease.complete(outcome.unwrap_or(Outcome::Cancelled));
        });
    }

    /// Drops a future at its next `await`.
    pub(super) fn stop(&self, lease: LeaseId) {
        if let Some(handle) = lock(&self.handles).remove(&lease) {
            handle.abort();
        }
    }

    /// Has every future dropped at its next `await`, without waiting for it.
    pub(super) fn shut_down(&self) {
        lock(&self.handles)
            .drain()
            .for_each(|(_, handle)| handle.abort());
    }

    fn runtime(&self) -> Result<&tokio::runtime::Handle, String> {
        if let Runtime(Some(handle)) = &self.runtime {
            return Ok(handle);
        }
        let own = self.own.get_or_init(|| {
            tokio::runtime::Builder::new_multi_thread()
                .worker_threads(1)
                .thread_name("batchyard-async")
                .enable_all()
                .build()
        });
        own.as_ref()
            .map(|runtime| runtime.handle())
            .map_err(|cause| format!("can't start a tokio runtime: {cause}"))
    }
}

impl Drop for WaitingBodies {
    fn drop(&mut self) {
        if let Some(Ok(runtime)) = self.own.take() {
            runtime.shutdown_background();
        }
    }
}
