//! How the tasks of runs have ended, or stand: remembered for assertions, without keeping a run longer than its user does.

use crate::engine::Run;
use crate::model::{Error, TaskId, TaskState};
use std::collections::HashMap;
use std::sync::Arc;

/// What is known of a run.
pub(super) enum Record {
    Going(Arc<Run>),
    Over(Ends),
}

/// How the tasks of a run ended, by name.
pub(super) struct Ends {
    job: String,
    tasks: HashMap<String, (TaskState, Option<Error>)>,
}

impl Record {
    /// Lets go of the run if it has ended.
    pub(super) fn settle(&mut self) {
        if let Record::Going(run) = self
            && run.has_ended()
        {
            *self = Record::Over(Ends::of(run));
        }
    }

    /// How a task stands, and its error, if it is one of this run: by name, or as `job/task`.
    pub(super) fn find(&self, name: &str) -> Option<(TaskState, Option<Error>)> {
        match self {
            Record::Over(ends) => ends.tasks.get(own_part(name, &ends.job)).cloned(),
            Record::Going(run) => {
                let own = own_part(name, run.name());
                let task = tasks(run).find(|&task| run.label(task) == own)?;
                Some((run.state(task), run.task_error(task)))
            }
        }
    }

    /// All tasks of the run, as `job/task`.
    pub(super) fn names(&self) -> Vec<String> {
        match self {
            Record::Going(run) => tasks(run)
                .map(|task| format!("{}/{}", run.name(), run.label(task)))
                .collect(),
            Record::Over(ends) => {
                let names = ends.tasks.keys();
                names.map(|task| format!("{}/{task}", ends.job)).collect()
            }
        }
    }

    /// The first task that has not ended.
    pub(super) fn first_unfinished(&self) -> Option<(&Arc<Run>, TaskId)> {
        match self {
            Record::Over(_) => None,
            Record::Going(run) => {
                let task = tasks(run).find(|&task| !run.state(task).is_final())?;
                Some((run, task))
            }
        }
    }
}

impl Ends {
    fn of(run: &Run) -> Self {
        let end = |task| (run.label(task), (run.state(task), run.task_error(task)));
        Ends {
            job: run.name().to_owned(),
            tasks: tasks(run).map(end).collect(),
        }
    }
}

/// Single tasks, arrays, and their elements.
fn tasks(run: &Run) -> impl Iterator<Item = TaskId> + '_ {
    run.flow().segments().flat_map(|segment| {
        let nodes = (0..segment.job.units.len() as u32).map(|node| segment.job.task(node));
        let elements = segment.job.elements.clone().map(TaskId::element);
        nodes.chain(elements).collect::<Vec<_>>()
    })
}

fn own_part<'a>(name: &'a str, job: &str) -> &'a str {
    let rest = name.strip_prefix(job);
    rest.and_then(|rest| rest.strip_prefix('/')).unwrap_or(name)
}
