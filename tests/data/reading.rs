//! What documents say, and what jobs they become.

use crate::with;
use batchyard::petgraph::visit::{EdgeRef, IntoEdgeReferences};
use batchyard::{CommandOutput, ErrorKind, Job};

const WHOLE: &str = r#"
version = 1
name = "whole"
priority = -3
time_limit = "2h"
failure_policy = { max_failures = 3 }
task_order = "submission"
max_parallel_tasks = 8
on_task_failure = "perform_exit_options_job_action"
defaults = { max_retries = "unlimited", backoff = { initial = "1s" } }
command_settings = { env = { LANG = "C" }, kill_grace = "2s", retention = "keep" }

[[tasks]]
name = "clean"
depends_on = ["score"]
after_any_outcome = ["fetch"]
command = { shell = "rm -rf $1", args = ["scratch"], stdin = "y" }

[[tasks]]
name = "fetch"
keep = true
command = { program = "curl", args = ["-O", "x"], output_files = ["*.csv", { pattern = "*.log", when = "always", to = "/logs" }] }
command_settings = { stragglers = "await", niceness = 5, inherit_env = true }
settings = { time_limit = "30s", resources = { slots = 2, custom = { licence = 1.5 } } }

[[tasks]]
name = "score"
depends_on = ["fetch"]
sweep = [{ start = 1, end = 9, step = 4 }, ["dry", "wet"]]
command = { program = "./score", args = ["{0}", "{1}"], files = [{ name = "score", path = "/bin/score", executable = true }] }
settings = { max_parallel = 2, exit_conditions = { codes = [{ code = 3, dependency_action = "satisfy" }], otherwise = { job_action = "terminate" } } }

[[tasks]]
command = ["true"]
"#;

#[test]
fn everything_that_a_document_can_say_is_read() {
    let job = Job::from_toml(WHOLE).unwrap();
    assert_eq!((job.name(), job.len()), ("whole", 9));
    let written: serde_json::Value = serde_json::from_str(&job.to_json().unwrap()).unwrap();
    let expected: serde_json::Value = serde_json::from_str(WRITTEN).unwrap();
    assert_eq!(written, expected);
}

/// Every setting of [`WHOLE`], as it is written.
const WRITTEN: &str = r#"{
    "version": 1,
    "name": "whole",
    "priority": -3,
    "time_limit": "2h",
    "failure_policy": { "max_failures": 3 },
    "task_order": "submission",
    "max_parallel_tasks": 8,
    "on_task_failure": "perform_exit_options_job_action",
    "defaults": {
        "max_retries": "unlimited",
        "backoff": { "initial": "1s", "factor": 2.0, "max": "1m", "jitter": 0.5 }
    },
    "command_settings": { "env": { "LANG": "C" }, "kill_grace": "2s", "retention": "keep" },
    "tasks": [
        {
            "name": "clean",
            "depends_on": ["score"],
            "after_any_outcome": ["fetch"],
            "command": { "shell": "rm -rf $1", "args": ["scratch"], "stdin": "y" }
        },
        {
            "name": "fetch",
            "keep": true,
            "command": {
                "program": "curl",
                "args": ["-O", "x"],
                "output_files": [
                    { "pattern": "*.csv", "when": "on_success" },
                    { "pattern": "*.log", "when": "always", "to": "/logs" }
                ]
            },
            "command_settings": { "stragglers": "await", "niceness": 5, "inherit_env": true },
            "settings": {
                "time_limit": "30s",
                "resources": {
                    "slots": 2, "cpus": 0, "memory": 0, "gpus": 0, "custom": { "licence": 1.5 },
                    "instances": 1, "packed": false
                }
            }
        },
        {
            "name": "score",
            "depends_on": ["fetch"],
            "sweep": [{ "start": 1, "end": 9, "step": 4 }, ["dry", "wet"]],
            "command": {
                "program": "./score",
                "args": ["{0}", "{1}"],
                "files": [{ "name": "score", "path": "/bin/score", "executable": true }]
            },
            "settings": {
                "max_parallel": 2,
                "exit_conditions": {
                    "codes": [{ "code": 3, "dependency_action": "satisfy" }],
                    "otherwise": { "job_action": "terminate" }
                }
            }
        },
        { "command": { "program": "true" } }
    ]
}"#;

#[test]
fn json_and_toml_say_the_same() {
    let from_toml = Job::from_toml(WHOLE).unwrap().to_json().unwrap();
    let from_json = Job::from_json(WRITTEN).unwrap().to_json().unwrap();
    assert_eq!(from_toml, from_json);
}

#[test]
fn dependencies_are_found_by_name_wherever_they_stand() {
    let job = Job::from_toml(WHOLE).unwrap();
    let graph = job.graph();
    let edges = graph
        .edge_references()
        .map(|edge| (edge.source().index(), edge.target().index()));
    let ids = |before: &str, after: &str| (id(&job, before), id(&job, after));
    let mut edges: Vec<_> = edges.collect();
    let mut expected = vec![
        ids("fetch", "score"),
        ids("score", "clean"),
        ids("fetch", "clean"),
    ];
    edges.sort_unstable();
    expected.sort_unstable();
    assert_eq!(edges, expected);
}

fn id(job: &Job, name: &str) -> usize {
    let task = job.find::<CommandOutput>(name).map(|task| task.id());
    task.or_else(|_| {
        job.find_array::<CommandOutput>(name)
            .map(|array| array.id())
    })
    .unwrap()
    .number() as usize
}

#[test]
fn handles_are_found_by_name_and_type() {
    let job = Job::from_toml(WHOLE).unwrap();
    assert_eq!(job.find_array::<CommandOutput>("score").unwrap().len(), 6);
    job.find::<CommandOutput>("fetch").unwrap();
    job.find_any("clean").unwrap();
    let not_found = [
        job.find::<CommandOutput>("score").unwrap_err(),
        job.find::<u64>("fetch").unwrap_err(),
        job.find_array::<CommandOutput>("fetch").unwrap_err(),
        job.find_any("fletch").unwrap_err(),
    ];
    for error in not_found {
        assert_eq!(error.kind(), ErrorKind::UnknownTask, "{error}");
    }
}

#[test]
fn a_command_can_be_written_as_a_list() {
    let short = with("", r#"command = ["sort", "-n"]"#);
    let whole = with("", r#"command = { program = "sort", args = ["-n"] }"#);
    let written = |toml: &str| Job::from_toml(toml).unwrap().to_json().unwrap();
    assert_eq!(written(&short), written(&whole));
}

#[test]
fn a_job_may_have_no_tasks() {
    let job = Job::from_json(r#"{ "version": 1, "name": "", "tasks": [] }"#).unwrap();
    assert!(job.is_empty());
    assert!(
        Job::from_toml("version = 1\nname = 'empty'")
            .unwrap()
            .is_empty()
    );
}

#[test]
fn editors_may_be_told_of_the_schema() {
    let text = r#"{ "$schema": "job.schema.json", "version": 1, "name": "s" }"#;
    let written = Job::from_json(text).unwrap().to_json().unwrap();
    assert!(!written.contains("$schema"), "{written}");
}

#[test]
fn a_hundred_thousand_tasks_in_a_chain_are_read() {
    let task = |at: usize| match at {
        0 => r#"{ "name": "0", "command": ["true"] }"#.to_owned(),
        _ => format!(
            r#"{{ "name": "{at}", "depends_on": ["{}"], "command": ["true"] }}"#,
            at - 1
        ),
    };
    let tasks: Vec<_> = (0..100_000).map(task).collect();
    let text = format!(
        r#"{{ "version": 1, "name": "chain", "tasks": [{}] }}"#,
        tasks.join(",")
    );
    let job = Job::from_json(&text).unwrap();
    assert_eq!(job.len(), 100_000);
    assert_eq!(job.graph().edge_references().count(), 99_999);
}
