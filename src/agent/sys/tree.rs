//! Everything that came of one child, wherever it went.
//!
//! A descendant may leave its parent's process group, and its session, and outlive its parent, whose place init takes
//! then: no pointer leads to it any more. But it still has the environment that it was started with, and in that the
//! *leash*: a variable that no other attempt's processes have. So descendants are found by group or by leash.
//!
//! Looking through the whole of `/proc` for each command would cost more than starting it. Ids are given out one after
//! another, so what came of a child has a later one; the system tells which it gave out last, and between the two there is
//! mostly nothing.

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::ffi::CString;
use std::fmt;
use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

/// The environment variable that holds the leash.
const VARIABLE: &str = "BATCHYARD_LEASH";

/// More ids than this are not tried one by one: there are fewer processes than that.
const FEW: u32 = 64;

/// What tells the processes of one pool, and of one attempt, from all others.
#[derive(Debug)]
pub(in crate::agent) struct Leash {
    pool: String,
    given: AtomicU64,
}

/// A child and what came of it.
pub(in crate::agent) struct Tree {
    leader: Pid,
    leash: CString,
    /// The pipes that it writes to, as the system names them.
    pipes: Vec<PathBuf>,
}

/// A descendant that has not ended.
pub(in crate::agent) struct Process {
    pid: Pid,
    name: String,
    group: i32,
    pidfd: OwnedFd,
}

/// What `/proc/<pid>/stat` says.
struct Stat {
    name: String,
    state: char,
    group: i32,
}

impl Leash {
    pub(in crate::agent) fn new() -> Self {
        let random = || RandomState::new().hash_one(std::process::id());
        Leash {
            pool: format!("{VARIABLE}={:016x}{:016x}", random(), random()),
            given: AtomicU64::new(0),
        }
    }

    /// What all processes of the pool have in their environment, as the beginning of a variable.
    pub(in crate::agent) fn of_pool(&self) -> &str {
        &self.pool
    }

    /// The variable, and its value, for another attempt.
    pub(in crate::agent) fn another(&self) -> CString {
        let number = self.given.fetch_add(1, Ordering::Relaxed);
        CString::new(format!("{}.{number}", self.pool)).unwrap_or_default()
    }
}

impl Tree {
    /// `pipes` are the ends that are read of those that the child writes to.
    pub(in crate::agent) fn new(leader: Pid, leash: CString, pipes: &[OwnedFd]) -> Self {
        let name = |pipe: &OwnedFd| rustix::fs::fstat(pipe).map(|stat| stat.st_ino);
        let names = pipes.iter().filter_map(|pipe| name(pipe).ok());
        Tree {
            leader,
            leash,
            pipes: names
                .map(|inode| format!("pipe:[{inode}]").into())
                .collect(),
        }
    }

    /// The descendants that have not ended, without the child itself, which must not have been reaped.
    pub(in crate::agent) fn descendants(&self) -> Vec<Process> {
        let candidates = later_than(self.leader).unwrap_or_else(all);
        let is_ours = |pid, stat: &Stat| self.is_group(stat.group) || self.is_leashed(pid);
        candidates
            .filter_map(|pid| self.process(pid, is_ours))
            .collect()
    }

    /// Those that hold a pipe which the child wrote to: descendants that have thrown their environment away, too.
    pub(in crate::agent) fn holders(&self) -> Vec<Process> {
        let holds = |pid, _: &Stat| self.writes(pid).unwrap_or(false);
        all().filter_map(|pid| self.process(pid, holds)).collect()
    }

    /// How many bytes of memory the child and its descendants have resident.
    pub(in crate::agent) fn resident(&self) -> u64 {
        let descendants = self.descendants();
        let pids = descendants.iter().map(|process| process.pid);
        pids.chain([self.leader]).map(resident).sum()
    }

    /// The process of this id, if it is ours. It is looked at again when it is held: its id may be another's by then.
    fn process(&self, pid: Pid, is_ours: impl Fn(Pid, &Stat) -> bool) -> Option<Process> {
        let look = || {
            let stat = Stat::of(pid).filter(|stat| !matches!(stat.state, 'Z' | 'X'))?;
            is_ours(pid, &stat).then_some(stat)
        };
        if pid == self.leader || look().is_none() {
            return None;
        }
        let pidfd = pidfd_open(pid, PidfdFlags::empty()).ok()?;
        look().map(|stat| Process {
            pid,
            name: stat.name,
            group: stat.group,
            pidfd,
        })
    }

    /// Whether a process could write to one of the pipes. (Copies of the ends that we read are in children of the
    /// application that it has not started yet.)
    fn writes(&self, pid: Pid) -> Option<bool> {
        let is_ours =
            |fd: &fs::DirEntry| fs::read_link(fd.path()).is_ok_and(|to| self.pipes.contains(&to));
        let is_written = |fd: fs::DirEntry| {
            let info = format!("/proc/{pid}/fdinfo/{}", fd.file_name().display());
            let info = fs::read_to_string(info).ok()?;
            let flags = info.lines().find_map(|line| line.strip_prefix("flags:"))?;
            Some(flags.trim().ends_with('1'))
        };
        let fds = fs::read_dir(format!("/proc/{pid}/fd")).ok()?.flatten();
        Some(fds.filter(is_ours).any(|fd| is_written(fd) == Some(true)))
    }

    /// Whether the process is in the child's group, as far as is known.
    pub(in crate::agent) fn is_in_group(&self, process: &Process) -> bool {
        self.is_group(process.group)
    }

    fn is_group(&self, group: i32) -> bool {
        group == self.leader.as_raw_nonzero().get()
    }

    fn is_leashed(&self, pid: Pid) -> bool {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment
            .split(|&byte| byte == 0)
            .any(|variable| variable == self.leash.as_bytes())
    }
}

impl Process {
    pub(in crate::agent) fn pid(&self) -> u32 {
        self.pid.as_raw_nonzero().get().unsigned_abs()
    }

    pub(in crate::agent) fn name(&self) -> &str {
        &self.name
    }

    pub(in crate::agent) fn signal(&self, signal: Signal) {
        let _ = pidfd_send_signal(&self.pidfd, signal);
    }
}

impl AsFd for Process {
    /// Becomes readable when the process has ended.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.pidfd.as_fd()
    }
}

impl fmt::Debug for Process {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.name, self.pid)
    }
}

impl Stat {
    /// The name may contain spaces and parentheses; it ends at the last one.
    fn of(pid: Pid) -> Option<Self> {
        let bytes = fs::read(format!("/proc/{pid}/stat")).ok()?;
        let text = String::from_utf8_lossy(&bytes);
        let (start, end) = (text.find('(')?, text.rfind(')')?);
        let mut fields = text.get(end + 1..)?.split_whitespace();
        Some(Stat {
            name: text.get(start + 1..end)?.to_owned(),
            state: fields.next()?.chars().next()?,
            group: fields.nth(1)?.parse().ok()?,
        })
    }
}

/// The ids given out after this one, if these are few.
fn later_than(pid: Pid) -> Option<Box<dyn Iterator<Item = Pid>>> {
    let first = pid.as_raw_nonzero().get() + 1;
    let last = last_given()?;
    let few = last + 1 >= first && (last + 1 - first).unsigned_abs() <= FEW;
    few.then(|| Box::new((first..=last).filter_map(Pid::from_raw)) as Box<_>)
}

/// The id that the system gave out last. They begin anew when they are used up.
fn last_given() -> Option<i32> {
    let text = fs::read_to_string("/proc/loadavg").ok()?;
    text.split_whitespace().last()?.parse().ok()
}

/// Every process there is.
fn all() -> Box<dyn Iterator<Item = Pid>> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pid = |entry: fs::DirEntry| Pid::from_raw(entry.file_name().to_str()?.parse().ok()?);
    Box::new(entries.filter_map(pid))
}

fn resident(pid: Pid) -> u64 {
    let text = fs::read_to_string(format!("/proc/{pid}/statm")).unwrap_or_default();
    let pages = text.split_whitespace().nth(1);
    let pages: u64 = pages.and_then(|pages| pages.parse().ok()).unwrap_or(0);
    pages * rustix::param::page_size() as u64
}
