//! What the pool asks of its executor, against the stream of grants.

use super::LeaseKey;

/// An order to the executor.
#[derive(Clone, Debug)]
pub(crate) enum Order {
    /// The attempt no longer counts: stop it if you can.
    Stop(LeaseKey),
    /// Have this many slots.
    Resize(u32),
}
