//! Running a program many times, on two threads.

use crate::THREADS;
use crate::case::Sample;
use batchyard::{Command, Job, Pool, ThreadExecutor};
use std::ffi::CStr;
use std::process::Stdio;
use std::sync::atomic::{AtomicUsize, Ordering};

/// As an array of commands.
pub fn batchyard(program: &CStr, tasks: usize) -> Sample {
    let command = Command::new(program.to_string_lossy().into_owned());
    let executor = ThreadExecutor::new(THREADS).expect("at least one thread");
    let pool = Pool::new(executor);
    run(&pool, &command, THREADS); // has its directory and its watchdog
    let build = || {
        let mut job = Job::new("commands");
        job.commands("command", (0..tasks).map(|_| command.clone()));
        job.freeze().expect("sound")
    };
    Sample::take(build, |job| {
        let run = pool.submit(&*job).expect("open");
        run.wait().expect("all succeed");
    })
}

fn run(pool: &Pool, command: &Command, tasks: usize) {
    let mut job = Job::new("first");
    job.commands("command", (0..tasks).map(|_| command.clone()));
    let run = pool.submit(job).expect("open");
    run.wait().expect("all succeed");
}

/// With `posix_spawn` and nothing else.
pub fn raw(program: &CStr, tasks: usize) -> Sample {
    Sample::take(|| (), |()| on_threads(tasks, || spawn(program)))
}

/// With the standard library.
pub fn standard(program: &CStr, tasks: usize) -> Sample {
    let program = program.to_string_lossy().into_owned();
    let run = || {
        let mut command = std::process::Command::new(&program);
        let status = command.stdin(Stdio::null()).stdout(Stdio::null()).status();
        assert!(status.is_ok_and(|status| status.success()));
    };
    Sample::take(|| (), |()| on_threads(tasks, run))
}

fn on_threads(tasks: usize, once: impl Fn() + Sync) {
    let begun = AtomicUsize::new(0);
    let work = || {
        while begun.fetch_add(1, Ordering::Relaxed) < tasks {
            once()
        }
    };
    std::thread::scope(|scope| {
        (0..THREADS).for_each(|_| drop(scope.spawn(work)));
    });
}

#[allow(unsafe_code, reason = "the limit is the system's own interface")]
fn spawn(program: &CStr) {
    let (mut pid, mut status) = (0, 0);
    let args = [program.as_ptr().cast_mut(), std::ptr::null_mut()];
    let environment = [std::ptr::null_mut()];
    let (actions, attributes) = (std::ptr::null(), std::ptr::null());
    // SAFETY: the strings and both lists, which end with a null pointer, outlive the calls.
    unsafe {
        let (args, environment) = (args.as_ptr(), environment.as_ptr());
        let error = libc::posix_spawn(
            &mut pid,
            program.as_ptr(),
            actions,
            attributes,
            args,
            environment,
        );
        assert_eq!(error, 0);
        assert_eq!(libc::waitpid(pid, &mut status, 0), pid);
    }
}
