//! Runs the graph of a recorded scientific workflow, its tasks sleeping as long as they once took.
//!
//!     cargo run --release --example workflow [recording.json [slots]]
//!
//! A recording is WfCommons' WfFormat 1.5 (<https://wfcommons.org>). Time is scaled so that the run
//! could take 1.5 seconds at best. No schedule beats two bounds: the longest path of dependent
//! tasks, and all the work spread evenly over the slots. How near did this one come?

use batchyard::{BoxError, Handle, Job, Pool, ThreadExecutor};
use serde::Deserialize;
use std::collections::HashMap;
use std::process::ExitCode;
use std::time::{Duration, Instant};

const SECONDS: f64 = 1.5;
const SLOTS: usize = 8;
const RECORDING: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/examples/workflow/diamonds.json"
);

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().unwrap_or_else(|| RECORDING.into());
    let slots = arguments.next().map_or(Ok(SLOTS), |slots| slots.parse());
    let done = slots
        .map_err(|error| format!("slots: {error}").into())
        .and_then(|slots| replay(&Recording::read(&path)?, slots));
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{path}: {error}");
            ExitCode::FAILURE
        }
    }
}

fn replay(recording: &Recording, slots: usize) -> Result<(), BoxError> {
    let executor = ThreadExecutor::new(slots)?;
    let (work, path) = (recording.work(), recording.critical_path());
    let bound = path.max(work / slots as f64);
    if bound == 0.0 {
        return Err("no task has a run time above 0".into());
    }
    let scale = SECONDS / bound;

    let job = recording.job(scale)?;
    let pool = Pool::new(executor);
    let start = Instant::now();
    pool.submit(job)?.wait()?;
    let makespan = start.elapsed().as_secs_f64();

    println!(
        "tasks          {:9}, {} dependencies",
        recording.tasks.len(),
        recording.edges.len()
    );
    println!(
        "makespan       {makespan:9.3} s on {slots} slots, {:.3} × the bound",
        makespan / SECONDS
    );
    println!("critical path  {:9.3} s", path * scale);
    println!("work ÷ slots   {:9.3} s", work * scale / slots as f64);
    println!("recorded as    {bound:9.3} s at best");
    Ok(())
}

/// What matters of a recording.
struct Recording {
    /// Each task's id and its run time in seconds.
    tasks: Vec<(String, f64)>,
    /// Pairs of tasks by index: the first before the second.
    edges: Vec<(usize, usize)>,
}

impl Recording {
    fn read(path: &str) -> Result<Self, BoxError> {
        let text = std::fs::read_to_string(path)?;
        let Version { schema_version } = serde_json::from_str(&text)?;
        if schema_version != "1.5" {
            return Err(
                format!("schemaVersion is {schema_version}, only 1.5 is understood").into(),
            );
        }
        let File { workflow } = serde_json::from_str(&text)?;

        let executed = workflow.execution.tasks.iter();
        let times: HashMap<_, _> = executed
            .map(|task| (&task.id, task.runtime_in_seconds))
            .collect();
        let specified = workflow.specification.tasks;
        let index: HashMap<_, _> = specified
            .iter()
            .enumerate()
            .map(|(i, task)| (&task.id, i))
            .collect();

        let mut recording = Recording {
            tasks: Vec::new(),
            edges: Vec::new(),
        };
        for (i, Specified { id, parents }) in specified.iter().enumerate() {
            let seconds = *times
                .get(id)
                .ok_or_else(|| format!("task {id} has no run time"))?;
            // This is also what refuses negative ones.
            Duration::try_from_secs_f64(seconds).map_err(|error| format!("task {id}: {error}"))?;
            recording.tasks.push((id.clone(), seconds));
            for parent in parents {
                let unknown = || format!("task {id} has an unknown parent, {parent}");
                recording
                    .edges
                    .push((*index.get(parent).ok_or_else(unknown)?, i));
            }
        }
        Ok(recording)
    }

    fn job(&self, scale: f64) -> Result<Job, BoxError> {
        let mut job = Job::new("workflow");
        let mut handles: Vec<Handle<()>> = Vec::new();
        for (id, seconds) in &self.tasks {
            let time = Duration::try_from_secs_f64(seconds * scale)?;
            handles.push(job.task(id.as_str(), (), move || std::thread::sleep(time)));
        }
        for &(before, after) in &self.edges {
            job.order(handles[before], handles[after]);
        }
        // Cycles and ids that come twice are found here, before anything runs.
        job.check()?;
        Ok(job)
    }

    fn work(&self) -> f64 {
        self.tasks.iter().map(|(_, seconds)| seconds).sum()
    }

    /// The time of the longest path.
    fn critical_path(&self) -> f64 {
        // When each task ends if slots are no limit. A path has fewer edges than there are tasks, so
        // that many rounds settle it; most graphs need a handful.
        let time = |task: usize| self.tasks[task].1;
        let mut ends: Vec<f64> = (0..self.tasks.len()).map(time).collect();
        for _ in &self.tasks {
            let before = ends.clone();
            for &(parent, child) in &self.edges {
                ends[child] = ends[child].max(ends[parent] + time(child));
            }
            if ends == before {
                break;
            }
        }
        ends.into_iter().fold(0.0, f64::max)
    }
}

/// The parts of a WfFormat file that are read.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Version {
    schema_version: String,
}

#[derive(Deserialize)]
struct File {
    workflow: Workflow,
}

#[derive(Deserialize)]
struct Workflow {
    specification: Tasks<Specified>,
    execution: Tasks<Executed>,
}

#[derive(Deserialize)]
struct Tasks<T> {
    tasks: Vec<T>,
}

#[derive(Deserialize)]
struct Specified {
    id: String,
    parents: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Executed {
    id: String,
    runtime_in_seconds: f64,
}
