//! An addition to a run, from its description to its joining.

use super::Run;
use super::flow::Segment;
use crate::job::{Job, Late, Numbers, Ties};
use crate::model::{Defect, Error, ErrorKind, JobTag, Result, TaskId};
use crate::work::Values;
use std::sync::Arc;

/// Who adds: a task, by the attempt that was leased, if one was; or whoever has a handle of the run.
pub(crate) type Adder = Option<(TaskId, Option<u32>)>;

/// Describes an addition to a run, and has it join: all of it, or nothing.
pub(crate) fn add<R>(
    run: &Arc<Run>,
    adder: Adder,
    describe: impl FnOnce(&mut Job) -> R,
) -> Result<R> {
    run.engine.with(|policy, _| policy.admit(run, adder))?;
    let mut draft = Draft::new(run)?;
    let mut job = Job::addition_to(run.job(), draft.numbers.clone());
    let tag = job.tag();
    let answer = describe(&mut job);
    draft.join(job, tag, adder)?;
    Ok(answer)
}

/// The numbers of what is being described. Those that are not used go back.
struct Draft<'a> {
    run: &'a Arc<Run>,
    numbers: Numbers,
}

impl<'a> Draft<'a> {
    fn new(run: &'a Arc<Run>) -> Result<Self> {
        let open = run.open.as_ref().ok_or_else(|| submitted_whole(run))?;
        let numbers = open.take_numbers();
        Ok(Draft { run, numbers })
    }

    fn join(&mut self, mut job: Job, tag: JobTag, adder: Adder) -> Result<()> {
        if job.tag() != tag {
            let message =
                "the addition was replaced by another job; describe it in the one that was passed";
            return Err(Error::new(ErrorKind::InvalidJob, message).in_job(self.run.name()));
        }
        let used = job.used();
        if used.0 == 0 {
            return Ok(());
        }
        let (ties, late) = self.check(&mut job)?;
        let segment = self.lay_out(job, &ties, &late)?;
        let run = self.run;
        let mut segment = Some(segment);
        run.engine
            .with(|policy, effects| policy.take_addition(run, &mut segment, adder, effects))?;
        self.numbers.nodes.start += used.0;
        self.numbers.elements.start += used.1;
        Ok(())
    }

    /// Everything that is wrong with the addition; or what ties it to the run.
    fn check(&self, job: &mut Job) -> Result<(Ties, Vec<Late>)> {
        let mut defects = job.all_defects();
        defects.extend(job.changes_whole(self.run.job()));
        if let Some(open) = &self.run.open {
            defects.extend(open.state().taken_names(job.names().keys()));
        }
        let ties = job.take_ties();
        let late = self.run.resolve(&ties).unwrap_or_else(|found| {
            defects.extend(
                found
                    .into_iter()
                    .map(|(node, kind)| job.defect_of(node, kind)),
            );
            Vec::new()
        });
        if defects.is_empty() {
            Ok((ties, late))
        } else {
            Err(self.invalid(defects))
        }
    }

    fn lay_out(&self, job: Job, ties: &Ties, late: &[Late]) -> Result<Segment> {
        let run = self.run;
        let frozen = job.lay_out(late)?;
        if let Some(open) = &run.open
            && let Some((task, what)) = frozen.unsupported(&open.offer)
        {
            let error = Error::new(ErrorKind::Unsupported, what);
            return Err(error.in_job(run.name()).of_task(task));
        }
        let mut sources = Vec::with_capacity(ties.imports.len());
        for import in &ties.imports {
            let source = run.segment_with(import.job, TaskId(import.node));
            // Each import has an edge, which was looked at.
            sources.extend(source.map(|segment| (segment, import.at)));
        }
        let imports = sources.iter().map(|(segment, at)| (&segment.values, *at));
        let values = Values::with_imports(frozen.layout, imports);
        Ok(Segment::new(Arc::new(frozen), values, 0, run.engine.now()))
    }

    fn invalid(&self, defects: Vec<Defect>) -> Error {
        Error::invalid_job(self.run.name(), defects)
    }
}

impl Drop for Draft<'_> {
    fn drop(&mut self) {
        if let Some(open) = &self.run.open {
            open.give_back(self.numbers.clone());
        }
    }
}

fn submitted_whole(run: &Run) -> Error {
    let message = "was submitted whole and takes no more tasks; make it with `Job::open`";
    Error::new(ErrorKind::Sealed, message).in_job(run.name())
}
