//! What can't be started, and what that does to nobody else.

use crate::yard::{Yard, alone, chatter, open_files};
use batchyard::{
    Command, CommandSettings, Error, ErrorKind, Job, LaunchError, PreProcessingError, Task,
};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

fn launch_error(error: &Error) -> &LaunchError {
    assert_eq!(error.kind(), ErrorKind::TaskFailed, "{error}");
    assert_eq!((error.job(), error.task()), (Some("job"), Some("task")));
    assert!(error.cause::<PreProcessingError>().is_some(), "{error}");
    error.cause().unwrap_or_else(|| panic!("{error}"))
}

fn script(path: &Path, mode: u32, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn each_kind_of_failed_start_is_told_from_the_others() {
    let yard = Yard::new();
    let at = |name: &str| yard.directory().join(name);
    let fails = |command: Command| yard.fails(command);
    script(&at("plain"), 0o600, "#!/bin/sh\n");
    script(&at("foreign"), 0o700, "no program\n");
    script(&at("orphan"), 0o700, "#!/no/such/interpreter\n");
    let missing = fails(Command::new("/nonexistent/x"));
    assert!(matches!(launch_error(&missing), LaunchError::NotFound(_)));
    let unknown = fails(Command::new("no-such-program-anywhere"));
    assert!(matches!(launch_error(&unknown), LaunchError::NotFound(_)));
    assert!(
        unknown.to_string().contains("in the command's `PATH`"),
        "{unknown}"
    );
    let plain = fails(Command::new(at("plain")));
    assert!(matches!(launch_error(&plain), LaunchError::Denied(..)));
    let directory = fails(Command::new(yard.directory()));
    assert!(matches!(
        launch_error(&directory),
        LaunchError::Directory(_)
    ));
    for name in ["foreign", "orphan"] {
        let error = fails(Command::new(at(name)));
        assert!(
            matches!(launch_error(&error), LaunchError::NotAProgram(..)),
            "{error}"
        );
    }
    for nul in [
        Command::new("true").arg("a\0b"),
        Command::new("true").env("A=B", "c"),
    ] {
        let error = fails(nul);
        assert!(
            matches!(launch_error(&error), LaunchError::Malformed(_)),
            "{error}"
        );
    }
}

#[test]
fn a_working_directory_that_cannot_be_made_is_no_missing_program() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let yard = Yard::with(1, |executor| executor.work_directory(file.path()));
    let error = yard.fails("true");
    assert!(
        matches!(launch_error(&error), LaunchError::WorkingDirectory(..)),
        "{error}"
    );
}

#[test]
fn arguments_beyond_the_limit_are_refused_with_the_numbers() {
    let yard = Yard::new();
    let most = yard.run(Command::new("true").arg("x".repeat(131_071)));
    assert!(most.is_ok());
    let many = Command::new("true").args((0..200_000).map(|_| "x".repeat(60)));
    let large = Command::new("true").env("LARGE", "x".repeat(3 << 20));
    for command in [Command::new("true").arg("x".repeat(131_072)), many, large] {
        let error = yard.fails(command);
        let LaunchError::TooLong {
            size,
            largest,
            limit,
            each,
        } = *launch_error(&error)
        else {
            panic!("{error}")
        };
        assert!(largest > each || size > limit, "{error}");
        assert!(error.to_string().contains(&limit.to_string()), "{error}");
    }
    assert!(yard.run("true").is_ok());
}

#[test]
fn a_command_that_cannot_start_is_not_tried_again_and_others_go_on() {
    let yard = Yard::new();
    let mut job = Job::new("job");
    let missing = job.add(Task::command("task", "/nonexistent/x").max_retries(5));
    let fine = job.commands("fine", (0..10).map(|_| Command::new("true")));
    let run = yard.pool.submit(job).unwrap();
    assert!(run.output(&missing).wait().is_err());
    assert_eq!(run.output(&fine).wait().unwrap().len(), 10);
}

#[test]
fn failed_starts_leave_no_descriptor_and_no_directory() {
    alone(
        "launching::failed_starts_leave_no_descriptor_and_no_directory",
        &[],
        || {
            let yard = Yard::with(1, |executor| executor);
            let plain = yard.directory().join("plain");
            script(&plain, 0o600, "");
            yard.run("true").unwrap();
            let before = open_files();
            for program in [Path::new("/nonexistent/x"), &plain, yard.directory()] {
                let mut job = Job::new("job");
                job.commands("many", (0..1000).map(|_| Command::new(program)));
                let run = yard.pool.submit(job).unwrap();
                run.wait().unwrap_err();
                assert_eq!(run.counts().failed, 1000);
            }
            assert_eq!(open_files(), before);
            let pool = fs::read_dir(yard.directory())
                .unwrap()
                .flatten()
                .find(|entry| entry.path().is_dir());
            let left: Vec<_> = fs::read_dir(pool.unwrap().path())
                .unwrap()
                .flatten()
                .collect();
            assert_eq!(
                left.len(),
                4,
                "the lock, two for all commands, and one that is used again: {left:?}"
            );
        },
    );
}

#[test]
fn without_descriptors_a_command_fails_by_name_and_the_next_one_runs() {
    alone(
        "launching::without_descriptors_a_command_fails_by_name_and_the_next_one_runs",
        &[],
        || {
            let yard = Yard::with(1, |executor| executor);
            yard.run("true").unwrap();
            let mut held = Vec::new();
            let limit = rustix::process::Rlimit {
                current: Some(64),
                maximum: Some(64),
            };
            rustix::process::setrlimit(rustix::process::Resource::Nofile, limit).unwrap();
            while let Ok(file) = fs::File::open("/dev/null") {
                held.push(file);
            }
            let error = yard.fails("true");
            assert!(
                matches!(launch_error(&error), LaunchError::Exhausted(_)),
                "{error}"
            );
            drop(held);
            yard.run("true").unwrap();
        },
    );
}

#[test]
fn a_program_that_was_just_written_starts() {
    let yard = Yard::with(4, |executor| executor);
    let directory = tempfile::tempdir().unwrap();
    std::thread::scope(|scope| {
        for writer in 0..8 {
            let (yard, directory) = (&yard, &directory);
            scope.spawn(move || {
                for number in 0..25 {
                    let path = directory.path().join(format!("{writer}-{number}.sh"));
                    script(&path, 0o700, "#!/bin/true\n");
                    yard.run(Command::new(path)).unwrap();
                }
            });
        }
        for _ in 0..2 {
            scope.spawn(|| {
                for _ in 0..200 {
                    std::process::Command::new("true").status().unwrap();
                }
            });
        }
    });
}

#[test]
fn a_program_that_stays_open_for_writing_is_busy() {
    let yard = Yard::new();
    let path = yard.directory().join("busy");
    fs::copy(crate::yard::program(), &path).unwrap();
    let held = fs::File::options().append(true).open(&path).unwrap();
    let error = yard.fails(Command::new(&path));
    assert!(
        matches!(launch_error(&error), LaunchError::Busy(_)),
        "{error}"
    );
    drop(held);
    assert!(yard.run(Command::new(&path)).is_ok());
}

#[test]
fn a_bare_name_is_looked_for_in_the_commands_own_path() {
    let yard = Yard::new();
    let directory = tempfile::tempdir().unwrap();
    script(
        &directory.path().join("mine"),
        0o700,
        "#!/bin/sh\necho mine\n",
    );
    let command = Command::new("mine").env("PATH", directory.path());
    assert_eq!(
        yard.run(command).unwrap().stdout().text().unwrap(),
        "mine\n"
    );
}

#[test]
fn an_open_files_limit_holds() {
    let yard = Yard::new();
    let settings = CommandSettings::new().open_files_limit(10);
    // The limit is set a moment after the start.
    let command = chatter(&["sleep", "50", "open", "100"]).settings(settings);
    assert_eq!(yard.run(command).unwrap().stdout().text().unwrap(), "7\n");
}
