//! Jobs that were read, run.

use batchyard::{CommandOutput, Job, Pool, TaskState, ThreadExecutor};

fn pool(directory: &tempfile::TempDir) -> Pool {
    let executor = ThreadExecutor::new(2).unwrap();
    Pool::new(executor.work_directory(directory.path()))
}

#[test]
fn each_combination_of_a_sweep_runs_with_its_own_texts() {
    let directory = tempfile::tempdir().unwrap();
    let job = Job::from_toml(
        r#"
        version = 1
        name = "sweep"
        [[tasks]]
        name = "s"
        sweep = [["red", "blue"], { start = 1, end = 3 }]
        command = { shell = 'printf "%s" "$1 $COLOUR $(cat {1}.txt) ${HOME:+{{0}}}" | tee out-{1}', args = ["{1:2}"], files = [{ name = "{1}.txt", text = "{0}" }], output_files = ["out-{1}"] }
        command_settings = { env = { COLOUR = "{0}", HOME = "/" } }
        "#,
    )
    .unwrap();
    let sweep = job.find_array::<CommandOutput>("s").unwrap();
    let pool = pool(&directory);
    let run = pool.submit(job).unwrap();
    let mut texts = Vec::new();
    for index in 0..sweep.len() {
        let output = run.output(sweep.at(index)).wait().unwrap();
        let name = format!("out-{}", index % 3 + 1);
        assert!(output.file(&name).is_some(), "{name}");
        texts.push(output.stdout().text().unwrap());
    }
    let expected = |colour: &str| {
        (1..=3)
            .map(|n| format!("0{n} {colour} {{0}} {{0}}"))
            .collect::<Vec<_>>()
    };
    assert_eq!(texts, [expected("red"), expected("blue")].concat());
}

#[test]
fn what_a_document_says_of_failures_is_done() {
    let directory = tempfile::tempdir().unwrap();
    let job = Job::from_toml(
        r#"
        version = 1
        name = "failures"
        [[tasks]]
        name = "three"
        command = { shell = "exit 3" }
        settings.exit_conditions.codes = [{ code = 3, dependency_action = "satisfy" }]
        [[tasks]]
        name = "four"
        command = { shell = "exit 4" }
        [[tasks]]
        name = "satisfied"
        depends_on = ["three"]
        command = ["true"]
        [[tasks]]
        name = "skipped"
        depends_on = ["four"]
        command = ["true"]
        [[tasks]]
        name = "tidy"
        after_any_outcome = ["four", "skipped"]
        command = ["true"]
        [[tasks]]
        name = "again"
        command = { shell = "test $BATCHYARD_ATTEMPT = 3" }
        settings = { max_retries = 2, backoff = { initial = "1ms" } }
        "#,
    )
    .unwrap();
    let tasks = ["three", "four", "satisfied", "skipped", "tidy", "again"];
    let handles = tasks.map(|name| job.find::<CommandOutput>(name).unwrap());
    let pool = pool(&directory);
    let run = pool.submit(job).unwrap();
    let _ = run.ended().wait();
    let states = handles.map(|task| run.state(task).unwrap());
    use TaskState::{Failed, Skipped, Succeeded};
    assert_eq!(
        states,
        [Failed, Failed, Succeeded, Skipped, Succeeded, Succeeded]
    );
}

/// Cargo sets this variable for tests.
#[test]
fn secrets_come_from_the_environment() {
    let directory = tempfile::tempdir().unwrap();
    let job = Job::from_toml(
        r#"
        version = 1
        name = "secrets"
        command_settings = { secret_env = ["CARGO_PKG_NAME"] }
        [[tasks]]
        name = "t"
        command = { shell = "printf $CARGO_PKG_NAME" }
        "#,
    )
    .unwrap();
    assert!(!job.to_json().unwrap().contains("\"batchyard\""));
    let task = job.find::<CommandOutput>("t").unwrap();
    let pool = pool(&directory);
    let run = pool.submit(job).unwrap();
    let output = run.output(&task).wait().unwrap();
    assert_eq!(output.stdout().text().unwrap(), "batchyard");
}
