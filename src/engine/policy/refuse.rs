//! Jobs that ask for more than there can ever be.

use super::Policy;
use super::placing::Request;
use crate::job::Frozen;
use crate::model::{Capacity, Error, ErrorKind, Resources, Result, TaskSettings};

impl Policy {
    /// Refuses a job with a task that neither a node of the pool nor one that is offered can ever run.
    pub(super) fn refuse_too_large(&mut self, job: &Frozen, offered: &[Capacity]) -> Result<()> {
        job.requests.iter().try_for_each(|&node| {
            let settings = job.settings_of(job.task(node));
            let resources = settings.resources.clone().unwrap_or_default();
            let fits = within_limits(job, settings, &resources);
            let fits =
                fits.and_then(|()| self.fits_ever(resources, job.is_asynchronous(node), offered));
            fits.map_err(|what| refusal(job, node, &what))
        })
    }

    fn fits_ever(
        &mut self,
        resources: Resources,
        waits: bool,
        offered: &[Capacity],
    ) -> Result<(), String> {
        if !resources.is_valid() {
            return Err(format!("asks for {resources}"));
        }
        let request = match waits {
            true => Request::waiting(resources),
            false => Request::blocking(resources),
        };
        let class = self.placing.intern(&request);
        let fits = self.placing.fits_ever(class, offered);
        fits.map_err(|too_large| too_large.to_string())
    }
}

/// Instances start at once, and count as a task each.
fn within_limits(
    job: &Frozen,
    settings: &TaskSettings,
    resources: &Resources,
) -> Result<(), String> {
    let instances = resources.instances_asked();
    let limits = job
        .max_parallel_tasks
        .into_iter()
        .chain(settings.max_parallel);
    match limits.min().filter(|&most| most < instances) {
        None => Ok(()),
        Some(most) => Err(format!(
            "asks for {instances} instances at once; no more than {most} of its job's or array's tasks may run at once"
        )),
    }
}

fn refusal(job: &Frozen, node: u32, what: &str) -> Error {
    let message = format!("{what}; ask for less, or run it where there is more");
    Error::new(ErrorKind::Unsupported, message)
        .in_job(&job.name)
        .of_task(job.node_label(node))
}
