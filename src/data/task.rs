//! The form of a task or task array.

use super::command::{CommandForm, CommandSettingsForm};
use super::problem::Problem;
use super::settings::SettingsForm;
use super::short::Short;
use super::sweep::{SweepForm, into_sweep, of_sweep};
use crate::job::{DescribedNode, Job, Task};
use crate::model::{Command, Sweep};
use crate::work::TaskRef;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A task that runs a command, or with a `sweep` an array of tasks.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Task")]
pub(super) struct TaskForm {
    /// Unique in the job. Not needed where nothing depends on the task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub(super) name: Option<String>,
    /// Names of tasks and arrays that must have succeeded before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) depends_on: Vec<String>,
    /// Names of tasks and arrays that must have ended before, whatever became of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) after_any_outcome: Vec<String>,
    /// Makes it an array: an element for each combination of these parameters, which are put in for `{0}`, `{1}` and so on
    /// in the command's texts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sweep: Option<SweepForm>,
    /// Keeps the output, although others depend on it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    keep: bool,
    command: Short<CommandForm>,
    #[serde(default, skip_serializing_if = "CommandSettingsForm::is_default")]
    command_settings: CommandSettingsForm,
    #[serde(default, skip_serializing_if = "SettingsForm::is_default")]
    settings: SettingsForm,
}

impl TaskForm {
    /// Adds it to a job that has room for so many more tasks, and says how many it took. What it depends on is the job's to
    /// tell.
    pub(super) fn add_to(self, job: &mut Job, room: usize) -> Result<(TaskRef, usize), Problem> {
        let command = self.command.0.into_command();
        let command = command.map_err(|problem| problem.inside("command"))?;
        let settings = self.command_settings.into_settings();
        let settings = settings.map_err(|problem| problem.inside("command_settings"))?;
        let command = command.settings(settings);
        let sweep = self.sweep.map(into_sweep).transpose();
        let sweep = sweep.map_err(|problem| problem.inside("sweep"))?;
        check_room(sweep.as_ref(), room)?;
        let tasks = sweep.as_ref().map_or(1, Sweep::len);
        let task = match sweep {
            None => job.add(Task::command(self.name, command)).into(),
            Some(sweep) => {
                check_placeholders(&sweep, &command)?;
                job.sweep(self.name, command, sweep).into()
            }
        };
        if !self.settings.is_default() {
            job.configure(task, self.settings.into());
        }
        if self.keep {
            job.keep(task);
        }
        Ok((task, tasks))
    }

    /// Writes it, given the names of all tasks.
    pub(super) fn of(node: &DescribedNode<'_>, names: &[Option<&str>]) -> Result<Self, Problem> {
        let (command, sweep) = node.command.ok_or_else(|| Problem::new(NO_COMMAND))?;
        let form = CommandForm::of(command).map_err(|problem| problem.inside("command"))?;
        let own = CommandSettingsForm::of(&command.settings);
        let settings = node.settings.map(SettingsForm::of).transpose();
        Ok(TaskForm {
            name: node.name.map(str::to_owned),
            depends_on: named(&node.after, names)?,
            after_any_outcome: named(&node.after_any_outcome, names)?,
            sweep: sweep.map(of_sweep),
            keep: node.keep,
            command: Short(form),
            command_settings: own.map_err(|problem| problem.inside("command_settings"))?,
            settings: settings
                .map_err(|problem| problem.inside("settings"))?
                .unwrap_or_default(),
        })
    }
}

const NO_COMMAND: &str = "its body is no command as it stands, but code; make it a command, or leave it to the program to add it";

fn check_room(sweep: Option<&Sweep>, room: usize) -> Result<(), Problem> {
    match sweep.map_or(1, Sweep::len) {
        0 => Err(
            Problem::new("a parameter has no values; give it some, or leave the task out")
                .inside("sweep"),
        ),
        tasks if tasks > room => Err(Problem::new(
            "the document has more than a million tasks, elements of arrays counted; split it into several",
        )),
        _ => Ok(()),
    }
}

fn check_placeholders(sweep: &Sweep, command: &Command) -> Result<(), Problem> {
    match sweep.unknown_placeholder(command) {
        None => Ok(()),
        Some(unknown) => Err(Problem::new(format!(
            "has the placeholder {{{unknown}}}, and the sweep no parameter of that number, counted from 0; add it, or write \
             {{{{{unknown}}}}} for the text itself"
        ))
        .inside("command")),
    }
}

fn named(nodes: &[u32], names: &[Option<&str>]) -> Result<Vec<String>, Problem> {
    let name = |&node: &u32| names[node as usize].map(str::to_owned);
    let names: Option<_> = nodes.iter().map(name).collect();
    names.ok_or_else(|| Problem::new("a task that it depends on has no name; give it one"))
}
