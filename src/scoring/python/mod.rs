//! Existing Python entry scripts as scorers: a long-lived process for each worker.

mod line;
mod outputs;
mod worker;

use super::fault::Fault;
use super::scorer::{AnyScorer, Hand, IntoScorer, Place, Score, Stop};
use crate::agent::Companions;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use worker::PythonWorker;

/// An entry script of Azure ML's parallel run step, unmodified: `init()`, `run(mini_batch)`, `shutdown()`.
///
/// Each worker is a process that imports the script once. In it
///
/// - the script's folder is the first on `sys.path`, and the working directory; `sys.argv` holds its arguments before it is
///   imported;
/// - `init()` is called once, if there is one; then `run` for each mini-batch, with a list of paths, or with a pandas
///   `DataFrame` whose index begins at 0; and with a context as second argument if it has a second parameter without a
///   default; `shutdown()` at the end, if there is one and the process was not killed;
/// - `run` returns a list, a tuple or a `DataFrame`, with a row for each item. Anything else is an error that no try mends.
///   A row may be a value, a tuple, a list or a `dict`;
/// - what is printed goes to `user/stdout` and `user/stderr` in the folder of the [logs](super::ParallelRun::logs);
/// - `EntryScript` can be imported from `azureml_user.parallel_run` or `entry_script`, and as much of `azureml.core` as finds
///   a model, unless the interpreter has the real ones;
/// - `AZUREML_BI_OUTPUT_PATH`, and `EntryScript().output_dir`, name a folder of the worker's own. What `run` has left there
///   when it returns is moved to [`output_dir`](PythonScorer::output_dir); what a failed call left is thrown away. Files of
///   one name are put together, one after another, in the order in which mini-batches were finished.
///
/// A call that takes too long is ended with everything it has started. A process that ends itself (`sys.exit`, `os._exit`)
/// or dies is a failed try, and is replaced.
///
/// It needs Linux, an interpreter of Python 3.8 or later, and pandas if the input is a table.
///
/// ```no_run
/// use batchyard::scoring::{Files, MiniBatch, ParallelRun, PythonScorer};
/// use batchyard::{Pool, ThreadExecutor};
///
/// let pool = Pool::new(ThreadExecutor::all_cores()?);
/// let report = ParallelRun::new(PythonScorer::entry_script("score.py").model_dir("models"))
///     .input(Files::glob("images/*.png")?)
///     .mini_batch_size(MiniBatch::files(10))
///     .error_threshold(5)
///     .append_rows_to("predictions.csv")
///     .run(&pool)?;
/// println!("{report}");
/// # Ok::<(), batchyard::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct PythonScorer {
    script: PathBuf,
    python: OsString,
    args: Vec<String>,
    variables: Vec<(OsString, OsString)>,
    model_dir: Option<PathBuf>,
    output_dir: Option<PathBuf>,
    gpus: Option<Vec<u32>>,
    recycle_after: Option<u64>,
    recycle_above: Option<u64>,
    profile: bool,
}

impl PythonScorer {
    /// The script at this path, run by the `python3` on the `PATH`.
    pub fn entry_script(path: impl Into<PathBuf>) -> Self {
        PythonScorer {
            script: path.into(),
            python: "python3".into(),
            args: Vec::new(),
            variables: Vec::new(),
            model_dir: None,
            output_dir: None,
            gpus: None,
            recycle_after: None,
            recycle_above: None,
            profile: false,
        }
    }

    /// Another interpreter: a name on the `PATH`, or a path. Default: `python3`.
    pub fn python(mut self, program: impl Into<OsString>) -> Self {
        self.python = program.into();
        self
    }

    /// The script's arguments, as it finds them in `sys.argv[1:]`.
    pub fn args(mut self, args: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// A variable of its environment, beside those of this process, which it inherits.
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.variables
            .push((name.as_ref().to_owned(), value.as_ref().to_owned()));
        self
    }

    /// Where the model is: `AZUREML_MODEL_DIR`.
    pub fn model_dir(mut self, path: impl Into<PathBuf>) -> Self {
        self.model_dir = Some(path.into());
        self
    }

    /// Where the files that the script writes to `AZUREML_BI_OUTPUT_PATH` end up. Default: `outputs` in the folder of the
    /// logs.
    pub fn output_dir(mut self, path: impl Into<PathBuf>) -> Self {
        self.output_dir = Some(path.into());
        self
    }

    /// The GPUs that workers may use, by index: the first for the first worker and so on, as its `CUDA_VISIBLE_DEVICES`.
    /// Workers for which none is left see none. Default: each sees what this process sees.
    pub fn gpus(mut self, indexes: impl IntoIterator<Item = u32>) -> Self {
        self.gpus = Some(indexes.into_iter().collect());
        self
    }

    /// Replaces a process, in good order, after so many mini-batches. Default: never.
    pub fn recycle_after(mut self, mini_batches: u64) -> Self {
        self.recycle_after = Some(mini_batches.max(1));
        self
    }

    /// Replaces a process, in good order, when it has more than so many bytes of memory after a mini-batch. Default: never.
    pub fn recycle_above(mut self, bytes: u64) -> Self {
        self.recycle_above = Some(bytes);
        self
    }

    /// Runs the calls under `cProfile`, and leaves what it finds in `user/profile` in the folder of the logs. Default: no.
    pub fn profile(mut self, profile: bool) -> Self {
        self.profile = profile;
        self
    }
}

#[doc(hidden)]
pub struct ByScript;

impl IntoScorer<ByScript> for PythonScorer {
    fn into_scorer(self) -> AnyScorer {
        AnyScorer(Arc::new(Scripted {
            script: self,
            companions: OnceLock::new(),
        }))
    }
}

/// A script and the processes that run it.
struct Scripted {
    script: PythonScorer,
    companions: OnceLock<Companions>,
}

impl Score for Scripted {
    fn start(&self, place: &Place, stop: Stop<'_>) -> Result<Box<dyn Hand>, Fault> {
        let companions = self.companions.get_or_init(Companions::new);
        let worker = PythonWorker::start(&self.script, companions, place, stop)?;
        Ok(Box::new(worker))
    }

    fn has_processes(&self) -> bool {
        true
    }
}
