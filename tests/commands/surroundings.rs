//! What a command sees, and what it finds and leaves in its working directory.

use crate::yard::{Yard, chatter, failure};
use batchyard::*;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

fn environment(output: &CommandOutput) -> Vec<String> {
    let text = output.stdout().text().unwrap();
    text.lines()
        .map(|line| line.split('=').next().unwrap().to_owned())
        .collect()
}

#[test]
fn a_command_sees_little_of_the_applications_environment() {
    let yard = Yard::new();
    let names = environment(&yard.run(Command::new("env").env("MINE", "1")).unwrap());
    assert!(names.contains(&"PATH".to_owned()) && names.contains(&"MINE".to_owned()));
    let foreign = |name: &&String| name.starts_with("CARGO");
    assert_eq!(names.iter().find(foreign), None);
}

#[test]
fn a_command_inherits_the_environment_if_asked_to() {
    let yard = Yard::new();
    let names = environment(&yard.run(Command::new("env").inherit_env()).unwrap());
    assert!(names.contains(&"CARGO_MANIFEST_DIR".to_owned()));
}

#[test]
fn a_jobs_settings_lie_under_the_commands_own() {
    let yard = Yard::new();
    let mut job = Job::new("job");
    job.command_settings(CommandSettings::new().env("A", "job").env("B", "job"));
    let task = job.add(Task::shell("task", "echo $A $B").env("A", "task"));
    let run = yard.pool.submit(job).unwrap();
    assert_eq!(
        run.output(&task).wait().unwrap().stdout().text().unwrap(),
        "task job\n"
    );
}

#[test]
fn a_secret_reaches_the_command_and_no_message() {
    let yard = Yard::new();
    let command =
        Command::shell("test \"$TOKEN\" = hunter2 && exit 3").secret_env("TOKEN", "hunter2");
    assert!(
        !format!("{command:?}").contains("hunter2\"]")
            && format!("{command:?}").contains("(secret)")
    );
    let error = yard.fails(command);
    assert_eq!(failure(&error).code(), Some(3));
    let secret = CommandSettings::new().secret_env("TOKEN", "swordfish");
    assert!(!format!("{secret:?}").contains("swordfish"));
    let malformed = yard.fails(Command::new("true").secret_env("TOKEN", "sword\0fish"));
    assert!(!format!("{malformed:?} {malformed}").contains("sword"));
}

#[test]
fn a_command_knows_who_it_is_in_our_words_and_in_azures() {
    let yard = Yard::new();
    let mut job = Job::new("survey");
    let script = "echo $BATCHYARD_JOB_ID $BATCHYARD_TASK_ID $BATCHYARD_TASK_INDEX $BATCHYARD_ATTEMPT; \
         test $PWD = $AZ_BATCH_TASK_WORKING_DIR -a $PWD = $BATCHYARD_WORKDIR || exit 4; \
         test -d $BATCHYARD_SHARED_DIR -a $AZ_BATCH_NODE_SHARED_DIR = $BATCHYARD_SHARED_DIR || exit 5; \
         test $AZ_BATCH_TASK_DIR/wd = $PWD -a $AZ_BATCH_JOB_ID = survey -a -n $AZ_BATCH_NODE_ID || exit 6; \
         test $BATCHYARD_ATTEMPT = 2";
    let tasks = job.commands("who", (0..2).map(|_| Command::shell(script)));
    job.configure(
        tasks,
        TaskSettings::new().max_retries(1).backoff(Backoff::none()),
    );
    let run = yard.pool.submit(job).unwrap();
    let outputs = run.output(&tasks).wait().unwrap();
    assert_eq!(outputs[1].stdout().text().unwrap(), "survey who[1] 1 2\n");
}

#[test]
fn threads_and_gpus_follow_what_was_asked_for() {
    let yard = Yard::with(4, |executor| executor.cpus(4).gpus([3, 5]));
    let script = "echo $OMP_NUM_THREADS,$RAYON_NUM_THREADS \"${CUDA_VISIBLE_DEVICES-unset}\"";
    let run = |resources: Option<Resources>| {
        let task = Task::shell("task", script);
        let task = resources.into_iter().fold(task, Task::resources);
        yard.run_task(task).unwrap().stdout().text().unwrap()
    };
    assert_eq!(run(None), "1,1 \n");
    assert_eq!(run(Some(Resources::slots(2))), "2,2 \n");
    assert_eq!(run(Some(Resources::slots(1).cpus(3).gpus(2))), "3,3 3,5\n");
    let own = yard
        .run(Command::shell(script).env("OMP_NUM_THREADS", "9"))
        .unwrap();
    assert_eq!(own.stdout().text().unwrap(), "9,1 \n");
}

#[test]
fn standard_input_is_at_its_end_unless_given() {
    let yard = Yard::new();
    let empty = yard.run(Command::shell("cat; echo after")).unwrap();
    assert_eq!(empty.stdout().text().unwrap(), "after\n");
    let bytes = yard
        .run(chatter(&["read"]).stdin(vec![b'x'; 1 << 20]))
        .unwrap();
    assert_eq!(bytes.stdout().text().unwrap(), "1048576 bytes\n");
    let file = yard.directory().join("input");
    fs::write(&file, "from a file").unwrap();
    let file = yard.run(Command::new("cat").stdin_file(file)).unwrap();
    assert_eq!(file.stdout().text().unwrap(), "from a file");
}

#[test]
fn files_are_put_into_the_working_directory_and_picked_up_from_it() {
    let yard = Yard::new();
    let source = yard.directory().join("source");
    fs::write(&source, "2\n1\n").unwrap();
    let script = FileSource::bytes("#!/bin/sh\nsort numbers/in.txt > sorted.txt\n").executable();
    let command = Command::new("./sort.sh")
        .file("numbers/in.txt", source)
        .file("sort.sh", script)
        .output_files("*.txt");
    let output = yard.run(command).unwrap();
    assert_eq!(
        fs::read_to_string(output.file("sorted.txt").unwrap()).unwrap(),
        "1\n2\n"
    );
    assert_eq!(output.files().len(), 1);
    assert_eq!(output.working_directory(), None);
}

#[test]
fn an_earlier_tasks_files_are_anothers_input() {
    let yard = Yard::new();
    let mut job = Job::new("job");
    let made = job.map(
        "make",
        ["a", "b"],
        command(|name: &&str| {
            Command::shell("echo $1 > made.txt")
                .arg(*name)
                .output_files("made.txt")
        }),
    );
    let read = job.each(
        "read",
        &made,
        command(|made: &CommandOutput| {
            Command::new("cat")
                .arg("it.txt")
                .file("it.txt", made.file("made.txt").unwrap())
        }),
    );
    let run = yard.pool.submit(job).unwrap();
    let outputs = run.output(&read).wait().unwrap();
    assert_eq!(outputs[0].stdout().text().unwrap(), "a\n");
    assert_eq!(outputs[1].stdout().text().unwrap(), "b\n");
}

#[test]
fn no_name_leads_out_of_the_working_directory() {
    let yard = Yard::new();
    for name in ["../out", "/tmp/out", "a/../../out", "", "a/.."] {
        let error = yard.fails(Command::new("true").file(name, FileSource::bytes("x")));
        assert!(
            matches!(error.cause(), Some(LaunchError::Outside(_))),
            "{name}: {error}"
        );
    }
    for pattern in ["../*", "/etc/passwd", "a/../../*"] {
        let error = yard.fails(Command::new("true").output_files(pattern));
        assert!(
            error.cause::<FileUploadError>().is_some(),
            "{pattern}: {error}"
        );
    }
    let secret = yard.directory().join("secret");
    fs::write(&secret, "not yours").unwrap();
    let links = Command::shell("ln -s $1 link; mkdir d; ln -s / d/root; echo mine > mine")
        .arg(secret)
        .output_files("**");
    let output = yard.run(links).unwrap();
    let names: Vec<_> = output
        .files()
        .iter()
        .map(|file| file.file_name().unwrap())
        .collect();
    assert_eq!(names, ["mine"]);
}

#[test]
fn output_files_are_picked_up_when_they_should_be() {
    let yard = Yard::new();
    let target = tempfile::tempdir().unwrap();
    let to = |name: &str, when| {
        OutputFiles::new("*")
            .when(when)
            .to(target.path().join(name))
    };
    let command = |code: &str| {
        Command::shell("echo $1 > result; exit $1")
            .arg(code)
            .output_files(to("success", PickUp::OnSuccess))
            .output_files(to("failure", PickUp::OnFailure))
            .output_files(to("always", PickUp::Always))
    };
    let read = |name: &str| fs::read_to_string(target.path().join(name).join("result")).ok();
    yard.run(command("0")).unwrap();
    assert_eq!(
        [read("success"), read("failure"), read("always")],
        [Some("0\n".into()), None, Some("0\n".into())]
    );
    yard.fails(command("1"));
    assert_eq!(
        [read("success"), read("failure"), read("always")].map(Option::unwrap),
        ["0\n", "1\n", "1\n"]
    );
}

#[test]
fn files_that_cannot_be_put_where_they_should_are_a_failure_of_their_own_kind() {
    let yard = Yard::new();
    let in_the_way = yard.directory().join("file");
    fs::write(&in_the_way, "").unwrap();
    let error = yard.fails(
        Command::shell("echo > result").output_files(OutputFiles::new("result").to(&in_the_way)),
    );
    assert!(error.cause::<FileUploadError>().is_some() && error.cause::<UploadError>().is_some());
    assert!(error.to_string().contains("result"), "{error}");
}

/// The working directory that a script prints.
fn directory_of(output: &CommandOutput) -> PathBuf {
    output.stdout().text().unwrap().trim().into()
}

#[test]
fn a_working_directory_is_removed_after_success_and_kept_after_failure() {
    let yard = Yard::new();
    let removed = yard
        .run(Command::shell(
            "mkdir -p a/b; touch a/b/c; chmod 0 a/b; pwd",
        ))
        .unwrap();
    assert!(!directory_of(&removed).exists());
    let error = yard.fails(Command::shell("touch evidence; pwd; exit 1"));
    let kept = failure(&error).output().working_directory().unwrap();
    assert!(kept.join("evidence").exists());
    assert!(error.to_string().contains(&*kept.to_string_lossy()));
}

#[test]
fn retention_says_when_a_working_directory_is_removed() {
    let yard = Yard::new();
    let kept = yard
        .run(Command::new("pwd").retention(Retention::Keep))
        .unwrap();
    assert_eq!(kept.working_directory(), Some(&*directory_of(&kept)));
    let mode = directory_of(&kept).metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    let error = yard.fails(Command::shell("pwd; exit 1").retention(Retention::Remove));
    assert!(!directory_of(failure(&error).output()).exists());
}

#[test]
fn what_a_command_wrote_lives_as_long_as_its_output() {
    let yard = Yard::new();
    let (run, task) = yard.submit(Task::shell("task", "echo hello"));
    let output = run.output(&task).wait().unwrap();
    let path = output.stdout().path().unwrap().to_owned();
    assert_eq!(fs::read_to_string(&path).unwrap(), "hello\n");
    drop((output, run));
    yard.pool
        .close(Close::Drain, std::time::Duration::from_secs(10));
    assert!(!path.exists());
}

#[test]
fn every_attempt_has_a_new_directory() {
    let yard = Yard::new();
    let task = Task::shell("task", "ls; touch left; test $BATCHYARD_ATTEMPT = 3");
    let output = yard
        .run_task(task.max_retries(2).backoff(Backoff::none()))
        .unwrap();
    assert!(output.stdout().is_empty());
}

#[test]
fn what_is_old_and_nobodys_is_removed_by_the_next_pool() {
    let directory = tempfile::tempdir().unwrap();
    let pool = |keep| {
        let executor = ThreadExecutor::new(1)
            .unwrap()
            .work_directory(directory.path());
        Pool::new(executor.keep_work_for(keep))
    };
    let run = |pool: &Pool| {
        let mut job = Job::new("job");
        let task = job.add(Task::command(
            "task",
            Command::new("pwd").retention(Retention::Keep),
        ));
        let run = pool.submit(job).unwrap();
        directory_of(&run.output(&task).wait().unwrap())
    };
    let day = std::time::Duration::from_secs(86_400);
    let (first, second) = (pool(day), pool(day));
    let (old, alive) = (run(&first), run(&second));
    drop(first);
    let third = pool(std::time::Duration::ZERO);
    let new = run(&third);
    assert_eq!(
        [&old, &alive, &new].map(|path: &PathBuf| Path::exists(path)),
        [false, true, true]
    );
}
