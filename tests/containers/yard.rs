//! A pool whose commands run in containers, and a look for what they might leave.

use crate::image::{IMAGE, containers_of, engine};
use batchyard::{
    Close, Command, CommandOutput, Container, ContainerEngine, Error, Job, Output, Pool, Task,
    ThreadExecutor,
};
use std::path::Path;
use std::time::{Duration, Instant};

/// A pool whose containers have a label of their own; when it is dropped, none of them may be left.
pub(crate) struct Yard {
    pub(crate) pool: Pool,
    label: String,
    directory: tempfile::TempDir,
}

impl Yard {
    pub(crate) fn new() -> Self {
        Yard::with(|engine| engine)
    }

    pub(crate) fn with(change: impl FnOnce(ContainerEngine) -> ContainerEngine) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let label = format!("batchyard.test={}", directory.path().display());
        let engine = change(engine().run_option(format!("--label={label}")));
        let executor = ThreadExecutor::new(2).expect("at least one thread");
        let executor = executor.work_directory(directory.path()).containers(engine);
        Yard {
            pool: Pool::new(executor),
            label,
            directory,
        }
    }

    pub(crate) fn directory(&self) -> &Path {
        self.directory.path()
    }

    pub(crate) fn containers(&self) -> Vec<String> {
        containers_of(&self.label)
    }

    pub(crate) fn run(&self, command: Command) -> Result<Output<CommandOutput>, Error> {
        self.run_task(Task::command("task", command))
    }

    pub(crate) fn run_task(
        &self,
        task: Task<CommandOutput>,
    ) -> Result<Output<CommandOutput>, Error> {
        let mut job = Job::new("job");
        let handle = job.add(task);
        let run = self.pool.submit(job).expect("can be run");
        run.output(&handle).wait()
    }

    pub(crate) fn fails(&self, command: Command) -> Error {
        self.run(command).expect_err("it fails")
    }
}

impl Drop for Yard {
    fn drop(&mut self) {
        self.pool.close(Close::Cancel, Duration::from_secs(20));
        if !std::thread::panicking() {
            assert_eq!(self.containers(), [""; 0], "left of the pool's commands");
        }
    }
}

/// A script in the test's image.
pub(crate) fn script(script: &str) -> Command {
    Command::shell(script).container(Container::new(IMAGE))
}

/// Waits until something is so.
pub(crate) fn await_that(what: &str, is_so: impl Fn() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < Duration::from_secs(60), "never: {what}");
        std::thread::yield_now();
    }
}
