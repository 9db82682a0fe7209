//! A test that hangs fails.

use std::panic::resume_unwind;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// Longer than anything here takes on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// Runs `test` on a thread of its own, and fails if it has not ended after half a minute.
pub(crate) fn within_30s<T: Send + 'static>(test: impl FnOnce() -> T + Send + 'static) -> T {
    let (done, ended) = channel();
    let thread = std::thread::spawn(move || {
        let result = test();
        let _ = done.send(());
        result
    });
    if ended.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
        panic!("hangs: not done after {PATIENCE:?}");
    }
    thread.join().unwrap_or_else(|panic| resume_unwind(panic))
}
