//! `kill -9` of a real program at random instants, again and again until its job has ended.
//!
//! The program is this test target started again. Its job has a hundred thousand tasks, each of which leaves its number in
//! a file; a thread of it leaves the numbers of those in another that it was told of.

use batchyard::journal::Journal;
use batchyard::{Array, Function, Handle, Job, Pool, ThreadExecutor};
use std::collections::HashSet;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

const FOLDER: &str = "BATCHYARD_KILL_FOLDER";
const ELEMENTS: usize = 50_000;

/// Where the tasks of this process leave their numbers.
static EFFECTS: OnceLock<File> = OnceLock::new();

static FIRST: Function<usize, u64> = Function::new("first", |n| effect(*n as u64));
static SECOND: Function<u64, u64> = Function::new("second", |n| effect(ELEMENTS as u64 + n));
static SUM: Function<[u64], u64> = Function::new("sum", |all: &[u64]| {
    effect(2 * ELEMENTS as u64);
    all.iter().sum()
});

fn effect(task: u64) -> u64 {
    if let Some(mut effects) = EFFECTS.get() {
        effects.write_all(&task.to_le_bytes()).unwrap();
    }
    task
}

fn job() -> (Job, Array<u64>, Handle<u64>) {
    let mut job = Job::new("killed");
    let first = job.array("first", ELEMENTS, &FIRST);
    let second = job.each("second", &first, &SECOND);
    let sum = job.reduce("sum", &second, &SUM);
    (job, first, sum)
}

/// What the parent starts: not a test by itself.
#[test]
fn the_program_that_is_killed() {
    let Some(folder) = std::env::var_os(FOLDER) else {
        return;
    };
    let folder = Path::new(&folder);
    let append = |name: String| {
        let mut options = OpenOptions::new();
        options.create(true).append(true).open(folder.join(name))
    };
    let life = std::process::id();
    EFFECTS
        .set(append(format!("effects-{life}")).unwrap())
        .unwrap();
    let mut told = append(format!("told-{life}")).unwrap();
    let journal = Journal::open_or_create(folder.join("run.journal")).unwrap();
    let journal = match life % 2 {
        0 => journal.every_completion(),
        _ => journal,
    };
    let pool = Pool::new(ThreadExecutor::new(2).unwrap());
    let (job, first, sum) = job();
    let run = pool.submit_durable(job, journal).unwrap();
    for at in (0..ELEMENTS).step_by(997) {
        let value = *run.output(first.at(at)).wait().unwrap();
        assert_eq!(value, at as u64);
        told.write_all(&value.to_le_bytes()).unwrap();
    }
    let sum = *run.output(&sum).wait().unwrap();
    assert_eq!(run.wait().unwrap().succeeded, 2 * ELEMENTS as u64 + 1);
    std::fs::write(folder.join("sum"), sum.to_string()).unwrap();
}

#[test]
fn whenever_it_is_killed_nothing_is_lost_and_nothing_that_was_told_is_done_again() {
    let kills = std::env::var("BATCHYARD_KILLS").ok();
    let mut kills: u32 = kills.map_or(12, |kills| kills.parse().unwrap());
    let seed = std::env::var("BATCHYARD_SEED").ok();
    let seed = seed.map_or_else(|| fastrand::u64(..), |seed| seed.parse().unwrap());
    println!("BATCHYARD_SEED={seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    while kills > 0 {
        // What is left of a failure is for looking at.
        let folder = tempfile::tempdir().unwrap().keep();
        println!("in {}", folder.display());
        kills = kills.saturating_sub(one_job(&folder, &mut random, kills));
        std::fs::remove_dir_all(folder).unwrap();
    }
}

/// Starts the program until its job has ended, and kills it at most so often. Returns how often.
fn one_job(folder: &Path, random: &mut fastrand::Rng, most: u32) -> u32 {
    let (mut killed, mut told, mut done) = (0, HashSet::new(), HashSet::new());
    let begun = Instant::now();
    while !folder.join("sum").exists() {
        let mut child = start(folder);
        let pid = child.id();
        let patience = match killed < most {
            true => Duration::from_millis(random.u64(0..700)),
            false => Duration::from_secs(120),
        };
        killed += u32::from(kill_after(&mut child, patience));
        for task in numbers(&folder.join(format!("effects-{pid}"))) {
            assert!(!told.contains(&task), "{task} was told, and done again");
            done.insert(task);
        }
        told.extend(numbers(&folder.join(format!("told-{pid}"))));
        assert!(begun.elapsed() < Duration::from_secs(300), "gets nowhere");
    }
    assert_eq!(done.len(), 2 * ELEMENTS + 1, "each is done at least once");
    let sum: u64 = (ELEMENTS as u64..2 * ELEMENTS as u64).sum();
    let told = std::fs::read_to_string(folder.join("sum")).unwrap();
    assert_eq!(told, sum.to_string());
    killed.max(1)
}

fn start(folder: &Path) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "kill::the_program_that_is_killed", "--nocapture"])
        .env(FOLDER, folder)
        .stdout(Stdio::null());
    command.spawn().unwrap()
}

/// Whether it had to be killed. One that ends by itself must end well.
fn kill_after(child: &mut Child, patience: Duration) -> bool {
    let until = Instant::now() + patience;
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            assert!(status.success(), "the program failed: {status}");
            return false;
        }
        if Instant::now() >= until {
            child.kill().unwrap();
            child.wait().unwrap();
            return true;
        }
        std::thread::park_timeout(Duration::from_millis(1));
    }
}

/// Whole numbers in a file: the last may have been cut off.
fn numbers(path: &Path) -> Vec<u64> {
    let bytes = std::fs::read(path).unwrap_or_default();
    let (whole, _) = bytes.as_chunks::<8>();
    whole
        .iter()
        .map(|bytes| u64::from_le_bytes(*bytes))
        .collect()
}
