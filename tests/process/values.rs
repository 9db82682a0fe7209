//! Values on their way to children and back.

use crate::children;
use crate::functions::*;
use batchyard::{CodecError, ErrorKind, FrameTooLarge, Job, Pool};

#[test]
fn values_pass_between_functions_along_edges() {
    let pool = Pool::new(children(2));
    let mut job = Job::new("edges");
    let worked = job.map("work", 0..1000u64, &WORK);
    let again = job.each("again", &worked, &WORK);
    let sum = job.reduce("sum", &again, &SUM);
    let run = pool.submit(job).unwrap();
    let expected = (0..1000u64)
        .map(|n| here(here(n)))
        .fold(0u64, u64::wrapping_add);
    let outputs = run.output(&sum).wait();
    match outputs {
        Ok(sum) => assert_eq!(*sum, expected),
        // The sum of a debug build may overflow, there as here.
        Err(error) => assert!(error.panic().is_some(), "{error}"),
    }
}

fn here(n: u64) -> u64 {
    (0..1000 + n % 1000).fold(n, |sum, i| (sum ^ i).rotate_left(3))
}

#[test]
fn a_hundred_megabytes_pass_both_ways() {
    let pool = Pool::new(children(1));
    let mut job = Job::new("large");
    let text = "large ".repeat((100 << 20) / 6);
    let echoed = job.map("text", [text.clone()], &TEXT);
    job.keep(echoed);
    let run = pool.submit(job).unwrap();
    assert!(run.output(&echoed).wait().unwrap()[0] == text);
}

#[test]
fn values_of_all_sizes_keep_their_order() {
    let pool = Pool::new(children(2));
    let mut job = Job::new("sizes");
    let sizes = (0..200usize).map(|n| vec![n as u8; n * n * 7 % 200_000]);
    let values: Vec<Vec<u8>> = sizes.collect();
    let echoed = job.map("echo", values.clone(), &ECHO);
    job.keep(echoed);
    let run = pool.submit(job).unwrap();
    assert!(run.output(&echoed).wait().unwrap()[..] == values[..]);
}

#[test]
fn what_is_larger_than_a_frame_fails_with_a_typed_error_that_names_the_setting() {
    let pool = Pool::new(children(1).frame_limit(10_000).recycle_after(1_000_000));
    let mut job = Job::new("frames");
    let texts = job.map("text", ["small".to_owned(), "x".repeat(20_000)], &TEXT);
    let run = pool.submit(job).unwrap();
    assert_eq!(*run.output(texts.at(0)).wait().unwrap(), "small");
    let error = run.output(texts.at(1)).wait().unwrap_err();
    assert!(error.cause::<FrameTooLarge>().is_some(), "{error}");
    assert!(
        error.to_string().contains("ProcessExecutor::frame_limit"),
        "{error}"
    );
}

#[test]
fn a_type_that_postcard_can_not_read_back_is_a_typed_error_both_ways() {
    let pool = Pool::new(children(1));
    let mut job = Job::new("untagged");
    let there = job.map("there", [Untagged::Number(1)], &UNTAGGED);
    let back = job.map("back", [1u64], &GIVES_UNTAGGED);
    let run = pool.submit(job).unwrap();
    let error = run.output(there.at(0)).wait().unwrap_err();
    assert!(error.to_string().contains("could not be begun"), "{error}");
    assert!(error.to_string().contains("Untagged"), "{error}");
    let error = run.output(back.at(0)).wait().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TaskFailed);
    assert!(error.cause::<CodecError>().is_some(), "{error}");
}
