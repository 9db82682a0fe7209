//! Stores: ours passes the suite; a run takes any, and stops when it fails.

use crate::yard::pool;
use batchyard::journal::{FileStore, Journal, JournalError, Store, conformance};
use batchyard::{BoxError, ErrorKind, Function, Job};
use std::cell::Cell;
use std::sync::{Arc, Mutex};

#[test]
fn the_store_of_files_keeps_its_promises() {
    let (folder, number) = (tempfile::tempdir().unwrap(), Cell::new(0));
    let place = || {
        number.set(number.get() + 1);
        folder.path().join(format!("{}.journal", number.get()))
    };
    conformance::check(place, |path| {
        let opened = match path.exists() {
            true => FileStore::open(path),
            false => FileStore::create(path),
        };
        opened.map_err(BoxError::from)
    });
}

/// A store in memory, which fails after so many groups.
#[derive(Clone)]
struct Failing {
    groups: Arc<Mutex<Vec<Vec<u8>>>>,
    most: usize,
}

impl Store for Failing {
    fn read(
        &mut self,
        each: &mut dyn FnMut(&[u8]) -> Result<(), BoxError>,
    ) -> Result<(), BoxError> {
        self.groups
            .lock()
            .unwrap()
            .iter()
            .try_for_each(|group| each(group))
    }

    fn append(&mut self, group: &[u8]) -> Result<(), BoxError> {
        let mut groups = self.groups.lock().unwrap();
        match groups.len() < self.most {
            true => groups.push(group.to_vec()),
            false => return Err("the disk is full".into()),
        }
        Ok(())
    }

    fn replace(&mut self, new: &mut dyn Iterator<Item = Vec<u8>>) -> Result<(), BoxError> {
        *self.groups.lock().unwrap() = new.collect();
        Ok(())
    }

    fn size(&self) -> u64 {
        let groups = self.groups.lock().unwrap();
        groups.iter().map(|group| group.len() as u64).sum()
    }
}

static TWICE: Function<u64, u64> = Function::new("twice", |n| 2 * n);

#[test]
fn what_can_not_be_written_is_told_to_nobody_and_ends_the_run() {
    let groups = Arc::default();
    let job = || {
        let mut job = Job::new("failing");
        let array = job.map("twice", 0..1000u64, &TWICE);
        (job, array)
    };
    // The submission can be written, and nothing else.
    let store = |most| Failing {
        groups: Arc::clone(&groups),
        most,
    };
    let (failing, array) = job();
    let pool = pool();
    let journal = Journal::create_in(store(1)).unwrap();
    let run = pool.submit_durable(failing, journal).unwrap();
    let error = run.output(array.at(0)).wait().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Journal);
    assert!(error.to_string().contains("the disk is full"), "{error}");
    assert_eq!(run.wait().unwrap_err().kind(), ErrorKind::Journal);
    drop(run);
    // With more room, it goes on.
    let (failing, array) = job();
    let run = pool.submit_durable(failing, Journal::open_in(store(usize::MAX)).unwrap());
    let run = run.unwrap();
    assert_eq!(run.output(&array).wait().unwrap()[999], 1998);
    let missing = Journal::create_in(store(usize::MAX)).unwrap_err();
    assert!(matches!(missing.cause(), Some(JournalError::Exists)));
}
