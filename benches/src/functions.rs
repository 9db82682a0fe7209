//! Functions in two child processes.

use crate::THREADS;
use crate::case::{Missing, Outcome, Sample};
use batchyard::{Array, Function, Job, Pool, ProcessExecutor, Registry, Result, registry};
use std::io::{Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

/// Gives back what it gets. Text, since that is written in one piece; vectors of bytes go byte by byte in serde.
static ECHO: Function<String, String> = Function::new("echo", String::clone);

/// What the children know.
///
/// # Errors
/// None.
pub fn registry() -> Result<Registry> {
    registry![ECHO]
}

/// So many functions that give back so many bytes.
pub fn array(tasks: usize, bytes: usize) -> Sample {
    let pool = pool();
    let build = || {
        let mut job = Job::new("functions");
        job.map("echo", (0..tasks).map(|_| "x".repeat(bytes)), &ECHO);
        job.freeze().expect("sound")
    };
    Sample::take(build, |job| run(&pool, &*job))
}

/// One after another, each waiting for the one before.
pub fn one_by_one(tasks: usize) -> Sample {
    let pool = pool();
    let build = || {
        let mut job = Job::new("one by one");
        let mut last: Array<String> = job.map((), ["x".repeat(100)], &ECHO);
        for _ in 1..tasks {
            last = job.each((), &last, &ECHO);
        }
        job.freeze().expect("sound")
    };
    Sample::take(build, |job| run(&pool, &*job))
}

/// With its children started.
fn pool() -> Pool {
    let pool = Pool::new(ProcessExecutor::new(THREADS).expect("`init` was called"));
    let mut job = Job::new("first");
    job.map("echo", (0..100).map(|_| String::new()), &ECHO);
    run(&pool, job);
    pool
}

fn run(pool: &Pool, job: impl batchyard::IntoFrozen) {
    let run = pool.submit(job).expect("open");
    run.wait().expect("all succeed");
}

/// What the pipes can do: through `cat`, in pieces of so many bytes.
pub fn pipes(tasks: usize, bytes: usize) -> Sample {
    let mut cats: Vec<Cat> = (0..THREADS).map(|_| Cat::start()).collect();
    let piece = (64 << 10) / bytes.min(64 << 10) * bytes;
    let total = tasks * bytes / THREADS;
    let sample = Sample::take(
        || (),
        |()| {
            std::thread::scope(|scope| {
                for cat in &mut cats {
                    scope.spawn(move || cat.stream(total, piece));
                }
            });
        },
    );
    cats.into_iter().for_each(Cat::end);
    sample
}

/// What a journey there and back takes: through `cat`, one piece after another.
pub fn ping_pong(tasks: usize, bytes: usize) -> Sample {
    let mut cat = Cat::start();
    let sample = Sample::take(|| (), |()| (0..tasks).for_each(|_| cat.echo(bytes)));
    cat.end();
    sample
}

/// A process that gives back what it gets.
struct Cat {
    child: Child,
    to: ChildStdin,
    from: ChildStdout,
}

impl Cat {
    fn start() -> Self {
        let mut cat = Command::new("cat");
        let cat = cat.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = cat.spawn().expect("`cat` is there");
        let (to, from) = (child.stdin.take(), child.stdout.take());
        Cat {
            child,
            to: to.expect("piped"),
            from: from.expect("piped"),
        }
    }

    fn echo(&mut self, bytes: usize) {
        let mut buffer = vec![b'x'; bytes];
        self.to.write_all(&buffer).expect("written");
        self.from.read_exact(&mut buffer).expect("read");
    }

    /// Writes and reads at once.
    fn stream(&mut self, total: usize, piece: usize) {
        let Cat { to, from, .. } = self;
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let piece = vec![b'x'; piece];
                for at in (0..total).step_by(piece.len()) {
                    let len = piece.len().min(total - at);
                    to.write_all(&piece[..len]).expect("written");
                }
            });
            let mut buffer = vec![0; 64 << 10];
            let mut left = total;
            while left > 0 {
                left -= from.read(&mut buffer).expect("read");
            }
        });
    }

    fn end(mut self) {
        drop(self.to);
        self.child.wait().expect("ends");
    }
}

/// Python's executors.
///
/// # Errors
/// If there is no Python, or no such executor in it.
pub fn python(executor: &str, shape: &str, tasks: usize) -> Outcome {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/python/functions.py");
    let output = Command::new("python3")
        .args([script, executor, shape, &tasks.to_string()])
        .stderr(Stdio::null())
        .output()
        .map_err(|error| Missing(format!("python3: {error}")))?;
    let seconds = String::from_utf8_lossy(&output.stdout).trim().parse();
    let seconds: f64 = seconds.map_err(|_| Missing(format!("python3 has no {executor}")))?;
    Ok(Sample {
        run: Duration::from_secs_f64(seconds),
        ..Sample::default()
    })
}
