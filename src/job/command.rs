//! Tasks that are commands.

use super::task::Relocate;
use super::{Job, Task};
use crate::model::{
    Command, CommandOutput, CommandSettings, Defect, DefectKind, FileSource, Name, OutputFiles,
    Sweep,
};
use crate::work::{Array, EachItself, Slot, Swept, TaskRef, Unit, task_unit};
use std::ffi::OsString;
use std::path::PathBuf;

impl Job {
    /// Adds a task array with one command for each element.
    ///
    /// Commands that are made from items, or from outputs of other tasks, are bodies made by
    /// [`command`](crate::command).
    pub fn commands(
        &mut self,
        name: impl Into<Name>,
        commands: impl IntoIterator<Item = Command>,
    ) -> Array<CommandOutput> {
        let mut defect = None;
        let commands = commands.into_iter().inspect(|command| {
            defect = defect.take().or_else(|| command.defect());
        });
        let array = self.map(name, commands, EachItself);
        self.note_command(array.into(), defect);
        array
    }

    /// Adds a task array that runs a command for each combination of parameters, which are put in for the placeholders of
    /// its texts. It costs no memory for them: see [`Sweep`].
    ///
    /// ```
    /// use batchyard::{Command, Job, Sweep};
    ///
    /// let mut job = Job::new("sweep");
    /// let simulate = Command::new("./simulate").args(["--seed={0}", "--model={1}"]).output_files("{1}-{0:3}.csv");
    /// let runs = job.sweep("simulate", simulate, Sweep::new().range(1..=100).values(["dry", "wet"]));
    /// assert_eq!(runs.len(), 200);
    /// ```
    pub fn sweep(
        &mut self,
        name: impl Into<Name>,
        command: impl Into<Command>,
        sweep: Sweep,
    ) -> Array<CommandOutput> {
        let (template, len) = (command.into(), sweep.len());
        let unknown = sweep.unknown_placeholder(&template);
        let parameters = sweep.parameters.len();
        let wrong = template.defect();
        let array = self.array(name, len, Swept { template, sweep });
        let kind = unknown.map(|unknown| DefectKind::UnknownPlaceholder(unknown, parameters));
        self.note_command(array.into(), kind.or(wrong));
        array
    }

    /// How the job's commands run, where these set nothing themselves. Environment variables lie under the commands' own.
    pub fn command_settings(&mut self, settings: CommandSettings) {
        self.defects.extend(settings.defect().map(|kind| Defect {
            index: None,
            task: None,
            kind,
        }));
        self.command_settings = settings.or(&self.command_settings);
    }

    /// Notes what is wrong with the command that a task is.
    pub(super) fn note_command(&mut self, task: TaskRef, defect: Option<DefectKind>) {
        let defect = defect.map(|kind| self.defect_of(self.local(task), kind));
        self.defects.extend(defect);
    }
}

impl Task<CommandOutput> {
    /// A task that runs a program, or a whole [`Command`].
    ///
    /// ```
    /// use batchyard::{Job, Task};
    ///
    /// let mut job = Job::new("commands");
    /// let fetch = job.add(Task::command("fetch", "curl").args(["-O", "https://example.org/data.csv"]));
    /// let index = job.add(Task::command("index", "/opt/index.sh").after(fetch).max_retries(3));
    /// ```
    pub fn command(name: impl Into<Name>, command: impl Into<Command>) -> Self {
        Task::of_unit(name.into(), Box::new(command.into()))
    }

    /// A task that runs a script for `/bin/sh`: see [`Command::shell`].
    pub fn shell(name: impl Into<Name>, script: impl Into<OsString>) -> Self {
        Task::command(name, Command::shell(script))
    }

    /// See [`Command::arg`].
    pub fn arg(self, arg: impl Into<OsString>) -> Self {
        self.with(|command| command.arg(arg))
    }

    /// See [`Command::args`].
    pub fn args<A: Into<OsString>>(self, args: impl IntoIterator<Item = A>) -> Self {
        self.with(|command| command.args(args))
    }

    /// See [`Command::stdin`].
    pub fn stdin(self, bytes: impl Into<Vec<u8>>) -> Self {
        self.with(|command| command.stdin(bytes))
    }

    /// See [`Command::file`].
    pub fn file(self, name: impl Into<PathBuf>, source: impl Into<FileSource>) -> Self {
        self.with(|command| command.file(name, source))
    }

    /// See [`Command::output_files`].
    pub fn output_files(self, files: impl Into<OutputFiles>) -> Self {
        self.with(|command| command.output_files(files))
    }

    /// See [`CommandSettings::env`].
    pub fn env(self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.with(|command| command.env(name, value))
    }

    /// See [`Command::settings`].
    pub fn command_settings(self, settings: CommandSettings) -> Self {
        self.with(|command| command.settings(settings))
    }

    /// A body that is no command has nothing to change.
    fn with(mut self, change: impl FnOnce(Command) -> Command) -> Self {
        if let Some(command) = self.unit.command() {
            let before = std::mem::replace(command, Command::new(""));
            *command = change(before);
        }
        self
    }
}

impl super::task::MakeUnit<CommandOutput> for Command {
    fn make(self: Box<Self>, slot: Slot<CommandOutput>, _: &mut Relocate<'_>) -> Box<dyn Unit> {
        task_unit(*self, (), slot)
    }

    fn command(&mut self) -> Option<&mut Command> {
        Some(self)
    }
}
