//! How commands are ended, with all that came of them.

use crate::watchdog::within_30s;
use crate::yard::{Yard, chatter, ending, failure};
use batchyard::{Command, CommandSettings, Ending, ErrorKind, Job, Stragglers, Task, TaskState};
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
    within_30s(|| {
        let yard = Yard::with(20, |executor| executor);
        let mut job = Job::new("job");
        job.commands("sleep", (0..300).map(|_| Command::new("sleep").arg("60")));
        let run = yard.pool.submit(job).unwrap();
        while yard.processes().len() < 20 {
            std::thread::yield_now();
        }
        run.cancel();
        yard.pool
            .close(batchyard::Close::Drain, Duration::from_secs(20));
        assert_eq!(yard.processes(), [0u32; 0]);
        assert_eq!(zombies(), [""; 0]);
    });
}

/// Children of ours that have ended and were not taken leave of. Other tests' are not looked at while these run.
fn zombies() -> Vec<String> {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap().flatten();
    let children =
        tasks.map(|task| std::fs::read_to_string(task.path().join("children")).unwrap_or_default());
    let children: Vec<_> = children.collect();
    let all = children.iter().flat_map(|text| text.split_whitespace());
    let is_zombie = |pid: &&str| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.contains("(sleep) Z")
    };
    all.filter(is_zombie).map(str::to_owned).collect()
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
