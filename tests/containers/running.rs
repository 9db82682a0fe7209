//! What commands in containers see, leave, and how they fail.

use crate::image::{IMAGE, engine};
use crate::yard::{Yard, script};
use batchyard::{
    Command, CommandFailure, CommandSettings, Container, Ending, FileSource, Job, LaunchError,
    Pool, Task, ThreadExecutor,
};

#[test]
fn a_program_runs_in_its_image_and_works_in_its_directory() {
    let yard = Yard::new();
    let command = script("cat in.txt - > out.txt; echo $0 $1; echo oops >&2")
        .arg("word")
        .stdin("and this")
        .file("in.txt", FileSource::bytes(b"a file "))
        .output_files("out.txt");
    let output = yard.run(command).unwrap();
    let out = std::fs::read_to_string(output.file("out.txt").unwrap()).unwrap();
    assert_eq!(out, "a file and this");
    assert_eq!(output.stdout().text().unwrap(), "/bin/sh word\n");
    assert_eq!(output.stderr().text().unwrap(), "oops\n");
}

#[test]
fn the_environment_is_passed_on_and_secrets_are_in_no_argument() {
    let yard = Yard::new();
    let command = script(
        "echo $OPEN; echo $HIDDEN; echo $PATH; echo $BATCHYARD_TASK_ID; [ $PWD = $BATCHYARD_WORKDIR ] && echo there; \
         for process in /proc/[0-9]*/cmdline; do cat $process; done",
    )
    .env("OPEN", "two\nlines")
    .env("PATH", "/bin:/mine")
    .secret_env("HIDDEN", "hush")
    .settings(CommandSettings::new().container(Container::new(IMAGE).option("--pid=host")));
    let said = yard.run(command).unwrap().stdout().text().unwrap();
    let (open, rest) = said.split_once("hush\n").unwrap();
    assert_eq!(open, "two lines\n");
    assert!(rest.starts_with("/bin:/mine\ntask\nthere\n"), "{rest}");
    assert!(rest.contains("HIDDEN") && !rest.contains("hush"), "{rest}");
}

#[test]
fn exit_codes_of_the_program_are_told_from_the_engines() {
    let yard = Yard::new();
    for code in [1, 125, 126, 127] {
        let error = yard.fails(script(&format!("exit {code}")));
        let failure = error.cause::<CommandFailure>().unwrap();
        assert_eq!(failure.ending(), Ending::Code(code));
    }
    let missing = Command::new("/nowhere").container(IMAGE);
    let image = Command::new("/bin/sh").container("localhost/batchyard-none:latest");
    let option =
        Command::new("/bin/sh").container(Container::new(IMAGE).option("--no-such-option"));
    for command in [missing, image, option] {
        let error = yard.fails(command);
        let cause = error.cause::<LaunchError>();
        let Some(LaunchError::Container { said, .. }) = cause else {
            panic!("{error}")
        };
        assert!(!said.is_empty());
    }
}

#[test]
fn limits_are_passed_on() {
    let yard = Yard::new();
    let settings = CommandSettings::new().open_files_limit(77);
    let command = script("ulimit -n").settings(settings);
    let output = yard.run(command).unwrap();
    assert_eq!(output.stdout().text().unwrap(), "77\n");
}

#[test]
fn a_job_may_name_the_container_of_all_its_commands() {
    let yard = Yard::new();
    let mut job = Job::new("job");
    job.command_settings(CommandSettings::new().container(IMAGE));
    let words = ["a", "b", "c"].map(|word| Command::new("/bin/busybox").args(["echo", word]));
    let array = job.commands("words", words);
    let run = yard.pool.submit(job).unwrap();
    run.wait().unwrap();
    let said = |index| {
        run.output(array.at(index))
            .wait()
            .unwrap()
            .stdout()
            .text()
            .unwrap()
    };
    assert_eq!([said(0), said(1), said(2)], ["a\n", "b\n", "c\n"]);
}

#[test]
fn a_login_that_fails_says_where_and_not_the_password() {
    let yard = Yard::with(|engine| engine.login("localhost:1", "me", "hush-hush"));
    let error = yard.fails(script("true"));
    let cause = error.cause::<LaunchError>();
    assert!(matches!(cause, Some(LaunchError::Login { .. })), "{error}");
    let said = format!("{error} {error:?}");
    assert!(
        said.contains("localhost:1") && !said.contains("hush-hush"),
        "{said}"
    );
    let shown = format!("{:?}", engine().login("localhost:1", "me", "hush-hush"));
    assert!(!shown.contains("hush-hush"), "{shown}");
}

#[test]
fn an_image_that_is_to_be_there_first_and_cannot_be_pulled_fails_the_task() {
    let yard = Yard::with(|engine| engine.prefetch(IMAGE).prefetch("localhost:1/none"));
    let error = yard.fails(script("true"));
    let cause = error.cause::<LaunchError>();
    assert!(
        matches!(cause, Some(LaunchError::Container { image, .. }) if image == "localhost:1/none"),
        "{error}"
    );
}

#[test]
fn a_container_that_cannot_be_is_refused_before_anything_runs() {
    let refused = [
        Container::new(""),
        Container::new("--privileged"),
        Container::new(IMAGE).cpus(0.0),
        Container::new(IMAGE).cpus(f64::NAN),
        Container::new(IMAGE).option("volume"),
    ];
    for container in refused {
        let settings = CommandSettings::new().container(container);
        let command = Command::new("true").settings(settings.clone());
        let (mut one, mut many, mut all) = (Job::new("one"), Job::new("many"), Job::new("all"));
        one.add(Task::command("task", command.clone()));
        many.commands("tasks", [command]);
        all.command_settings(settings);
        for job in [one, many, all] {
            let error = job.check().unwrap_err();
            assert!(
                error.to_string().contains("its container can't be"),
                "{error}"
            );
        }
    }
}

#[test]
fn an_engine_that_is_not_there_is_named() {
    let engine = batchyard::ContainerEngine::new("no-such-engine");
    let pool = Pool::new(ThreadExecutor::new(1).unwrap().containers(engine));
    let mut job = Job::new("job");
    let task = job.add(Task::command("task", script("true")));
    let run = pool.submit(job).unwrap();
    let error = run.output(&task).wait().unwrap_err();
    let cause = error.cause::<LaunchError>();
    assert!(matches!(cause, Some(LaunchError::NotFound(_))), "{error}");
}
