//! What keeps a journal's groups: a file of our own, or an application's database.

use crate::model::BoxError;

/// Keeps the groups of one journal, in the order in which they were appended.
///
/// A *group* is a string of bytes that means nothing to the store. It is there as a whole or not at all, whatever
/// happens to the machine. [`FileStore`](super::FileStore) is ours; implement it for your own database to keep journals
/// there, next to your data: `examples/sqlite_journal` does it for SQLite. The suite
/// [`conformance`](super::conformance) says whether it keeps its promises.
///
/// One thread uses a store at a time. Whoever opens it sees to it that nobody else does: two runs that write the same
/// journal would each forget what the other has done.
///
/// # Errors
/// Whatever goes wrong, as it is: it becomes the cause of an error of kind
/// [`Journal`](crate::ErrorKind::Journal), and ends the run. After an error of [`append`](Store::append) nothing more is
/// appended; the group may be there or not when the store is opened again, but not in part.
pub trait Store: Send + 'static {
    /// Calls `each` with every group, the oldest first, and stops at its first error.
    ///
    /// # Errors
    /// What `each` returned, or why the groups can't be read.
    fn read(&mut self, each: &mut dyn FnMut(&[u8]) -> Result<(), BoxError>)
    -> Result<(), BoxError>;

    /// Adds a group behind all others. When this returns, the group outlives a loss of power.
    ///
    /// # Errors
    /// See the trait.
    fn append(&mut self, group: &[u8]) -> Result<(), BoxError>;

    /// Puts these groups in the place of all that are there: afterwards, and after a crash at any instant, it has either
    /// the old ones or the new ones. When this returns, that outlives a loss of power.
    ///
    /// # Errors
    /// See the trait. The old groups are still there then, and the store can be used as before.
    fn replace(&mut self, groups: &mut dyn Iterator<Item = Vec<u8>>) -> Result<(), BoxError>;

    /// How many bytes the groups take, as far as it can tell. By that a journal knows when it is time to compact itself.
    fn size(&self) -> u64;

    /// What was mended when the store was opened, in words for people. Nothing, by default.
    fn warnings(&self) -> Vec<String> {
        Vec::new()
    }
}
