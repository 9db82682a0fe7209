//! Bodies in both forms: as a plain `fn`, which a closure is to an executor, and as a named function.

use super::trial::Trial;
use crate::job::Job;
use crate::model::BoxError;
use crate::work::{AnyFunction, Array, Function, Handle};

/// Calls `$use` with a body in the form that the trial asks for.
macro_rules! either {
    ($trial:expr, $plain:expr, $function:expr, |$body:ident| $use:expr) => {
        if $trial.uses_functions() {
            let $body = &$function;
            $use
        } else {
            let $body = $plain;
            $use
        }
    };
}

static DOUBLE: Function<u64, u64> = Function::new("batchyard.conformance.double", double);
static SQUARE: Function<u64, u64> = Function::new("batchyard.conformance.square", square);
static SUM: Function<[u64], u64> = Function::new("batchyard.conformance.sum", sum);
static EVEN: Function<u64, u64> = Function::fallible("batchyard.conformance.even", even);
static CALM: Function<u64, u64> = Function::new("batchyard.conformance.calm", calm);

/// All of them.
pub(super) static ALL: [&dyn AnyFunction; 5] = [&DOUBLE, &SQUARE, &SUM, &EVEN, &CALM];

fn double(n: &u64) -> u64 {
    2 * n
}

fn square(n: &u64) -> u64 {
    n * n
}

fn sum(all: &[u64]) -> u64 {
    all.iter().sum()
}

/// Fails on odd numbers.
fn even(n: &u64) -> Result<u64, BoxError> {
    if n.is_multiple_of(2) {
        Ok(*n)
    } else {
        Err(format!("{n} is odd").into())
    }
}

/// Panics on odd numbers.
fn calm(n: &u64) -> u64 {
    assert!(n.is_multiple_of(2), "alarmed by {n}");
    *n
}

/// An array that reads numbers.
type Numbers = Array<u64>;

pub(super) fn map_double(
    trial: &Trial,
    job: &mut Job,
    items: impl IntoIterator<Item = u64>,
) -> Numbers {
    either!(trial, double, DOUBLE, |body| job.map("double", items, body))
}

/// Its odd elements fail.
pub(super) fn map_even(
    trial: &Trial,
    job: &mut Job,
    items: impl IntoIterator<Item = u64>,
) -> Numbers {
    either!(trial, crate::fallible(even), EVEN, |body| job
        .map("even", items, body))
}

/// Its odd elements panic.
pub(super) fn map_calm(
    trial: &Trial,
    job: &mut Job,
    items: impl IntoIterator<Item = u64>,
) -> Numbers {
    either!(trial, calm, CALM, |body| job.map("calm", items, body))
}

pub(super) fn each_double(
    trial: &Trial,
    job: &mut Job,
    name: &'static str,
    of: &Numbers,
) -> Numbers {
    either!(trial, double, DOUBLE, |body| job.each(name, of, body))
}

pub(super) fn each_square(
    trial: &Trial,
    job: &mut Job,
    name: &'static str,
    of: &Numbers,
) -> Numbers {
    either!(trial, square, SQUARE, |body| job.each(name, of, body))
}

pub(super) fn reduce_sum(
    trial: &Trial,
    job: &mut Job,
    name: &'static str,
    of: &Numbers,
) -> Handle<u64> {
    either!(trial, sum, SUM, |body| job.reduce(name, of, body))
}

pub(super) fn double_of(
    trial: &Trial,
    job: &mut Job,
    name: &'static str,
    of: &Handle<u64>,
) -> Handle<u64> {
    either!(trial, double, DOUBLE, |body| job.task(name, of, body))
}

/// The sum of the doubles of the first `len` numbers: `len * (len - 1)`.
pub(super) fn sum_of_doubles(trial: &Trial, job: &mut Job, len: u64) -> Handle<u64> {
    let doubles = map_double(trial, job, 0..len);
    reduce_sum(trial, job, "sum", &doubles)
}
