//! What the end of a task means, by its job's rules: ours, or Azure Batch's.

use super::{Frozen, Job};
use crate::model::{
    Backoff, Defect, DefectKind, DependencyAction, Exit, ExitConditions, ExitOptions, JobAction,
    OnTaskFailure, TaskId, TaskOrder, TaskSettings,
};

/// The rules of a job.
#[derive(Clone, Copy, Default, PartialEq)]
pub(crate) struct Rules {
    azure: bool,
    on_task_failure: Option<OnTaskFailure>,
}

/// What follows from a task's end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Consequences {
    pub(crate) job_action: JobAction,
    pub(crate) dependency_action: DependencyAction,
}

impl Job {
    /// Whether the job actions of its tasks' [`ExitConditions`] are carried out. Default: they are. (Azure Batch:
    /// `onTaskFailure`, where the default is no.)
    pub fn on_task_failure(&mut self, action: OnTaskFailure) {
        self.whole.rules.on_task_failure = Some(action);
    }

    /// Makes Azure Batch's rules the job's defaults, where they differ from ours. What is set for the job or its tasks,
    /// before or after, is kept.
    ///
    /// - What depends on a task that failed, and whose exit conditions don't satisfy its dependents, is not skipped: it
    ///   stays [`Waiting`](crate::TaskState::Waiting) for ever, and so does the run, until it is
    ///   [terminated](crate::Run::terminate), cancelled, or past its [time limit](Job::time_limit). The same goes for
    ///   what depends on a task that was cancelled.
    /// - Job actions need [`OnTaskFailure::PerformExitOptionsJobAction`]; without it, a job that sets some is refused.
    ///   With it, a failure whose job action is not set *terminates* the job.
    /// - A retry follows at once: there is no backoff.
    /// - Equally urgent jobs take turns: [`TaskOrder::Interleaved`].
    ///
    /// What stays different: the tasks of a run that is terminated are all cancelled, and not left active; a time limit
    /// that is over uses a retry; a run ends with its last task, as with Azure's `onAllTasksComplete` of
    /// `terminatejob`.
    pub fn azure_defaults(&mut self) {
        self.whole.rules.azure = true;
        let backoff = TaskSettings::new().backoff(Backoff::none());
        self.defaults = std::mem::take(&mut self.defaults).or(&backoff);
    }

    /// What is wrong with tasks' exit conditions.
    pub(super) fn exit_defects(&self) -> impl Iterator<Item = Defect> + '_ {
        let own = self.settings.iter().map(|(&node, own)| (Some(node), own));
        let all = own.chain([(None, &self.defaults)]);
        all.filter_map(|(node, settings)| {
            let kind = self.exit_defect(settings.exit_conditions.as_ref()?)?;
            Some(Defect {
                index: None,
                task: node.map(|node| self.label(node)),
                kind,
            })
        })
    }

    fn exit_defect(&self, conditions: &ExitConditions) -> Option<DefectKind> {
        let empty = conditions.empty_range();
        let empty = empty.map(|range| DefectKind::EmptyExitCodes(*range.start(), *range.end()));
        let ignored = conditions.sets_job_action() && !self.whole.rules.performs_job_actions();
        empty.or_else(|| ignored.then_some(DefectKind::JobActionNotPerformed))
    }
}

impl Rules {
    /// Whether what depends on a failure is left waiting, and not skipped.
    pub(crate) fn keep_blocked(self) -> bool {
        self.azure
    }

    #[cfg(feature = "data")]
    pub(crate) fn on_task_failure(self) -> Option<OnTaskFailure> {
        self.on_task_failure
    }

    /// The order of the job's tasks, if it sets none.
    pub(super) fn task_order(self) -> TaskOrder {
        match self.azure {
            true => TaskOrder::Interleaved,
            false => TaskOrder::Ready,
        }
    }

    fn performs_job_actions(self) -> bool {
        match self.on_task_failure {
            Some(action) => action == OnTaskFailure::PerformExitOptionsJobAction,
            None => !self.azure,
        }
    }

    fn of_failure(self, options: ExitOptions) -> Consequences {
        let unset = match self.azure {
            true => JobAction::Terminate,
            false => JobAction::None,
        };
        Consequences {
            job_action: match self.performs_job_actions() {
                true => options.job_action_or(unset),
                false => JobAction::None,
            },
            dependency_action: options.dependency_action_or(DependencyAction::Block),
        }
    }

    fn of_success(self, options: ExitOptions) -> Consequences {
        Consequences {
            job_action: options.job_action_or(JobAction::None),
            dependency_action: options.dependency_action_or(DependencyAction::Satisfy),
        }
    }
}

impl Frozen {
    /// What follows from a task's failure.
    pub(crate) fn of_failure(&self, task: TaskId, exit: Exit) -> Consequences {
        let conditions = self.settings_of(task).exit_conditions.as_ref();
        let options = conditions.map(|conditions| conditions.of_failure(exit));
        self.rules.of_failure(options.unwrap_or_default())
    }

    /// What follows from a task's success, if it is anything but that its dependents may run.
    pub(crate) fn of_success(&self, task: TaskId) -> Option<Consequences> {
        if !self.acts_on_success {
            return None;
        }
        let options = self
            .settings_of(task)
            .exit_conditions
            .as_ref()?
            .of_success()?;
        Some(self.rules.of_success(options))
    }
}
