//! What is refused before anything starts.

use crate::children;
use crate::functions::{OTHER, WORK};
use batchyard::{BoxError, ErrorKind, Job, Pool, asynchronous};

#[test]
fn a_closure_is_refused_naming_the_task_and_the_remedy() {
    let pool = Pool::new(children(1));
    let mut job = Job::new("closure");
    job.map("work", 0..3u64, &WORK);
    job.task("stays here", (), || 1);
    let error = pool.submit(job).unwrap_err();
    assert_eq!(
        (error.kind(), error.task()),
        (ErrorKind::Unsupported, Some("stays here"))
    );
    assert!(error.to_string().contains("use a `Function`"), "{error}");
}

#[test]
fn a_function_that_is_not_registered_is_refused_naming_both() {
    let pool = Pool::new(children(1));
    let mut job = Job::new("unknown");
    job.map("unknown", ["a".to_owned()], &OTHER);
    let error = pool.submit(job).unwrap_err();
    assert_eq!(
        (error.kind(), error.task()),
        (ErrorKind::Unsupported, Some("unknown"))
    );
    assert!(
        error
            .to_string()
            .contains("`alloc::string::String` to `u64`"),
        "{error}"
    );
    assert!(error.to_string().contains("registry"), "{error}");
}

#[test]
fn a_body_that_waits_is_refused() {
    let pool = Pool::new(children(1));
    let mut job = Job::new("waits");
    job.task("waits", (), asynchronous(|| async { Ok::<_, BoxError>(1) }));
    assert_eq!(pool.submit(job).unwrap_err().kind(), ErrorKind::Unsupported);
}

#[test]
fn no_children_are_refused() {
    let error = crate::executor(0).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidSetting);
}
