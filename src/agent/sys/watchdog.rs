//! What ends a pool's processes when the application can't any more: it crashed, or was killed.
//!
//! A small shell process holds the other end of a pipe. When the pipe closes without a word, nobody is left to look after
//! the pool's processes, and it kills whatever has the pool's leash. It leads a process group of its own, ignores what a
//! terminal sends, and is nobody's child: an application that counts or awaits its children does not meet it.

use super::{Child, Leash, Start};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use std::ffi::{CString, OsStr, OsString};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;

/// `$1` is how a variable of the pool's processes begins, what follows the engine of its containers, if it has some. Three rounds that find none end it: one that is just being
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
    pool="${1#*=}"
    shift
    if [ $# -gt 0 ]; then
        containers="$("$@" ps --all --quiet --filter "label=batchyard.pool=$pool")"
        [ -z "$containers" ] || "$@" rm --force --volumes $containers
    fi
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
        let path = std::env::var_os("PATH").unwrap_or_else(|| "/usr/bin:/bin".into());
        Self::with(leash, &[], [("PATH".into(), path)])
    }

    /// Starts one that removes the pool's containers, too. `engine` is what runs them, with its options; it finds its
    /// things by the application's environment.
    pub(in crate::agent) fn of_containers(leash: &Leash, engine: &[OsString]) -> io::Result<Self> {
        Self::with(leash, engine, std::env::vars_os())
    }

    fn with(
        leash: &Leash,
        engine: &[OsString],
        env: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> io::Result<Self> {
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
        let args = args.iter().map(OsStr::new);
        let engine = engine.iter().map(OsString::as_os_str);
        let string = |text: &OsStr| CString::new(text.as_bytes()).unwrap_or_default();
        let args: Vec<_> = args.chain(engine).map(string).collect();
        let env = env.into_iter().map(|(mut name, value)| {
            name.push("=");
            name.push(value);
            string(&name)
        });
        let env: Vec<_> = env.collect();
        let shell = Child::start(&Start {
            program: c"/bin/sh",
            args: &args,
            env: &env,
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
