//! The form of a job.

use super::command::CommandSettingsForm;
use super::duration::Written;
use super::problem::Problem;
use super::read::Subject;
use super::settings::SettingsForm;
use super::task::TaskForm;
use crate::job::{Described, Job};
use crate::model::{FailurePolicy, OnTaskFailure, Result as CrateResult, TaskOrder};
use crate::work::TaskRef;
use schemars::transform::{Transform, transform_subschemas};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use std::borrow::Cow;
use std::collections::HashMap;
use std::num::NonZeroU32;

/// A job of commands.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Job")]
pub(super) struct JobForm {
    /// Where this schema is, for editors.
    #[serde(default, rename = "$schema", skip_serializing)]
    schema: Option<String>,
    version: Version,
    /// For people; it need not be unique.
    name: String,
    /// Whether its runs take more tasks, and end only when they are sealed. Default: no.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    open: bool,
    /// Which of a pool's jobs go first: those of higher priority.
    #[serde(default, skip_serializing_if = "is_zero")]
    priority: i32,
    /// How long the whole job may take from its submission. Default: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    time_limit: Option<Written>,
    /// What a failed task means for the others.
    #[serde(default, skip_serializing_if = "is_default")]
    failure_policy: FailurePolicy,
    /// Which of the job's ready tasks go first, among those of equal priority.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    task_order: Option<TaskOrder>,
    /// At most so many of the job's tasks run at once. Default: as many as have room.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    max_parallel_tasks: Option<NonZeroU32>,
    /// Makes Azure Batch's rules the job's defaults.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    azure_defaults: bool,
    /// Whether job actions of exit conditions are carried out. Default: they are, but for Azure Batch's rules.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    on_task_failure: Option<OnTaskFailure>,
    /// What the settings of its tasks are, where these set nothing themselves.
    #[serde(default, skip_serializing_if = "SettingsForm::is_default")]
    defaults: SettingsForm,
    /// How its commands run, where these set nothing themselves.
    #[serde(default, skip_serializing_if = "CommandSettingsForm::is_default")]
    command_settings: CommandSettingsForm,
    #[serde(default)]
    tasks: Vec<TaskForm>,
}

/// The version of the format that is written, and the only one that is read.
pub(super) const VERSION: u32 = 1;

/// The most tasks, elements of arrays counted.
const MOST_TASKS: usize = 1_000_000;

/// The number that a document begins with.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
struct Version(u32);

pub(super) fn unknown_version(version: u64) -> Problem {
    Problem::new(format!(
        "this is version {version} of the format, and version {VERSION} is what is known here; update batchyard, or write \
         the job for version {VERSION}"
    ))
}

/// Tasks and arrays, by name.
type Names = HashMap<String, TaskRef>;

/// Reading.
impl JobForm {
    pub(super) fn into_job(
        self,
        subject: Subject,
        line: impl Fn(&Problem) -> Option<usize>,
    ) -> CrateResult<Job> {
        let job = self.build();
        let job = job.map_err(|problem| problem.unread(subject, line(&problem)))?;
        job.check()?;
        Ok(job)
    }

    fn build(mut self) -> Result<Job, Problem> {
        let tasks = std::mem::take(&mut self.tasks);
        let mut job = self.without_tasks()?;
        let waits: Vec<_> = tasks.iter().map(Waits::of).collect();
        let (refs, names) = add_tasks(&mut job, tasks)?;
        for (at, (task, waits)) in refs.into_iter().zip(waits).enumerate() {
            let tied = waits.tie(&mut job, task, &names);
            tied.map_err(|problem| problem.in_item(at).inside("tasks"))?;
        }
        Ok(job)
    }

    fn without_tasks(self) -> Result<Job, Problem> {
        let mut job = match self.open {
            true => Job::open(self.name),
            false => Job::new(self.name),
        };
        job.priority(self.priority);
        job.failure_policy(self.failure_policy);
        self.time_limit
            .into_iter()
            .for_each(|limit| job.time_limit(limit.into()));
        self.task_order
            .into_iter()
            .for_each(|order| job.task_order(order));
        let most = self.max_parallel_tasks.into_iter();
        most.for_each(|most| job.max_parallel_tasks(most.get()));
        if self.azure_defaults {
            job.azure_defaults();
        }
        self.on_task_failure
            .into_iter()
            .for_each(|action| job.on_task_failure(action));
        job.defaults(self.defaults.into());
        let settings = self.command_settings.into_settings();
        job.command_settings(settings.map_err(|problem| problem.inside("command_settings"))?);
        Ok(job)
    }
}

/// What a task waits for.
struct Waits {
    depends_on: Vec<String>,
    after_any_outcome: Vec<String>,
}

impl Waits {
    fn of(form: &TaskForm) -> Self {
        Waits {
            depends_on: form.depends_on.clone(),
            after_any_outcome: form.after_any_outcome.clone(),
        }
    }

    fn tie(self, job: &mut Job, task: TaskRef, names: &Names) -> Result<(), Problem> {
        for (at, name) in self.depends_on.iter().enumerate() {
            let before =
                named(name, names).map_err(|problem| problem.in_item(at).inside("depends_on"))?;
            job.order(before, task);
        }
        for (at, name) in self.after_any_outcome.iter().enumerate() {
            let before = named(name, names)
                .map_err(|problem| problem.in_item(at).inside("after_any_outcome"))?;
            job.order_any_outcome(before, task);
        }
        Ok(())
    }
}

fn add_tasks(job: &mut Job, tasks: Vec<TaskForm>) -> Result<(Vec<TaskRef>, Names), Problem> {
    let (mut refs, mut names, mut room) = (Vec::new(), Names::new(), MOST_TASKS);
    for (at, form) in tasks.into_iter().enumerate() {
        let name = form.name.clone();
        let added = form.add_to(job, room).and_then(|(task, count)| {
            room -= count;
            refs.push(task);
            name.map_or(Ok(()), |name| note(name, task, &mut names))
        });
        added.map_err(|problem| problem.in_item(at).inside("tasks"))?;
    }
    Ok((refs, names))
}

fn note(name: String, task: TaskRef, names: &mut Names) -> Result<(), Problem> {
    if name.is_empty() {
        return Err(Problem::new("is empty; give the task a name, or leave it out").inside("name"));
    }
    let taken = format!("`{name}` is the name of another task of the job; names are unique");
    match names.insert(name, task) {
        None => Ok(()),
        Some(_) => Err(Problem::new(taken).inside("name")),
    }
}

fn named(name: &str, names: &Names) -> Result<TaskRef, Problem> {
    let unknown = || Problem::new(format!("`{name}` is no task of this job; is it spelt so?"));
    names.get(name).copied().ok_or_else(unknown)
}

/// Writing.
impl JobForm {
    pub(super) fn of(job: &Job) -> Result<Self, Problem> {
        let described = job.described();
        let nodes = &described.nodes;
        let names: Vec<_> = nodes.iter().map(|node| node.name).collect();
        let tasks = nodes.iter().map(|node| {
            let form = TaskForm::of(node, &names);
            form.map_err(|problem| problem.inside(&node.label))
        });
        let tasks = tasks.collect::<Result<_, _>>()?;
        JobForm::whole(job.name(), &described, tasks)
    }

    fn whole(name: &str, job: &Described<'_>, tasks: Vec<TaskForm>) -> Result<Self, Problem> {
        let defaults = SettingsForm::of(job.defaults);
        let command_settings = CommandSettingsForm::of(job.command_settings);
        Ok(JobForm {
            schema: None,
            version: Version(VERSION),
            name: name.to_owned(),
            open: job.open,
            priority: job.priority,
            time_limit: Written::of(job.time_limit)
                .map_err(|problem| problem.inside("time_limit"))?,
            failure_policy: job.failure_policy,
            task_order: job.task_order,
            max_parallel_tasks: job.max_parallel_tasks.and_then(NonZeroU32::new),
            azure_defaults: job.rules.keep_blocked(),
            on_task_failure: job.rules.on_task_failure(),
            defaults: defaults.map_err(|problem| problem.inside("defaults"))?,
            command_settings: command_settings
                .map_err(|problem| problem.inside("command_settings"))?,
            tasks,
        })
    }
}

impl<'de> Deserialize<'de> for Version {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        match u32::deserialize(from)? {
            VERSION => Ok(Version(VERSION)),
            other => Err(D::Error::custom(format!(
                "there is no version {other}; write version {VERSION}"
            ))),
        }
    }
}

impl JsonSchema for Version {
    fn schema_name() -> Cow<'static, str> {
        "Version".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "const": VERSION, "description": "The version of the format." })
    }
}

fn is_zero(number: &i32) -> bool {
    *number == 0
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// The JSON Schema of this form.
pub(super) fn schema() -> String {
    let mut schema = SchemaGenerator::default().into_root_schema_for::<JobForm>();
    PlainWords.transform(&mut schema);
    format!("{schema:#}\n", schema = schema.as_value())
}

/// Turns what is written for rustdoc into what is read in an editor.
struct PlainWords;

impl Transform for PlainWords {
    fn transform(&mut self, schema: &mut Schema) {
        if let Some(serde_json::Value::String(text)) = schema.get_mut("description") {
            *text = plain(text);
        }
        transform_subschemas(self, schema);
    }
}

/// The first paragraph, on one line; `[text](target)` and `[text]` in it become `text`.
fn plain(text: &str) -> String {
    let text = text.split("\n\n").next().unwrap_or_default();
    let text = text.replace('\n', " ");
    let mut plain = String::with_capacity(text.len());
    let mut pieces = text.split('[');
    plain.extend(pieces.next());
    for piece in pieces {
        let (inner, rest) = piece.split_once(']').unwrap_or((piece, ""));
        let target = rest.strip_prefix('(').and_then(|rest| rest.split_once(')'));
        plain.push_str(inner);
        plain.push_str(target.map_or(rest, |(_, rest)| rest));
    }
    plain
}
