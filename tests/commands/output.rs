//! What programs write, however they do it; and what they use.

use crate::watchdog::within_30s;
use crate::yard::{Yard, alone, chatter, ending, failure};
use batchyard::*;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

#[test]
fn both_streams_are_read_at_once() {
    within_30s(|| {
        let yard = Yard::new();
        for bytes in [300_000, 208 << 10, 1 << 20] {
            let bytes = bytes.to_string();
            for (first, second) in [("out", "err"), ("err", "out")] {
                let output = yard.run(chatter(&[first, &bytes, second, "3"])).unwrap();
                let (long, short) = match first {
                    "out" => (output.stdout(), output.stderr()),
                    _ => (output.stderr(), output.stdout()),
                };
                assert_eq!((long.len().to_string(), short.len()), (bytes.clone(), 3));
            }
        }
        let output = yard.run(chatter(&["both", "1048576"])).unwrap();
        assert_eq!(
            (output.stdout().len(), output.stderr().len()),
            (1 << 20, 1 << 20)
        );
    });
}

#[test]
fn of_too_much_output_the_beginning_and_the_end_are_kept() {
    let yard = Yard::new();
    let numbers = Command::new("seq").args(["1", "100000"]);
    let whole = yard.run(numbers.clone()).unwrap().stdout().text().unwrap();
    for limit in [1000, 1001, 65_536, 300_000] {
        let output = yard.run(numbers.clone().output_limit(limit)).unwrap();
        let (text, dropped) = (
            output.stdout().text().unwrap(),
            whole.len() - limit as usize,
        );
        let (head, tail) = ((limit - limit / 2) as usize, (limit / 2) as usize);
        let note = format!("\n[... {dropped} bytes are left out here ...]\n");
        let expected = [&whole[..head], &note, &whole[whole.len() - tail..]].concat();
        assert!(
            text == expected,
            "limit {limit}: {} bytes, not {}",
            text.len(),
            expected.len()
        );
        assert_eq!(output.stdout().dropped(), dropped as u64);
        assert_eq!(output.stdout().len(), whole.len() as u64);
    }
    assert_eq!(
        yard.run(numbers.output_limit(0))
            .unwrap()
            .stdout()
            .dropped(),
        whole.len() as u64
    );
}

#[test]
fn a_gigabyte_on_standard_error_alone_is_no_trouble() {
    within_30s(|| {
        let yard = Yard::new();
        let command = Command::shell("head -c 1000000000 /dev/zero >&2").output_limit(1 << 20);
        let output = yard.run(command).unwrap();
        assert_eq!(output.stderr().len(), 1_000_000_000);
        assert!(output.stderr().path().unwrap().metadata().unwrap().len() < (1 << 20) + 100);
        assert!(output.stdout().is_empty());
    });
}

#[test]
fn output_that_is_no_text_is_kept_as_it_is_and_shown_as_text() {
    let yard = Yard::new();
    let output = yard.run(chatter(&["bytes"])).unwrap();
    assert_eq!(
        output.stdout().bytes().unwrap(),
        (0..=255).collect::<Vec<u8>>()
    );
    assert!(output.stdout().text().unwrap().contains('\u{fffd}'));
    let error = yard.fails(Command::shell(
        r"printf 'bad \355\240\200 \377' >&2; exit 1",
    ));
    assert!(error.to_string().contains("bad \u{fffd}"), "{error}");
    let name = OsStr::from_bytes(b"\xff\xfe.txt");
    let command = Command::shell("touch \"$1\"")
        .arg(name)
        .output_files("*.txt");
    assert_eq!(
        yard.run(command).unwrap().files()[0].file_name(),
        Some(name)
    );
}

#[test]
fn who_holds_the_pipe_after_the_end_is_waited_for_no_longer_than_said() {
    within_30s(|| {
        let yard = Yard::new();
        let command = Command::shell("sleep 600 & echo done");
        let output = yard.run(command).unwrap();
        assert_eq!(output.stdout().text().unwrap(), "done\n");
        assert_eq!(output.stragglers()[0].name(), "sleep");
        assert!(output.usage().wall < Duration::from_secs(5));
    });
}

#[test]
fn what_an_attempt_used_is_on_record() {
    let yard = Yard::new();
    let script = "head -c 3000000 /dev/zero > file; wc -c < file; i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done";
    let output = yard.run(Command::shell(script)).unwrap();
    let usage = output.usage();
    assert!(
        usage.bytes_written >= 3_000_000 && usage.bytes_read >= 3_000_000,
        "{usage:?}"
    );
    assert!(
        usage.user > Duration::ZERO && usage.wall >= usage.user,
        "{usage:?}"
    );
    let large = yard.run(chatter(&["allocate", "50000000"])).unwrap();
    assert!(
        large.usage().peak_memory > 50_000_000,
        "{:?}",
        large.usage()
    );
    let error = yard.fails(chatter(&["allocate", "50000000", "exit", "1"]));
    assert!(failure(&error).output().usage().peak_memory > 50_000_000);
}

#[test]
fn a_memory_limit_counts_all_processes_of_a_command() {
    within_30s(|| {
        let yard = Yard::new();
        let settings = CommandSettings::new().memory_limit(100 << 20);
        let fits = chatter(&["allocate", "50000000", "sleep", "250"]).settings(settings.clone());
        yard.run(fits).unwrap();
        let script = Command::shell(
            "\"$1\" allocate 60000000 sleep 600000 & \"$1\" allocate 60000000 sleep 600000",
        );
        let error = yard.fails(script.arg(crate::yard::program()).settings(settings));
        assert!(
            matches!(ending(&error), Ending::MemoryLimit(bytes) if bytes > 100 << 20),
            "{error}"
        );
    });
}

#[test]
fn a_cpu_time_limit_ends_what_spins() {
    within_30s(|| {
        let yard = Yard::new();
        let settings = CommandSettings::new().cpu_time_limit(Duration::from_millis(900));
        let error = yard.fails(chatter(&["spin"]).settings(settings));
        assert!(matches!(ending(&error), Ending::Signal(24 | 9)), "{error}");
    });
}

#[test]
fn niceness_is_the_commands_own() {
    let yard = Yard::new();
    let command = Command::shell("sleep 0.05; nice").settings(CommandSettings::new().niceness(7));
    assert_eq!(yard.run(command).unwrap().stdout().text().unwrap(), "7\n");
}

#[test]
fn on_a_full_disk_the_task_fails_by_name_and_the_others_go_on() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path().to_str().unwrap().to_owned();
    let mount = format!("mount -t tmpfs -o size=128k tmpfs {at} && exec \"$@\"");
    let mut before = vec![
        "unshare",
        "--user",
        "--map-root-user",
        "--mount",
        "sh",
        "-c",
        &mount,
        "sh",
    ];
    let may_mount = |words: &[&str]| {
        let test = std::process::Command::new(words[0])
            .args(&words[1..])
            .arg("true")
            .output();
        test.is_ok_and(|output| output.status.success())
    };
    if std::env::var_os("BATCHYARD_ALONE").is_none() && !may_mount(&before) {
        before.retain(|word| !word.starts_with("--user") && !word.starts_with("--map"));
        if !may_mount(&before) {
            eprintln!("neither a user namespace nor root: there is no disk to fill");
            return;
        }
    }
    let mounted = std::env::var("BATCHYARD_DISK").unwrap_or(at.clone());
    // The process that is alone learns the place from its surroundings.
    let disk = format!("BATCHYARD_DISK={at}");
    let before: Vec<_> = ["env", &disk].into_iter().chain(before).collect();
    alone(
        "output::on_a_full_disk_the_task_fails_by_name_and_the_others_go_on",
        &before,
        move || {
            let yard = Yard::with(1, |executor| executor.work_directory(mounted));
            let error = yard.fails(Command::shell("head -c 1000000 /dev/zero"));
            assert!(error.cause::<UploadError>().is_some(), "{error}");
            let cause = error.cause::<std::io::Error>().unwrap();
            assert_eq!(cause.kind(), std::io::ErrorKind::StorageFull);
            assert_eq!(error.task(), Some("task"));
            yard.run("true").unwrap();
        },
    );
}

#[test]
fn what_a_running_command_writes_can_be_read_meanwhile() {
    within_30s(|| {
        let yard = Yard::new();
        let go_on = yard.directory().join("go on");
        let script =
            "echo begun; echo oops >&2; until test -e \"$1\"; do sleep 0.01; done; echo done";
        let (run, task) = yard.submit(Task::shell("task", script).arg(&go_on));
        while run.tail(task).unwrap().stdout() != b"begun\n"
            || run.tail(task).unwrap().stderr() != b"oops\n"
        {
            std::thread::yield_now();
        }
        std::fs::write(&go_on, "").unwrap();
        assert_eq!(
            run.output(&task).wait().unwrap().stdout().text().unwrap(),
            "begun\ndone\n"
        );
        assert_eq!(run.tail(task).unwrap(), Tail::default());
    });
}

#[test]
fn the_tail_of_much_output_is_its_end() {
    within_30s(|| {
        let yard = Yard::new();
        let go_on = yard.directory().join("go on");
        let script = "seq 1 100000; until test -e \"$1\"; do sleep 0.01; done";
        let command = Command::shell(script).arg(&go_on).output_limit(1000);
        let (run, task) = yard.submit(Task::command("task", command));
        while !run
            .tail(task)
            .unwrap()
            .stdout()
            .ends_with(b"99999\n100000\n")
        {
            std::thread::yield_now();
        }
        assert_eq!(run.tail(task).unwrap().stdout().len(), 500);
        std::fs::write(&go_on, "").unwrap();
    });
}
