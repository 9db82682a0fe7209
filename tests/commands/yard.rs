//! A pool for commands, the programs that they run, and a look for what they might leave.

use batchyard::{
    Close, Command, CommandFailure, CommandOutput, Error, Job, Output, Pool, Run, Task,
    ThreadExecutor,
};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

/// A pool with a directory and a mark of its own; when it is dropped, nothing may be left of its commands.
pub(crate) struct Yard {
    pub(crate) pool: Pool,
    pub(crate) mark: String,
    directory: tempfile::TempDir,
}

impl Yard {
    pub(crate) fn new() -> Self {
        Yard::with(2, |executor| executor)
    }

    pub(crate) fn with(
        threads: usize,
        change: impl FnOnce(ThreadExecutor) -> ThreadExecutor,
    ) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let executor = ThreadExecutor::new(threads).expect("at least one thread");
        let executor = change(executor.work_directory(directory.path()));
        let mark = directory.path().display().to_string();
        Yard {
            pool: Pool::new(executor),
            mark,
            directory,
        }
    }

    /// Where the pool's commands work.
    pub(crate) fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Submits one command.
    pub(crate) fn submit(
        &self,
        task: Task<CommandOutput>,
    ) -> (Run, batchyard::Handle<CommandOutput>) {
        let mut job = Job::new("job");
        let handle = job.add(task);
        (self.pool.submit(job).expect("can be run"), handle)
    }

    /// Runs one command to its end.
    pub(crate) fn run(&self, command: impl Into<Command>) -> Result<Output<CommandOutput>, Error> {
        self.run_task(Task::command("task", command))
    }

    pub(crate) fn run_task(
        &self,
        task: Task<CommandOutput>,
    ) -> Result<Output<CommandOutput>, Error> {
        let (run, handle) = self.submit(task);
        run.output(&handle).wait()
    }

    /// Runs one command to its end, which is no good one.
    pub(crate) fn fails(&self, command: impl Into<Command>) -> Error {
        self.run(command).expect_err("it fails")
    }

    /// The processes of this pool's commands.
    pub(crate) fn processes(&self) -> Vec<u32> {
        processes_with(&self.mark)
    }
}

impl Drop for Yard {
    fn drop(&mut self) {
        self.pool.close(Close::Cancel, Duration::from_secs(20));
        if !std::thread::panicking() {
            assert_eq!(self.processes(), [0u32; 0], "left of the pool's commands");
        }
    }
}

/// The processes that have not ended and have this in their environment.
pub(crate) fn processes_with(mark: &str) -> Vec<u32> {
    let entries = fs::read_dir("/proc").expect("there is /proc").flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let has_mark = |pid: &u32| {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        String::from_utf8_lossy(&environment).contains(mark) && *pid != std::process::id()
    };
    pids.filter(has_mark).collect()
}

/// A command that does what [`chatter`](../chatter.rs) is told.
pub(crate) fn chatter(words: &[&str]) -> Command {
    Command::new(program()).args(words.iter().copied())
}

/// The compiled chatter.
pub(crate) fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/commands/chatter.rs");
        let directory = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let program = directory.join("chatter");
        let age = |path: &Path| path.metadata().and_then(|data| data.modified()).ok();
        if age(&program) < age(Path::new(source)) {
            // Under a name of its own until it is whole: other test processes look for it too.
            let new = directory.join(format!("chatter-{}", std::process::id()));
            let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
            let compiled = std::process::Command::new(rustc)
                .args(["--edition", "2024", "-O", "-o"])
                .args([new.as_os_str(), source.as_ref()])
                .status();
            assert!(compiled.expect("rustc is there").success());
            fs::rename(&new, &program).expect("can be renamed");
        }
        program
    })
}

/// How a command ended that did not succeed.
pub(crate) fn ending(error: &Error) -> batchyard::Ending {
    failure(error).ending()
}

pub(crate) fn failure(error: &Error) -> &CommandFailure {
    let failure = error.cause::<CommandFailure>();
    failure.unwrap_or_else(|| panic!("no failure of a command: {error}"))
}

/// Runs the test of this name in a process of its own, whose limits and descriptors no other test shares. Returns only
/// there; elsewhere the test has passed, or fails, with the process.
///
/// `before` are words to be put before the program's.
pub(crate) fn alone(test: &str, before: &[&str], body: impl FnOnce() + Send + 'static) {
    if std::env::var_os("BATCHYARD_ALONE").is_some_and(|alone| alone == test) {
        return crate::watchdog::within_30s(body);
    }
    let exe = std::env::current_exe().expect("there is one");
    let exe = exe.to_str().expect("UTF-8");
    let words: Vec<&str> = before
        .iter()
        .copied()
        .chain([exe, "--exact", test, "--nocapture"])
        .collect();
    let output = std::process::Command::new(words[0])
        .args(&words[1..])
        .env("BATCHYARD_ALONE", test)
        .output()
        .expect("can be started");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let said = text(&output.stdout) + &text(&output.stderr);
    assert!(
        output.status.success() && said.contains("1 passed"),
        "{said}"
    );
}

/// How many descriptors this process has open.
pub(crate) fn open_files() -> usize {
    fs::read_dir("/proc/self/fd")
        .expect("there is /proc")
        .count()
}
