//! Jobs that are written down, and what can't be.

use batchyard::{
    Command, CommandSettings, ErrorKind, FileSource, Job, Sweep, Task, TaskSettings, command,
};

fn unwritten(job: &Job) -> String {
    let error = job.to_json().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    error.to_string()
}

#[test]
fn a_job_that_was_made_by_code_is_read_back() {
    let mut job = Job::new("made");
    let fetch = job.add(
        Task::command("fetch", "curl")
            .args(["-O", "x"])
            .max_retries(3)
            .keep(),
    );
    let sweep = Sweep::new().range_by(9, 1, -2).values(["a"]);
    let simulate = Command::shell("sim $1").arg("{0:2}").env("MODEL", "{1}");
    let runs = job.sweep("simulate", simulate, sweep);
    job.order(fetch, runs);
    let check = job.add(
        Task::shell("check", "exit 3")
            .after(fetch)
            .after_named("last"),
    );
    let last = job.add(Task::command("last", "true").stdin("words"));
    job.order_any_outcome(runs, last);
    job.order_any_outcome(fetch, check);
    job.configure(runs, TaskSettings::new().max_parallel(2));

    let written = job.to_json().unwrap();
    let back = Job::from_json(&written).unwrap();
    assert_eq!(back.to_json().unwrap(), written);
    assert_eq!(back.len(), job.len());
    let value: serde_json::Value = serde_json::from_str(&written).unwrap();
    assert_eq!(
        value["tasks"][2]["depends_on"],
        serde_json::json!(["fetch", "last"])
    );
    assert_eq!(
        value["tasks"][2]["after_any_outcome"],
        serde_json::Value::Null
    );
    assert_eq!(
        value["tasks"][3]["after_any_outcome"],
        serde_json::json!(["simulate"])
    );
}

#[test]
fn rules_of_azure_batch_are_read_back() {
    let mut job = Job::new("azure");
    job.azure_defaults();
    job.add(Task::command("t", "true"));
    let written = job.to_json().unwrap();
    assert!(written.contains("\"azure_defaults\": true"), "{written}");
    assert_eq!(
        Job::from_json(&written).unwrap().to_json().unwrap(),
        written
    );
}

#[test]
fn an_open_job_is_read_back_as_one() {
    let written = Job::open("open").to_json().unwrap();
    assert!(written.contains("\"open\": true"), "{written}");
    assert_eq!(
        Job::from_json(&written).unwrap().to_json().unwrap(),
        written
    );
}

#[test]
fn of_secrets_only_the_name_is_written() {
    let mut job = Job::new("secret");
    job.command_settings(CommandSettings::new().secret_env("TOKEN", "hush"));
    let command = Command::new("true")
        .env("KEY", "open")
        .secret_env("KEY", "hush");
    job.add(Task::command("t", command));
    let written = job.to_json().unwrap();
    assert!(
        !written.contains("hush") && !written.contains("open"),
        "{written}"
    );
    let value: serde_json::Value = serde_json::from_str(&written).unwrap();
    assert_eq!(
        value["command_settings"]["secret_env"],
        serde_json::json!(["TOKEN"])
    );
    assert_eq!(
        value["tasks"][0]["command_settings"]["secret_env"],
        serde_json::json!(["KEY"])
    );
}

#[test]
fn bodies_that_are_code_are_refused_by_name() {
    let mut job = Job::new("code");
    job.add(Task::command("fine", "true"));
    job.task("closure", (), || 1);
    let error = unwritten(&job);
    assert!(
        error.contains("`closure`") && error.contains("job `code`"),
        "{error}"
    );

    let mut job = Job::new("made");
    job.map("made", ["a"], command(|name: &&str| Command::new(*name)));
    assert!(unwritten(&job).contains("`made`"));
}

#[test]
fn a_dependency_without_a_name_is_refused() {
    let mut job = Job::new("names");
    let first = job.add(Task::command((), "true"));
    job.add(Task::command("second", "true").after(first));
    let error = unwritten(&job);
    assert!(
        error.contains("`second`") && error.contains("give it one"),
        "{error}"
    );
}

#[test]
#[cfg(unix)]
fn what_is_no_text_is_refused() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let bytes = OsStr::from_bytes(b"\xff");
    let commands = [
        Command::new("x").arg(bytes),
        Command::new(bytes),
        Command::new("x").stdin(vec![255]),
        Command::new("x").stdin_file(bytes),
        Command::new("x").file("f", FileSource::bytes(vec![255])),
        Command::new("x").env("A", bytes),
    ];
    for command in commands {
        let mut job = Job::new("bytes");
        job.add(Task::command("t", command));
        let error = unwritten(&job);
        assert!(error.contains("`t.") && error.contains("UTF-8"), "{error}");
    }
}

#[test]
fn a_job_that_can_not_be_run_is_not_written() {
    let mut job = Job::new("cycle");
    let a = job.add(Task::command("a", "true").after_named("b"));
    job.add(Task::command("b", "true").after(a));
    assert_eq!(job.to_json().unwrap_err().kind(), ErrorKind::InvalidJob);
}

#[test]
fn a_sweep_with_an_unknown_placeholder_is_a_defect() {
    let mut job = Job::new("sweep");
    job.sweep("s", Command::new("x").arg("{2}"), Sweep::new().range(1..=2));
    let error = job.check().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidJob);
    assert!(error.to_string().contains("placeholder {2}"), "{error}");
}
