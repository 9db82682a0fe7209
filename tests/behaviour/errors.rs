//! What is wrong with a job, told in full.

use batchyard::{DefectKind, ErrorKind, Job, Task};

#[test]
fn adding_many_tells_every_bad_item_and_adds_none() {
    let mut other = Job::new("other");
    let foreign = other.task((), (), || ());
    let mut job = Job::new("S059");
    let tasks = (0..10_000).map(|n| match n {
        17 => Task::new("", (), || ()),
        4321 => Task::new("t1", (), || ()),
        9999 => Task::new((), (), || ()).after(foreign),
        n => Task::new(format!("t{n}"), (), || ()),
    });
    let error = job.add_all(tasks).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidJob);
    let told: Vec<_> = error
        .defects()
        .iter()
        .map(|defect| (defect.index(), defect.kind().clone()))
        .collect();
    assert_eq!(
        told,
        [
            (Some(17), DefectKind::EmptyName),
            (Some(4321), DefectKind::DuplicateName),
            (Some(9999), DefectKind::ForeignHandle)
        ]
    );
    assert!(job.is_empty());
    assert_eq!(
        error.to_string(),
        "job `S059`: can't be run as described\n  item 17: ``: its name is empty; give it a name, or `()` for none\n  item 4321: `t1`: the name is taken by another task of the job; names are unique in a job\n  item 9999: it depends on a task of another job; use handles of the job they are passed to"
    );
}

#[test]
fn an_iterator_that_panics_is_told_with_how_far_it_came() {
    let mut job = Job::new("S055");
    let items = (0..1000).inspect(|n| assert!(*n < 500, "at 500"));
    job.map("items", items, |n: &i32| *n);
    let error = job.freeze().map(drop).unwrap_err();
    assert_eq!(
        error.defects()[0].kind(),
        &DefectKind::IteratorPanicked(500, "at 500".into())
    );
    assert_eq!(error.defects()[0].task(), Some("items"));
}

#[test]
fn a_cycle_is_told_with_its_path() {
    let mut job = Job::new("cycle");
    let a = job.task("a", (), || ());
    let b = job.task_after("b", [a.into()], || ());
    job.order(b, a);
    assert_eq!(
        job.check().unwrap_err().to_string(),
        "job `cycle`: can't be run as described\n  these tasks wait for each other: a → b → a; remove one of the dependencies"
    );
}
