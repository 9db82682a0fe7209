//! What ends a pool's processes when the application can't any more: it crashed, or was killed.
//!
//! A small shell process holds the other end of a pipe. When the pipe closes without a word, nobody is left to look after
//! the pool's processes, and it kills whatever has the pool's leash. It leads a process group of its own, ignores what a
//! terminal sends, and is nobody's child: an application that counts or awaits its children does not meet it.

use super::{Child, Leash, Start};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use std::ffi::CString;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::AsFd;

/// `$1` is how a variable of the pool's processes begins. Three rounds that find none end it: one that is just being
/// started shows its environment a moment later.
const SCRIPT: &str = r#"
exec 3<&0
(
    trap '' HUP INT QUIT TERM
    read -r word <&3 && exit
    quiet=0
    while [ "$quiet" -lt 3 ]; do
        quiet=$((quiet + 1))
        for environ in /proc/[0-9]*/environ; do
            case "$(tr '\0' '\n' <"$environ" 2>/dev/null)" in
            *"$1"*)
                process="${environ#/proc/}"
                kill -9 "${process%/environ}" && quiet=0
                ;;
            esac
        done
        sleep 0.05
    done
) 2>/dev/null &
echo $!
"#;

/// How long a watchdog that is no longer needed may take to go.
const PATIENCE: Timespec = Timespec {
    tv_sec: 1,
    tv_nsec: 0,
};

/// Ends a pool's processes if the application dies before it.
#[derive(Debug)]
pub(in crate::agent) struct Watchdog {
    tell: File,
    /// Closes when it has gone.
    gone: File,
    pid: Option<Pid>,
}

impl Watchdog {
    /// Starts it.
    pub(in crate::agent) fn start(leash: &Leash) -> io::Result<Self> {
        let (input, tell) = pipe_with(PipeFlags::CLOEXEC)?;
        let (gone, output) = pipe_with(PipeFlags::CLOEXEC)?;
        let null = File::options().write(true).open("/dev/null")?;
        let args = [
            "/bin/sh",
            "-c",
            SCRIPT,
            "batchyard-watchdog",
            leash.of_pool(),
        ];
        let args = args.map(|arg| CString::new(arg).unwrap_or_default());
        let path = format!(
            "PATH={}",
            std::env::var("PATH").unwrap_or_else(|_| "/usr/bin:/bin".into())
        );
        let shell = Child::start(&Start {
            program: c"/bin/sh",
            args: &args,
            env: &[CString::new(path).unwrap_or_default()],
            directory: c"/",
            streams: [input.as_fd(), output.as_fd(), null.as_fd()],
        })?;
        drop((input, output));
        let (gone, mut line) = (File::from(gone), String::new());
        BufReader::new(&gone).read_line(&mut line)?;
        let pid = line.trim().parse().ok();
        shell.reap()?;
        Ok(Watchdog {
            tell: tell.into(),
            gone,
            pid: pid.and_then(Pid::from_raw),
        })
    }
}

impl Drop for Watchdog {
    /// Sends it away, and sees that it goes.
    fn drop(&mut self) {
        let _ = self.tell.write_all(b"go\n");
        let _ = poll(
            &mut [PollFd::new(&self.gone, PollFlags::IN)],
            Some(&PATIENCE),
        );
        // Where this process is init to its descendants, it is ours to bury.
        if let Some(pid) = self.pid {
            let _ = waitid(
                WaitId::Pid(pid),
                WaitIdOptions::EXITED | WaitIdOptions::NOHANG,
            );
        }
    }
}
