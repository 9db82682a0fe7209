//! Leases whose bodies run in another process: what goes there, and what comes back.

use super::{Lease, Outcome};
#[cfg(all(feature = "process", target_os = "linux"))]
use crate::engine::{Effects, Policy, Run};
use crate::model::Panic;
use crate::work::{AnyFunction, CodecError, Step};
use std::panic::{AssertUnwindSafe, catch_unwind};
#[cfg(all(feature = "process", target_os = "linux"))]
use std::sync::Arc;

impl Lease {
    /// The function that is the body, if it is one.
    pub(crate) fn function(&self) -> Option<&'static dyn AnyFunction> {
        let place = self.engine_run().locate(self.task_id())?;
        place.segment.job.units[place.node as usize].kind().function
    }

    /// Adds the bytes of what the body reads. Calls code of the user's, whose panic is an error of this task.
    pub(crate) fn encode_argument(&self, to: &mut Vec<u8>) -> Result<(), Outcome> {
        let len = to.len();
        let Some(place) = self.engine_run().locate(self.task_id()) else {
            return Err(Outcome::Cancelled);
        };
        let (segment, index) = (&*place.segment, place.index);
        let unit = &segment.job.units[place.node as usize];
        let encode = || unit.encode_argument(&segment.values, index, to);
        let encoded = catch_unwind(AssertUnwindSafe(encode));
        let refused = match encoded {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(error)) => not_begun(error),
            Err(panic) => Outcome::Failed(Panic::from_payload(panic).into()),
        };
        to.truncate(len);
        Err(refused)
    }

    /// Stores an output that came back as bytes, and says how the attempt ended with that. Calls code of the user's.
    pub(crate) fn accept(&self, output: &[u8]) -> Outcome {
        let accept = || self.call(None, |unit, call| unit.accept(call, output));
        match catch_unwind(AssertUnwindSafe(accept)) {
            Ok(Step::Failed(cause)) => Outcome::Failed(cause),
            Ok(Step::Done { .. }) => Outcome::Succeeded,
            Ok(_) => Outcome::Cancelled,
            Err(panic) => Outcome::Failed(Panic::from_payload(panic).into()),
        }
    }
}

/// Stores the outputs of several elements of one array of a run, which came back as bytes, and ends their attempts with
/// that and calls `then`, in one transition. Those that it can't be done for are left, with their places.
#[cfg(all(feature = "process", target_os = "linux"))]
pub(super) fn accept_all(
    leases: Vec<Lease>,
    outputs: &[&[u8]],
    then: &mut dyn FnMut(&mut Policy, &mut Effects),
) -> Vec<(usize, Lease)> {
    let mut leases: Vec<Option<Lease>> = leases.into_iter().map(Some).collect();
    let first = leases.iter().flatten().next();
    if let Some(run) = first.map(|lease| lease.engine_run().clone()) {
        let accept = || accept_of_run(&run, &mut leases, outputs, then);
        // A panic of the user's code is seen again when each is accepted by itself.
        let _ = catch_unwind(AssertUnwindSafe(accept));
    }
    let left = leases.into_iter().enumerate();
    left.filter_map(|(at, lease)| Some((at, lease?))).collect()
}

#[cfg(all(feature = "process", target_os = "linux"))]
fn accept_of_run(
    run: &Arc<Run>,
    leases: &mut [Option<Lease>],
    outputs: &[&[u8]],
    then: &mut dyn FnMut(&mut Policy, &mut Effects),
) -> Option<()> {
    let task_of = |lease: &Option<Lease>| lease.as_ref().map(Lease::task_id);
    let first = run.locate(leases.iter().find_map(task_of)?)?;
    let index_of = |lease: &Option<Lease>| Some(run.locate(task_of(lease)?)?.index);
    let indexes = leases
        .iter()
        .map(|lease| index_of(lease).unwrap_or_default());
    let outputs: Vec<(u32, &[u8])> = indexes.zip(outputs.iter().copied()).collect();
    let unit = &first.segment.job.units[first.node as usize];
    let mut over = Vec::with_capacity(leases.len());
    unit.accept_all(&first.segment.values, &outputs, &mut |readable, put| {
        run.engine().with(|policy, effects| {
            for (at, lease) in leases
                .iter_mut()
                .enumerate()
                .filter(|(at, _)| readable[*at])
            {
                let succeeded = |lease: &mut Lease| lease.succeed(policy, effects, || put(at));
                over.extend(lease.take_if(succeeded));
            }
            then(policy, effects);
        });
    });
    Some(())
}

/// No retry could help an argument that does not travel.
fn not_begun(error: CodecError) -> Outcome {
    Outcome::Failed(crate::model::PreProcessingError::new(error).into())
}

#[cfg(all(test, not(loom)))]
#[allow(clippy::expect_used, reason = "the helpers of tests may panic, too")]
mod tests {
    use super::*;
    use crate::executor::{Executor, Feed, NodeSpec, Offer};
    use crate::job::Job;
    use crate::model::{ErrorKind, Result};
    use crate::pool::Pool;
    use crate::work::{Context, Function};
    use async_trait::async_trait;
    use serde::{Deserialize, Serialize};

    #[derive(Serialize, Deserialize, Clone, Debug)]
    #[serde(untagged)]
    enum Untagged {
        Number(u64),
    }

    static DOUBLE: Function<u64, u64> = Function::new("double", |n| 2 * n);
    static SUM: Function<[u64], u64> = Function::new("sum", |all: &[u64]| all.iter().sum());
    static NTH: Function<u64, String> =
        Function::with_context("nth", |cx, n| Ok(format!("{n} of {}", cx.task_label())));
    static UNTAGGED: Function<u64, Untagged> = Function::new("untagged", |n| Untagged::Number(*n));

    /// Runs functions as another process would: from bytes to bytes.
    struct Elsewhere;

    #[async_trait]
    impl Executor for Elsewhere {
        fn offer(&self) -> Offer {
            Offer {
                closures: false,
                ..Offer::in_process().blocking_only()
            }
        }

        async fn serve(&self, feed: Feed) -> Result<()> {
            let node = feed.join(NodeSpec::new(1));
            while let Some(mut grant) = node.take(1).await {
                while let Some(lease) = grant.begin() {
                    let outcome = run(&lease);
                    lease.complete(outcome);
                }
            }
            Ok(())
        }
    }

    fn run(lease: &Lease) -> Outcome {
        let (mut argument, mut output) = (Vec::new(), Vec::new());
        if let Err(outcome) = lease.encode_argument(&mut argument) {
            return outcome;
        }
        let function = lease.function().expect("only functions are offered");
        match function.call(&context_of(lease), &argument, &mut output) {
            Ok(()) => lease.accept(&output),
            Err(error) => Outcome::Failed(error),
        }
    }

    fn context_of(lease: &Lease) -> Context {
        let mut context = None;
        lease.call(None, |_, call| {
            context = Some(call.context());
            Step::Stale
        });
        context.expect("the task is there")
    }

    #[test]
    fn values_pass_between_functions_that_run_elsewhere() {
        let mut job = Job::new("elsewhere");
        let doubles = job.map("double", 0..10u64, &DOUBLE);
        let again = job.each("again", &doubles, &DOUBLE);
        let sum = job.reduce("sum", &again, &SUM);
        let nth = job.task("label", &sum, &NTH);
        let pool = Pool::new(Elsewhere);
        let run = pool.submit(job).expect("accepted");
        assert_eq!(*run.output(&nth).wait().expect("succeeds"), "180 of label");
    }

    #[test]
    fn an_output_that_can_not_be_read_back_fails_its_task_with_a_typed_error() {
        let mut job = Job::new("untagged");
        let untagged = job.map("untagged", [7u64], &UNTAGGED);
        let pool = Pool::new(Elsewhere);
        let run = pool.submit(job).expect("accepted");
        let error = run.output(untagged.at(0)).wait().expect_err("no output");
        assert_eq!(error.kind(), ErrorKind::TaskFailed);
        assert!(error.cause::<CodecError>().is_some(), "{error}");
    }
}
