//! What the children of these tests know.

use batchyard::{AnyFunction, BoxError, Context, ExitCode, Function, Permanent};
use serde::{Deserialize, Serialize};
use std::io::Write;
use std::path::PathBuf;
use std::sync::OnceLock;

/// How a body is to end.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) enum End {
    Well,
    Error,
    Panic,
    Abort,
    Segfault,
    StackOverflow,
    Exit(i32),
    Signal(i32),
}

/// What postcard can write, and not read.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum Untagged {
    Number(u64),
    Text(String),
}

pub(crate) static PID: Function<u64, u32> = Function::new("pid", |_| std::process::id());
pub(crate) static END: Function<End, u32> = Function::fallible("end", end);
pub(crate) static ECHO: Function<Vec<u8>, Vec<u8>> = Function::new("echo", Vec::clone);
pub(crate) static TEXT: Function<String, String> = Function::new("text", String::clone);
pub(crate) static UNTAGGED: Function<Untagged, u64> = Function::new("untagged", |_| 1);
pub(crate) static GIVES_UNTAGGED: Function<u64, Untagged> =
    Function::new("gives untagged", |n| Untagged::Number(*n));
pub(crate) static CODE: Function<i32, ()> =
    Function::fallible("code", |code| Err(ExitCode(*code).into()));
pub(crate) static FINAL: Function<u64, ()> =
    Function::fallible("final", |_| Err(Permanent::new("for good").into()));
pub(crate) static PRINT: Function<u64, u64> = Function::new("print", print);
pub(crate) static SECOND_ATTEMPT: Function<u64, u32> =
    Function::with_context("second attempt", second);
pub(crate) static WHO: Function<u64, String> = Function::with_context("who", who);
pub(crate) static PROGRESS: Function<u64, ()> = Function::with_context("progress", progress);
pub(crate) static LISTENS: Function<PathBuf, ()> = Function::with_context("listens", listens);
pub(crate) static DEAF: Function<PathBuf, ()> = Function::fallible("deaf", deaf);
pub(crate) static LOAD: Function<u64, ()> = Function::fallible("load", load);
pub(crate) static LOADED: Function<u64, u64> =
    Function::new("loaded", |_| STATE.get().copied().unwrap_or_default());
pub(crate) static GROW: Function<usize, u32> = Function::new("grow", grow);
pub(crate) static SURROUNDINGS: Function<u64, Surroundings> =
    Function::new("surroundings", surroundings);
pub(crate) static LOCAL: Function<u64, u64> = Function::with_context("local", local);
pub(crate) static LOGS: Function<u64, ()> = Function::new("logs", logs);
/// Of another type than the one the children know.
pub(crate) static OTHER: Function<String, u64> = Function::new("unknown", |text| text.len() as u64);
pub(crate) static SUM: Function<[u64], u64> = Function::new("sum", |all: &[u64]| all.iter().sum());
pub(crate) static WORK: Function<u64, u64> = Function::new("work", work);

/// All but [`OTHER`].
pub(crate) static ALL: [&dyn AnyFunction; 22] = [
    &PID,
    &END,
    &ECHO,
    &TEXT,
    &UNTAGGED,
    &GIVES_UNTAGGED,
    &CODE,
    &FINAL,
    &PRINT,
    &SECOND_ATTEMPT,
    &WHO,
    &PROGRESS,
    &LISTENS,
    &DEAF,
    &LOAD,
    &LOADED,
    &GROW,
    &SURROUNDINGS,
    &LOCAL,
    &SUM,
    &WORK,
    &LOGS,
];

static STATE: OnceLock<u64> = OnceLock::new();

fn end(how: &End) -> Result<u32, BoxError> {
    match *how {
        End::Well => return Ok(std::process::id()),
        End::Error => return Err("on purpose".into()),
        End::Panic => panic!("on purpose"),
        End::Abort => std::process::abort(),
        End::Segfault => signal_self(11),
        End::StackOverflow => return Ok(deep(&[0; 4096])),
        End::Exit(code) => std::process::exit(code),
        End::Signal(signal) => signal_self(signal),
    }
    Err("is still there".into())
}

/// The standard library has no way to send a signal. The first of some is taken by its handlers.
fn signal_self(signal: i32) {
    let kill = format!("kill -{signal} {0}; kill -{signal} {0}", std::process::id());
    std::process::Command::new("sh")
        .args(["-c", &kill])
        .status()
        .expect("a shell");
    loop {
        std::thread::park();
    }
}

#[allow(unconditional_recursion, reason = "it is to have no end")]
#[inline(never)]
fn deep(before: &[u8; 4096]) -> u32 {
    let mut more = *before;
    more[7] = more[7].wrapping_add(1);
    deep(std::hint::black_box(&more)) + u32::from(more[3])
}

fn print(n: &u64) -> u64 {
    println!("out {n}");
    eprint!("err {n}");
    *n
}

fn second(cx: &Context, _: &u64) -> Result<u32, BoxError> {
    match cx.attempt() {
        1 => Err("the first fails".into()),
        attempt => Ok(attempt),
    }
}

fn who(cx: &Context, _: &u64) -> Result<String, BoxError> {
    Ok(format!(
        "{} of {}, {}",
        cx.task_label(),
        cx.job_name(),
        cx.index()
    ))
}

fn progress(cx: &Context, _: &u64) -> Result<(), BoxError> {
    cx.report_progress(1.0, "through");
    Ok(())
}

/// Says that it has begun, and returns when it is cancelled.
fn listens(cx: &Context, begun: &PathBuf) -> Result<(), BoxError> {
    std::fs::write(begun, std::process::id().to_string())?;
    while !cx.is_cancelled() {
        std::thread::yield_now();
    }
    std::fs::write(begun.with_extension("heard"), "")?;
    Ok(())
}

/// Says that it has begun, and never returns.
fn deaf(begun: &PathBuf) -> Result<(), BoxError> {
    let mut file = std::fs::File::create(begun)?;
    write!(file, "{}", std::process::id())?;
    drop(file);
    loop {
        std::thread::park();
    }
}

fn load(n: &u64) -> Result<(), BoxError> {
    if *n == 0 {
        return Err("nothing to load".into());
    }
    STATE.set(*n).map_err(|_| "loaded twice".into())
}

/// Keeps so many bytes for ever.
fn grow(bytes: &usize) -> u32 {
    Box::leak(vec![1u8; *bytes].into_boxed_slice());
    std::process::id()
}

/// What a child has of its parent's.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Surroundings {
    pub(crate) descriptors: Vec<String>,
    pub(crate) blocked_signals: String,
    pub(crate) ignored_signals: String,
    pub(crate) stdin: Vec<u8>,
}

fn surroundings(_: &u64) -> Surroundings {
    let fds = std::fs::read_dir("/proc/self/fd").expect("there").flatten();
    let targets = fds.filter_map(|fd| std::fs::read_link(fd.path()).ok());
    let status = std::fs::read_to_string("/proc/thread-self/status").expect("there");
    let line = |name: &str| {
        let mut lines = status.lines();
        lines
            .find_map(|line| line.strip_prefix(name))
            .unwrap_or_default()
            .trim()
            .to_owned()
    };
    let mut stdin = Vec::new();
    std::io::Read::read_to_end(&mut std::io::stdin(), &mut stdin).expect("empty");
    Surroundings {
        descriptors: targets.map(|target| target.display().to_string()).collect(),
        blocked_signals: line("SigBlk:"),
        ignored_signals: line("SigIgn:"),
        stdin,
    }
}

fn logs(n: &u64) {
    tracing::warn!(number = n, "careful");
    tracing::info!("all is well");
    tracing::debug!("nobody wants to know");
}

/// How often this worker has been here in this run.
fn local(cx: &Context, _: &u64) -> Result<u64, BoxError> {
    Ok(cx.worker_local(
        || 0,
        |count| {
            *count += 1;
            *count
        },
    ))
}

fn work(n: &u64) -> u64 {
    (0..1000 + n % 1000).fold(*n, |sum, i| std::hint::black_box(sum ^ i).rotate_left(3))
}
