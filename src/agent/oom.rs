//! Whether the system killed something for want of memory: it tells per control group, in either version of these.

use crate::sync::lock;
use std::fs;
use std::path::PathBuf;
use std::sync::Mutex;

/// How often that has happened in our control group, when last looked.
#[derive(Debug)]
pub(super) struct OomWatch {
    files: Vec<PathBuf>,
    seen: Mutex<u64>,
}

impl OomWatch {
    pub(super) fn new() -> Self {
        let files = files();
        let seen = Mutex::new(count(&files));
        OomWatch { files, seen }
    }

    /// Whether it has happened since this was last asked. Asked when something was killed, and nobody says by whom.
    pub(super) fn has_struck(&self) -> bool {
        let mut seen = lock(&self.seen);
        let now = count(&self.files);
        let before = std::mem::replace(&mut *seen, now);
        now > before
    }
}

/// The files with the counter: of the control group that this process, and so its children, is in.
fn files() -> Vec<PathBuf> {
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let file = |line: &str| {
        let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
        match controllers {
            "" => Some(format!("/sys/fs/cgroup{path}/memory.events")),
            "memory" => Some(format!("/sys/fs/cgroup/memory{path}/memory.oom_control")),
            _ => None,
        }
    };
    groups.lines().filter_map(file).map(PathBuf::from).collect()
}

fn count(files: &[PathBuf]) -> u64 {
    let number = |text: String| {
        let mut lines = text.lines();
        lines.find_map(|line| line.strip_prefix("oom_kill ")?.trim().parse::<u64>().ok())
    };
    let texts = files
        .iter()
        .filter_map(|file| fs::read_to_string(file).ok());
    texts.filter_map(number).sum()
}
