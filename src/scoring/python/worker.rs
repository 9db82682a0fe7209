//! One worker: a Python process that has imported the script.

use super::PythonScorer;
use super::line::{Line, Silence};
use super::outputs::Outputs;
use crate::agent::{Companion, Companions, Ended, tail};
use crate::model::BoxError;
use crate::scoring::fault::{Category, Fault};
use crate::scoring::mini_batch::{Items, MiniBatch};
use crate::scoring::output::{Encoder, Form, Scored, header_line};
use crate::scoring::scorer::{Hand, Place, Stop};
use crate::scoring::settings::Settings;
use serde_json::{Value, json};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// What the process runs.
const DRIVER: &str = include_str!("driver.py");

/// How long a process that takes too long has to end when it is asked to.
const GRACE: Duration = Duration::from_millis(500);

/// How much of what a process that died had written to its standard error is shown.
const LAST_WORDS: u64 = 2000;

pub(super) struct PythonWorker {
    /// Gone when it has ended.
    companion: Option<Companion>,
    line: Line,
    settings: Arc<Settings>,
    outputs: Outputs,
    stderr: PathBuf,
    /// How much others had written there before.
    stderr_before: u64,
    notes: Vec<String>,
    calls: u64,
    recycle_after: u64,
    recycle_above: u64,
}

impl PythonWorker {
    /// Starts the process, imports the script and calls `init`.
    pub(super) fn start(
        scorer: &PythonScorer,
        companions: &Companions,
        place: &Place,
        stop: Stop<'_>,
    ) -> Result<Self, Fault> {
        let mut worker = Self::launch(scorer, companions, place)
            .map_err(|error| Fault::exception(error).losing_worker())?;
        let script = std::path::absolute(&scorer.script).unwrap_or_else(|_| scorer.script.clone());
        let setup = json!({
            "script": script.to_string_lossy(),
            "args": scorer.args,
            "form": place.encoder.form.map(name_of),
            "profile": scorer.profile.then(|| place.logs.join(format!("user/profile/{}.prof", place.worker.number)).to_string_lossy().into_owned()),
        });
        let limit = place.settings.first_timeout;
        let said = worker.line.say(&setup, &[], limit, stop);
        let answer = said.and_then(|()| worker.line.hear(limit, stop));
        let (answer, _) = answer
            .map_err(|silence| worker.lost(&silence, "init", Category::LoadTimeout, limit))?;
        if answer["is"] != "ready" {
            return Err(worker.told(&answer));
        }
        let notes = answer["notes"].as_array().into_iter().flatten();
        worker.notes = notes
            .filter_map(|note| note.as_str().map(str::to_owned))
            .collect();
        Ok(worker)
    }

    fn launch(
        scorer: &PythonScorer,
        companions: &Companions,
        place: &Place,
    ) -> Result<Self, BoxError> {
        let script = std::path::absolute(&scorer.script)?;
        if !script.is_file() {
            return Err(format!("there is no entry script {}", script.display()).into());
        }
        let number = place.worker.number;
        let (stdout, _) = log(&place.logs, "stdout", number)?;
        let (stderr, stderr_path) = log(&place.logs, "stderr", number)?;
        fs::create_dir_all(place.logs.join("user/profile"))?;
        let published = scorer
            .output_dir
            .clone()
            .unwrap_or_else(|| place.logs.join("outputs"));
        let outputs = Outputs::new(&std::path::absolute(published)?, number)?;
        let (ours, theirs) = UnixStream::pair()?;
        let args = [OsString::from("-c"), DRIVER.into()];
        let variables = variables(scorer, place, outputs.own())?;
        let folder = script.parent().unwrap_or(Path::new("/"));
        let streams = [theirs.as_fd(), stdout.as_fd(), stderr.as_fd()];
        let companion = companions.start(&scorer.python, &args, &variables, folder, streams)?;
        Ok(PythonWorker {
            companion: Some(companion),
            line: Line::new(ours)?,
            settings: place.settings.clone(),
            outputs,
            stderr_before: stderr.metadata()?.len(),
            stderr: stderr_path,
            notes: Vec::new(),
            calls: 0,
            recycle_after: scorer.recycle_after.unwrap_or(u64::MAX),
            recycle_above: scorer.recycle_above.unwrap_or(u64::MAX),
        })
    }

    fn call(&mut self, batch: &MiniBatch, stop: Stop<'_>) -> Result<Scored, Fault> {
        let (load, run) = (self.settings.overhead_timeout, self.settings.call_timeout);
        let sent = self
            .send(batch, load, stop)
            .and_then(|()| self.line.hear(load, stop));
        let (answer, _) =
            sent.map_err(|silence| self.lost(&silence, "loading", Category::LoadTimeout, load))?;
        if answer["is"] != "loaded" {
            return Err(self.told(&answer));
        }
        let heard = self.line.hear(run, stop);
        let (answer, rows) =
            heard.map_err(|silence| self.lost(&silence, "run", Category::RunTimeout, run))?;
        if answer["is"] != "rows" {
            return Err(self.told(&answer));
        }
        self.calls += 1;
        Ok(self.scored(&answer, rows))
    }

    fn send(&mut self, batch: &MiniBatch, limit: Duration, stop: Stop<'_>) -> Result<(), Silence> {
        let mut message = json!({
            "do": "run",
            "index": batch.index,
            "attempt": batch.attempt,
            "partition": batch.partition,
        });
        match &batch.items {
            Items::Files(files) => {
                message["kind"] = "files".into();
                let paths: Vec<_> = files
                    .iter()
                    .map(|file| std::path::absolute(file).unwrap_or_else(|_| file.clone()))
                    .collect();
                let body: Vec<u8> = paths
                    .iter()
                    .flat_map(|path| [path.as_os_str().as_bytes(), b"\0"].concat())
                    .collect();
                self.line.say(&message, &[&body], limit, stop)
            }
            Items::Rows(rows) => {
                let table = rows.table();
                message["kind"] = if table.dialect().is_some() {
                    "csv"
                } else {
                    "json"
                }
                .into();
                message["delimiter"] = table
                    .dialect()
                    .map(|byte| char::from(byte).to_string())
                    .into();
                message["first_row"] = table.first_row().into();
                message["header"] = (!table.columns().is_empty()).into();
                let header = table.header_line();
                self.line.say(
                    &message,
                    &[header.as_bytes(), table.text().as_bytes()],
                    limit,
                    stop,
                )
            }
        }
    }

    fn scored(&self, answer: &Value, bytes: Vec<u8>) -> Scored {
        let seconds = |name: &str| {
            Duration::try_from_secs_f64(answer[name].as_f64().unwrap_or_default())
                .unwrap_or_default()
        };
        let names = answer["columns"].as_array().into_iter().flatten();
        let names: Vec<_> = names.filter_map(Value::as_str).collect();
        let header = (!names.is_empty()).then(|| header_line(names));
        let resident = answer["resident"].as_u64().unwrap_or_default();
        Scored {
            rows: answer["rows"].as_u64().unwrap_or_default(),
            header: header.and_then(Result::ok),
            bytes,
            run_time: seconds("seconds"),
            process_time: seconds("cpu"),
            worn: self.calls >= self.recycle_after || resident > self.recycle_above,
        }
    }

    /// What the script did, by its own account.
    fn told(&mut self, answer: &Value) -> Fault {
        let category = match answer["category"].as_str() {
            Some("wrong") => Category::WrongResult,
            Some("exit") => Category::Exited,
            Some("memory") => Category::OutOfMemory,
            _ => Category::RunException,
        };
        let fault = Fault::new(
            category,
            answer["error"].as_str().unwrap_or("an unknown error"),
        );
        match category {
            Category::Exited | Category::OutOfMemory => fault.losing_worker(),
            _ => fault,
        }
    }

    /// Nothing came from the process: it is ended, if it has not ended itself.
    fn lost(
        &mut self,
        silence: &Silence,
        what: &str,
        too_long: Category,
        limit: Duration,
    ) -> Fault {
        let Some(companion) = self.companion.take() else {
            return Fault::exception("the process has ended".into()).losing_worker();
        };
        let fault = match silence {
            Silence::Closed if companion.ends_within(GRACE) => self.died(companion.end(), what),
            Silence::Closed => {
                let _ = companion.end();
                Fault::new(
                    Category::Exited,
                    format!("the process closed its line in `{what}`"),
                )
            }
            Silence::TimedOut => {
                end(companion);
                let message = format!(
                    "`{what}` took longer than {limit:?}; the process and its children were killed"
                );
                Fault::new(too_long, message)
            }
            Silence::Stopped => {
                end(companion);
                Fault::exception("the run has ended".into())
            }
        };
        fault.losing_worker()
    }

    fn died(&self, end: io::Result<Ended>, what: &str) -> Fault {
        let words = self.last_words();
        let (category, message) = match end {
            Ok(Ended::Killed(signal)) => (Category::Crashed, format!("died of signal {signal}")),
            Ok(Ended::Exited(code)) => (Category::Exited, format!("ended with exit code {code}")),
            Err(error) => (Category::Exited, format!("is gone ({error})")),
        };
        Fault::new(
            category,
            format!("the process {message} in `{what}`{words}"),
        )
    }

    /// The end of what it wrote to its standard error.
    fn last_words(&self) -> String {
        let said = tail(&self.stderr, self.stderr_before, LAST_WORDS).unwrap_or_default();
        match said.as_str() {
            "" => String::new(),
            words => format!("; its last words: {words}"),
        }
    }
}

impl Hand for PythonWorker {
    fn score(&mut self, batch: &MiniBatch, _: &Encoder, stop: Stop<'_>) -> Result<Scored, Fault> {
        let scored = self
            .call(batch, stop)
            .inspect_err(|_| drop(self.outputs.discard()))?;
        self.outputs.publish().map_err(|error| {
            Fault::exception(format!("can't move the script's own files: {error}").into())
        })?;
        Ok(scored)
    }

    fn notes(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notes)
    }

    fn shut_down(mut self: Box<Self>) -> Result<(), BoxError> {
        let limit = self.settings.shutdown_timeout;
        let said = self.line.say(&json!({"do": "end"}), &[], limit, &|| false);
        let answer = said.and_then(|()| self.line.hear(limit, &|| false));
        let (answer, _) = answer.map_err(|silence| {
            self.lost(&silence, "shutdown", Category::RunTimeout, limit)
                .error
        })?;
        if answer["is"] != "ended" {
            return Err(self.told(&answer).error);
        }
        let published = self.outputs.publish();
        if let Some(companion) = self.companion.take() {
            companion.ends_within(limit);
            companion.end()?;
        }
        Ok(published?)
    }
}

impl Drop for PythonWorker {
    fn drop(&mut self) {
        if let Some(companion) = self.companion.take() {
            end(companion);
        }
    }
}

/// Asks a process to end, and ends it.
fn end(companion: Companion) {
    companion.ask();
    companion.ends_within(GRACE);
    let _ = companion.end();
}

/// The file that a worker's standard output or error goes to.
fn log(logs: &Path, stream: &str, worker: u32) -> io::Result<(File, PathBuf)> {
    let folder = logs.join("user").join(stream).join("0");
    fs::create_dir_all(&folder)?;
    let path = folder.join(format!("{worker}.{stream}.txt"));
    let file = File::options().create(true).append(true).open(&path)?;
    Ok((file, path))
}

fn variables(
    scorer: &PythonScorer,
    place: &Place,
    own: &Path,
) -> io::Result<Vec<(OsString, OsString)>> {
    let number = place.worker.number;
    let mut variables: Vec<(OsString, OsString)> = vec![
        ("AZUREML_BI_OUTPUT_PATH".into(), own.into()),
        ("BATCHYARD_WORKER".into(), number.to_string().into()),
        ("BATCHYARD_LOGS".into(), place.logs.clone().into()),
    ];
    if let Some(model) = &scorer.model_dir {
        variables.push((
            "AZUREML_MODEL_DIR".into(),
            std::path::absolute(model)?.into(),
        ));
    }
    if let Some(gpus) = &scorer.gpus {
        let own = gpus
            .get(number as usize)
            .map(u32::to_string)
            .unwrap_or_default();
        variables.push(("CUDA_VISIBLE_DEVICES".into(), own.into()));
    }
    variables.extend(scorer.variables.iter().cloned());
    Ok(variables)
}

fn name_of(form: Form) -> &'static str {
    match form {
        Form::Csv => "csv",
        Form::JsonLines => "json",
        Form::Text => "text",
    }
}
