//! How commands are ended, with all that came of them.

use crate::watchdog::within_30s;
use crate::yard::{Yard, alone, chatter, ending, failure, open_files, processes_with};
use batchyard::{
    Close, Command, CommandSettings, Ending, ErrorKind, Job, Stragglers, Task, TaskState,
};
use std::path::Path;
use std::time::{Duration, Instant};

/// Waits until a file is there.
fn await_file(path: &Path) {
    let start = Instant::now();
    while !path.exists() {
        assert!(
            start.elapsed() < Duration::from_secs(20),
            "{} never came",
            path.display()
        );
        std::thread::yield_now();
    }
}

fn limited(command: Command) -> Task<batchyard::CommandOutput> {
    Task::command("limited", command).time_limit(Duration::from_millis(300))
}

#[test]
fn at_its_time_limit_the_whole_tree_is_ended() {
    within_30s(|| {
        let yard = Yard::new();
        for words in [
            &["sleep", "600000"][..],
            &["leave", "sleep", "600000"],
            &["leave-session", "sleep", "600000"],
            &["leave-all", "sleep", "600000"],
        ] {
            let script = Command::shell("\"$@\"; sleep 600; true")
                .args([crate::yard::program()])
                .args(words.iter().copied());
            let error = yard.run_task(limited(script)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::TimedOut, "{error}");
            assert_eq!(
                ending(&error),
                Ending::TimeLimit(Duration::from_millis(300))
            );
            assert_eq!(yard.processes(), [0u32; 0], "{words:?}");
        }
    });
}

#[test]
fn who_ignores_the_request_to_end_is_killed_after_the_grace() {
    within_30s(|| {
        let yard = Yard::new();
        let command = chatter(&["ignore-term", "sleep", "600000"]);
        let start = Instant::now();
        let error = yard
            .run_task(limited(command.kill_grace(Duration::from_millis(200))))
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        assert!(start.elapsed() >= Duration::from_millis(500));
        assert!(start.elapsed() < Duration::from_secs(5));
        assert_eq!(yard.processes(), [0u32; 0]);
    });
}

#[test]
fn a_task_that_is_cancelled_takes_its_processes_with_it() {
    within_30s(|| {
        let yard = Yard::new();
        let began = yard.directory().join("began");
        let command =
            Command::shell("trap '' TERM; setsid sleep 600 & touch \"$1\"; wait").arg(&began);
        let (run, task) = yard.submit(Task::command("task", command.kill_grace(Duration::ZERO)));
        await_file(&began);
        run.cancel_task(task).unwrap();
        assert_eq!(run.state(task).unwrap(), TaskState::Cancelled);
        // The slot is free again when they are gone.
        let mut job = Job::new("next");
        job.array("both slots", 2, |_: &usize| ());
        yard.pool.submit(job).unwrap().wait().unwrap();
        yard.pool
            .close(batchyard::Close::Drain, Duration::from_secs(20));
        assert_eq!(yard.processes(), [0u32; 0]);
    });
}

#[test]
fn stragglers_are_ended_after_a_time_and_named() {
    within_30s(|| {
        let yard = Yard::new();
        for how in ["leave", "leave-session", "leave-all"] {
            let settings = CommandSettings::new()
                .stragglers(Stragglers::Kill(Duration::from_millis(100)))
                .kill_grace(Duration::from_millis(100));
            let command = chatter(&["print", "done", how, "ignore-term", "sleep", "600000"]);
            let output = yard.run(command.settings(settings)).unwrap();
            assert_eq!(output.stdout().text().unwrap(), "done");
            let names: Vec<_> = output
                .stragglers()
                .iter()
                .map(|straggler| straggler.name())
                .collect();
            assert_eq!(names, ["chatter"], "{how}");
            assert_eq!(yard.processes(), [0u32; 0]);
        }
    });
}

#[test]
fn a_straggler_without_group_and_environment_is_known_by_the_pipe_it_holds() {
    within_30s(|| {
        let yard = Yard::new();
        let settings =
            CommandSettings::new().stragglers(Stragglers::Kill(Duration::from_millis(100)));
        let command = Command::shell("env -i setsid sleep 600 & echo done").settings(settings);
        let output = yard.run(command).unwrap();
        assert_eq!(output.stdout().text().unwrap(), "done\n");
        let pid = output.stragglers()[0].pid();
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        assert!(!stat.contains("(sleep) S"), "{stat}");
    });
}

#[test]
fn a_straggler_that_ends_by_itself_is_no_trouble() {
    within_30s(|| {
        let yard = Yard::new();
        let output = yard
            .run(Command::shell("(sleep 0.1; echo late) & echo soon"))
            .unwrap();
        assert_eq!(output.stdout().text().unwrap(), "soon\nlate\n");
        assert!(output.stragglers().is_empty());
    });
}

#[test]
fn stragglers_may_be_awaited() {
    within_30s(|| {
        let yard = Yard::new();
        let settings = CommandSettings::new().stragglers(Stragglers::Await);
        let command = chatter(&["leave-session", "sleep", "1500", "print", "late"]);
        let output = yard.run(command.settings(settings)).unwrap();
        assert_eq!(output.stdout().text().unwrap(), "late");
        assert!(output.usage().wall >= Duration::from_millis(1500));
    });
}

#[test]
fn three_hundred_cancelled_commands_leave_no_zombie() {
    alone(
        "ending::three_hundred_cancelled_commands_leave_no_zombie",
        &[],
        || {
            let yard = Yard::with(20, |executor| executor);
            let mut job = Job::new("job");
            job.commands("sleep", (0..300).map(|_| Command::new("sleep").arg("60")));
            let job = job.freeze().unwrap();
            for _ in 0..3 {
                let run = yard.pool.submit(&job).unwrap();
                while children().len() < 20 {
                    std::thread::yield_now();
                }
                run.cancel();
                while !children().is_empty() {
                    std::thread::yield_now();
                }
            }
        },
    );
}

/// This process's children, by id.
fn children() -> Vec<String> {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap().flatten();
    let of = |path: std::path::PathBuf| std::fs::read_to_string(path).unwrap_or_default();
    let lists: Vec<_> = tasks.map(|task| of(task.path().join("children"))).collect();
    lists
        .iter()
        .flat_map(|list| list.split_whitespace())
        .map(str::to_owned)
        .collect()
}

#[test]
fn the_last_words_of_a_failure_are_in_its_message() {
    let yard = Yard::new();
    let error = yard.fails(Command::shell("echo something is missing >&2; exit 3"));
    assert_eq!(error.kind(), ErrorKind::TaskFailed);
    assert_eq!(failure(&error).code(), Some(3));
    let message = error.to_string();
    for part in [
        "job `job`, task `task`",
        "exited with code 3",
        "something is missing",
    ] {
        assert!(message.contains(part), "{message}");
    }
}

#[test]
fn when_the_application_is_killed_nothing_of_its_commands_survives() {
    const NAME: &str = "ending::when_the_application_is_killed_nothing_of_its_commands_survives";
    within_30s(|| {
        if let Some(directory) = std::env::var_os("BATCHYARD_DOOMED") {
            return doom(Path::new(&directory));
        }
        let directory = tempfile::tempdir().unwrap();
        let mut application = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", NAME, "--nocapture"])
            .env("BATCHYARD_DOOMED", directory.path())
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap();
        ["plain", "session", "all"]
            .iter()
            .for_each(|name| await_file(&directory.path().join(name)));
        let mark = directory.path().to_str().unwrap();
        assert!(processes_with(mark).len() > 3);
        application.kill().unwrap();
        application.wait().unwrap();
        while !processes_with(mark).is_empty() {
            std::thread::yield_now();
        }
    });
}

/// An application that is about to be killed.
fn doom(directory: &Path) {
    let executor = batchyard::ThreadExecutor::new(3).unwrap();
    let pool = batchyard::Pool::new(executor.work_directory(directory));
    let mut job = Job::new("doomed");
    for (how, name) in [
        ("nothing", "plain"),
        ("leave-session", "session"),
        ("leave-all", "all"),
    ] {
        let file = directory.join(name);
        let words = [
            how,
            "ignore-term",
            "touch",
            file.to_str().unwrap(),
            "sleep",
            "600000",
        ];
        let settings = CommandSettings::new().stragglers(Stragglers::Await);
        job.add(Task::command(name, chatter(&words).settings(settings)));
    }
    pool.submit(job).unwrap().wait().unwrap();
}

#[test]
fn a_pool_that_is_dropped_ends_its_commands_and_tells_who_waits() {
    within_30s(|| {
        let yard = Yard::new();
        let mut job = Job::new("job");
        let tasks = job.commands("sleep", (0..14).map(|_| Command::new("sleep").arg("600")));
        let run = yard.pool.submit(job).unwrap();
        while yard.processes().len() < 2 {
            std::thread::yield_now();
        }
        let mark = yard.mark.clone();
        drop(yard);
        // Dropping waits only so long: on a machine with much else to do, they end after it.
        while !processes_with(&mark).is_empty() {
            std::thread::yield_now();
        }
        assert_eq!(run.wait().unwrap_err().kind(), ErrorKind::PoolClosed);
        assert_eq!(
            run.output(tasks.at(13)).wait().unwrap_err().kind(),
            ErrorKind::Cancelled
        );
    });
}

#[test]
fn a_pool_leaves_no_process_no_child_and_no_directory() {
    alone(
        "ending::a_pool_leaves_no_process_no_child_and_no_directory",
        &[],
        || {
            let directory = tempfile::tempdir().unwrap();
            let before = open_files();
            for _ in 0..3 {
                let executor = batchyard::ThreadExecutor::new(2).unwrap();
                let pool = batchyard::Pool::new(executor.work_directory(directory.path()));
                let mut job = Job::new("job");
                job.commands(
                    "echo",
                    (0..10).map(|_| Command::shell("echo hello; (sleep 0.01) &")),
                );
                pool.submit(job).unwrap().wait().unwrap();
                assert_eq!(children(), [""; 0], "the watchdog is nobody's child");
                pool.close(Close::Drain, Duration::MAX);
            }
            assert_eq!(open_files(), before);
            assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
        },
    );
}

#[test]
fn a_command_leads_a_group_of_its_own_and_gets_signals_as_they_come() {
    let yard = Yard::new();
    let script = "read -r pid name state parent group rest < /proc/self/stat; echo $((group == $$)); \
         while read -r name value; do case $name in SigIgn:|SigBlk:) echo $value;; esac; done < /proc/self/status";
    let output = yard.run(Command::shell(script)).unwrap();
    let text = output.stdout().text().unwrap();
    let (group, sets) = text.split_once('\n').unwrap();
    assert_eq!(group, "1");
    // Two signals are the C library's own.
    let set = |text: &str| u64::from_str_radix(text.trim(), 16).unwrap() & !(3 << 31);
    assert_eq!(sets.lines().map(set).collect::<Vec<_>>(), [0, 0]);
}

#[test]
fn what_the_application_left_open_does_not_reach_a_command() {
    use std::os::fd::AsFd;
    let file = std::fs::File::open("/dev/null").unwrap();
    rustix::io::fcntl_setfd(file.as_fd(), rustix::io::FdFlags::empty()).unwrap();
    let yard = Yard::new();
    let output = yard.run(Command::shell("ls /proc/$$/fd")).unwrap();
    assert_eq!(output.stdout().text().unwrap(), "0\n1\n2\n");
}

#[test]
fn a_time_limit_uses_a_retry_and_the_next_attempt_finds_nobody() {
    within_30s(|| {
        let yard = Yard::new();
        let script = "test $BATCHYARD_ATTEMPT = 2 || exec sleep 600";
        let task = limited(Command::shell(script)).max_retries(1);
        yard.run_task(task.backoff(batchyard::Backoff::none()))
            .unwrap();
    });
}

#[test]
fn who_never_stops_writing_is_ended_at_the_time_limit() {
    within_30s(|| {
        let yard = Yard::new();
        let command = Command::new("yes")
            .output_limit(1000)
            .kill_grace(Duration::MAX);
        let error = yard.run_task(limited(command)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        let stdout = failure(&error).output().stdout();
        assert!(stdout.len() > 1000 && stdout.dropped() == stdout.len() - 1000);
    });
}
