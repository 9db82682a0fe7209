//! The builder of parallel runs, and the tasks that they become.

use super::input::{Input, Plan};
use super::mini_batch::MiniBatchSize;
use super::output::Append;
use super::report::Report;
use super::round::Round;
use super::scorer::{AnyScorer, IntoScorer};
use super::settings::{LOSSES, Settings};
use crate::job::{Job, Task};
use crate::model::{Backoff, Error, ErrorKind, Result, TaskSettings};
use crate::pool::Pool;
use crate::work::{Context, Handle, TaskRef, fallible};
use std::fmt;
use std::num::NonZero;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::available_parallelism;
use std::time::Duration;

/// How many mini-batches an input may come to that other tasks make.
const AT_MOST: u64 = 65_536;

/// Scores many files, or the rows of tables, in mini-batches: what Azure ML calls a parallel run step.
///
/// ```
/// use batchyard::scoring::{Files, MiniBatch, ParallelRun, scorer};
/// use batchyard::{Pool, ThreadExecutor};
///
/// # let folder = tempfile::tempdir()?;
/// # std::env::set_current_dir(&folder)?;
/// # (0..25).try_for_each(|n| std::fs::write(format!("{n}.txt"), "some text"))?;
/// let lengths = scorer(|batch: &MiniBatch| {
///     let lengths = batch.paths().iter().map(|path| Ok((path.display().to_string(), std::fs::read(path)?.len())));
///     lengths.collect::<Result<Vec<_>, std::io::Error>>()
/// });
/// let pool = Pool::new(ThreadExecutor::new(2)?);
/// let report = ParallelRun::new(lengths)
///     .input(Files::glob("*.txt")?)
///     .mini_batch_size(MiniBatch::files(10))
///     .error_threshold(5)
///     .append_rows_to("lengths.csv")
///     .run(&pool)?;
/// assert_eq!((report.items.total, report.mini_batches.total), (25, 3));
/// # Ok::<(), batchyard::BoxError>(())
/// ```
///
/// # What it becomes
///
/// Tasks of a job, and nothing beside it: one that begins, an array that makes the workers, an array with an element for
/// each mini-batch, and one that reports. So tries, time limits and the number of workers at work are the engine's, and a
/// run can be [part of a larger job](ParallelRun::add_to).
///
/// # Defaults
///
/// | setting | default | Azure ML's name |
/// |---|---|---|
/// | [`mini_batch_size`](Self::mini_batch_size) | 10 files, or 1 MB of a table | `mini_batch_size` |
/// | [`tries`](Self::tries) | 3 | `run_max_try`; `max_retries` is one less |
/// | [`call_timeout`](Self::call_timeout) | 60 s | `run_invocation_timeout`, `retry_settings.timeout` |
/// | [`overhead_timeout`](Self::overhead_timeout) | 600 s | `task_overhead_timeout` |
/// | [`first_mini_batch_timeout`](Self::first_mini_batch_timeout) | 600 s | `first_task_creation_timeout` |
/// | [`error_threshold`](Self::error_threshold) | none: failed items are borne | `error_threshold`, -1 |
/// | [`allowed_failed_count`](Self::allowed_failed_count) | none | `allowed_failed_count`, `mini_batch_error_threshold` |
/// | [`allowed_failed_percent`](Self::allowed_failed_percent) | 100 | `allowed_failed_percent` |
/// | [`nodes`](Self::nodes) | 1 | `node_count`, `instance_count` |
/// | [`workers_per_node`](Self::workers_per_node) | as many as the node runs tasks at once | `process_count_per_node`, `max_concurrency_per_instance` |
/// | [`append_rows_to`](Self::append_rows_to) | rows are counted, not written | `append_row`; without it `summary_only` |
pub struct ParallelRun {
    name: String,
    scorer: AnyScorer,
    input: Option<From>,
    settings: Settings,
    after: Vec<TaskRef>,
}

/// Where the input comes from.
enum From {
    Known(Input),
    Made { by: Handle<Input>, at_most: u64 },
}

impl ParallelRun {
    /// A run of a [`Scorer`](super::Scorer), or of what [`scorer`](super::scorer) makes of a closure.
    pub fn new<Form>(scorer: impl IntoScorer<Form>) -> Self {
        ParallelRun {
            name: "score".into(),
            scorer: scorer.into_scorer(),
            input: None,
            settings: Settings::default(),
            after: Vec::new(),
        }
    }

    /// What its job, or its tasks in a larger one, are called. Default: `score`.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// What is scored: [`Files`](super::Files) or [`Tables`](super::Tables).
    pub fn input(mut self, input: impl Into<Input>) -> Self {
        self.input = Some(From::Known(input.into()));
        self
    }

    /// What is scored is what an earlier task of the same job returns: see [`add_to`](ParallelRun::add_to). It may come to
    /// 65,536 mini-batches, or as many as [`at_most`](ParallelRun::at_most) says; more are an error.
    pub fn input_from(mut self, task: &Handle<Input>) -> Self {
        self.input = Some(From::Made {
            by: *task,
            at_most: AT_MOST,
        });
        self
    }

    /// How many mini-batches an input may come to that an earlier task makes. Room for one costs less than a microsecond.
    pub fn at_most(mut self, mini_batches: u64) -> Self {
        if let Some(From::Made { at_most, .. }) = &mut self.input {
            *at_most = mini_batches;
        }
        self
    }

    /// Begins only when this task, or array, of the same job has succeeded.
    pub fn after(mut self, task: impl Into<TaskRef>) -> Self {
        self.after.push(task.into());
        self
    }

    /// How large mini-batches are: [`MiniBatch::files`](super::MiniBatch::files) or
    /// [`MiniBatch::bytes`](super::MiniBatch::bytes).
    pub fn mini_batch_size(mut self, size: MiniBatchSize) -> Self {
        self.settings.size = Some(size);
        self
    }

    /// One mini-batch for each combination of values of these keys: of files, names in their
    /// [pattern](super::Files::glob); of tables, columns, for which all of them are read before the first is scored.
    /// Instead of a size.
    pub fn partition_keys(mut self, keys: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.settings.partition_keys = keys.into_iter().map(Into::into).collect();
        self
    }

    /// How many items may fail, over the whole input: files, or rows. One more ends the run. An item has failed when its
    /// mini-batch has, or when fewer rows were returned than there were items. Default: any number.
    pub fn error_threshold(mut self, items: u64) -> Self {
        self.settings.thresholds.items = Some(items);
        self
    }

    /// How many mini-batches may fail. One more ends the run. Default: any number.
    pub fn allowed_failed_count(mut self, mini_batches: u64) -> Self {
        self.settings.thresholds.mini_batches = Some(mini_batches);
        self
    }

    /// How many percent of the mini-batches may fail; judged when all have been scored. Default: 100.
    pub fn allowed_failed_percent(mut self, percent: f64) -> Self {
        self.settings.thresholds.percent = Some(percent);
        self
    }

    /// How often a mini-batch is tried before it has failed: errors, timeouts and panics use a try. A process that dies of a
    /// signal does not, since somebody may have killed it, but five such deaths are the mini-batch's fault. Default: 3.
    pub fn tries(mut self, tries: u32) -> Self {
        self.settings.tries = tries;
        self
    }

    /// How long one call of the scorer may take. One that takes longer has failed: a Python process is killed with its
    /// children; of a Rust scorer the call counts as over, its thread as busy until it returns. Default: 60 s.
    pub fn call_timeout(mut self, limit: Duration) -> Self {
        self.settings.call_timeout = limit;
        self
    }

    /// How long a Python process may take to prepare a mini-batch before the call. Default: 600 s.
    pub fn overhead_timeout(mut self, limit: Duration) -> Self {
        self.settings.overhead_timeout = limit;
        self
    }

    /// How long a worker may take to be made, so that it can score its first mini-batch. Default: 600 s.
    pub fn first_mini_batch_timeout(mut self, limit: Duration) -> Self {
        self.settings.first_timeout = limit;
        self
    }

    /// How long a Python process may take to end in good order: `shutdown` included. Default: 30 s.
    pub fn shutdown_timeout(mut self, limit: Duration) -> Self {
        self.settings.shutdown_timeout = limit;
        self
    }

    /// How many nodes take part. An executor on threads is one node. Default: 1.
    pub fn nodes(mut self, nodes: u32) -> Self {
        self.settings.nodes = nodes;
        self
    }

    /// How many workers each node has, and so how many mini-batches are scored at once. More than it has slots are not at
    /// work at once. Default: as many as the pool has slots; in a larger job, as many as this machine has cores.
    pub fn workers_per_node(mut self, workers: u32) -> Self {
        self.settings.workers_per_node = Some(workers);
        self
    }

    /// Writes all rows to this file. See [`Append`] for the formats, the order, and when it appears.
    pub fn append_rows_to(mut self, file: impl Into<Append>) -> Self {
        self.settings.append = Some(file.into());
        self
    }

    /// Counts the rows and writes none: the scorer writes its own output. The default.
    pub fn summary_only(mut self) -> Self {
        self.settings.append = None;
        self
    }

    /// The folder for what scripts print, for tracebacks and for the report's files. Default: none; for an entry script a new
    /// one in the system's folder for temporary files, which the report names.
    pub fn logs(mut self, folder: impl Into<PathBuf>) -> Self {
        self.settings.logs = Some(folder.into());
        self
    }

    /// Runs it, and blocks until it has ended.
    ///
    /// # Errors
    /// [`InvalidSetting`](ErrorKind::InvalidSetting) or [`InvalidInput`](ErrorKind::InvalidInput) before anything starts;
    /// [`TaskFailed`](ErrorKind::TaskFailed) if it ended early, with a [`ScoringError`](super::ScoringError) as cause; what
    /// else a [run](crate::Run::output) may end with.
    pub fn run(self, pool: &Pool) -> Result<Report> {
        let mut job = Job::new(self.name.clone());
        let report = self.add_tasks(&mut job, pool.slots())?;
        let report = pool.submit(job)?.output(&report).wait()?;
        Ok(report.clone())
    }

    /// Adds it to a job, as tasks: `NAME` is the array of mini-batches; `NAME.begin`, `NAME.init` and `NAME.report` stand
    /// around it. The handle is that of the last one: what depends on it runs when the output is there.
    ///
    /// # Errors
    /// As [`run`](ParallelRun::run), before anything starts.
    pub fn add_to(self, job: &mut Job) -> Result<Handle<Report>> {
        self.add_tasks(job, None)
    }

    /// With as many workers as there are slots, if that is known.
    fn add_tasks(self, job: &mut Job, slots: Option<u32>) -> Result<Handle<Report>> {
        let ParallelRun {
            name,
            scorer,
            input,
            settings,
            after,
        } = self;
        settings.check()?;
        let input = input.ok_or_else(nothing_to_score)?;
        let (settings, has_processes) = (Arc::new(settings), scorer.0.has_processes());
        let mini_batches = input.at_most(&settings)?;
        let useful = u32::try_from(mini_batches)
            .unwrap_or(u32::MAX)
            .min(slots.unwrap_or(u32::MAX));
        let workers = settings.workers(slots.unwrap_or_else(cores)).min(useful);
        let tasks = Tasks {
            name,
            settings: settings.clone(),
            has_processes,
            workers,
        };

        let begin = tasks.begin(job, scorer, input, after);
        let init = job.array_with(
            tasks.called("init"),
            workers as usize,
            &begin,
            |cx: &Context, _: &usize, round: &Round| {
                round.hire(cx);
            },
        );
        let score = job.array_with(
            tasks.name.clone(),
            mini_batches as usize,
            &begin,
            fallible(|cx: &Context, element: &usize, round: &Round| round.score(cx, *element)),
        );
        job.order(init, score);
        job.configure(
            init,
            tasks.limited(TaskSettings::new(), settings.first_timeout),
        );
        job.configure(score, tasks.limited(tasks.retried(), settings.call_timeout));
        let report = job.task(tasks.called("report"), &begin, fallible(Round::finish));
        job.order(score, report);
        Ok(report)
    }
}

impl From {
    fn at_most(&self, settings: &Settings) -> Result<u64> {
        match self {
            From::Known(input) => Plan::new(input, settings)?.at_most(),
            From::Made { at_most, .. } => Ok(*at_most),
        }
    }
}

fn nothing_to_score() -> Error {
    Error::new(
        ErrorKind::InvalidSetting,
        "there is nothing to score; name some `input`",
    )
}

/// What the tasks of a run have in common.
struct Tasks {
    name: String,
    settings: Arc<Settings>,
    has_processes: bool,
    workers: u32,
}

impl Tasks {
    fn called(&self, part: &str) -> String {
        format!("{}.{part}", self.name)
    }

    fn begin(
        &self,
        job: &mut Job,
        scorer: AnyScorer,
        input: From,
        after: Vec<TaskRef>,
    ) -> Handle<Round> {
        let (name, settings, workers) = (self.called("begin"), self.settings.clone(), self.workers);
        let begin = match input {
            From::Made { by, .. } => {
                let begin = move |input: &Input| Round::begin(&scorer, input, &settings, workers);
                Task::new(name, &by, fallible(begin))
            }
            From::Known(input) => {
                let begin = move || Round::begin(&scorer, &input, &settings, workers);
                Task::new(name, (), fallible(begin))
            }
        };
        job.add(after.into_iter().fold(begin, Task::after))
    }

    /// The tries are counted by the round, which knows what uses one; the engine makes them. One attempt more than there can
    /// be tries is for entering a mini-batch whose last try the engine has ended.
    fn retried(&self) -> TaskSettings {
        TaskSettings::new()
            .max_retries(self.settings.tries + LOSSES)
            .backoff(Backoff::none())
            .max_parallel(self.workers)
    }

    /// Calls that nobody else ends when they take too long, the engine does.
    fn limited(&self, settings: TaskSettings, limit: Duration) -> TaskSettings {
        if self.has_processes {
            settings
        } else {
            settings.time_limit(limit)
        }
    }
}

fn cores() -> u32 {
    let cores = available_parallelism().map_or(1, NonZero::get);
    u32::try_from(cores).unwrap_or(u32::MAX)
}

impl fmt::Debug for ParallelRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ParallelRun")
            .field("name", &self.name)
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}
