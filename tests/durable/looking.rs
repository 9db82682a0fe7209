//! Looking at a journal, forgetting, salvaging; and what a crash may leave of a real one.

use crate::yard::{Calls, Yard};
use batchyard::journal::{self, Journal, JournalError};
use batchyard::{BoxError, ErrorKind, Function, Job, TaskState};

static CALLS: Calls = Calls::new();
static ODD: Function<u64, u64> = Function::fallible("odd", |n| {
    CALLS.note(*n);
    match n {
        3 => Err(BoxError::from("three")),
        n => Ok(2 * n + 1),
    }
});
static SUM: Function<[u64], u64> = Function::new("sum", |all: &[u64]| all.iter().sum());

fn job(numbers: std::ops::Range<u64>) -> (Job, batchyard::Array<u64>, batchyard::Handle<u64>) {
    let mut job = Job::new("odds");
    let odds = job.map("odd", numbers, &ODD);
    let sum = job.reduce("sum", &odds, &SUM);
    (job, odds, sum)
}

/// One test, since it counts calls.
#[test]
fn a_journal_tells_what_became_of_each_task_and_forgets_what_it_is_told_to() {
    let yard = Yard::new();
    let (pool, run) = yard.submit(job(0..4).0);
    assert!(run.wait().is_err());
    // It can be looked at while the run has it.
    let inspection = journal::inspect(yard.path()).unwrap();
    assert_eq!(inspection.job(), Some("odds"));
    assert!(inspection.has_ended() && inspection.damaged_at().is_none());
    let counts = inspection.counts();
    assert_eq!(
        (
            counts.total,
            counts.succeeded,
            counts.failed,
            counts.skipped
        ),
        (5, 3, 1, 1)
    );
    let failed: Vec<_> = inspection.failed().collect();
    assert_eq!(failed.len(), 1);
    assert_eq!((&*failed[0].label, failed[0].attempt), ("odd[3]", 1));
    assert!(failed[0].error.as_ref().unwrap().contains("three"));
    assert!(failed[0].attempts[0].end.contains("three"));
    let sum = inspection.tasks().find(|task| task.label == "sum").unwrap();
    assert_eq!(sum.state, TaskState::Skipped);
    drop((run, pool));
    assert_eq!(CALLS.take(), [0, 1, 2, 3]);

    assert_eq!(journal::forget(yard.path(), "odd[1]").unwrap(), 1);
    let error = journal::forget(yard.path(), "nobody").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Journal);
    let (pool, run) = yard.submit(job(0..4).0);
    assert!(run.wait().is_err());
    assert_eq!(CALLS.take(), [1]);
    drop((run, pool));

    // In whatever place the file ends, it is a run that has come less far; and its end is the same.
    let whole = std::fs::read(yard.path()).unwrap();
    let other = Yard::new();
    for len in (0..whole.len()).step_by(7) {
        std::fs::write(other.path(), &whole[..len]).unwrap();
        match journal::inspect(other.path()) {
            Err(error) => assert!(len < 32, "{len}: {error}"),
            Ok(inspection) => {
                let counts = inspection.counts();
                assert!(counts.succeeded <= 3 && counts.failed <= 1, "{counts:?}");
            }
        }
        let journal = Journal::open(other.path());
        let Ok(journal) = journal else {
            assert!(len < 32, "{len}: {}", journal.unwrap_err());
            continue;
        };
        let pool = crate::yard::pool();
        let (odds, numbered, _) = job(0..4);
        let run = pool.submit_durable(odds, journal).unwrap();
        assert!(run.wait().is_err());
        assert_eq!(*run.output(numbered.at(2)).wait().unwrap(), 5);
    }
    CALLS.take();

    // Each bit counts.
    let first_frame = 32..90.min(whole.len());
    for at in (0..32).chain(first_frame) {
        for bit in 0..8 {
            let mut flipped = whole.clone();
            flipped[at] ^= 1 << bit;
            std::fs::write(other.path(), flipped).unwrap();
            let error = Journal::open(other.path()).unwrap_err();
            assert!(
                error.cause::<JournalError>().is_some(),
                "{at}.{bit}: {error}"
            );
        }
    }

    // What is damaged in its middle is an error that says where, and can be salvaged in part.
    let mut damaged = whole.clone();
    let last = damaged.len() - 5;
    let at = whole
        .windows(4)
        .skip(40)
        .position(|bytes| bytes == b"bYfr")
        .unwrap()
        + 40
        + 17;
    damaged[at] ^= 1;
    assert!(at < last);
    std::fs::write(other.path(), &damaged).unwrap();
    let error = Journal::open(other.path()).unwrap_err();
    let Some(JournalError::Damaged { offset }) = error.cause() else {
        panic!("{error}");
    };
    assert_eq!(*offset, at as u64 - 17);
    let salvaged = other.path().with_extension("salvaged");
    let report = journal::salvage(other.path(), &salvaged).unwrap();
    assert_eq!(report.damaged_at, Some(at as u64 - 17));
    assert!(report.groups > 1);
    let pool = crate::yard::pool();
    let (odds, numbered, _) = job(0..4);
    let run = pool
        .submit_durable(odds, Journal::open(&salvaged).unwrap())
        .unwrap();
    assert_eq!(*run.output(numbered.at(2)).wait().unwrap(), 5);
    assert!(run.wait().is_err());
}

#[test]
fn what_is_no_journal_is_told_apart() {
    let yard = Yard::new();
    let cause = |content: &[u8]| {
        std::fs::write(yard.path(), content).unwrap();
        Journal::open(yard.path()).unwrap_err()
    };
    for content in [&b""[..], b"something else, and long enough to be a header"] {
        let error = cause(content);
        assert!(
            matches!(error.cause(), Some(JournalError::NotAJournal)),
            "{error}"
        );
    }
    let mut newer = b"BYJOURNL".to_vec();
    newer.extend(9u32.to_le_bytes());
    newer.extend([0; 20]);
    let error = cause(&newer);
    let Some(JournalError::NewerFormat { found: 9, known: 1 }) = error.cause() else {
        panic!("{error}");
    };
    // A folder, or one that may not be read.
    std::fs::remove_file(yard.path()).unwrap();
    std::fs::create_dir(yard.path()).unwrap();
    let error = Journal::open(yard.path()).unwrap_err();
    assert!(
        matches!(error.cause(), Some(JournalError::Io(_))),
        "{error}"
    );
}

#[cfg(unix)]
#[test]
fn only_its_owner_can_read_it() {
    use std::os::unix::fs::PermissionsExt;
    let yard = Yard::new();
    let _journal = Journal::create(yard.path()).unwrap();
    for path in [yard.path(), yard.path().with_extension("journal.lock")] {
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{}", path.display());
    }
}
