//! A run's journal in a table of an application's own database, next to its data: a [`Store`] for SQLite, through rusqlite.
//!
//! ```sh
//! cargo run -p sqlite_journal            # runs a job
//! cargo run -p sqlite_journal            # a second time: its results are in the database
//! ```
//!
//! SQLite sees to it that a transaction is there as a whole or not at all, and that it outlives a loss of power
//! (`synchronous = FULL`). That nobody else has the journal is the application's to see to: here, the database is locked for
//! as long as it is open.

use batchyard::journal::{Journal, Store};
use batchyard::{BoxError, Function, Job, Pool, ThreadExecutor};
use rusqlite::{Connection, Transaction, params};
use std::path::Path;

/// The groups of one journal, in a table.
pub struct SqliteStore {
    database: Connection,
    bytes: u64,
}

impl SqliteStore {
    /// Opens the database, and makes the table if it is not there.
    ///
    /// # Errors
    /// SQLite's: somebody else has the database, for one.
    pub fn open(path: &Path) -> rusqlite::Result<Self> {
        let database = Connection::open(path)?;
        database.pragma_update(None, "locking_mode", "EXCLUSIVE")?;
        database.pragma_update(None, "journal_mode", "WAL")?;
        database.pragma_update(None, "synchronous", "FULL")?;
        database.execute_batch(
            "CREATE TABLE IF NOT EXISTS journal (number INTEGER PRIMARY KEY, contents BLOB NOT NULL)",
        )?;
        let sum = "SELECT coalesce(sum(length(contents)), 0) FROM journal";
        let bytes: i64 = database.query_row(sum, [], |row| row.get(0))?;
        let bytes = bytes.unsigned_abs();
        Ok(SqliteStore { database, bytes })
    }
}

impl Store for SqliteStore {
    fn read(
        &mut self,
        each: &mut dyn FnMut(&[u8]) -> Result<(), BoxError>,
    ) -> Result<(), BoxError> {
        let mut select = self
            .database
            .prepare("SELECT contents FROM journal ORDER BY number")?;
        let mut rows = select.query([])?;
        while let Some(row) = rows.next()? {
            each(row.get_ref(0)?.as_blob()?)?;
        }
        Ok(())
    }

    fn append(&mut self, group: &[u8]) -> Result<(), BoxError> {
        let mut insert = self
            .database
            .prepare_cached("INSERT INTO journal (contents) VALUES (?)")?;
        insert.execute(params![group])?;
        self.bytes += group.len() as u64;
        Ok(())
    }

    fn replace(&mut self, groups: &mut dyn Iterator<Item = Vec<u8>>) -> Result<(), BoxError> {
        let transaction = self.database.transaction()?;
        let bytes = insert_all(&transaction, groups)?;
        transaction.commit()?;
        self.bytes = bytes;
        Ok(())
    }

    fn size(&self) -> u64 {
        self.bytes
    }
}

/// In the place of all that is there; returns how many bytes that are.
fn insert_all(
    transaction: &Transaction<'_>,
    groups: &mut dyn Iterator<Item = Vec<u8>>,
) -> rusqlite::Result<u64> {
    transaction.execute("DELETE FROM journal", [])?;
    let mut insert = transaction.prepare("INSERT INTO journal (contents) VALUES (?)")?;
    let mut bytes = 0;
    for group in groups {
        insert.execute(params![group])?;
        bytes += group.len() as u64;
    }
    Ok(bytes)
}

static SQUARE: Function<u64, u64> = Function::new("square", |n| n * n);
static SUM: Function<[u64], u64> = Function::new("sum", |all: &[u64]| all.iter().sum());

fn main() -> Result<(), BoxError> {
    let path = std::env::temp_dir().join("batchyard-sqlite-journal.db");
    let is_new = !path.exists();
    let store = SqliteStore::open(&path)?;
    let journal = match is_new {
        true => Journal::create_in(store)?,
        false => Journal::open_in(store)?,
    };
    let mut job = Job::new("squares");
    let squares = job.map("square", 0..1000u64, &SQUARE);
    let sum = job.reduce("sum", &squares, &SUM);
    let pool = Pool::new(ThreadExecutor::new(2)?);
    let run = pool.submit_durable(job, journal)?;
    println!("the sum is {}", *run.output(&sum).wait()?);
    println!("{}", run.reuse().cloned().unwrap_or_default());
    println!("the journal is in {}", path.display());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::SqliteStore;
    use batchyard::journal::conformance;
    use std::cell::Cell;

    #[test]
    fn it_keeps_the_promises_of_stores() {
        let folder = tempfile::tempdir().expect("a folder");
        let number = Cell::new(0);
        let place = || {
            number.set(number.get() + 1);
            folder.path().join(format!("{}.db", number.get()))
        };
        conformance::check(place, |path| Ok(SqliteStore::open(path)?));
    }
}
