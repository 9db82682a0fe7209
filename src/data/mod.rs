//! Jobs of commands, and settings, as documents: JSON and TOML.
//!
//! What a document may say is a *form*: types of their own, so that the format changes only when its version does. A form
//! is read and written by serde, and becomes a job, or is taken from one, in the file that it stands in. What is wrong is a
//! *problem* with its place.

mod command;
mod duration;
mod exit;
mod job;
mod problem;
mod read;
mod settings;
mod short;
mod sweep;
mod task;

use crate::job::Job;
use crate::model::{Result, TaskSettings};
use job::JobForm;
use read::Subject;
use settings::SettingsForm;

/// Jobs as data (feature `data`).
///
/// A job whose tasks are all commands can be written down, and read. The document has a version, which is 1; a name; what
/// [`Job`] itself can be told; and its tasks, each with a [`Command`](crate::Command), what it depends on by name, and its
/// settings. `docs/job.schema.json` in the repository describes all of it as a JSON Schema, and so does
/// [`json_schema`](Job::json_schema).
///
/// ```
/// use batchyard::{CommandOutput, Job, Pool, ThreadExecutor};
///
/// let job = Job::from_toml(r#"
///     version = 1
///     name = "squares"
///     defaults = { max_retries = 2, time_limit = "30s" }
///
///     [[tasks]]
///     name = "square"
///     sweep = [{ start = 1, end = 3 }]
///     command = { shell = "echo $(({0} * {0})) >> $BATCHYARD_SHARED_DIR/squares" }
///
///     [[tasks]]
///     name = "sum"
///     depends_on = ["square"]
///     command = { shell = "paste -sd+ $BATCHYARD_SHARED_DIR/squares | sed 's/.*/echo $((&))/' | sh" }
/// "#)?;
/// let sum = job.find::<CommandOutput>("sum")?;
/// let pool = Pool::new(ThreadExecutor::new(2)?);
/// let run = pool.submit(job)?;
/// assert_eq!(run.output(&sum).wait()?.stdout().text()?, "14\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Durations have a unit (`"30s"`, `"1h 30m"`) or are ISO 8601's (`"PT30S"`). Secrets stay out: `secret_env` lists names, and
/// the values are those that this process's environment has when the document is read. A document may have 16 MiB, a
/// nesting as deep as the format's reader takes (128 levels of JSON, 80 of TOML), and a million tasks, elements of arrays
/// counted.
impl Job {
    /// Reads a job from JSON.
    ///
    /// # Errors
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput), naming the place inside the document and what to do about it;
    /// [`InvalidJob`](crate::ErrorKind::InvalidJob) for tasks that wait for each other.
    pub fn from_json(text: &str) -> Result<Job> {
        JobForm::into_job(read::json(text, Subject::Job)?, Subject::Job, |_| None)
    }

    /// Reads a job from TOML.
    ///
    /// # Errors
    /// As [`from_json`](Job::from_json); with the line.
    pub fn from_toml(text: &str) -> Result<Job> {
        let form: JobForm = read::toml(text, Subject::Job)?;
        form.into_job(Subject::Job, |problem| read::toml_line(text, problem))
    }

    /// Writes the job as JSON, for [`from_json`](Job::from_json) to read. Of secret variables only the names are written.
    ///
    /// # Errors
    /// [`Unsupported`](crate::ErrorKind::Unsupported), naming the task, when something of the job can't be written: a body
    /// that is no command, or one that is made from outputs; an array that isn't a [sweep](Job::sweep); a condition for
    /// retries; text that isn't UTF-8. [`InvalidJob`](crate::ErrorKind::InvalidJob) when it can't be run either.
    pub fn to_json(&self) -> Result<String> {
        self.check()?;
        let form = JobForm::of(self).map_err(|problem| problem.unwritten(self.name()))?;
        read::to_json(&form)
    }

    /// The JSON Schema of what [`from_json`](Job::from_json) reads, as editors take it: JSON itself.
    pub fn json_schema() -> String {
        job::schema()
    }
}

/// Settings as data (feature `data`): what a job's document has as `defaults`, for jobs that are not in it.
///
/// ```
/// use batchyard::{Job, TaskSettings};
///
/// let settings = TaskSettings::from_toml(r#"
///     max_retries = 3
///     time_limit = "5m"
///     resources = { cpus = 0.5 }
/// "#)?;
/// let mut job = Job::new("from here");
/// job.defaults(settings);
/// # Ok::<(), batchyard::Error>(())
/// ```
impl TaskSettings {
    /// Reads settings from JSON.
    ///
    /// # Errors
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput), naming the place inside the document and what to do about it.
    pub fn from_json(text: &str) -> Result<TaskSettings> {
        read::json::<SettingsForm>(text, Subject::Settings).map(Into::into)
    }

    /// Reads settings from TOML.
    ///
    /// # Errors
    /// As [`from_json`](TaskSettings::from_json); with the line.
    pub fn from_toml(text: &str) -> Result<TaskSettings> {
        read::toml::<SettingsForm>(text, Subject::Settings).map(Into::into)
    }

    /// Writes the settings as JSON, for [`from_json`](TaskSettings::from_json) to read.
    ///
    /// # Errors
    /// [`Unsupported`](crate::ErrorKind::Unsupported) when something can't be written: a condition for retries, a duration of
    /// twenty thousand years.
    pub fn to_json(&self) -> Result<String> {
        let form = SettingsForm::of(self).map_err(|problem| problem.unwritten_settings())?;
        read::to_json(&form)
    }
}
