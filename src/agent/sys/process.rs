//! One child, from its start until it is reaped.

use super::spawn::{Start, Used, reap};
use rustix::process::{
    Pid, PidfdFlags, Resource, Rlimit, Signal, kill_process_group, pidfd_open, prlimit,
    setpriority_process,
};
use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::time::Duration;

/// A child that leads a process group, and has not been reaped: until then nobody else gets its id, or its group's.
pub(in crate::agent) struct Child {
    pid: Pid,
    pidfd: OwnedFd,
    reaped: bool,
}

/// How a child ended, and what it used.
pub(in crate::agent) struct End {
    pub(in crate::agent) code: Option<i32>,
    pub(in crate::agent) signal: Option<i32>,
    pub(in crate::agent) user: Duration,
    pub(in crate::agent) system: Duration,
    pub(in crate::agent) peak_memory: u64,
    pub(in crate::agent) bytes_read: u64,
    pub(in crate::agent) bytes_written: u64,
}

impl Child {
    pub(in crate::agent) fn start(start: &Start<'_>) -> io::Result<Self> {
        let pid = start.spawn()?;
        match pidfd_open(pid, PidfdFlags::empty()) {
            Ok(pidfd) => Ok(Child {
                pid,
                pidfd,
                reaped: false,
            }),
            // Without a way to wait for it, it must not go on.
            Err(error) => {
                let _ = kill_process_group(pid, Signal::KILL);
                let _ = reap(pid);
                Err(error.into())
            }
        }
    }

    pub(in crate::agent) fn pid(&self) -> Pid {
        self.pid
    }

    /// Sends a signal to the child and its group.
    pub(in crate::agent) fn signal_group(&self, signal: Signal) {
        let _ = kill_process_group(self.pid, signal);
    }

    /// Sets a limit for each process of the child's from now on.
    pub(in crate::agent) fn limit(&self, resource: Resource, most: u64) -> io::Result<()> {
        let limit = Rlimit {
            current: Some(most),
            maximum: Some(most),
        };
        prlimit(Some(self.pid), resource, limit)?;
        Ok(())
    }

    pub(in crate::agent) fn set_niceness(&self, niceness: i32) -> io::Result<()> {
        Ok(setpriority_process(Some(self.pid), niceness)?)
    }

    /// Takes leave of the child, which has ended.
    pub(in crate::agent) fn reap(mut self) -> io::Result<End> {
        let (bytes_read, bytes_written) = transferred(self.pid);
        self.reaped = true;
        let (status, used) = reap(self.pid)?;
        let Used {
            user,
            system,
            peak_memory,
        } = used;
        Ok(End {
            code: status.code(),
            signal: status.signal(),
            user,
            system,
            peak_memory,
            bytes_read,
            bytes_written,
        })
    }
}

impl AsFd for Child {
    /// Becomes readable when the child has ended.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.pidfd.as_fd()
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if !self.reaped {
            self.signal_group(Signal::KILL);
            let _ = reap(self.pid);
        }
    }
}

/// How many bytes a process, and those of its children that it has waited for, has read and written.
fn transferred(pid: Pid) -> (u64, u64) {
    let text = fs::read_to_string(format!("/proc/{pid}/io")).unwrap_or_default();
    let number = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|rest| rest.trim().parse().ok()).unwrap_or(0)
    };
    (number("rchar:"), number("wchar:"))
}

/// Whether a directory's owner is the user that this process acts for.
pub(in crate::agent) fn is_ours(metadata: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    metadata.uid() == rustix::process::geteuid().as_raw()
}
